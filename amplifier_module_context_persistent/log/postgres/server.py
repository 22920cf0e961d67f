"""One connection to a PostgreSQL server for each process and location, with a deadline on everything it does.

Sessions of one process that share a location share its connection; it is closed when the last of them closes its log.
Nothing depends on the state of a database session, so a pooler that gives each transaction another connection
(PgBouncer's transaction mode) may stand between; `prepare=off` in the location leaves prepared statements out.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import LogUnreadableError
from ..location import Location
from .schema import SCHEMA_VERSION, schema_version

if TYPE_CHECKING:
    import psycopg

logger = logging.getLogger(__name__)

LOCAL_HOSTS = frozenset({"", "localhost", "127.0.0.1", "::1"})
_SHORTEST_CONNECT_S = 2  # libpq's own least timeout
_FIRST_DELAY_S, _LONGEST_DELAY_S = 0.05, 1.0


class DeadlineError(Exception):
    """The server did not answer in time; what was sent may still be done."""


def until(generator: Generator[Any, Any, Any], deadline: float) -> Generator[Any, Any, Any]:
    """Pass a wait for the server on, and end it at `deadline` (of `time.monotonic`).

    Raises:
        DeadlineError: the deadline passed first.
    """
    try:
        wanted = next(generator)
        while True:
            ready = yield wanted
            if time.monotonic() > deadline:
                raise DeadlineError
            wanted = generator.send(ready)
    except StopIteration as done:
        return done.value


def _import_psycopg() -> Any:
    try:
        import psycopg
    except ImportError as error:
        reason = "logs in PostgreSQL need the extra: pip install 'amplifier-module-context-persistent[postgres]'"
        raise LogUnreadableError(errno.ENOSYS, reason) from error
    return psycopg


@dataclass(slots=True)
class Server:
    """The shared connection to one location."""

    location: Location
    guard: threading.RLock = field(default_factory=threading.RLock)
    users: int = 0
    pid: int = field(default_factory=os.getpid)
    connection: psycopg.Connection[Any] | None = None
    facts: dict[str, str] = field(default_factory=dict)
    """Settings of the server, read when the connection was made."""

    @contextmanager
    def connected(self, deadline: float) -> Iterator[psycopg.Connection[Any]]:
        """Give the connection, made anew where there is none, to one thread at a time until the block ends.

        Raises:
            DeadlineError: another session of this process used it until the deadline.
            psycopg.OperationalError: the server cannot be reached by the deadline.
            LogUnreadableError: the tables are missing, older or newer; says what to do.
        """
        if not self.guard.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise DeadlineError
        try:
            connection = self.connection
            if connection is None or connection.closed:
                connection = self._connect(deadline)
            connection.deadline = deadline  # type: ignore[attr-defined]
            yield connection
        finally:
            self.guard.release()

    def is_open(self) -> bool:
        """Whether the connection stands, so that the server's last answer is a verdict."""
        connection = self.connection
        return connection is not None and not connection.closed and not connection.broken

    def drop(self) -> None:
        """Close a connection of which nobody knows what the server did last."""
        with self.guard:
            connection, self.connection = self.connection, None
            if connection is not None:
                connection.pgconn.finish()  # at once: a polite end could wait for a server that does not answer

    def _connect(self, deadline: float) -> psycopg.Connection[Any]:
        psycopg = _import_psycopg()
        delay = _FIRST_DELAY_S
        while True:
            try:
                connection = self._connect_once(psycopg, deadline)
                break
            except psycopg.OperationalError:
                if time.monotonic() + delay > deadline:
                    raise
                time.sleep(delay)
                delay = min(2 * delay, _LONGEST_DELAY_S)
        try:
            self._check(connection)
        except BaseException:
            connection.close()
            raise
        self.connection = connection
        return connection

    def _connect_once(self, psycopg: Any, deadline: float) -> psycopg.Connection[Any]:
        left_s = max(deadline - time.monotonic(), 0.0)
        connection = _connection_class(psycopg).connect(
            self.location.conninfo,
            autocommit=True,
            prepare_threshold=2 if self.location.prepares else None,
            connect_timeout=max(_SHORTEST_CONNECT_S, round(left_s)),
            tcp_user_timeout=max(1, round(1000 * left_s)),
            target_session_attrs="read-write",
            application_name="context-persistent",
        )
        connection.deadline = deadline
        return connection  # type: ignore[no-any-return]

    def _check(self, connection: psycopg.Connection[Any]) -> None:
        schema, shown = self.location.schema, self.location.shown
        version = schema_version(connection, schema)
        if version is None:
            reason = f"{shown} has no tables of ours in the schema {schema}; context-persistent storage init makes them"
            raise LogUnreadableError(errno.ENOENT, reason)
        if version != SCHEMA_VERSION:
            what = "newer: update this package" if version > SCHEMA_VERSION else "older: run storage init"
            reason = f"the tables in {shown} have version {version}, which is {what} (this one knows {SCHEMA_VERSION})"
            raise LogUnreadableError(errno.EPROTO, reason)
        names = ("synchronous_commit", "fsync", "in_hot_standby")
        rows = connection.execute(
            "select name, setting from pg_settings where name = any(%s)", [list(names)]
        ).fetchall()
        self.facts = {str(name): str(setting) for name, setting in rows}
        if self.facts.get("fsync") == "off":
            logger.warning("%s runs with fsync=off: what it acknowledges does not survive a power cut", shown)
        info = connection.info
        if not info.host.startswith("/") and info.host not in LOCAL_HOSTS:
            sslmode = info.get_parameters().get("sslmode", "prefer")
            if sslmode != "verify-full":
                logger.warning(
                    "%s is another machine, and sslmode=%s does not prove which; use verify-full", shown, sslmode
                )


def _connection_class(psycopg: Any) -> Any:
    class DeadlineConnection(psycopg.Connection):  # type: ignore[misc]
        """A connection whose every wait for the server ends at `deadline`."""

        deadline = float("inf")

        def wait(self, gen: Generator[Any, Any, Any], interval: float = 0.1, **options: Any) -> Any:
            return super().wait(until(gen, self.deadline), interval, **options)

    return DeadlineConnection


_SERVERS: dict[str, Server] = {}
_SERVERS_GUARD = threading.Lock()


def take_server(location: Location) -> Server:
    """Give this process's server for a location; each one taken is to be given back."""
    with _SERVERS_GUARD:
        server = _SERVERS.get(location.conninfo + location.schema)
        if server is None or server.pid != os.getpid():  # a fork shares its parent's socket and must not use it
            server = _SERVERS[location.conninfo + location.schema] = Server(location)
        server.users += 1
        return server


def give_back(server: Server) -> None:
    """Close the connection if nobody uses it any more."""
    with _SERVERS_GUARD:
        server.users -= 1
        idle = server.users <= 0
    if idle and server.pid == os.getpid():
        server.drop()


def is_servers(error: BaseException | None) -> bool:
    """Whether an error is the server's or the connection's, and not one of our own."""
    return isinstance(error, DeadlineError) or hasattr(error, "sqlstate")


def first_line(error: Exception) -> str:
    """What an error of the server says, on one line."""
    if isinstance(error, DeadlineError):
        return "it did not answer in time"
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
