"""The limits of a record, in bytes and in levels of nesting, and what happens beyond them.

- A record has at most `MAX_RECORD_BYTES`, or the configured `max_record_bytes`. A larger new one is refused (`batch`).
- A new message has at most `MAX_DEPTH` levels of objects and lists. A value that is nested deeper is stored as its JSON
  text (`messages/check_incoming.py`), or refused if it has none.
- A line with more than `MAX_READ_DEPTH` levels is not a record, whoever wrote it.
"""

from __future__ import annotations

from typing import Any

from ..errors import RecordError

MAX_RECORD_BYTES = 64 << 20
MAX_DEPTH = 200  # orjson refuses to write deeper than 254 levels
MAX_READ_DEPTH = 254  # a more deeply nested line of another program is not a record, in any version of Python

SEAL_BYTES = 20  # bytes of the checksum at the end of a line, with the LF

_BLOCK_BYTES = 1 << 20


def check_size(body: bytes, max_record_bytes: int) -> None:
    """Check that a record is not too long: its body and its checksum have at most `max_record_bytes`.

    Raises:
        RecordError: the record is too long.
    """
    most_bytes = max_record_bytes - SEAL_BYTES
    if len(body) > most_bytes:
        raise RecordError(f"the record has {len(body):,} bytes; at most {most_bytes:,} are stored")


def is_too_deep(line: bytes, value: Any, most: int = MAX_READ_DEPTH) -> bool:
    """Return whether the parsed value of a line has more than `most` levels; by default, too many for a record."""
    if len(line) <= 2 * most:
        return False
    if len(line) > _BLOCK_BYTES:  # a large line is not copied
        opened = line.count(b"{") + line.count(b"[")
    else:  # several times faster than counting
        opened = 2 * len(line) - len(line.replace(b"{", b"")) - len(line.replace(b"[", b""))
    return opened > most and _is_deeper(value, most)


def _is_deeper(value: Any, levels: int) -> bool:
    """Return whether objects and lists are nested in more than `levels` levels."""
    containers = [value]  # of one level
    for _ in range(levels):
        inner = list[Any]()
        for container in containers:
            items = container.values() if isinstance(container, dict) else container
            inner += [item for item in items if isinstance(item, dict | list)]
        if not inner:
            return False
        containers = inner
    return True
