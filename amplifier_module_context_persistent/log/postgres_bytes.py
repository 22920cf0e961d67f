"""The rows of a log in PostgreSQL as the bytes that they are in a file."""

from __future__ import annotations

import errno
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import LogUnreadableError
from . import postgres_rows as rows
from .location import Location

if TYPE_CHECKING:
    import psycopg

    Ask = Callable[[Callable[[psycopg.Connection[Any]], Any]], Any]


class RowBytes:
    """The lines of a log by their offsets.

    Args:
        location: the server and the schema.
        ask: calls a function with a connection, and tries again where that breaks.
        find_log_id: the log's id, as it is known.
    """

    def __init__(self, location: Location, ask: Ask, find_log_id: Callable[[], int]) -> None:
        self._location, self._ask, self._find_log_id = location, ask, find_log_id
        self.starts: array[int] = array("Q")
        """Where each line begins: the offset that it has in a file."""

    def read(self, offset: int, size: int) -> bytes:
        """Read bytes of the log as it would be in a file."""
        starts, log_id = self.starts, self._find_log_id()
        first, stop = bisect_right(starts, offset) - 1, bisect_right(starts, offset + size - 1)

        def fetch(connection: psycopg.Connection[Any]) -> bytes:
            found = list(rows.read_lines(connection, self._location.schema, log_id, first, stop))
            if len(found) < stop - first:
                raise self._missing(first + len(found))
            return b"\n".join(found) + b"\n"

        start = offset - starts[first]
        content: bytes = self._ask(fetch)
        return content[start : start + size]

    def lines(self, end: int, start: int = 0) -> Iterator[bytes]:
        """Give the lines from one offset up to another, each with its LF, as they stand in the table."""
        number, stop = bisect_left(self.starts, start), bisect_left(self.starts, end)
        while number < stop:
            block = self._ask(partial(self.block, log_id=self._find_log_id(), start=number, stop=stop))
            number += len(block)
            yield from (line + b"\n" for line in block)

    def block(self, connection: psycopg.Connection[Any], *, log_id: int, start: int, stop: int) -> list[bytes]:
        """Some lines from number `start` on, at least one.

        Raises:
            LogUnreadableError: a line is missing.
        """
        lines = rows.read_block(connection, self._location.schema, log_id, start, stop)
        if not lines:
            raise self._missing(start)
        return lines

    def _missing(self, number: int) -> LogUnreadableError:
        reason = f"line {number + 1} is not in the database any more; if the log was purged just now, try again"
        return LogUnreadableError(errno.ENOENT, reason, self._location.shown)

    def lacks_newline(self) -> bool:
        """Whether the last line had no LF in the file that it was copied from."""
        last = partial(
            rows.has_no_newline,
            schema=self._location.schema,
            log_id=self._find_log_id(),
            number=len(self.starts) - 1,
        )
        return bool(self.starts) and bool(self._ask(last))
