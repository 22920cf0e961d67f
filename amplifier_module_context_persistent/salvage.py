"""Finding whole records in a line that is none: behind the rest of another record, behind NUL bytes, or in a row.

A record is only found where it ends at a checksum or at the line's end and parses from its head to there, so an object
within a record's arguments is never taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .index import ROLE_CODES
from .record import Message, decode

ROLE_HEAD = b'{"role":"'

_HEADS = (b'{"role":', b'{"_record"')
_RECORD_TAIL = re.compile(rb',"_crc":"[0-9a-f]{8}"\}')
_MOST_TRIALS = 64  # bounds the work on a line that was made to be slow


def whole_records(line: bytes) -> Iterator[tuple[int, int]]:
    """Where in a line whole records stand, from the left: their first byte, and the one behind their last."""
    begin = 0
    for end in [*(found.end() for found in _RECORD_TAIL.finditer(line)), len(line)]:
        start = _start_of_record(line, begin, end)
        if start is None:
            continue
        before = line[begin:start].rstrip(b"\0\r\t ")
        if before and _is_record(before):  # without a checksum, so its end was not seen
            yield begin, begin + len(before)
        yield start, end
        begin = end


def has_role(value: Message) -> bool:
    """Whether an object has a role, as every message has."""
    role = value.get("role")
    return isinstance(role, str) and role in ROLE_CODES


def _start_of_record(line: bytes, begin: int, end: int) -> int | None:
    stop = end
    for _ in range(_MOST_TRIALS):
        start = max(line.rfind(head, begin, stop) for head in _HEADS)
        if start < 0:
            return None
        if _is_record(line[start:end]):
            return start
        stop = start
    return None


def _is_record(line: bytes) -> bool:
    try:
        value = decode(line)
    except ValueError:
        return False
    return "_record" in value or has_role(value)
