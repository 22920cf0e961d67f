"""A log line by line: every record with its bytes and its value, the bytes that are none, and what ever was live."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from ..log.base import ReadableLog
from ..log.not_a_log import check_is_log
from ..log.open_reader import not_there
from ..log.reader import LogReader
from ..log.record_kinds import kind_of
from ..log.record_line import CRC_TAIL_BYTES, Message, decode, encode_object, has_crc
from ..log.salvage import has_role, whole_records
from ..log.scanner import Scanner

if TYPE_CHECKING:
    from ..log.postgres.reader import PostgresReader  # its driver is an extra

StoredLog: TypeAlias = "LogReader | PostgresReader"
"""A log that was scanned, wherever it is kept."""


def follow_log(reader: ReadableLog) -> None:
    """Read a log that has to be there.

    Raises:
        NotALogError: no line of it is a record.
        LogUnreadableError: there is none, or it cannot be read.
    """
    reader.follow()
    if not reader.describe().exists:
        raise not_there(reader.describe().location)
    check_is_log(reader)


def was_live(reader: StoredLog) -> bytearray:
    """For each message of a log whether it ever was live."""
    found = bytearray(len(reader.index))
    if not any(kind_of(name).frames for name in reader.index.control_counts):  # then nothing was ever hidden
        for ordinal in reader.index.live:
            found[ordinal] = 1
        return found
    scanner = Scanner(reader.max_record_bytes)
    index = scanner.index
    live = index.live
    for line in reader.whole_lines():
        scanner.take(line.content, line.number, line.offset)
        if index.live is not live:  # a record that changes the live history makes a new list
            for ordinal in live:
                found[ordinal] = 1
            live = index.live
    for ordinal in live:
        found[ordinal] = 1
    return found


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
    """The stored body of a control record; a record without a checksum is encoded anew."""
    return line[:-CRC_TAIL_BYTES] if has_crc(line) else encode_object({"_record": value["_record"], **value})


def strings_of(value: Any) -> Iterator[str]:
    """Every string in a value, keys included."""
    left = [value]  # not by recursion: other programs' files may nest as deep as they like
    while left:
        item = left.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            yield from item
            left += reversed(item.values())
        elif isinstance(item, list):
            left += reversed(item)
