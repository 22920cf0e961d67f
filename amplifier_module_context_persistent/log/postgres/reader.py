"""Read a log in PostgreSQL: scan it, follow it, and read single records. Nothing here writes, except to create a log.

The lines are scanned like a file's lines, with the offsets that they would have in a file. So damage, resets, and ids
that are derived from an offset are the same as for a file. If the columns of new rows have all facts for the index,
only the columns are read, and a line is verified when it is read. If a line fails this check, an error is raised, and
the next reading scans the log line by line, like a file.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

from ...errors import LogUnreadableError
from ..contract import FrameDamage, LogDescription
from ..count_lost import count_lost
from ..database_location import Location
from ..forked_process import is_child_of
from ..format_version import check_readable
from ..index import Index
from ..read_back import NumberedLine, checked, numbered_lines, parsed
from ..record_line import Message
from ..scanner import Scanner
from . import rows
from .connection import waiting_longer
from .index_columns import lines_to_read, scan_line, take_columns
from .replica import place_to_read
from .row_bytes import RowBytes
from .rows import Columns, Head, Row
from .server_connections import FIRST_SHARE, Server, ServerError, give_back, take_server
from .stored_lines import StoredLines

if TYPE_CHECKING:
    from .connection import Connection

logger = logging.getLogger(__name__)

_MOST_PURGES = 3
T = TypeVar("T")

_FEW_ROWS = 64  # the lines of so few rows are read directly, which costs less than two queries
_MOST_ROWS = 10_000  # the columns of this many rows are read at once


class PostgresReader:
    """A reader of a log in PostgreSQL.

    Args:
        location: the server, the schema and the name of the log.
        timeout_s: how long an answer of the server may take, in seconds.
        max_record_bytes: longer lines are reported and skipped.
        trusting: trust the columns of rows; if false, every line is read.
        on_read: called with the number of bytes read, for each block, to show progress.
    """

    def __init__(
        self,
        location: Location,
        *,
        timeout_s: float,
        max_record_bytes: int,
        trusting: bool = True,
        on_read: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.location = location
        self.shown = location.shown
        self.timeout_s = timeout_s
        self.max_record_bytes = max_record_bytes
        self._on_read = on_read
        self.lost_messages = 0
        """The number of messages that this object read and that are now missing in the log, without purged messages."""
        self._taken: Server | None = None
        self.stored = StoredLines(location.schema, self.shown)
        """The lines by their numbers."""
        self._trusting = trusting
        self.restored_messages = 0
        """The number of lost messages that were written again."""
        self._was_removed = False
        """Whether the log was removed while this object had it open. Then `append` does not create it again before a
        `close`."""
        self._timeline = ""
        """The timeline of the server when the log was last read; a failover begins a new timeline."""
        self._forget()

    def _forget(self) -> None:
        self.head: Head | None = None
        """The log's row at the last reading; None before the first reading, or if there is no such log."""
        self.scanner = Scanner(self.max_record_bytes)
        self.bytes = RowBytes(self.location, self._ask, self.stored, self._known, self._on_read)
        self._reading: Head | None = None
        """The log's row during a reading. A purge may delete its lines before the reading ends."""

    @property
    def index(self) -> Index:
        """The index of the records read so far; a new object after the log was read from the start again."""
        return self.scanner.index

    @property
    def _lines_known(self) -> int:
        """The number of lines in the index."""
        return len(self.bytes.starts)

    @property
    def _server(self) -> Server:
        """The connections of this process to the server. A forked process takes connections of its own."""
        if self._taken is None or is_child_of(self._taken.pid):
            self._taken = take_server(self._place)
        return self._taken

    @property
    def _place(self) -> Location:
        """The location that is read."""
        return place_to_read(self.location)

    def _known(self) -> Head:
        """Return the log's row at the last reading.

        Raises:
            LogUnreadableError: there is no such log.
        """
        if self.head is None:
            raise LogUnreadableError(errno.ENOENT, "there is no such log", self.shown)
        return self.head

    def describe(self) -> LogDescription:
        """Describe the log as of the last reading."""
        return LogDescription(
            self.shown,
            self.head is not None,
            self.scanner.offset,
            archived=self.head is not None and 0 < self.head.head <= self.head.archived,
            lost_messages=self.lost_messages,
            restored_messages=self.restored_messages,
        )

    def close(self) -> None:
        """Release the connection and drop the index; a later call opens the log again."""
        server = self._taken
        self._taken = None
        if server is not None:
            give_back(server)
        self._was_removed = False
        self.stored.forget()
        self._forget()

    def _ask(self, function: Callable[[Connection], T]) -> T:
        """Call a function that only reads, with a connection, and return its result.

        Raises:
            LogUnreadableError: the server cannot be queried, or refuses.
        """
        try:
            return self._server.ask(function, self.timeout_s, reached=lambda: self._lines_known)
        except ServerError as error:
            raise LogUnreadableError(
                errno.EIO, f"the log cannot be read from the server: {error}", self.shown
            ) from error

    def follow(self) -> None:
        """Read records that others appended.

        Raises:
            LogUnreadableError: the server cannot be queried, or the log was removed.
        """
        self._ask(self.take_in)

    def take_in(self, connection: Connection, *, create: bool = False, lock: bool = False) -> None:
        """Read new records. If a purge has replaced the log, read the log from the start again.

        Args:
            connection: the connection, in a transaction if `lock` is true.
            create: create the log if it does not exist.
            lock: lock the log's row until the transaction ends.

        Raises:
            LogUnreadableError: the log was removed while it was open, or another role has one of its name.
        """
        for _ in range(_MOST_PURGES):
            try:
                return self._take_in(connection, create=create, lock=lock)
            except LogUnreadableError:
                head = rows.read_head(connection, self.location.schema, self.location.name)
                if head is None or self._reading is None or head.key == self._reading.key:
                    raise
                self._forget()
        return self._take_in(connection, create=create, lock=lock)

    def _take_in(self, connection: Connection, *, create: bool, lock: bool) -> None:
        read_before = self.head
        if read_before is None and self._lines_known:
            read_before = self._reading
        head = self._read_head(connection, lock=lock)
        if head is None and self.head is not None:  # a purge may have ended during the wait for the row: query again
            head = self._read_head(connection, lock=lock)
        if head is None and self.head is not None and self._begin_anew(connection):
            head = self._read_head(connection, lock=lock)
            read_before = None  # the log may have another key now, and was not purged
        if head is None and (self._was_removed or self.head is not None):
            self._forget()
            self._was_removed = True
            raise LogUnreadableError(errno.ENOENT, "the log was removed while it was open", self.shown)
        if head is None and create:
            rows.create(connection, self.location.schema, self.location.name)
            head = self._read_head(connection, lock=lock)
            if head is None:
                reason = "another role has a log of this name, which row-level security hides; or it was just removed"
                raise LogUnreadableError(errno.EACCES, reason, self.shown)
        self._reading = head
        if head is None:
            return
        self._timeline = connection.timeline
        self.stored.follow(head)
        if head == self.head:  # the checksum in the row covers all lines
            self.head = head  # at another place perhaps
            return
        was_purged = read_before is not None and read_before.key != head.key
        self._read_new(connection, head, was_purged=was_purged)

    def _read_head(self, connection: Connection, *, lock: bool) -> Head | None:
        return rows.read_head(connection, self.location.schema, self.location.name, lock=lock)

    def _read_new(self, connection: Connection, head: Head, *, was_purged: bool) -> None:
        """Read the lines up to `head` that the index lacks.

        If the known lines are not in the log any more, read all lines.
        """
        known = self.index
        if was_purged:
            logger.warning("%s was replaced, as a purge does; reading it anew", self.shown)
        has_known_lines = not was_purged and self._continues(connection, head)
        if not has_known_lines:
            self._forget()
        with waiting_longer(connection, self.timeout_s * FIRST_SHARE):  # the total time depends on the log's size
            self._read_to(connection, head)
        self.head = head
        check_readable(self.index, self.shown)
        if has_known_lines or was_purged:
            return
        lost = count_lost(known, self.index)  # in a failover to a server that lagged
        if lost:
            self.lost_messages += lost
            logger.error("%s: %d messages that it held are gone; restore them from a backup", self.shown, lost)

    def _begin_anew(self, connection: Connection) -> bool:
        """Create a log again that a failover lost completely. Return False if the log may have been removed."""
        return False

    def _read_to(self, connection: Connection, head: Head) -> None:
        """Add the next rows to the index, block by block. After an error, the rows read so far stay in the index."""
        while self._trusting and head.head - self._lines_known > _FEW_ROWS:
            stop = min(head.head, self._lines_known + _MOST_ROWS)
            if not self._take_columns(connection, self._lines_known, stop):
                break
        while self._lines_known < head.head:
            self._take(self.bytes.block(connection, self._lines_known, head.head))

    def _take(self, lines: Sequence[bytes]) -> None:
        """Scan the next lines of the log, without LF."""
        for line in lines:
            self.bytes.starts.append(self.scanner.offset)
            scan_line(self.scanner, line)
        self.bytes.keep(dict(enumerate(lines, self._lines_known - len(lines))))

    def _take_columns(self, connection: Connection, start: int, stop: int) -> bool:
        """Add rows to the index by their columns. Return False, and do nothing, if columns or lines are missing."""
        columns = self.stored.columns(connection, start, stop)
        wanted = lines_to_read(columns)
        lines = self.stored.chosen(connection, [start + place for place in wanted])
        if len(columns) < stop - start or len(lines) < len(wanted):
            return False
        self._take_rows(columns, {place: lines[start + place] for place in wanted})
        self._on_read(sum(row.length for row in columns))
        return True

    def _take_stored(self, new: Sequence[Row], place: str) -> None:
        """Add rows to the index that this process has just stored after the last known row.

        `place` is the new place of the log's row (`Head.place`).
        """
        columns = [row.columns for row in new]
        if len(new) == 1:
            row = new[0]
            self.bytes.keep({self._lines_known: row.line})
            self.bytes.starts.append(self.scanner.offset)
            self.scanner.take_sealed(row.line + b"\n", row.columns.crc)
            self.head = self._known().after(new, place)
            return
        self.bytes.keep({number: row.line for number, row in enumerate(new, self._lines_known)})
        self._take_rows(columns, {place: new[place].line for place in lines_to_read(columns)})
        self.head = self._known().after(new, place)

    def _take_rows(self, columns: Sequence[Columns], lines: Mapping[int, bytes]) -> None:
        """Add the next rows of the log to the index. `lines` has the lines of some rows, by position in `columns`."""
        self.bytes.starts.extend(accumulate((row.length for row in columns[:-1]), initial=self.scanner.offset))
        take_columns(self.scanner, columns, lines)

    def lines(self, ordinals: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Yield the ordinal and the line of each record, without LF, in the given order.

        Raises:
            LogUnreadableError: a line does not match its row; the next reading scans the log line by line.
        """
        try:
            yield from checked(self.index, self.bytes.fetch(self.index, ordinals), self.shown)
        except LogUnreadableError as error:
            if self._trusting and error.errno == errno.EIO and not isinstance(error.__cause__, ServerError):
                self._trusting = False
                self._forget()
            raise

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse messages, in the given order. Each call returns new objects; errors as for `lines`."""
        return parsed(self.index, self.lines(ordinals), self.shown)

    def damaged_frames(self) -> list[FrameDamage]:
        """Return the damage of the archived frames that were read so far."""
        return self.stored.damage()

    def leftover_lines(self) -> int:
        """Count the rows under the log's id that are not lines of the log (`rows.count_leftover`)."""
        return self._ask(lambda connection: rows.count_leftover(connection, self.location.schema, self.location.name))

    def find_bytes(self, ordinals: Sequence[int], needle: bytes, *, ignores_case: bool) -> set[int]:
        """Let the server search the records at `ordinals`; return the ordinals whose lines may contain `needle`."""
        return self.bytes.find(self.index, ordinals, needle, ignores_case=ignores_case)

    def whole_lines(self, start: int = 0) -> Iterator[NumberedLine]:
        """Yield the indexed lines from an offset on, in order."""
        return numbered_lines((line[:-1] for line in self.bytes.lines(self.scanner.offset, start)), start)

    def records(self) -> Iterator[bytes]:
        """Yield the line of every indexed record, oldest first, each with its LF."""
        return (line.content + b"\n" for line in self.whole_lines())

    def stored_bytes(self) -> Iterator[bytes]:
        """Yield line by line the bytes that the log has as a file; the last line may lack its LF."""
        last = self.bytes.starts[-1] if self.bytes.lacks_newline() else self.scanner.offset
        yield from self.bytes.lines(last)
        yield from (line[:-1] for line in self.bytes.lines(self.scanner.offset, last))

    def _continues(self, connection: Connection, head: Head) -> bool:
        """Return whether the log still begins with the lines that were read, judged by the last line's checksum."""
        if not self._lines_known:
            return True
        last = self._lines_known - 1
        crc = self.head.crc if self.head is not None else self.scanner.seed
        found = self.stored.columns(connection, last, last + 1)
        return head.head > last and [row.crc for row in found] == [crc]
