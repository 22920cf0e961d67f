"""`MemoryLog`: a log in memory that ends with its process, with the same records as `FileLog`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from .batch import prepare_part
from .checksum import seal
from .contract import LogDescription, Outcome, Prepare
from .index import Index
from .read_back import checked
from .record_limits import MAX_RECORD_BYTES
from .record_line import Message
from .scanner import Scanner
from .verified_pages import VerifiedPages


class MemoryLog:
    """A log in memory: the same records, kept as bytes in a list.

    Args:
        max_record_bytes: larger records are rejected.
    """

    def __init__(self, *, max_record_bytes: int = MAX_RECORD_BYTES) -> None:
        self._scanner = Scanner(max_record_bytes)
        self._records: list[bytes] = []
        self._pages = VerifiedPages("")
        self._lines: list[bytes] = []
        """The lines of the message records, by ordinal."""

    @property
    def index(self) -> Index:
        """The index of all records."""
        return self._scanner.index

    @property
    def waits_for_storage(self) -> bool:
        """Whether an append waits for storage: always false."""
        return False

    def follow(self) -> None:
        """Do nothing, because no other process can append."""

    def append(self, batch: Sequence[Prepare], *, wait: bool = True) -> list[Outcome]:
        """Append the records of each caller of a batch, and return the outcome of each caller.

        An exception in one caller's function is the outcome of this caller only.
        """
        outcomes: list[Outcome] = []
        for prepare in batch:
            part = prepare_part([prepare], self.index, self._scanner.max_record_bytes)
            outcomes += part.outcomes
            for body in part.bodies:
                line, _ = seal(body, self._scanner.seed)
                known = len(self.index)
                self._scanner.feed(line)
                self._keep(line, len(self.index) - known)
        return outcomes

    def _keep(self, line: bytes, messages: int) -> None:
        """Keep the line of a record. `messages` is 1 if the record is a message, 0 if it is a control record."""
        self._records.append(line)
        self._lines.extend([line[:-1]] * messages)

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse messages, in the given order. Each call returns new objects."""
        return chain.from_iterable(self._pages.read(self.index, ordinals, self._neighbours, self._lines_of))

    def lines(self, ordinals: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the ordinal and the line of each record, without LF, in the given order."""
        return checked(self.index, self._lines_of(ordinals), "")

    def _neighbours(self, ordinals: range) -> bytes:
        return b"\n".join([*self._lines[ordinals.start : ordinals.stop], b""])

    def _lines_of(self, ordinals: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        return ((ordinal, self._lines[ordinal]) for ordinal in ordinals)

    def records(self) -> Iterator[bytes]:
        """Return an iterator over the lines of all records, oldest first, each with its LF."""
        return iter(self._records)

    def stored_bytes(self) -> Iterator[bytes]:
        """Return the same lines as `records`."""
        return self.records()

    def describe(self) -> LogDescription:
        """Describe the log and its size."""
        return LogDescription("", size_bytes=self._scanner.offset)

    def close(self) -> None:
        """Do nothing. The records stay in memory as long as the log object."""
