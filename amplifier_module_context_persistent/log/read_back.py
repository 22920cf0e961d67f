"""Read messages back: fetch their lines, compare these with the checksums in the index, and parse them.

Adjacent lines are fetched together, as blocks. Every log reads through these functions, so that a line which changed in
the storage since it was scanned is an error and is never returned.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

from ..errors import LogUnreadableError
from .checksum import CRC_TAIL_BYTES
from .index import DAMAGED, UNCHAINED, Index
from .record_line import Message, decode, message_id_of

FOREIGN = DAMAGED | UNCHAINED
"""Flags of lines that another program may have written. A checksum in such a line does not cover the lines before."""
_GAP_BYTES = 16 << 10  # records closer than this are read together; for a larger gap another call is faster
_SPAN_BYTES = 4 << 20  # most bytes to read at once, approximately

Read = Callable[[int, int], bytes]
"""Reads bytes, given an offset and a number of bytes."""

Line = tuple[int, bytes]
"""A record's ordinal, and its line without LF."""


class NumberedLine(NamedTuple):
    """A line of a log: its number, its offset, and its bytes without LF."""

    number: int
    offset: int
    content: bytes


def numbered_lines(lines: Iterable[bytes], start: int = 0) -> Iterator[NumberedLine]:
    """Yield lines (given without LF) with their numbers, from 1, and offsets; the first line begins at `start`."""
    for number, line in enumerate(lines, 1):
        yield NumberedLine(number, start, line)
        start += len(line) + 1


def fetch_lines(index: Index, ordinals: Sequence[int], read: Read) -> Iterator[Line]:
    """Yield the ordinal and the line of each record, in the given order.

    Args:
        index: has the offsets of the records.
        ordinals: the records, in any order; repetitions are allowed.
        read: reads the log.
    """
    offsets = index.columns.offsets
    lengths = index.columns.lengths
    first = 0
    while first < len(ordinals):
        stop = _end_of_block(index, ordinals, first)
        last = ordinals[stop - 1]
        start = offsets[ordinals[first]]
        end = offsets[last] + lengths[last]
        block = read(start, end - start)
        for ordinal in ordinals[first:stop]:
            begin = offsets[ordinal] - start
            yield ordinal, block[begin : begin + lengths[ordinal] - 1]
        first = stop


def _end_of_block(index: Index, ordinals: Sequence[int], first: int) -> int:
    """Return the end of the block that begins at the position `first` of the ordinals. One read fetches a block.

    A block ends before a record that is far away or before the records read so far, and when it is large enough.
    """
    offsets = index.columns.offsets
    lengths = index.columns.lengths
    start = offsets[ordinals[first]]
    end = start
    for position in range(first, len(ordinals)):
        ordinal = ordinals[position]
        gap_bytes = offsets[ordinal] - end
        is_large_enough = end - start >= _SPAN_BYTES
        if is_large_enough or gap_bytes < 0 or gap_bytes > _GAP_BYTES:
            return position
        end = offsets[ordinal] + lengths[ordinal]
    return len(ordinals)


def fetch_neighbours(index: Index, ordinals: range, read: Read) -> bytes:
    """Return the lines of adjacent records, each with its LF. If few bytes are between the lines, one read is enough.

    Args:
        index: has the offsets of the records.
        ordinals: the records.
        read: reads the log.
    """
    records = slice(ordinals.start, ordinals.stop)
    offsets = index.columns.offsets[records]
    lengths = index.columns.lengths[records]
    start = offsets[0]
    size = offsets[-1] + lengths[-1] - start
    bytes_between = size - sum(lengths)
    if bytes_between > _SPAN_BYTES:
        return b"".join(line + b"\n" for _, line in fetch_lines(index, ordinals, read))
    block = read(start, size)
    if bytes_between == 0:
        return block
    lines = list[bytes]()
    for offset, length in zip(offsets, lengths, strict=True):
        begin = offset - start
        lines.append(block[begin : begin + length])
    return b"".join(lines)


def checked(index: Index, lines: Iterable[Line], location: str) -> Iterator[Line]:
    """Yield lines after checking that each line is unchanged since the index was made.

    Raises:
        LogUnreadableError: a line has changed.
    """
    flags = index.columns.flags
    seeds = index.columns.seeds
    checks = index.columns.checks
    crc = crc32
    for ordinal, line in lines:
        check = checks[ordinal]
        if flags[ordinal] & FOREIGN:
            is_unchanged = crc(line, seeds[ordinal]) == check
        else:
            has_checksum = line[-CRC_TAIL_BYTES:] == b',"_crc":"%08x"}' % check
            is_unchanged = has_checksum and crc(b"}", crc(line[:-CRC_TAIL_BYTES], seeds[ordinal])) == check
        if not is_unchanged:
            where = f"the record at {index.columns.offsets[ordinal]:,}"
            reason = f"{where} was changed since it was read; close the log, and run verify to see what it holds now"
            raise LogUnreadableError(errno.EIO, reason, location)
        yield ordinal, line


def parsed(index: Index, lines: Iterable[Line], location: str) -> Iterator[Message]:
    """Yield the messages of verified lines, each with an id.

    Raises:
        LogUnreadableError: a line cannot be parsed; and any error that `lines` raises.
    """
    for line in lines:
        yield parsed_line(index, line, location)


def parsed_line(index: Index, line: Line, location: str) -> Message:
    """Return the message of one verified line, with an id. The errors are those of `parsed`."""
    ordinal, content = line
    try:
        message = decode(content)
    except ValueError as error:
        reason = f"the record at {index.columns.offsets[ordinal]:,} cannot be read: {error}"
        raise LogUnreadableError(errno.EIO, reason, location) from error
    metadata = message.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    if not metadata.get("message_id"):
        message_id = message_id_of(message, content, index.columns.offsets[ordinal])
        message["metadata"] = {**metadata, "message_id": message_id}
    return message
