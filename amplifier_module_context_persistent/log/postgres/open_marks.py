"""Marks of logs in a database that sessions of this process have open. A mark is a shared advisory lock.

All marks of a process in a server are held by one separate connection. They end with this connection, and so with the
process. Behind a pooler a lock would stay with the pooler's connection. So no mark is taken there, and it is unknown
whether a session is open.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

    from ..database_location import Location

_LIMIT_S = 2.0
"""The most seconds to wait for a mark; then the session continues without it."""


def mark_key(location: Location) -> int:
    """Return the key of a log's advisory lock, a signed 64-bit number."""
    name = f"context-persistent open {location.schema} {location.name}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)


def is_direct(connection: psycopg.Connection[Any]) -> bool:
    """Return whether a connection leads directly to the server. A pooler reports another process id than the server."""
    found = connection.execute(b"select pg_catalog.pg_backend_pid()").fetchone()
    return found is not None and found[0] == connection.info.backend_pid


def may_go(connection: psycopg.Connection[Any], location: Location) -> bool:
    """Lock a log against new marks until the transaction ends; return False if a session has it open."""
    found = connection.execute(b"select pg_catalog.pg_try_advisory_xact_lock(%s)", [mark_key(location)]).fetchone()
    return bool(found and found[0])


@dataclass(slots=True)
class OpenMarks:
    """The marks of one process in one server.

    Args:
        connect: makes a connection, given a deadline (of `time.monotonic`).
    """

    connect: Callable[[float], psycopg.Connection[Any]]
    _counts: Counter[int] = field(default_factory=Counter)
    _connection: Any = None
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def take(self, key: int) -> bool:
        """Mark a log as open. Return False, without a mark, if another client is deleting or archiving the log.

        Raises:
            ServerError: the server refused or did not answer.
            ConnectionError: the connection leads to a pooler.
        """
        with self._guard:
            if not self._counts[key] and not self._lock(self._connected(), key):
                return False
            self._counts[key] += 1
            return True

    def check(self) -> None:
        """Take all marks again if their connection was lost; errors as for `take`."""
        with self._guard:
            if self._counts.total():
                self._connected()

    def give_back(self, key: int) -> None:
        """Remove a mark. After the last one, close the connection."""
        with self._guard:
            self._counts[key] -= 1
            if self._counts[key] > 0:
                return
            del self._counts[key]
            is_unlocked = self._unlock(key)
            if not is_unlocked or not self._counts:
                self._finish()  # if other marks remain, `_connected` takes them again

    def _unlock(self, key: int) -> bool:
        """Let the server remove a lock now, because it notices only later that a connection was closed.

        Return False if the server did not remove the lock.
        """
        if self._connection is None:
            return True
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

    def _connected(self) -> Any:
        """Return the connection that holds all marks. If it does not answer, make another and take the marks again."""
        if self._connection is not None:
            try:
                self._ask(self._connection, b"select %s", 1)
            except Exception:  # noqa: BLE001 - after any error, another connection is tried
                self._finish()
        if self._connection is None:
            self._connection = self.connect(time.monotonic() + _LIMIT_S)
            if not is_direct(self._connection):
                self._finish()
                raise ConnectionError("a pooler is in between, where no lock can be held for a session")
            for key in self._counts:
                self._lock(self._connection, key)
        return self._connection

    def _lock(self, connection: Any, key: int) -> bool:
        return bool(self._ask(connection, b"select pg_catalog.pg_try_advisory_lock_shared(%s)", key))

    def _ask(self, connection: Any, statement: bytes, key: int) -> Any:
        connection.deadline = time.monotonic() + _LIMIT_S
        return connection.execute(statement, [key]).fetchone()[0]

    def _finish(self) -> None:
        connection = self._connection
        self._connection = None
        if connection is not None:
            connection.pgconn.finish()
