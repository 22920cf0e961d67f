"""Read a log line by line: each record with its bytes and its value, and also the bytes that belong to no record.

A message is live if no later record, such as a reset, has removed it from the session's history.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from ..log.checksum import CRC_TAIL_BYTES, has_crc
from ..log.contract import ReadableLog
from ..log.not_a_log import check_is_log
from ..log.open_reader import not_there
from ..log.reader import LogReader
from ..log.record_kinds import kind_of
from ..log.record_line import Message, decode, encode_object
from ..log.salvage import has_role, whole_records
from ..log.scanner import Scanner

if TYPE_CHECKING:
    from ..log.postgres.reader import PostgresReader  # its driver is an extra

StoredLog: TypeAlias = "LogReader | PostgresReader"
"""A log that was scanned, in a file or in a database."""


def read_log(reader: ReadableLog) -> None:
    """Read a log up to its end, and check that it exists and is a log.

    Raises:
        DamagedArchiveError: the log is archived, and no record can be read because the archive is damaged.
        NotALogError: no line of the log is a record.
        LogUnreadableError: the log does not exist or cannot be read.
    """
    reader.follow()
    if not reader.describe().exists:
        raise not_there(reader.describe().location)
    check_is_log(reader)


def was_live(reader: StoredLog) -> bytearray:
    """Return a byte for each message of a log, in order: 1 if the message was live at any time, else 0."""
    was_ever_live = bytearray(len(reader.index))
    if not any(kind_of(name).frames for name in reader.index.control_counts):  # then nothing was ever hidden
        for ordinal in reader.index.live:
            was_ever_live[ordinal] = 1
        return was_ever_live
    scanner = Scanner(reader.max_record_bytes)
    index = scanner.index
    live = index.live
    for line in reader.whole_lines():
        scanner.take(line.content, line.number, line.offset)
        if index.live is not live:  # a record that changes the live history makes a new list
            for ordinal in live:
                was_ever_live[ordinal] = 1
            live = index.live
    for ordinal in live:
        was_ever_live[ordinal] = 1
    return was_ever_live


_PADDING = b"\0\r\t "

Piece = tuple[int, bytes, Message | None]
"""The offset of the first byte, the bytes without LF, and the parsed record; None if the bytes are not a record."""


def pieces_of(offset: int, line: bytes) -> Iterator[Piece]:
    """Yield the pieces of a line: its records, and the bytes between them that are not records.

    Padding between records is left out.

    Args:
        offset: the offset of the line in the log.
        line: the line, without LF.
    """
    try:
        value = decode(line)
    except ValueError:
        yield from _pieces_of_damaged(offset, line)
        return
    is_record = "_record" in value or has_role(value)
    yield offset, line, value if is_record else None


def _pieces_of_damaged(offset: int, line: bytes) -> Iterator[Piece]:
    """Yield the pieces of a line that is not one record. A line without a record is one piece, even if it is blank."""
    end = 0  # of the last record
    for start, stop in whole_records(line):
        gap = line[end:start]
        if gap.strip(_PADDING):
            yield offset + end, gap, None
        record = line[start:stop]
        yield offset + start, record, decode(record)
        end = stop
    rest = line[end:]
    has_no_record = end == 0
    if has_no_record or rest.strip(_PADDING):
        yield offset + end, rest, None


def control_body(line: bytes, value: Message) -> bytes:
    """Return the stored body of a control record, without its checksum.

    If the record has no checksum, encode its value anew instead.
    """
    if has_crc(line):
        return line[:-CRC_TAIL_BYTES]
    return encode_object({"_record": value["_record"], **value})


def strings_of(value: Any) -> Iterator[str]:
    """Yield every string in a value, including the keys of objects."""
    left = [value]  # not by recursion: files of other programs may be nested to any depth
    while left:
        item = left.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            yield from item
            left += reversed(item.values())
        elif isinstance(item, list):
            left += reversed(item)
