"""Copy the messages of a file while it is scanned, so that each line is read and parsed once."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

from ...log.record_line import Message
from ...log.scanner import Scanner
from .copy_log import CopiedMessage, MessageCopier
from .spool import SpooledValues


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

    def feed_lines(self, lines: Iterable[bytes]) -> None:
        """Scan and parse whole lines, given with their LF; the first one begins at `offset`."""
        for line in lines:
            self.take(line[:-1], self.line + 1, self.offset)
            self.offset += len(line)

    def note_message(self, message: Message, message_id: str, line: bytes) -> None:
        """Copy a message."""
        ordinal = len(self.index) - 1
        if self._most is not None and ordinal >= self._most:
            return
        copied = self._copier.copied(ordinal, message, message_id, line, self.index.columns.id_hashes[ordinal])
        if copied is not None:
            self._places.append(self._aside.put(tuple(copied)))

    def copies(self) -> Iterator[CopiedMessage]:
        """Yield the copied messages, in order."""
        for place in self._places:
            yield CopiedMessage(*self._aside.get(place))
