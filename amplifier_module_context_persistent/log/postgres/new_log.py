"""A new log in a database that appears whole or not at all. Copies, forks, imports and purges write one.

It is written in one transaction, which keeps this thread's connection until it ends. Queries of this thread to the
same server meanwhile are part of the transaction. A new log either gets a new name, or replaces another log.
"""

from __future__ import annotations

import errno
import hashlib
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import AppendError, LockTimeoutError, LogFailedError, LogUnreadableError
from ..database_location import parse_location
from ..record_limits import MAX_RECORD_BYTES
from ..scanner import Scanner
from . import rows
from .index_columns import row_of
from .layout import LogKey
from .pulse import Pulse
from .rows import Head
from .server_connections import ServerError, using
from .sqlstates import LOCK_NOT_AVAILABLE

if TYPE_CHECKING:
    from .connection import Connection

_BLOCK_ROWS = 2_000
_BLOCK_BYTES = 4 << 20
_MOST_IDLE_S = 15.0
"""The longest time, in seconds, for which the transaction lives if the server hears nothing from this process."""
_PULSE_S = 3.0
"""The longest time between two statements to the server, in seconds."""
_OTHERS_S = 1.0
"""The seconds to wait for another client that is writing a log of the same name, before the second that
`rows.limit_waits` adds. It may take long to end, so it is better to say so soon."""


class NewStoredLog:
    """A new log that is being written to a database.

    Use it in a `with` statement, and end with `finish` or `take_place`.

    Args:
        location: the location of the log; no log may have its name.
        timeout_s: how long each step may wait for the server, in seconds.
        max_record_bytes: longer lines are stored, but reported and skipped when they are read.
        like: the log that it will replace, whose owner and time of creation it gets; None if it replaces no log.

    Raises:
        FileExistsError: a log has this name already.
        LockTimeoutError: another client is writing a log of this name.
        LogUnreadableError: another client removed or replaced the log `like`.
        AppendError: the server refused, or the connection broke; nothing is stored.
        LogFailedError: the server did not confirm whether the last step was done.
    """

    def __init__(
        self,
        location: str,
        *,
        timeout_s: float = 10.0,
        max_record_bytes: int = MAX_RECORD_BYTES,
        like: Head | None = None,
    ) -> None:
        self.location = parse_location(location)
        self._timeout_s = timeout_s
        self._like = like
        self.path = self.location.shown
        """The location of the log, without a password."""
        self._scanner = Scanner(max_record_bytes)
        self.index = self._scanner.index
        """The index of the written lines, equal to the one that a reader would make."""
        self._waiting: list[bytes] = []
        self._waiting_bytes = self._count = self._checked = 0
        self._unchecked = hashlib.sha256()
        """The digest of the lines that were written and not yet read back."""
        self._lacks_newline = False
        self._is_reserved = False
        """Whether no other client can write a log of this name until the transaction ends."""
        self._made: LogKey
        """The key of the log's row until the log is finished."""
        self._key: LogKey
        """The key of the log's lines."""

    def __enter__(self) -> NewStoredLog:
        with ExitStack() as stack:
            stack.enter_context(self._refusing())
            self._server = stack.enter_context(using(self.location))
            limit_s = self._timeout_s
            self._connection = stack.enter_context(self._server.connected(self._deadline(), answer_s=limit_s))
            rows.begin(self.connection, limit_s=_OTHERS_S, idle_s=_MOST_IDLE_S)
            like = None if self._like is None else self._like.key
            new_head = rows.create(self.connection, self.location.schema, self.location.name, like=like)
            self._is_reserved = True
            rows.limit_waits(self.connection, limit_s=limit_s, idle_s=_MOST_IDLE_S)  # long: nobody waits for its locks
            if like is not None and self._is_gone(like):  # `rows.create` may have waited for another transaction
                raise LogUnreadableError(errno.ENOENT, "the log was removed or replaced by another client", self.path)
            if new_head is None:
                reason = "there is a log of that name already; nothing was written"
                raise FileExistsError(errno.EEXIST, reason, self.location.shown)
            stack.enter_context(Pulse(self._connection, min(_PULSE_S, limit_s / 2)))
            self._made = self._key = new_head.key
            if like is not None and self.connection.layout.has_derived_ids:
                self._key = LogKey(like.log_id, new_head.generation)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)  # rolls back an open transaction

    def _is_gone(self, key: LogKey) -> bool:
        statement = f"select from {self.location.schema}.log where log_id = %s and generation = %s"
        return not self.connection.execute(statement.encode(), key).fetchall()

    @property
    def connection(self) -> Connection:
        """The connection, within the transaction. Each answer of the server may take `timeout_s`.

        Raises:
            AppendError: the connection broke, so the transaction was rolled back.
        """
        if self._connection.closed:
            raise AppendError(errno.EIO, "the connection broke; nothing is stored", self.location.shown)
        return self._connection

    def write(self, line: bytes) -> None:
        """Add a line with its LF. Only the last line of the log may lack its LF."""
        self._lacks_newline = not line.endswith(b"\n")
        content = line if self._lacks_newline else line[:-1]
        self._waiting.append(content)
        self._unchecked.update(b"%d:" % len(content) + content)
        self._waiting_bytes += len(line)
        if len(self._waiting) >= _BLOCK_ROWS or self._waiting_bytes >= _BLOCK_BYTES:
            self.flush()

    def flush(self) -> None:
        """Send the added lines to the server."""
        new = [row_of(line, self._scanner) for line in self._waiting]
        if new and self._lacks_newline:
            last = new[-1].columns
            new[-1] = replace(new[-1], columns=last._replace(flags=last.flags | rows.NO_NEWLINE))
        if new:
            rows.insert(self.connection, self.location.schema, self._key, self._count, new)
        self._count += len(new)
        self._waiting = []
        self._waiting_bytes = 0

    def finish(self) -> None:
        """Read back the stored lines, and commit the new log."""
        self._appear(self.location.name)

    def take_place(self, of: Head, name: str) -> None:
        """Read the stored lines back, and replace another log with this new log.

        Args:
            of: the end of the replaced log. The caller must have locked the replaced log's row in this transaction.
            name: the name that the new log gets.
        """
        rows.delete(self.connection, self.location.schema, of.key, successor=self._key)
        if not self.connection.layout.has_derived_ids:
            self._key = LogKey(self._made.log_id, of.generation + 1)
        rows.rename(self.connection, self.location.schema, self._made, name, self._key)
        self._appear(name)

    def _appear(self, name: str) -> None:
        self.read_back()
        end = self._scanner
        self.connection.execute(
            f"update {self.location.schema}.log set head = %s, size = %s, crc = %s where log_id = %s".encode(),
            [self._count, end.offset, end.seed, self._key.log_id],
        )
        self._commit(name)

    def read_back(self) -> None:
        """Send the added lines, read back the lines stored since the last call, and compare both.

        Raises:
            AppendError: the stored lines differ.
        """
        self.flush()
        digest = hashlib.sha256()
        for line in rows.read_lines(self.connection, self.location.schema, self._key, self._checked, self._count):
            digest.update(b"%d:" % len(line) + line)
        if digest.digest() != self._unchecked.digest():
            raise AppendError(errno.EIO, "the server does not give back what it was sent", self.location.shown)
        self._checked = self._count
        self._unchecked = hashlib.sha256()

    def hurry(self) -> None:
        """Let the server end the transaction soon if this process dies.

        Other processes wait for locks that it takes next.
        """
        rows.limit_waits(self.connection, limit_s=self._timeout_s)

    def _commit(self, name: str) -> None:
        """Commit the transaction. If the connection breaks, check the log's row to see whether the commit was done.

        Raises:
            ServerError: the commit was not done; nothing is stored.
            LogFailedError: the server cannot be reached, so it is unknown whether the commit was done.
        """
        try:
            with self._server.telling(self.connection):
                self.connection.execute(b"commit")
        except ServerError as error:
            if error.is_refusal or not self._was_done(name):
                raise

    def _was_done(self, name: str) -> bool:
        """Return whether the log with this name is the new log, so that the commit was done.

        Raises:
            LogFailedError: the server does not answer, so the outcome is unknown.
        """

        def is_ours(connection: Connection) -> bool:
            rows.begin(connection, limit_s=self._timeout_s)
            head = rows.read_head(connection, self.location.schema, name, lock=True)
            return head is not None and head.key == self._key

        try:
            return self._server.ask(is_ours, self._timeout_s)
        except ServerError as error:
            reason = f"the server did not say whether it is done ({error}); look before trying again"
            raise LogFailedError(errno.EIO, reason, self.location.shown) from error

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Convert a `ServerError` in a block to an error that says that nothing was stored."""
        try:
            yield
        except ServerError as error:
            if error.sqlstate == LOCK_NOT_AVAILABLE and not self._is_reserved:
                reason = "another client is writing this log, or holds its tables; nothing was written; try again later"
                raise LockTimeoutError(errno.ETIMEDOUT, reason, self.path) from error
            reason = f"the server refused: {error}; nothing is stored"
            raise AppendError(errno.EIO, reason, self.location.shown) from error

    def _deadline(self) -> float:
        return time.monotonic() + self._timeout_s
