"""From the lines of records to messages, checked against what the index was made from.

Every log reads through these functions, so what changed in the storage since it was scanned is an error, and is
never handed out.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from zlib import crc32

from ..errors import LogUnreadableError
from .index import DAMAGED, UNCHAINED, Index
from .record import CRC_TAIL_BYTES, Message, decode, message_id_of

_FOREIGN = DAMAGED | UNCHAINED

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
    """Parse the messages of verified lines afresh, each with an id.

    Raises:
        LogUnreadableError: a line cannot be parsed; and as the lines raise it.
    """
    for ordinal, line in lines:
        try:
            message = decode(line)
        except ValueError as error:
            reason = f"the record at {index.offsets[ordinal]:,} cannot be read: {error}"
            raise LogUnreadableError(errno.EIO, reason, location) from error
        metadata = message.get("metadata")
        if not (isinstance(metadata, dict) and metadata.get("message_id")):
            given = metadata if isinstance(metadata, dict) else {}
            message["metadata"] = {**given, "message_id": message_id_of(message, line, index.offsets[ordinal])}
        yield message
