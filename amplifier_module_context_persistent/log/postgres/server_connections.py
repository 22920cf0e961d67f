"""The connections of this process to a PostgreSQL server: a few for each location, with a deadline for each wait.

- A deadline limits the wait for the server. Long work (reading a long log, a purge) also sets `answer_s`: each answer
  may take this time, and the time that this process spends between two answers does not count.
- Sessions of one process that share a location share its connections; the last session that closes its log closes
  them.
- Nothing depends on the state of a database session, so a pooler that gives each transaction another connection
  (PgBouncer's transaction mode) may be used; `prepare=off` in the location switches prepared statements off.
- Every failure of a connection is a `ServerError`. It says whether the server refused and rolled back, or whether the
  outcome is unknown.
- If this process stops waiting for a statement, the statement is cancelled on the server.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import LogUnreadableError
from ...installation import needs_extra
from ..database_location import Location, split_location
from ..forked_process import call_in_children, is_child_of
from . import rows
from .connection import connection_class, waiting_longer
from .layout import LAYOUTS
from .lock_holders import blockers_of
from .migration_steps import TOUCHED, is_done_query, names_done
from .open_marks import OpenMarks
from .schema import SCHEMA_VERSION
from .sqlstates import CONFLICTS, CONNECTION_CLASSES, READ_ONLY, with_advice

if TYPE_CHECKING:
    import psycopg

    from .connection import Connection

logger = logging.getLogger(__name__)

T = TypeVar("T")

MOST_CONNECTIONS = 8
"""The largest number of connections of one process to one location."""

FIRST_SHARE = 1 / 3
"""The share of an operation's time for its first attempt, so that a dead connection is given up early."""

PAUSE_S = 0.05
"""The pause between two attempts, in seconds."""

_LOCAL_HOSTS = frozenset({"", "localhost", "127.0.0.1", "::1"})
_SHORTEST_CONNECT_S = 2  # libpq's own least timeout
_IDLE_S = 30.0  # a connection that was unused for longer is tested before its use
_IDLE = 0  # `psycopg.pq.TransactionStatus`: in no transaction
_ASIDE_S = 1.0  # the limit for a query or a cancellation on another connection, after a deadline has passed

_DEFAULTS: dict[str, str | int] = {
    "target_session_attrs": "read-write",
    "application_name": "context-persistent",
    "client_encoding": "UTF8",  # not the database's SQL_ASCII, nor that of a role
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
"""The values of libpq's parameters for a location that does not give these parameters."""

_REFUSED_FOR_GOOD = (
    "authentication failed",
    "does not exist",
    "no pg_hba.conf entry",
    "permission denied",
    "not permitted",
    "no password supplied",
)
"""Parts of error messages after which another attempt to connect is useless; libpq gives no SQLSTATE for such errors.
"""

_OWN_SEARCH_PATH = b"""
    select case when pg_catalog.pg_backend_pid() operator(pg_catalog.=) %s
                then pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false) end
"""
"""SQL: take operators and types from `pg_catalog` only. Not behind a pooler, whose connections have other users."""

TIMELINE = """
    case when pg_catalog.pg_is_in_recovery() then ''
         else (select system_identifier from pg_catalog.pg_control_system()) || '/'
              || pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8) end
"""
"""SQL: what `timeline_of` returns."""


class ServerError(Exception):
    """The server refused a statement, or did not answer.

    Args:
        reason: the error in one line.
        sqlstate: the server's error code, or empty.
        is_refusal: whether the server refused the statement and rolled it back. If not, the outcome is unknown.
    """

    def __init__(self, reason: str, *, sqlstate: str = "", is_refusal: bool = False) -> None:
        super().__init__(reason)
        self.sqlstate = sqlstate
        self.is_refusal = is_refusal


def is_refusal(error: Exception) -> bool:
    """Return whether an error of the driver means that the server refused a statement and rolled it back.

    For a fatal error this is False, because the server may have committed before it ended the connection.
    """
    state = getattr(error, "sqlstate", None)
    if not state or state.startswith(CONNECTION_CLASSES):
        return False
    return bool(error.diag.severity_nonlocalized == "ERROR")  # type: ignore[attr-defined]  # a pooler's has none


def was_conflict(error: BaseException | None) -> bool:
    """Return whether an error is a conflict with another transaction; then the same statement may succeed later."""
    return isinstance(error, ServerError) and error.sqlstate in CONFLICTS


def _import_psycopg() -> Any:
    try:
        import psycopg
    except ImportError as error:
        reason = f"logs in PostgreSQL need their driver: {needs_extra('postgres', 'psycopg')}"
        raise LogUnreadableError(errno.ENOSYS, reason) from error
    return psycopg


@dataclass(slots=True)
class Server:
    """The connections of this process to one location, and the number of their users."""

    location: Location
    users: int = 0
    pid: int = field(default_factory=os.getpid)
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _slots: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(MOST_CONNECTIONS))
    _free: list[Any] = field(default_factory=list)
    _held: threading.local = field(default_factory=threading.local)
    _marks: OpenMarks | None = None
    _steps: frozenset[str] = frozenset()

    def has(self, step: str) -> bool:
        """Return whether the tables had a step of `migration_steps.STEPS` at the last new connection."""
        return step in self._steps

    @property
    def marks(self) -> OpenMarks:
        """The marks of logs that this process has open. They use a separate connection."""
        with self._guard:
            self._marks = self._marks or OpenMarks(self._connect)
            return self._marks

    def forget_marks(self) -> None:
        """Drop the marks that a forked child inherited."""
        if self._marks is not None:
            self._marks.forget()

    @contextmanager
    def connected(self, deadline: float, *, answer_s: float = 0.0) -> Iterator[Connection]:
        """Give this thread a connection while a block lasts. A nested block gets the same connection.

        A transaction that the block leaves open is rolled back.

        Args:
            deadline: when the waits for the connection and its answers end, of `time.monotonic`.
            answer_s: how long each answer may take even beyond the deadline, in seconds.

        Raises:
            ServerError: no connection by the deadline, or the block's statement was refused or got no answer.
            LogUnreadableError: the tables are missing, older or newer; the text says what to do.
        """
        if self._is_held:
            connection = self._held.connection
            connection.deadline = deadline
            with self.telling(connection), waiting_longer(connection, answer_s):
                yield connection
            return
        if not self._slots.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise ServerError(f"all {MOST_CONNECTIONS} connections of this process are busy")
        try:
            connection = self._take(deadline)
            self._held.connection = connection
            try:
                with self.telling(connection), waiting_longer(connection, answer_s):
                    yield connection
            finally:
                self._held.connection = None
                self._put_back(connection)
        finally:
            self._slots.release()

    def ask(
        self,
        function: Callable[[Connection], T],
        limit_s: float,
        *,
        reached: Callable[[], int] = lambda: 0,
    ) -> T:
        """Call a function that only reads, and return its result. After a broken connection, try again in time.

        Args:
            function: the function; a second call continues where the first one ended.
            limit_s: the longest wait for an answer of the server, over all attempts, in seconds.
            reached: returns the progress of the function. After an attempt with progress, the time begins again.

        Raises:
            ServerError: the server refused, or did not answer.
        """
        progress = reached()
        end = time.monotonic() + limit_s
        answer_s = limit_s if self._is_held else limit_s * FIRST_SHARE  # a transaction has one attempt
        while True:
            try:
                with self.connected(time.monotonic() + answer_s, answer_s=answer_s) as connection:
                    return function(connection)
            except ServerError as error:
                if reached() > progress:
                    progress = reached()
                    end = time.monotonic() + limit_s
                is_final = error.is_refusal and not was_conflict(error)
                if is_final or self._is_held or time.monotonic() >= end:
                    raise
            time.sleep(PAUSE_S)
            answer_s = max(end - time.monotonic(), PAUSE_S)

    @property
    def _is_held(self) -> bool:
        """Whether this thread is in a `connected` block and has a connection already."""
        connection = getattr(self._held, "connection", None)
        return connection is not None and not connection.closed

    @contextmanager
    def telling(self, connection: Connection) -> Iterator[None]:
        """Convert an error of a connection in a block to a `ServerError`.

        If the outcome is unknown, close the connection.
        """
        try:
            yield
        except TimeoutError as error:
            raise ServerError(f"it did not answer in time{self._give_up(connection)}") from error
        except Exception as error:
            if isinstance(error, ServerError) or not hasattr(error, "sqlstate"):
                raise
            sqlstate = error.sqlstate or ""
            was_refused = is_refusal(error)
            if not was_refused or sqlstate == READ_ONLY:  # another host of the location may accept writes
                connection.pgconn.finish()
            reason = with_advice(first_line(error), sqlstate)
            raise ServerError(reason, sqlstate=sqlstate, is_refusal=was_refused) from error

    def close(self) -> None:
        """Close the connections that are not in use."""
        with self._guard:
            free = list(self._free)
            self._free[:] = []
        for connection in free:
            connection.pgconn.finish()  # `close` could wait for a server that does not answer

    def _take(self, deadline: float) -> Connection:
        with self._guard:
            connection = self._free.pop() if self._free else None
        if connection is not None and self._is_alive(connection, deadline):
            connection.deadline = deadline
            return connection  # type: ignore[no-any-return]  # only such are kept
        return self._connect(deadline)

    def _is_alive(self, connection: Any, deadline: float) -> bool:
        """Return whether a connection still answers. A connection is tested only if it was unused for `_IDLE_S`."""
        now = time.monotonic()
        if now - connection.used_s < _IDLE_S:
            return True
        connection.deadline = now + max(0.0, deadline - now) / 3
        try:
            connection.execute(b"select 1")
        except (TimeoutError, _import_psycopg().Error):
            connection.pgconn.finish()
            return False
        return True

    def _put_back(self, connection: Any) -> None:
        if connection.closed:
            self.close()  # the other connections are probably broken too
        elif self.users <= 0 or connection.pgconn.transaction_status != _IDLE:  # the server rolls back
            connection.pgconn.finish()
        else:
            connection.used_s = time.monotonic()
            with self._guard:
                self._free.append(connection)

    def _give_up(self, connection: Connection) -> str:
        """Close a connection, and cancel its statement on the server.

        Returns:
            Text for an error, which names the processes that blocked the statement; "" if they are unknown.
        """
        pid = connection.info.backend_pid
        psycopg = _import_psycopg()
        holders = ""
        with contextlib.suppress(Exception):  # it explains an error, and must not take its place
            aside = self._connect_once(psycopg, time.monotonic() + _ASIDE_S)
            try:
                holders = blockers_of(aside, pid)
            finally:
                aside.pgconn.finish()
        if psycopg.capabilities.has_cancel_safe():
            with contextlib.suppress(Exception):  # an unreachable server will notice the lost connection itself
                connection.cancel_safe(timeout=_ASIDE_S)
        connection.pgconn.finish()
        return f"; it waits for {holders}" if holders else ""

    def _connect(self, deadline: float) -> Connection:
        psycopg = _import_psycopg()
        try:
            connection = self._connect_once(psycopg, deadline)
        except psycopg.OperationalError as error:
            for_good = any(words in str(error) for words in _REFUSED_FOR_GOOD)
            raise ServerError(with_advice(first_line(error)), is_refusal=for_good) from error
        try:
            with self.telling(connection):
                self._check(psycopg, connection)
        except BaseException:
            connection.pgconn.finish()
            raise
        return connection

    def _connect_once(self, psycopg: Any, deadline: float) -> Connection:
        left_s = max(deadline - time.monotonic(), 0.0)
        parameters = read_conninfo(self.location)
        defaults = {name: value for name, value in _DEFAULTS.items() if name not in parameters}
        connection = connection_class(psycopg).connect(
            self.location.conninfo,
            autocommit=True,
            prepare_threshold=2 if self.location.prepares else None,
            connect_timeout=max(_SHORTEST_CONNECT_S, round(left_s)),
            tcp_user_timeout=max(1, round(1000 * left_s)),
            **defaults,
        )
        connection.deadline = deadline
        connection.add_notice_handler(connection.heed)
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED  # of `transaction()`, as of `rows.begin`
        return connection  # type: ignore[no-any-return]  # its class is made at run time

    def _check(self, psycopg: Any, connection: Connection) -> None:
        schema = self.location.schema
        place = self.location.shown
        if connection.info.encoding != "utf-8":  # the location gives another, or a pooler does not pass ours on
            connection.execute("SET client_encoding TO 'UTF8'")
        if self.location.prepares:
            connection.execute(_OWN_SEARCH_PATH, [connection.info.backend_pid])
        question = f"""
            select number, pg_catalog.current_setting('fsync', true), {rows.WAITS}, {is_done_query(schema)},
                   {rows.MAY_TOUCH.format(s=schema)}
              from {schema}.version
        """  # a server may not know fsync
        try:
            row = connection.execute(question.encode()).fetchone()
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
            row = None
        if row is None:
            reason = f"{place} has no tables of ours in the schema {schema}; context-persistent storage init makes them"
            raise LogUnreadableError(errno.ENOENT, reason)
        version, fsync, waits, done, may_touch = row
        self._steps = connection.steps = names_done(done)
        connection.waits = waits
        connection.touches = connection.has(TOUCHED) and may_touch
        self._learn_kind(psycopg, connection)
        if version not in LAYOUTS:
            what = "newer: update this package" if version > SCHEMA_VERSION else "older: run storage init --migrate"
            reason = f"the tables in {place} have version {version}, which is {what} (this one knows {SCHEMA_VERSION})"
            raise LogUnreadableError(errno.EPROTO, reason)
        connection.layout = LAYOUTS[version]
        if fsync == "off":
            logger.warning("%s runs with fsync=off: what it acknowledges does not survive a power cut", place)
        _warn_of_unproved_host(connection.info, place)

    def _learn_kind(self, psycopg: Any, connection: Any) -> None:
        """Read the server's timeline, and whether its rows have places; a server of another kind may lack either."""
        place = f"select ctid from {self.location.schema}.log where false"
        try:
            (timeline, _) = connection.execute(f"select {TIMELINE}, ({place})".encode()).fetchone()
            connection.timeline = timeline
            connection.has_places = True
        except psycopg.Error:
            with contextlib.suppress(psycopg.Error):
                connection.timeline = timeline_of(connection)
            with contextlib.suppress(psycopg.Error):
                connection.execute(place.encode())
                connection.has_places = True


def read_steps(connection: Connection, schema: str) -> frozenset[str]:
    """Read the names of the steps (`migration_steps.STEPS`) that are done in the tables.

    Raises:
        psycopg.Error: the server refused the question.
    """
    row = connection.execute(f"select {is_done_query(schema)}".encode()).fetchone()
    return names_done(row[0]) if row else frozenset()


def timeline_of(connection: Connection) -> str:
    """Return the cluster's id and the timeline of a server, as text; "" for a replica. A failover changes the timeline.

    Raises:
        psycopg.Error: the server has no timeline.
    """
    row = connection.execute(f"select {TIMELINE}".encode()).fetchone()
    return str(row[0]) if row else ""


def read_conninfo(location: Location) -> dict[str, Any]:
    """Return the parameters of a location, as libpq reads them.

    Raises:
        LogUnreadableError: libpq cannot read the location. The text omits libpq's message, which may quote a password.
    """
    psycopg = _import_psycopg()
    with contextlib.suppress(psycopg.ProgrammingError):
        return dict(psycopg.conninfo.conninfo_to_dict(location.conninfo))
    reason = f"{location.shown}: this version of libpq cannot read its parameters"
    raise LogUnreadableError(errno.EINVAL, reason)


def conninfo_of(parameters: Mapping[str, Any]) -> str:
    """Return the connection string with these parameters of libpq."""
    return str(_import_psycopg().conninfo.make_conninfo(**parameters))


_SERVERS: dict[tuple[int, str, str, bool], Server] = {}
_SERVERS_GUARD = threading.Lock()


def _forget_inherited() -> None:
    for server in _SERVERS.values():
        server.forget_marks()


call_in_children(_forget_inherited)


def take_server(location: Location) -> Server:
    """Return this process's `Server` for a location, and count one more user.

    The caller must call `give_back` at the end.
    """
    # a fork shares its parent's sockets and must not use them
    key = os.getpid(), location.conninfo, location.schema, location.prepares
    of_all_logs = replace(location, name="", shown=split_location(location.shown)[0])
    with _SERVERS_GUARD:
        server = _SERVERS.setdefault(key, Server(of_all_logs))
        server.users += 1
        return server


def give_back(server: Server) -> None:
    """Count one user of a server less. If the server has no other user, close its connections."""
    with _SERVERS_GUARD:
        server.users -= 1
        idle = server.users <= 0
    if idle and not is_child_of(server.pid):
        server.close()


@contextmanager
def using(location: Location) -> Iterator[Server]:
    """Give this process's `Server` for a location to a block."""
    server = take_server(location)
    try:
        yield server
    finally:
        give_back(server)


def first_line(error: Exception) -> str:
    """Return the first line of an error's message; for an empty message, the name of the error's class."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _warn_of_unproved_host(info: psycopg.ConnectionInfo, location: str) -> None:
    """Log a warning if the server is another machine, and the connection does not prove which machine it is."""
    if info.host.startswith("/") or info.host in _LOCAL_HOSTS:
        return
    sslmode = info.get_parameters().get("sslmode", "prefer")
    if sslmode != "verify-full":
        logger.warning("%s is another machine, and sslmode=%s does not prove which; use verify-full", location, sslmode)
