"""Copy the messages of a file while it is scanned, so that each line is read and parsed once.

A bare line is a line without a checksum. Nearly all lines of the files that are copied in this way are bare and contain
one message. They are copied in one loop, which leaves every other line to the scanner.
"""

from __future__ import annotations

from zlib import crc32

import orjson

from ....log.checksum import CRC_TAIL_BYTES
from ....log.index import LIVE, ROLE_CODES, UNCHAINED, id_hash_of
from ....log.message_columns import Row
from ....log.record_limits import MAX_DEPTH, is_too_deep
from ....log.record_line import RESERVED_KEYS, Message, may_be_rounded, message_id_of
from ....log.salvage import has_role
from ....log.scanner import Scanner, whole_lines
from ..copy_log import CopiedMessage, MessageCopier
from ..importers.events import CopiedMessages
from .spool import RecordBodies, Spool


class CopyingScanner(Scanner):
    """A scanner that parses each line, and stores the body of each message.

    Args:
        max_record_bytes: longer lines are reported and skipped.
        copier: encodes the messages.
        spool: stores the bodies.
        most: the number of messages to copy, from the first one on; None for all.
    """

    def __init__(self, max_record_bytes: int, copier: MessageCopier, spool: Spool, most: int | None = None) -> None:
        super().__init__(max_record_bytes, finds_plain_users=False)
        self.copies = CopiedMessages(RecordBodies(spool))
        self._copier = copier
        self._most = most

    def feed(self, block: bytes) -> None:
        """Scan and parse the whole lines of a block that begins at `offset`; bytes after its last LF are ignored."""
        left = whole_lines(block)
        left.reverse()
        while left:
            if self.is_among_bare_messages:
                self._copy_bare(left)
            if left:
                line = left.pop()[:-1]  # a large line is in memory once
                self.take(line, self.line + 1, self.offset)
                self.offset += len(line) + 1

    def note_message(self, message: Message, message_id: str, line: bytes) -> None:
        """Copy a message."""
        ordinal = len(self.index) - 1
        if self._most is None or ordinal < self._most:
            hashed = self.index.columns.id_hashes[ordinal]
            self._store(self._copier.copied(ordinal, message, message_id, line, hashed))

    def _store(self, copied: CopiedMessage | None) -> None:
        """Store a copied message. None stands for a message that cannot be copied."""
        if copied is None:
            return
        _, role, own_id, body, has_timestamp, renamed_from, has_own_id = copied
        copies = self.copies
        if renamed_from is not None:
            copies.renamed[len(copies.ids)] = renamed_from
        copies.roles.append(ROLE_CODES[role])
        copies.ids.append(own_id)
        copies.bodies.append(body)
        copies.have_timestamp.append(has_timestamp)
        copies.have_own_id.append(has_own_id and renamed_from is None)

    def _copy_bare(self, left: list[bytes]) -> None:
        """Copy the messages of bare lines, up to a line that is anything else.

        Args:
            left: the next lines, each with its LF, the first one last. Lines that are copied are removed.
        """
        first = len(self.index)
        offset = self.offset
        check = self.seed
        computed = 0
        rows = list[Row]()
        while left:
            line = left.pop()[:-1]
            message = self._bare_message(line)
            if message is None:
                left.append(line + b"\n")
                break
            seed = check
            body_crc = crc32(line[:-CRC_TAIL_BYTES], seed)
            check = crc32(line[-CRC_TAIL_BYTES:], body_crc)
            computed = crc32(b"}", body_crc)
            message_id = message_id_of(message, line, offset)
            hashed = id_hash_of(message_id)
            ordinal = first + len(rows)
            if self._most is None or ordinal < self._most:
                self._store(self._copier.copied(ordinal, message, message_id, line, hashed, is_checked=True))
            role = ROLE_CODES[message["role"]]
            rows.append((offset, len(line) + 1, role, UNCHAINED | LIVE, hashed, seed, check, 0, 0))
            offset += len(line) + 1
        self.pass_bare_messages(rows, computed)

    def _bare_message(self, line: bytes) -> Message | None:
        """Return the message in a bare line, or None if the line is anything else or needs a closer look."""
        if len(line) >= self.max_record_bytes or line.rfind(b'"_crc"') != -1:
            return None
        try:
            message = orjson.loads(line)
        except orjson.JSONDecodeError:
            return None
        if type(message) is not dict or not has_role(message) or not RESERVED_KEYS.isdisjoint(message):
            return None
        if may_be_rounded(line, message) or is_too_deep(line, message, MAX_DEPTH):
            return None
        metadata = message.get("metadata")
        if metadata is None:
            return message
        is_plain = type(metadata) is dict and "pinned" not in metadata and "critical" not in metadata
        return message if is_plain else None
