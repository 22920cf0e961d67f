"""Which messages of a log were ever part of its live history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from ..log.index import Index
from ..log.read_back import NumberedLine
from ..log.scanner import Scanner


class ScannedLog(Protocol):
    """A log that was scanned, wherever it is kept."""

    max_record_bytes: int
    scanner: Scanner

    @property
    def index(self) -> Index:
        """The index of all that is known."""
        ...

    def lines(self, ordinals: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Give records' lines as they were written, without LF, in the given order."""
        ...

    def whole_lines(self, start: int = 0) -> Iterator[NumberedLine]:
        """Give the lines from an offset on, in their order."""
        ...


def was_live(reader: ScannedLog) -> bytearray:
    """For each message of a log whether it ever was live."""
    scanner = Scanner(reader.max_record_bytes)
    index, found = scanner.index, bytearray(len(reader.index))
    live = index.live
    for line in reader.whole_lines():
        scanner.take(line.content, line.number, line.offset)
        if index.live is not live:
            for ordinal in live:
                found[ordinal] = 1
            live = index.live
    for ordinal in live:
        found[ordinal] = 1
    return found
