"""Recover intact records from a corrupt line: after a torn record, after NUL bytes, or if newlines are missing.

A record must end at a checksum or at the end of the line, and parse from its head to there. So an object within a
record's arguments is never taken for a record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .index import ROLE_CODES
from .record_line import Message, decode

ROLE_HEAD = b'{"role":"'

_HEADS = (b'{"role":', b'{"_record"')
_RECORD_TAIL = re.compile(rb',"_crc":"[0-9a-f]{8}"\}')
_MOST_TRIALS = 64  # heads that are tried for one end, in case a line was made to be slow
_MOST_PASSES = 200  # times that all bytes of a line may be read, for all ends together
_FREE_BYTES = 16 << 20  # bytes that may be read for any line, since that is fast


def whole_records(line: bytes) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each intact record in a line, from the left."""
    begin = 0
    bytes_left = _FREE_BYTES + _MOST_PASSES * len(line)
    ends = [found.end() for found in _RECORD_TAIL.finditer(line)]
    for end in [*ends, len(line)]:
        start, bytes_read = _start_of_record(line, begin, end)
        bytes_left -= bytes_read
        if bytes_left < 0:
            return
        if start is None:
            continue
        before = line[begin:start].rstrip(b"\0\r\t ")
        if before and is_record(before):  # a record without a checksum, so without a recognisable end
            yield begin, begin + len(before)
        yield start, end
        begin = end


def has_role(value: Message) -> bool:
    """Return whether an object has a known role, as every message has."""
    role = value.get("role")
    return isinstance(role, str) and role in ROLE_CODES


def _start_of_record(line: bytes, begin: int, end: int) -> tuple[int | None, int]:
    """Find the start of the record that ends at `end`; None if there is none.

    Also return the number of bytes that were read without success.
    """
    stop = end
    bytes_read = 0
    for _ in range(_MOST_TRIALS):
        start = max(line.rfind(head, begin, stop) for head in _HEADS)
        bytes_read += stop - begin
        if start < 0:
            return None, bytes_read
        bytes_read += end - start
        if is_record(line[start:end]):
            return start, 0  # the bytes after it are not read again
        stop = start
    return None, bytes_read


def is_record(line: bytes) -> bool:
    """Return whether bytes are one record: a message or a control record, with or without a checksum."""
    try:
        value = decode(line)
    except ValueError:
        return False
    return "_record" in value or has_role(value)
