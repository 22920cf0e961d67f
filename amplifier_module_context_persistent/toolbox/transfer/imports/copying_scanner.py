"""Copy the messages of a file while it is scanned, so that each line is read and parsed once."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from ....log.record_line import Message
from ....log.scanner import Scanner, whole_lines
from ..copy_log import MessageCopier
from ..importers.events import SpooledMessage
from .spool import Spool, SpooledValues


class CopyingScanner(Scanner):
    """A scanner that parses each line, and stores the body of each message in a spool.

    Args:
        max_record_bytes: longer lines are reported and skipped.
        copier: encodes the messages.
        spool: stores the bodies.
        aside: stores the other facts of the messages.
        most: the number of messages to copy, from the first one on; None for all.
    """

    def __init__(
        self,
        max_record_bytes: int,
        copier: MessageCopier,
        spool: Spool,
        aside: SpooledValues,
        most: int | None = None,
    ) -> None:
        super().__init__(max_record_bytes, finds_plain_users=False)
        self._copier = copier
        self._spool = spool
        self._aside = aside
        self._most = most
        self._places = array("Q")

    def feed(self, block: bytes) -> None:
        """Scan and parse the whole lines of a block that begins at `offset`; bytes after its last LF are ignored."""
        left = whole_lines(block)
        left.reverse()
        while left:
            line = left.pop()[:-1]  # a large line is in memory once
            self.take(line, self.line + 1, self.offset)
            self.offset += len(line) + 1

    def note_message(self, message: Message, message_id: str, line: bytes) -> None:
        """Copy a message."""
        ordinal = len(self.index) - 1
        if self._most is not None and ordinal >= self._most:
            return
        copied = self._copier.copied(ordinal, message, message_id, line, self.index.columns.id_hashes[ordinal])
        if copied is None:
            return
        _, role, own_id, body, has_timestamp, renamed_from, named = copied
        place = self._spool.put(body)
        self._places.append(self._aside.put((role, own_id, place, len(body), has_timestamp, renamed_from, named)))

    def copies(self) -> Iterator[SpooledMessage]:
        """Yield the copied messages, in order."""
        for place in self._places:
            yield SpooledMessage(*self._aside.get(place))
