"""A line of a log in pieces: every record with its bytes and its value, and the bytes between that are none."""

from __future__ import annotations

from collections.abc import Iterator

from ..log.record import Message, decode
from ..log.salvage import has_role, whole_records

_PADDING = b"\0\r\t "

Piece = tuple[int, bytes, Message | None]
"""The offset of the first byte, the bytes without LF, and the value; None for what is no record."""


def pieces_of(offset: int, line: bytes) -> Iterator[Piece]:
    """The pieces of a line (without LF) that begins at an offset; padding between records is left out."""
    try:
        value = decode(line)
    except ValueError:
        end = 0
        for start, stop in whole_records(line):
            if line[end:start].strip(_PADDING):
                yield offset + end, line[end:start], None
            yield offset + start, line[start:stop], decode(line[start:stop])
            end = stop
        if line[end:].strip(_PADDING) or not end:
            yield offset + end, line[end:], None
    else:
        yield offset, line, value if "_record" in value or has_role(value) else None
