"""`PostgresLog`: a log in PostgreSQL, for sessions that several machines share or that outlive their machine.

Each line of the log is a row with the bytes of a file's line. So checksums, format and every reader are the same, and a
session moves between file and database byte for byte. Rules:
- An append is one statement, which does nothing if the log has changed meanwhile. Then the new lines are read, the
  records are prepared again, and the log's row is locked for that. No lock outlives a transaction.
- **An unknown outcome** (the connection broke after a statement was sent) is decided under the lock of the log's row,
  by comparing the lines at the append's numbers with the sent lines. The old statement cannot be executed later, since
  the log's head has moved on by then. "Not stored" is reported only after such a decision. If none is possible before
  the deadline, the append fails with `LogFailedError`, and the next append begins with the decision.
- Acknowledged records that are missing (a failover to a lagging server) are reported; the log is never taken for a new
  one.

`lock_timeout_s` limits the wait for the connection, for an unreachable server, and for each of its answers. Reading a
long log takes many answers, and continues at the same place after a broken connection.
"""

from __future__ import annotations

import errno
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...errors import AppendError, LogFailedError
from ..batch import append_in_parts, prepare_part
from ..checksum import seal
from ..contract import Outcome, Prepare
from ..database_location import Location, parse_location, without_password
from ..forked_process import is_child_of
from ..record_limits import MAX_RECORD_BYTES
from ..scanner import Scanner
from . import rows
from .append_one_row import append_one_row
from .erasure_rows import is_log_deleted
from .index_columns import row_of, row_of_sealed
from .open_marks import mark_key
from .reader import PostgresReader
from .rows import Head, Row
from .server_connections import FIRST_SHARE, PAUSE_S, Server, ServerError, is_refusal, timeline_of
from .sqlstates import CONFLICTS, LOCK_NOT_AVAILABLE, READ_ONLY

if TYPE_CHECKING:
    from .connection import Connection

logger = logging.getLogger(__name__)

_RETRIED = frozenset({*CONFLICTS, LOCK_NOT_AVAILABLE, "57014", READ_ONLY})
"""SQLSTATE: serialization failure, deadlock, lock not available, query cancelled, read-only. Nothing was done."""


class _LogDeletedError(Exception):
    """The log was deleted, or this may be so."""


@dataclass(frozen=True, slots=True)
class _SentRows:
    """Lines that were sent to the server.

    Attributes:
        after: the log's row before these lines.
        rows: the lines.
        outcomes: the outcomes of their callers, valid once the lines are stored.
        place: the place of the log's row after the lines were stored (`Head.place`); "" if it is unknown.
    """

    after: Head
    rows: list[Row]
    outcomes: list[Outcome]
    place: str = ""


class PostgresLog(PostgresReader):
    """A log in a PostgreSQL database: a `PostgresReader` that can append.

    Args:
        location: `postgresql://…#NAME` or `service=… #NAME`; see `database_location`.
        durability: `fsync` waits until the server has a record on its disk, and also a replica if `synchronous_commit`
            requires it (`off` is overruled); `write` does not wait, so a crash of the server may lose the last records.
        lock_timeout_s: how long an operation may wait for the server, in seconds.
        max_record_bytes: the size limit of a record. Larger records are rejected by `append`, and reported and skipped
            when the log is read.
        trusting: build the index from the columns of sound records; else read and verify every line.
        marks_open: mark the log as open (`open_marks`), as a session does.
        on_read: is called with the number of bytes read, for each block.

    Raises:
        ValueError: the location is invalid.
    """

    def __init__(
        self,
        location: str,
        *,
        durability: str = "fsync",
        lock_timeout_s: float = 10.0,
        max_record_bytes: int = MAX_RECORD_BYTES,
        trusting: bool = True,
        marks_open: bool = False,
        on_read: Callable[[int], None] = lambda _: None,
    ) -> None:
        super().__init__(
            parse_location(location),
            timeout_s=lock_timeout_s,
            max_record_bytes=max_record_bytes,
            trusting=trusting,
            on_read=on_read,
        )
        without_password(location)  # so that what `describe` names can be opened in this process
        self._durable = durability == "fsync"
        self._sent: _SentRows | None = None
        """The sent lines of the current append, which may be stored."""
        self._unresolved: _SentRows | None = None
        """The sent lines of an earlier append whose outcome is unknown."""
        self._marks_open = marks_open and self.location.prepares
        self._marked_in: Server | None = None
        """The server in which the log is marked as open."""
        self._is_mark_doubtful = False
        self._has_written = False

    @property
    def _place(self) -> Location:
        """The location that is read: never a replica, which may be behind."""
        return self.location

    @property
    def waits_for_storage(self) -> bool:
        """Whether an append waits for a server: always true."""
        return True

    def append(self, batch: Sequence[Prepare], *, wait: bool = True) -> list[Outcome]:
        """Append the records of each caller of a batch, and return the outcome of each caller.

        Each part of the batch (`batch`) is one statement, and so is a whole reset.

        Args:
            batch: each caller's function; an exception in one function rejects only its caller.
            wait: if false, raise BlockingIOError, because an append always waits for the server.

        Raises:
            AppendError: the server refused, or nothing could be sent before the deadline; nothing is stored.
            LogFailedError: the server did not confirm before the deadline whether the records are stored; the next
                append finds out.
            LogUnreadableError: the log cannot be read, or was removed.
        """
        if not wait:
            raise BlockingIOError(errno.EWOULDBLOCK, "a server is to be waited for", self.shown)
        outcomes = append_in_parts(batch, self._append_part, wait=wait)
        self._has_written = True
        self._mark()
        return outcomes

    def follow(self) -> None:
        """Read records that others appended, and mark the log as open; errors as in `PostgresReader`."""
        super().follow()
        self._mark()

    def close(self) -> None:
        """Release the connection and the mark, and drop the index; a later call opens the log again."""
        server = self._marked_in
        self._marked_in = None
        if server is not None and not is_child_of(server.pid):
            server.marks.give_back(mark_key(self.location))
        super().close()

    def _begin_anew(self, connection: Connection) -> bool:
        """Create the log again if a failover to a lagging replica lost all of it. Return whether the log exists again.

        The lines are written again unchanged, if all of them are still in memory. A log that was removed on the same
        server stays removed. So does a log that was deleted after the failover, as the list of erasures says. The list
        is read after the new row is there: then a deletion by another client has ended before, or finds the new row.
        """
        timeline_before = self._timeline
        timeline = connection.timeline and timeline_of(connection)
        may_be_failover = timeline_before and timeline and timeline_before != timeline
        if not self._has_written or not may_be_failover:
            return False
        schema = self.location.schema
        messages = len(self.index)
        scanner = Scanner(self.max_record_bytes)
        new = [row_of(line, scanner) for line in self.bytes.all_kept(self._lines_known)]
        restored = None
        try:
            with connection.transaction():
                rows.limit_waits(connection, limit_s=self.timeout_s)
                # with its generation, so that a line whose outcome is unknown is looked for in it
                begun = rows.create(connection, schema, self.location.name, generation=self._known().generation)
                if begun is None:
                    return True  # another process of this session has done it
                self._check_not_deleted(connection)
                if new:
                    restored = rows.append(connection, schema, begun, new, durable=self._durable)
        except _LogDeletedError as error:
            logger.error("%s: not begun anew after a failover: %s", self.shown, error)  # noqa: TRY400 - no fault of ours
            return False
        self.lost_messages += messages
        if restored is not None:
            self.restored_messages += messages
            self.head = restored
        else:
            self._forget()
        logger.error(
            "%s was lost by a failover; begun anew with %d of its %d messages", self.shown, len(self.index), messages
        )
        return True

    def _check_not_deleted(self, connection: Connection) -> None:
        """Raise an error if the list of erasures names this log. Also if it cannot be read: the log may be in it."""
        ids = [str(header["log_id"]) for header in self.index.headers if header.get("log_id")]
        session_id = self.location.name.rpartition("/")[2]
        is_deleted = is_log_deleted(connection, self.location.schema, ids, session_id)
        if is_deleted is None:
            raise _LogDeletedError("this role may not read the list of erasures, so it may have been deleted")
        if is_deleted:
            raise _LogDeletedError("it was deleted")

    def _mark(self) -> None:
        """Mark the log as open, if it exists."""
        if not self._marks_open or not self.describe().exists:
            return
        server = self._server
        if self._marked_in is not server:
            self._marked_in = server
            server.marks.take(mark_key(self.location))
        elif self._is_mark_doubtful:
            server.marks.check()
        self._is_mark_doubtful = False

    def _append_part(self, batch: Sequence[Prepare], *, wait: bool) -> list[Outcome]:
        """Append the first part of a batch, and return the outcomes of its callers. Try again until the deadline."""
        end = time.monotonic() + self.timeout_s
        deadline = end - self.timeout_s * (1 - FIRST_SHARE)
        lock = self._unresolved is not None
        lines_read = self._lines_known
        self._sent = None
        while True:
            try:
                with self._server.connected(deadline) as connection:
                    sent = self._attempt(connection, batch, lock=lock)
                if sent is not None:
                    return sent.outcomes
            except ServerError as error:
                if self._lines_known > lines_read:  # the reading of the log made progress, so its time begins again
                    lines_read = self._lines_known
                    end = time.monotonic() + self.timeout_s
                self._after_failure(error, end)
            deadline = end
            lock = True

    def _attempt(self, connection: Connection, batch: Sequence[Prepare], *, lock: bool) -> _SentRows | None:
        """Send the first part of a batch, and return it; None if nothing was stored because the log has changed.

        Raises:
            ServerError: the server refused, or the connection broke.
        """
        connection.is_unreplicated = False
        if self.head is None:  # before the transaction, because a rollback must not remove the new log
            self.take_in(connection, create=True)
            in_time = time.monotonic() + self.timeout_s * FIRST_SHARE
            connection.deadline = max(connection.deadline, in_time)
        if lock:
            rows.begin(connection, limit_s=self.timeout_s)
        sent_before = self._sent
        sent = self._send(connection, batch, lock=lock)
        if lock and sent is sent_before:  # it only found the lines stored; a refused commit does not remove them
            connection.execute(b"commit")
        elif lock:
            with self._forgetting_refused():
                connection.execute(b"commit")
        if self._durable and connection.is_unreplicated:
            raise ServerError("the server gave up waiting for its replica")
        if sent is not None:
            self._acknowledge(connection, sent)
        return sent

    def _send(self, connection: Connection, batch: Sequence[Prepare], *, lock: bool) -> _SentRows | None:
        """Send the first part of a batch, and return it; None if the log has changed.

        If an earlier attempt sent lines, first find out whether these are stored. `_sent` keeps the sent lines if an
        error leaves it unknown whether the server has stored them.

        Args:
            connection: the connection; a transaction is open on it if `lock` is true.
            batch: the callers' functions.
            lock: whether to lock the log's row and read the log to its end first.

        Returns:
            The stored lines. None if the server stored nothing because the log has changed since it was read.
        """
        if lock:
            self.take_in(connection, lock=True)
        sent_before = self._sent
        if sent_before is not None and self._is_stored(connection, sent_before):
            return sent_before
        self._sent = None
        part = prepare_part(batch, self.index, self.max_record_bytes)
        if not part.bodies and not lock:  # no statement will show whether the log has changed, so read it
            self.take_in(connection)
            part = prepare_part(batch, self.index, self.max_record_bytes)
        known = self._known()
        if lock:
            known = replace(known, place="")  # nobody else can move the row now, so no hint is needed
        new = self._rows_of(part.bodies)
        sent = _SentRows(known, new, part.outcomes)
        if not new:
            return sent
        self._sent = sent
        stored = self._store(connection, sent)
        if stored is None:
            self._sent = None
            return None
        return replace(sent, place=stored.place)

    def _store(self, connection: Connection, sent: _SentRows) -> Head | None:
        """Append rows on the server, and return the log's row. None if the log has changed; then nothing is stored."""
        schema = self.location.schema
        durable = self._durable
        touches = connection.touches
        with self._forgetting_refused():
            if len(sent.rows) == 1:
                return append_one_row(connection, schema, sent.after, sent.rows[0], durable=durable, touches=touches)
            return rows.append(connection, schema, sent.after, sent.rows, durable=durable, touches=touches)

    def _rows_of(self, bodies: Sequence[bytes]) -> list[Row]:
        """Make the rows for new records after the known end of the log."""
        if len(bodies) == 1:
            line, crc = seal(bodies[0], self.scanner.seed)
            row = row_of_sealed(line, crc, self.scanner)
            if row is not None:
                return [row]
        new = list[Row]()
        scanner = Scanner(self.max_record_bytes)
        scanner.go_on(self.scanner)
        for body in bodies:
            line, _ = seal(body, scanner.seed)
            new.append(row_of(line[:-1], scanner))
        return new

    @contextmanager
    def _forgetting_refused(self) -> Iterator[None]:
        """Clear `_sent` if the server refuses a statement in a block, because the lines were rolled back then."""
        try:
            yield
        except Exception as error:
            if is_refusal(error):
                self._sent = None
            raise

    def _is_stored(self, connection: Connection, sent: _SentRows) -> bool:
        """Return whether the sent lines are in the log. The log must have been read to its end, and its row be locked.

        Raises:
            LogFailedError: the outcome is unknown, because the log was purged.
        """
        first = sent.after.head
        if self._known().generation != sent.after.generation:
            reason = "the log was purged before it was known whether this is stored"
            raise LogFailedError(errno.EIO, reason, self.shown)
        stop = first + len(sent.rows)
        found = self.stored.lines(connection, first, stop)
        return list(found) == [row.line for row in sent.rows]

    def _acknowledge(self, connection: Connection, sent: _SentRows) -> None:
        """Add stored lines to the index, unless they were read already.

        An earlier append may have ended without an answer of the server (`_unresolved`). Now its outcome is found out,
        and logged as a warning. This cannot be done before new lines are stored: until then, the server may still store
        the earlier lines.
        """
        if self._unresolved is not None and sent.rows:
            try:
                became = "is stored" if self._is_stored(connection, self._unresolved) else "was not stored"
            except LogFailedError:
                became = "may have been stored: the log was purged since"
            logger.warning("%s: the append that ended without an answer %s", self.shown, became)
            self._unresolved = None
        if sent.rows and self._lines_known == sent.after.head:
            self._take_stored(sent.rows, sent.place)
        self._sent = None

    def _after_failure(self, error: ServerError, end: float) -> None:
        """Pause and return if the append may be tried again; else raise. `_sent` keeps lines that may be stored.

        Raises:
            AppendError: the server refused, or the deadline passed before anything was sent; nothing is stored.
            LogFailedError: the deadline passed, and it is unknown whether the records are stored.
        """
        shown = self.shown
        self._is_mark_doubtful = True  # the connection of the mark may be lost too
        refused = error.is_refusal and error.sqlstate not in _RETRIED
        if not refused and time.monotonic() < end:
            time.sleep(PAUSE_S)
            return
        if self._sent is None:
            what = "the server refused" if error.is_refusal else "the server cannot be reached"
            code = errno.EIO if error.is_refusal else errno.ETIMEDOUT
            raise AppendError(code, f"{what}: {error}; nothing is stored", shown) from error
        self._unresolved = self._sent
        reason = f"the server did not say whether this is stored ({error}); the next append finds out"
        raise LogFailedError(errno.EIO, reason, shown) from error
