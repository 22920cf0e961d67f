"""Read the rows of a log in PostgreSQL as lines with the offsets that they have in a file."""

from __future__ import annotations

import errno
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import LogUnreadableError
from ..database_location import Location
from ..index import Index
from . import rows
from .stored_lines import StoredLines

if TYPE_CHECKING:
    from .connection import Connection

    Ask = Callable[[Callable[[Connection], Any]], Any]


KEPT_BYTES = 4 << 20
"""The most bytes of recently read or appended lines that stay in memory, because a view needs such lines soon."""


class RowBytes:
    """The lines of a log by their offsets.

    Args:
        location: the server and the schema.
        ask: calls a function with a connection, and tries again if the connection breaks.
        stored: the lines by their numbers.
        check: raises an error if there is no log.
        on_read: called with the number of bytes of each block that is read.
    """

    def __init__(
        self,
        location: Location,
        ask: Ask,
        stored: StoredLines,
        check: Callable[[], object],
        on_read: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._location = location
        self._ask = ask
        self._stored = stored
        self._check = check
        self._on_read = on_read
        self._kept: dict[int, bytes] = {}
        self._kept_bytes = 0
        self.starts: array[int] = array("Q")
        """The offset that each line has in a file."""

    def _query(self, read: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call `read` with a connection and these arguments, and return the result."""
        self._check()
        return self._ask(lambda connection: read(connection, *arguments, **options))

    def fetch(self, index: Index, ordinals: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the ordinal and the line (without LF) of each record, in the given order.

        One query fetches many lines.
        """
        offsets = index.columns.offsets
        lengths = index.columns.lengths
        starts = self.starts
        first = 0
        while first < len(ordinals):
            stop = first
            size = 0
            while stop < len(ordinals) and size < rows.BLOCK_BYTES:
                size += lengths[ordinals[stop]]
                stop += 1
            group = ordinals[first:stop]
            numbers = [bisect_right(starts, offsets[ordinal]) - 1 for ordinal in group]
            lines = self._lines_with(numbers)
            for ordinal, number in zip(group, numbers, strict=True):
                line = lines[number]
                length = lengths[ordinal] - 1
                if len(line) == length:
                    yield ordinal, line
                else:  # a whole record within a damaged line
                    begin = offsets[ordinal] - starts[number]
                    yield ordinal, line[begin : begin + length]
            first = stop

    def _lines_with(self, numbers: Sequence[int]) -> dict[int, bytes]:
        """Return the lines with these numbers, from memory or from the server, by number.

        Raises:
            LogUnreadableError: a line is missing.
        """
        lines = {number: self._kept[number] for number in numbers if number in self._kept}
        wanted = sorted(set(numbers) - lines.keys())
        if wanted:
            fetched = self._query(self._stored.chosen, wanted)
            for number in wanted:
                if number not in fetched:
                    raise self._missing(number)
            self.keep(fetched)
            lines |= fetched
        return lines

    def find(self, index: Index, ordinals: Sequence[int], needle: bytes, *, ignores_case: bool) -> set[int]:
        """Return the ordinals of records whose rows contain the bytes, or may contain the bytes as escapes."""
        offsets = index.columns.offsets
        numbers = {ordinal: bisect_right(self.starts, offsets[ordinal]) - 1 for ordinal in ordinals}
        rows_to_search = sorted(set(numbers.values()))
        found = self._query(self._stored.find, rows_to_search, needle, ignores_case=ignores_case)
        return {ordinal for ordinal, number in numbers.items() if number in found}

    def all_kept(self, count: int) -> list[bytes]:
        """Return the first `count` lines of the log if all of these are in memory, else an empty list."""
        lines = [self._kept[number] for number in range(count) if number in self._kept]
        return lines if len(lines) == count else []

    def keep(self, lines: Mapping[int, bytes]) -> None:
        """Keep lines in memory, by their numbers; beyond `KEPT_BYTES`, drop the lines that were kept first."""
        for number, line in lines.items():
            self._kept_bytes += len(line) - len(self._kept.pop(number, b""))
            self._kept[number] = line
        while self._kept_bytes > KEPT_BYTES:
            self._kept_bytes -= len(self._kept.pop(next(iter(self._kept))))

    def lines(self, end: int, start: int = 0) -> Iterator[bytes]:
        """Yield the lines from offset `start` to before `end`, each with an LF."""
        number = bisect_left(self.starts, start)
        stop = bisect_left(self.starts, end)
        while number < stop:
            block = self._query(self.block, number, stop)
            number += len(block)
            yield from (line + b"\n" for line in block)

    def block(self, connection: Connection, start: int, stop: int) -> list[bytes]:
        """Read a block of lines from number `start` on: at least one line, at most up to before `stop`.

        Raises:
            LogUnreadableError: a line is missing.
        """
        lines = self._stored.block(connection, start, stop)
        if not lines:
            raise self._missing(start)
        self._on_read(sum(map(len, lines)) + len(lines))
        return lines

    def _missing(self, number: int) -> LogUnreadableError:
        reason = f"line {number + 1} is not in the database any more; if the log was purged just now, try again"
        return LogUnreadableError(errno.ENOENT, reason, self._location.shown)

    def lacks_newline(self) -> bool:
        """Return whether the last line had no LF in the file from which the log was copied."""
        last = len(self.starts) - 1
        return any(row.flags & rows.NO_NEWLINE for row in self._query(self._stored.columns, last, last + 1))
