"""Copy the messages of a file while it is scanned, so that each line is read and parsed once."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from ...log.record_line import Message
from ...log.scanner import Scanner, whole_lines
from .copy_log import CopiedMessage, MessageCopier
from .spool import LARGE_BYTES, SpooledValues


class CopyingScanner(Scanner):
    """A scanner that parses each line, and puts a copy of each message aside.

    Args:
        max_record_bytes: longer lines are reported and skipped.
        copier: encodes the messages.
        aside: stores the copies.
        most: the number of messages to copy, from the first one on; None for all.
    """

    def __init__(
        self, max_record_bytes: int, copier: MessageCopier, aside: SpooledValues, most: int | None = None
    ) -> None:
        super().__init__(max_record_bytes, finds_plain_users=False)
        self._copier = copier
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
        if copied is not None:
            self._places.append(self._aside.put(tuple(copied)))
        if len(line) > LARGE_BYTES:
            self._aside.write_out()

    def copies(self) -> Iterator[CopiedMessage]:
        """Yield the copied messages, in order."""
        for place in self._places:
            yield CopiedMessage(*self._aside.get(place))
