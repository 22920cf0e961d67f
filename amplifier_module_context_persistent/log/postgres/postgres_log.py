"""`PostgresLog`: a log in PostgreSQL, for sessions that several machines share or that outlive their machine.

Each line of the log is a row with the bytes of a file's line. So checksums, format and every reader are the same, and a
session moves between file and database byte for byte. Rules:
- An append is one statement, which does nothing if another client has changed the log. Then the new lines are read, the
  records are prepared again, and the log's row is locked for that. No lock outlives a transaction.
- If the connection broke after a statement was sent, `unknown_outcome` decides under the lock whether its lines are
  stored. If that is not possible before the deadline, the append fails with `LogFailedError`.
- Acknowledged records that are missing (a failover to a lagging server) are reported; the log is never taken for a new
  one. A log that is missing whole is created again (`begin_after_failover`).

`lock_timeout_s` limits the wait for the connection, for an unreachable server, and for each of its answers. Reading a
long log takes many answers, and continues at the same place after a broken connection.
"""

from __future__ import annotations

import errno
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import AppendError
from ..batch import Part, append_in_parts, prepare_part
from ..checksum import seal
from ..contract import Outcome, Prepare
from ..database_location import Location, parse_location, without_password
from ..record_limits import MAX_RECORD_BYTES
from ..scanner import Scanner
from . import rows
from .append_one_row import append_one_row
from .begin_after_failover import LogDeletedError, LogExistsError, LostLog, create_again, may_be_failover
from .index_columns import row_of, row_of_sealed
from .reader import PostgresReader
from .rows import Head, Row
from .server_connections import FIRST_SHARE, PAUSE_S, ServerError
from .session_mark import SessionMark
from .sqlstates import CONFLICTS, LOCK_NOT_AVAILABLE, READ_ONLY
from .unknown_outcome import SentRows, UnknownOutcome

if TYPE_CHECKING:
    from .connection import Connection

logger = logging.getLogger(__name__)

_RETRIED = frozenset({*CONFLICTS, LOCK_NOT_AVAILABLE, "57014", READ_ONLY})
"""The SQLSTATE codes after which an append is tried again, because the server stored nothing: serialization failure,
deadlock, lock not available, query cancelled, read-only."""


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
        self._outcome = UnknownOutcome(self.shown, self.stored, self._known)
        self._mark: SessionMark | None = None
        if marks_open and self.location.prepares:
            self._mark = SessionMark(self.location)
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
        self._keep_mark()
        return outcomes

    def follow(self) -> None:
        """Read records that others appended, and mark the log as open; errors as in `PostgresReader`."""
        super().follow()
        self._keep_mark()

    def close(self) -> None:
        """Release the connection and the mark, and drop the index; a later call opens the log again."""
        if self._mark is not None:
            self._mark.give_back()
        super().close()

    def _keep_mark(self) -> None:
        """Mark the log as open, if it exists."""
        if self._mark is not None and self.describe().exists:
            self._mark.keep(self._server)

    def _begin_anew(self, connection: Connection) -> bool:
        """Create the log again if a failover lost all of it, and it was not deleted. Return whether it exists again."""
        if not self._has_written or not may_be_failover(self._timeline, connection):
            return False
        messages = len(self.index)
        scanner = Scanner(self.max_record_bytes)
        new = [row_of(line, scanner) for line in self.bytes.all_kept(self._lines_known)]
        log_ids = [str(header["log_id"]) for header in self.index.headers if header.get("log_id")]
        lost = LostLog(self.location, self._known().generation, log_ids, new)
        try:
            restored = create_again(connection, lost, limit_s=self.timeout_s, durable=self._durable)
        except LogExistsError:
            return True
        except LogDeletedError as error:
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

    def _append_part(self, batch: Sequence[Prepare], *, wait: bool) -> list[Outcome]:
        """Append the first part of a batch, and return the outcomes of its callers. Try again until the deadline."""
        end = time.monotonic() + self.timeout_s
        deadline = end - self.timeout_s * (1 - FIRST_SHARE)
        lock = self._outcome.begin_append()
        lines_read = self._lines_known
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

    def _attempt(self, connection: Connection, batch: Sequence[Prepare], *, lock: bool) -> SentRows | None:
        """Store the first part of a batch, and return it; None if nothing was stored because the log has changed.

        Raises:
            ServerError: the server refused, or the connection broke.
        """
        connection.is_unreplicated = False
        if self.head is None:  # before the transaction, because a rollback must not remove the new log
            self.take_in(connection, create=True)
            in_time = time.monotonic() + self.timeout_s * FIRST_SHARE
            connection.deadline = max(connection.deadline, in_time)
        if lock:
            sent = self._append_locked(connection, batch)
        else:
            sent = self._append_if_unchanged(connection, batch)
        if self._durable and connection.is_unreplicated:
            raise ServerError("the server gave up waiting for its replica")
        if sent is not None:
            self._acknowledge(connection, sent)
        return sent

    def _append_locked(self, connection: Connection, batch: Sequence[Prepare]) -> SentRows | None:
        """Append with the log's row locked, after the log was read to its end.

        If an earlier attempt sent lines that are stored, return these.
        """
        rows.begin(connection, limit_s=self.timeout_s)
        self.take_in(connection, lock=True)
        stored = self._outcome.find_stored(connection)
        if stored is not None:
            connection.execute(b"commit")  # a refused commit does not remove the lines
            return stored
        part = prepare_part(batch, self.index, self.max_record_bytes)
        known = replace(self._known(), place="")  # nobody else can move the row now, so no hint is needed
        sent = self._send(connection, part, known)
        with self._outcome.forgetting_refused():
            connection.execute(b"commit")
        return sent

    def _append_if_unchanged(self, connection: Connection, batch: Sequence[Prepare]) -> SentRows | None:
        """Append with one statement, which does nothing if the log has changed."""
        part = prepare_part(batch, self.index, self.max_record_bytes)
        if not part.bodies:  # no statement will show whether the log has changed, so read it
            self.take_in(connection)
            part = prepare_part(batch, self.index, self.max_record_bytes)
        return self._send(connection, part, self._known())

    def _send(self, connection: Connection, part: Part, known: Head) -> SentRows | None:
        """Send the records of a part, and return the stored lines; None if the log has changed since it was read."""
        sent = SentRows(known, self._rows_of(part.bodies), part.outcomes)
        if not sent.rows:
            return sent
        with self._outcome.sending(sent):
            stored = self._store(connection, sent)
        if stored is None:
            self._outcome.forget()
            return None
        return replace(sent, place=stored.place)

    def _store(self, connection: Connection, sent: SentRows) -> Head | None:
        """Append rows on the server, and return the log's row. None if the log has changed; then nothing is stored."""
        schema = self.location.schema
        durable = self._durable
        touches = connection.touches
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

    def _acknowledge(self, connection: Connection, sent: SentRows) -> None:
        """Add stored lines to the index, unless they were read already."""
        if sent.rows:
            self._outcome.settle_earlier(connection)
            if self._lines_known == sent.after.head:
                self._take_stored(sent.rows, sent.place)
        self._outcome.forget()

    def _after_failure(self, error: ServerError, end: float) -> None:
        """Pause and return if the append may be tried again; else raise.

        Raises:
            AppendError: the server refused, or the deadline passed before anything was sent; nothing is stored.
            LogFailedError: the deadline passed, and it is unknown whether the records are stored.
        """
        if self._mark is not None:
            self._mark.doubt()
        refused = error.is_refusal and error.sqlstate not in _RETRIED
        if not refused and time.monotonic() < end:
            time.sleep(PAUSE_S)
            return
        if self._outcome.may_be_stored:
            raise self._outcome.leave_open(error) from error
        what = "the server refused" if error.is_refusal else "the server cannot be reached"
        code = errno.EIO if error.is_refusal else errno.ETIMEDOUT
        raise AppendError(code, f"{what}: {error}; nothing is stored", self.shown) from error
