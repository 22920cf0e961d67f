"""A line of a log in pieces: every record with its bytes and its value, and the bytes between that are none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..log.record import CRC_TAIL_BYTES, Message, decode, encode_object, has_crc
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


def control_body(line: bytes, value: Message) -> bytes:
    """A control record's body as it was written; one that was written without a checksum is encoded anew."""
    return line[:-CRC_TAIL_BYTES] if has_crc(line) else encode_object({"_record": value["_record"], **value})


def strings_of(value: Any) -> Iterator[str]:
    """Every string in a value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from strings_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings_of(item)
