"""From the lines of records to messages, checked against what the index was made from.

Every log reads through these two functions, so what changed in the storage since it was scanned is an error, and is
never handed out.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from struct import pack
from typing import Protocol, TypeVar
from zlib import crc32

import orjson

from ..errors import LogUnreadableError
from .bare_line import message_id_of
from .index import DAMAGED, UNCHAINED, Index
from .record import CRC_TAIL_BYTES, Message, decode

_FOREIGN = DAMAGED | UNCHAINED
_BATCH_LINES, _BATCH_BYTES = 64, 256 << 10

Line = tuple[int, bytes]
"""A record's ordinal, and its line without LF."""

T_co = TypeVar("T_co", covariant=True)


class Form(Protocol[T_co]):
    """What is made of the lines of records: `checked` or `parsed`."""

    def __call__(self, index: Index, lines: Iterable[Line], location: str, /) -> Iterator[T_co]:
        """Give one for each line."""
        ...


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
    batch: list[Line] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line[1])
        if len(batch) >= _BATCH_LINES or size >= _BATCH_BYTES:
            yield from _own(index, batch) or _any(index, batch, location)
            batch, size = [], 0
    yield from _own(index, batch) or _any(index, batch, location)


def _own(index: Index, batch: Sequence[Line]) -> list[Message]:
    """Parse and check lines together that were all written here; nothing if one is not what it was, or was not.

    The loops run inside of what is called: a read costs little more than its parsing.
    """
    ordinals = [ordinal for ordinal, _ in batch]
    checks = tuple(map(index.checks.__getitem__, ordinals))
    bodies = [line[:-CRC_TAIL_BYTES] for _, line in batch]
    computed = map(crc32, bodies, map(index.seeds.__getitem__, ordinals))
    if tuple(map(crc32, repeat(b"}"), computed)) != checks:
        return []
    try:
        messages: list[Message] = [orjson.loads(line) for _, line in batch]
        digits = "".join([message.pop("_crc") for message in messages])
        plain = all(
            [m["metadata"]["message_id"] and "_json" not in m and "_reset" not in m for m in messages]  # noqa: C419
        )
    except (ValueError, KeyError, TypeError):
        return []
    return messages if plain and digits == pack(f">{len(checks)}I", *checks).hex() else []


def _any(index: Index, batch: Sequence[Line], location: str) -> Iterator[Message]:
    """Parse lines one by one; what is wrong is said at its place."""
    for ordinal, line in checked(index, batch, location):
        offset = index.offsets[ordinal]
        try:
            message = decode(line)
        except ValueError as error:
            raise LogUnreadableError(
                errno.EIO, f"the record at {offset:,} cannot be read: {error}", location
            ) from error
        metadata = message.get("metadata")
        if not (isinstance(metadata, dict) and metadata.get("message_id")):
            known = metadata if isinstance(metadata, dict) else {}
            message["metadata"] = {**known, "message_id": message_id_of(message, line, offset)}
        yield message
