"""Marks of logs in a database that sessions of this process have open. A mark is a shared advisory lock.

All marks of a process in a server are held by one separate connection. They end with this connection, and so with the
process. Behind a pooler a lock would stay with the pooler's connection. So no mark is taken there, and it is unknown
whether a session is open.

The connection may be lost while all sessions are idle, for example if the server is started again. So a thread watches
it as long as there are marks, and takes them again on another connection:
- If the server closes the connection, the thread notices it at once.
- If the server vanishes, nobody closes the connection. So the thread asks the server every `CHECK_S` seconds. For this
  reason, nothing on the way takes the connection for unused either.
- Without a connection it tries again after a pause of at most `LONGEST_PAUSE_S` seconds.
Whoever deletes a log gives the sessions the time for this (`marks_after_start`).
"""

from __future__ import annotations

import hashlib
import logging
import os
import selectors
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..database_location import Location
    from .connection import Connection

logger = logging.getLogger(__name__)

CHECK_S = 10.0
"""The time between two questions whether the server is still there, in seconds."""
LONGEST_PAUSE_S = 8.0
"""The longest pause before marks are tried again, in seconds. The first is a sixteenth of it; each is twice as long."""
_LIMIT_S = 2.0
"""The most seconds to wait for a mark; then the session continues without it, and the thread tries again."""

_NO_IDLE_LIMIT = b"""
    select case when pg_catalog.current_setting('idle_session_timeout', true) is not null
                then pg_catalog.set_config('idle_session_timeout', '0', false) end
"""
"""SQL: let the server keep the connection although it is mostly idle; before PostgreSQL 14 it has no such limit."""


def mark_key(location: Location) -> int:
    """Return the key of a log's advisory lock, a signed 64-bit number."""
    name = f"context-persistent open {location.schema} {location.name}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)


def is_direct(connection: Connection) -> bool:
    """Return whether a connection leads directly to the server. A pooler reports another process id than the server."""
    found = connection.execute(b"select pg_catalog.pg_backend_pid()").fetchone()
    return found is not None and found[0] == connection.info.backend_pid


def may_go(connection: Connection, location: Location) -> bool:
    """Lock a log against new marks until the transaction ends; return False if a session has it open."""
    found = connection.execute(b"select pg_catalog.pg_try_advisory_xact_lock(%s)", [mark_key(location)]).fetchone()
    return bool(found and found[0])


@dataclass(slots=True)
class OpenMarks:
    """The marks of one process in one server. No method raises an error, because a session works without its mark.

    Args:
        connect: makes a connection, given a deadline (of `time.monotonic`).
    """

    connect: Callable[[float], Connection]
    _counts: Counter[int] = field(default_factory=Counter)
    """The number of open logs of this process with each key."""
    _missing: set[int] = field(default_factory=set)
    """The keys that the connection does not hold, although logs have them."""
    _connection: Any = None
    _is_pooled: bool = False
    _watcher: threading.Thread | None = None
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def take(self, key: int) -> None:
        """Mark a log as open.

        If the server does not answer, or if another client is deleting the log at this moment, the mark is taken later.
        """
        with self._guard:
            self._counts[key] += 1
            if self._counts[key] == 1:
                self._missing.add(key)
                self._restore()
            if self._watcher is None and not self._is_pooled:
                watcher = threading.Thread(target=self._watch, name="context-persistent marks", daemon=True)
                with suppress(RuntimeError):  # no thread can be started; the next `take` tries again
                    watcher.start()
                    self._watcher = watcher

    def check(self) -> None:
        """Take all marks again if their connection was lost, unless another thread is doing it."""
        if self._guard.acquire(blocking=False):
            try:
                if self._counts:
                    self._restore()
            finally:
                self._guard.release()

    def give_back(self, key: int) -> None:
        """Remove a mark. After the last one, close the connection."""
        with self._guard:
            self._counts[key] -= 1
            if self._counts[key] > 0:
                return
            del self._counts[key]
            is_held = key not in self._missing
            self._missing.discard(key)
            is_unlocked = not is_held or self._unlock(key)
            if not is_unlocked or not self._counts:
                self._drop()  # if other marks remain, the watcher takes them again
            if not self._counts:
                self._is_pooled = False

    def _unlock(self, key: int) -> bool:
        """Let the server remove a lock now, because it notices only later that a connection was closed.

        Return False if the server did not remove the lock.
        """
        try:
            self._ask(self._connection, b"select pg_catalog.pg_advisory_unlock_shared(%s)", key)
        except Exception:  # noqa: BLE001 - after any error, the caller closes the connection
            return False
        return True

    def forget(self) -> None:
        """Drop the connection in a forked child, without a message to the server, which would end the parent's mark."""
        if self._connection is not None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, self._connection.fileno())
            os.close(nowhere)
            self._connection = None

    def _watch(self) -> None:
        """Take marks again that were lost or are missing, until there are none; runs in a thread."""
        pause_s = 0.0
        while True:
            with self._guard:
                if not self._counts or self._is_pooled:
                    self._watcher = None
                    return
                is_whole = self._connection is not None and not self._missing
                descriptor = self._connection.fileno() if is_whole else -1
            if is_whole:
                pause_s = 0.0
                with suppress(OSError, ValueError):  # another thread has closed the connection
                    _wait_until_readable(descriptor, CHECK_S)
            else:
                pause_s = min(LONGEST_PAUSE_S, 2 * pause_s or LONGEST_PAUSE_S / 16)
                time.sleep(pause_s)
            self.check()

    def _restore(self) -> None:
        """Take the missing marks; if the connection was lost, all of them on another one."""
        if self._is_pooled:
            return
        had_connection = self._connection is not None
        try:
            self._lock_missing(self._connected())
        except Exception as error:  # noqa: BLE001 - after any error, another connection is tried, now or later
            self._drop()
            if had_connection:
                self._restore()
            else:
                logger.info("%d sessions could not be marked as open: %s", len(self._missing), error)

    def _connected(self) -> Any:
        """Return the connection for marks; make one if there is none.

        Raises:
            ServerError: the server refused or did not answer.
            ConnectionError: the connection leads to a pooler.
        """
        if self._connection is None:
            connection = self.connect(time.monotonic() + _LIMIT_S)
            self._connection = connection
            self._is_pooled = not is_direct(connection)
            if self._is_pooled:
                raise ConnectionError("a pooler is in between, where no lock can be held for a session")
            connection.execute(_NO_IDLE_LIMIT)
        return self._connection

    def _lock_missing(self, connection: Any) -> None:
        """Take the missing marks, except of logs that another client is deleting. If none is missing, ask anything."""
        if not self._missing:
            self._ask(connection, b"select %s", 1)
        for key in list(self._missing):
            if self._ask(connection, b"select pg_catalog.pg_try_advisory_lock_shared(%s)", key):
                self._missing.discard(key)

    def _ask(self, connection: Any, statement: bytes, key: int) -> Any:
        connection.deadline = time.monotonic() + _LIMIT_S
        return connection.execute(statement, [key]).fetchone()[0]

    def _drop(self) -> None:
        """Close the connection, and with it lose all marks."""
        connection = self._connection
        self._connection = None
        self._missing = set(self._counts)
        if connection is not None:
            connection.pgconn.finish()


def _wait_until_readable(descriptor: int, limit_s: float) -> None:
    """Wait until the server has sent something on a connection, or has closed it, or the time is over."""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        selector.select(limit_s)
