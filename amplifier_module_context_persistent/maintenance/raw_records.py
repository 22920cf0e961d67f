"""A log's file in pieces: every record with its bytes and its value, and the bytes between that are none."""

from __future__ import annotations

from collections.abc import Iterator

from ..log.reader import LogReader
from ..log.record import Message, decode
from ..log.salvage import has_role, whole_records

CHUNK_BYTES = 1 << 20
_PADDING = b"\0\r\t "

Piece = tuple[int, bytes, Message | None]
"""The offset of the first byte, the bytes without LF, and the value; None for what is no record."""


def pieces(reader: LogReader, end: int) -> Iterator[Piece]:
    """The pieces of an open log up to the offset `end`, in their order; padding between records is left out."""
    at, rest = 0, b""
    while at < end:
        block = reader.file.read(at, min(CHUNK_BYTES, end - at))
        lines = (rest + block).split(b"\n")
        start, rest = at - len(rest), lines.pop()
        for line in lines:
            yield from _pieces_of(start, line)
            start += len(line) + 1
        if not block:
            break
        at += len(block)
    if rest:
        yield from _pieces_of(at - len(rest), rest)


def _pieces_of(offset: int, line: bytes) -> Iterator[Piece]:
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
