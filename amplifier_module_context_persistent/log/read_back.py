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
from .index import DAMAGED, UNCHAINED, Index
from .record_line import CRC_TAIL_BYTES, Message, decode, message_id_of

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
    offsets, lengths = index.columns.offsets, index.columns.lengths
    at, count = 0, len(ordinals)
    while at < count:
        start = end = offsets[ordinals[at]]
        stop = at
        while stop < count and end - start < _SPAN_BYTES and 0 <= offsets[ordinals[stop]] - end <= _GAP_BYTES:
            end = offsets[ordinals[stop]] + lengths[ordinals[stop]]
            stop += 1
        block = read(start, end - start)
        for ordinal in ordinals[at:stop]:
            begin = offsets[ordinal] - start
            yield ordinal, block[begin : begin + lengths[ordinal] - 1]
        at = stop


def fetch_neighbours(index: Index, ordinals: range, read: Read) -> bytes:
    """Return the lines of adjacent records, each with its LF. If few bytes are between them, it is a single read.

    Args:
        index: has the offsets of the records.
        ordinals: the records.
        read: reads the log.
    """
    part = slice(ordinals.start, ordinals.stop)
    offsets, lengths = index.columns.offsets[part], index.columns.lengths[part]
    start, size = offsets[0], offsets[-1] + lengths[-1] - offsets[0]
    between = size - sum(lengths)
    if between > _SPAN_BYTES:
        return b"".join(line + b"\n" for _, line in fetch_lines(index, ordinals, read))
    block = read(start, size)
    if not between:
        return block
    places = zip(offsets, lengths, strict=True)
    return b"".join([block[offset - start : offset - start + length] for offset, length in places])


def checked(index: Index, lines: Iterable[Line], location: str) -> Iterator[Line]:
    """Yield lines after checking that they are unchanged since the index was made.

    Raises:
        LogUnreadableError: a line has changed.
    """
    flags, seeds, checks, crc = index.columns.flags, index.columns.seeds, index.columns.checks, crc32
    for ordinal, line in lines:
        check = checks[ordinal]
        if flags[ordinal] & FOREIGN:
            same = crc(line, seeds[ordinal]) == check
        else:
            same = line[-CRC_TAIL_BYTES:] == b',"_crc":"%08x"}' % check
            same = same and crc(b"}", crc(line[:-CRC_TAIL_BYTES], seeds[ordinal])) == check
        if not same:
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
    """Return the message of one verified line, with an id; errors as for `parsed`."""
    ordinal, content = line
    try:
        message = decode(content)
    except ValueError as error:
        reason = f"the record at {index.columns.offsets[ordinal]:,} cannot be read: {error}"
        raise LogUnreadableError(errno.EIO, reason, location) from error
    metadata = message.get("metadata")
    if not (isinstance(metadata, dict) and metadata.get("message_id")):
        given = metadata if isinstance(metadata, dict) else {}
        message["metadata"] = {**given, "message_id": message_id_of(message, content, index.columns.offsets[ordinal])}
    return message
