"""From the lines of records to messages, checked against what the index was made from.

Every log reads through these two functions, so what changed in the storage since it was scanned is an error, and is
never handed out.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar
from zlib import crc32

import orjson

from ..errors import LogUnreadableError
from .bare_line import message_id_of
from .index import DAMAGED, UNCHAINED, Index
from .record import CRC_TAIL_BYTES, Message, decode

_FOREIGN = DAMAGED | UNCHAINED

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
            same = crc(line) == check
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
    flags, seeds, checks, crc, loads = index.flags, index.seeds, index.checks, crc32, orjson.loads
    for ordinal, line in lines:
        if not flags[ordinal] & _FOREIGN:  # what was written here, and so has its id
            check = checks[ordinal]
            try:
                message: Message = loads(line)
                same = crc(b"}", crc(line[:-CRC_TAIL_BYTES], seeds[ordinal])) == check
                same = same and message.pop("_crc") == f"{check:08x}"
                if same and "_json" not in message and "_reset" not in message and message["metadata"]["message_id"]:
                    yield message
                    continue
            except (ValueError, KeyError, TypeError):
                pass  # said below
        for _ in checked(index, [(ordinal, line)], location):
            pass
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
