"""From the lines of records to messages, checked against what the index was made from.

Every log reads through these functions, so what changed in the storage since it was scanned is an error, and is
never handed out.
"""

from __future__ import annotations

import errno
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from zlib import crc32

import orjson

from ..errors import LogUnreadableError
from .bare_line import message_id_of
from .index import DAMAGED, UNCHAINED, Index
from .record import CRC_TAIL_BYTES, Message, decode

_FOREIGN = DAMAGED | UNCHAINED
BATCH_LINES, _BATCH_BYTES = 512, 256 << 10

Line = tuple[int, bytes]
"""A record's ordinal, and its line without LF."""


def checked(index: Index, lines: Iterable[Line], location: str) -> Iterator[Line]:
    """Give lines on that are what they were when the index was made.

    Raises:
        LogUnreadableError: one is not.
    """
    flags, seeds, checks, crc = index.flags, index.seeds, index.checks, crc32
    for ordinal, line in lines:
        check = checks[ordinal]
        if flags[ordinal] & _FOREIGN:
            same = crc(line, seeds[ordinal]) == check
        else:
            same = line[-CRC_TAIL_BYTES:] == b',"_crc":"%08x"}' % check
            same = same and crc(b"}", crc(line[:-CRC_TAIL_BYTES], seeds[ordinal])) == check
        if not same:
            where = f"the record at {index.offsets[ordinal]:,}"
            reason = f"{where} was changed since it was read; close the log, and run verify to see what it holds now"
            raise LogUnreadableError(errno.EIO, reason, location)
        yield ordinal, line


def parsed(index: Index, lines: Iterable[Line], location: str) -> Iterator[Message]:
    """Parse the messages of checked lines afresh, each with an id.

    Raises:
        LogUnreadableError: as `checked`; or a line cannot be parsed.
    """
    ordinals, batch, size = list[int](), list[bytes](), 0
    for ordinal, line in lines:
        ordinals.append(ordinal)
        batch.append(line)
        size += len(line)
        if len(batch) >= BATCH_LINES or size >= _BATCH_BYTES:
            yield from parsed_together(index, ordinals, batch, location)
            ordinals, batch, size = [], [], 0
    yield from parsed_together(index, ordinals, batch, location)


def parsed_together(
    index: Index, ordinals: Sequence[int], lines: Sequence[bytes], location: str, *, known: bool = False
) -> Iterable[Message]:
    """Parse the messages of a few lines, as `parsed`; a list if all of them verified by the checksums that they carry.

    Args:
        index: what the lines are checked against.
        ordinals: the records.
        lines: their lines without LF.
        location: names the log in errors.
        known: whether they verified so before, and have the same bytes.
    """
    return _own(index, ordinals, lines, known=known) or _any(index, zip(ordinals, lines, strict=True), location)


def _own(index: Index, ordinals: Sequence[int], lines: Sequence[bytes], *, known: bool) -> list[Message]:
    """Parse and check lines together that were all written here; nothing if one is not what it was, or was not.

    The loops run inside of what is called: a read costs little more than its parsing.
    """
    seeds, checks = _sums_of(index, () if known else ordinals)
    if not (known or _continue_the_chain(lines, seeds, checks)):
        return []
    try:
        messages: list[Message] = list(map(orjson.loads, lines))
        digits = [message.pop("_crc") for message in messages]
        same = known or "".join(digits) == _big_endian(checks).hex()
        odd = [
            at
            for at, message in enumerate(messages)
            if not message["metadata"]["message_id"] or "_json" in message or "_reset" in message
        ]
    except (ValueError, KeyError, TypeError):
        return []
    for at in odd if same else ():
        messages[at] = _decoded(index, ordinals[at], lines[at])
    return messages if same else []


def _sums_of(index: Index, ordinals: Sequence[int]) -> tuple[array[int], array[int]]:
    """The seeds and the checks of records; those of neighbours are copied together."""
    if ordinals and ordinals[-1] - ordinals[0] == len(ordinals) - 1:
        first, stop = ordinals[0], ordinals[-1] + 1
        if list(ordinals) == list(range(first, stop)):
            return index.seeds[first:stop], index.checks[first:stop]
    seeds, checks = map(index.seeds.__getitem__, ordinals), map(index.checks.__getitem__, ordinals)
    return array("I", seeds), array("I", checks)


def _big_endian(numbers: array[int]) -> bytes:
    copied = numbers[:]
    if sys.byteorder == "little":
        copied.byteswap()
    return copied.tobytes()


def _continue_the_chain(lines: Sequence[bytes], seeds: array[int], checks: array[int]) -> bool:
    """Whether lines, but for their last bytes with the checksum, are what they were.

    A record's checksum is the seed of the one after it. So neighbours have one CRC together: that of their bodies, each
    with its closing brace, is the checksum of the last one.
    """
    bodies, start, breaks = [line[:-CRC_TAIL_BYTES] for line in lines], 0, list[int]()
    if seeds[1:] != checks[:-1]:
        breaks = [stop for stop, (check, seed) in enumerate(zip(checks, seeds[1:], strict=False), 1) if check != seed]
    for stop in (*breaks, len(bodies)) if bodies else ():
        if crc32(b"}", crc32(b"}".join(bodies[start:stop]), seeds[start])) != checks[stop - 1]:
            return False
        start = stop
    return True


def _any(index: Index, batch: Iterable[Line], location: str) -> Iterator[Message]:
    """Parse lines one by one; what is wrong is said at its place."""
    for ordinal, line in checked(index, batch, location):
        try:
            message = _decoded(index, ordinal, line)
        except ValueError as error:
            reason = f"the record at {index.offsets[ordinal]:,} cannot be read: {error}"
            raise LogUnreadableError(errno.EIO, reason, location) from error
        yield message


def _decoded(index: Index, ordinal: int, line: bytes) -> Message:
    message = decode(line)
    metadata = message.get("metadata")
    if not (isinstance(metadata, dict) and metadata.get("message_id")):
        given = metadata if isinstance(metadata, dict) else {}
        message["metadata"] = {**given, "message_id": message_id_of(message, line, index.offsets[ordinal])}
    return message
