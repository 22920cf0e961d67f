"""The marks that sessions of this process have logs in a database open: shared advisory locks of its own connection.

The locks end with the connection, and so with the process. One connection holds all marks of a process in a server, so
they cost one connection besides those that logs use. Behind a pooler a lock would stay with the pooler's connection:
there no mark is taken, and whether a session is open is not known.
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
"""So long a mark is waited for; then the session goes on without it."""


def mark_key(location: Location) -> int:
    """The key of a log's advisory lock: a number of 64 bits with a sign."""
    name = f"context-persistent open {location.schema} {location.name}"
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)


def is_direct(connection: psycopg.Connection[Any]) -> bool:
    """Whether a connection leads to the server itself: a pooler gives another process id than the server's."""
    found = connection.execute(b"select pg_catalog.pg_backend_pid()").fetchone()
    return found is not None and found[0] == connection.info.backend_pid


def may_go(connection: psycopg.Connection[Any], location: Location) -> bool:
    """Whether no session has a log open; none marks it as open then before the transaction ends."""
    found = connection.execute(b"select pg_catalog.pg_try_advisory_xact_lock(%s)", [mark_key(location)]).fetchone()
    return bool(found and found[0])


@dataclass(slots=True)
class OpenMarks:
    """The marks of one process in one server.

    Args:
        connect: makes a connection until a deadline.
    """

    connect: Callable[[float], psycopg.Connection[Any]]
    _counts: Counter[int] = field(default_factory=Counter)
    _connection: Any = None
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def take(self, key: int) -> bool:
        """Mark a log as open; False if somebody deletes it at this moment.

        Raises:
            ServerError: the server refused or did not answer.
            ConnectionError: a pooler is in between.
        """
        with self._guard:
            if not self._counts[key] and not self._lock(self._connected(), key):
                return False
            self._counts[key] += 1
            return True

    def check(self) -> None:
        """Take all marks anew if their connection was lost; errors as `take`."""
        with self._guard:
            if self._counts.total():
                self._connected()

    def give_back(self, key: int) -> None:
        """Take a mark away; with the last one the connection goes."""
        with self._guard:
            self._counts[key] -= 1
            if self._counts[key] > 0:
                return
            del self._counts[key]
            try:
                if self._connection is not None:  # the server takes note of a farewell only later
                    self._ask(self._connection, b"select pg_catalog.pg_advisory_unlock_shared(%s)", key)
            except Exception:  # noqa: BLE001 - whatever it is: the marks go with the connection
                self._finish()
            if not self._counts:
                self._finish()

    def forget(self) -> None:
        """Let go of what a forked child inherited; a farewell to the server would end the parent's connection."""
        if self._connection is not None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, self._connection.fileno())
            os.close(nowhere)
            self._connection = None

    def _connected(self) -> Any:
        """The connection with all marks; a new one if the old one does not answer."""
        if self._connection is not None:
            try:
                self._ask(self._connection, b"select %s", 1)
            except Exception:  # noqa: BLE001 - whatever it is: another connection is tried
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
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.pgconn.finish()
