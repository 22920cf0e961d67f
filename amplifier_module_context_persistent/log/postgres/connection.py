"""A connection to a PostgreSQL server whose waits end at a deadline, unless the server goes on answering."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .layout import NUMBERED, Layout


def until(generator: Generator[Any, Any, Any], deadline: float) -> Generator[Any, Any, Any]:
    """Run psycopg's generator that waits for the server, and end the wait at `deadline` (of `time.monotonic`).

    This process may have been stopped beyond the deadline (a machine that slept). So what the server has sent is taken
    before the clock is looked at, and the connection is looked at once more after the deadline.

    Raises:
        TimeoutError: the deadline passed, and nothing has come.
    """
    looks_left = 2
    try:
        wanted = next(generator)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() > deadline:
                looks_left -= 1
                if not looks_left:
                    raise TimeoutError
            wanted = generator.send(ready)
    except StopIteration as done:
        return done.value


@contextmanager
def waiting_longer(connection: Any, answer_s: float) -> Iterator[None]:
    """Let each answer on a connection take up to `answer_s` seconds, even beyond its deadline, while a block lasts."""
    answer_s_before = connection.answer_s
    connection.answer_s = max(answer_s, answer_s_before)
    try:
        yield
    finally:
        connection.answer_s = answer_s_before


class PreparedStatements:
    """A base class for connections, with methods that run statements without a cursor."""

    driver: Any
    """The module `psycopg`."""
    lock: Any
    pgconn: Any
    prepare_threshold: int | None
    wait: Any
    prepared: frozenset[bytes] = frozenset()
    """The names of the statements that `run` has prepared."""
    sent_unprepared = b""
    """The name of the statement that `run` sent last without preparing it first; b"" if there is none."""

    def run(self, name: bytes, statement: bytes, values: Sequence[bytes], formats: Sequence[int]) -> bytes | None:
        """Run a statement without a cursor, because a cursor needs more time than all other client work of an append.

        The statement is prepared when the same statement is sent twice in a row. A cursor would check each value
        again. A cursor would also choose the type of each number by its size (`smallint`, `integer`, `bigint`), and
        prepare a separate statement for each combination of types.

        Args:
            name: the name of the statement on this connection.
            statement: the statement, with `$1` and so on; casts in it give the types of the values.
            values: the encoded values.
            formats: the format of each value, in libpq's numbers (0 text, 1 binary).

        Returns:
            The first value of the first row that the statement returns; None if it returns no row.

        Raises:
            psycopg.Error, TimeoutError: as for a cursor.
        """
        with self.lock:
            if name not in self.prepared:
                is_second_time = name == self.sent_unprepared
                may_prepare = self.prepare_threshold is not None
                if not is_second_time or not may_prepare:
                    self.sent_unprepared = name
                    self.pgconn.send_query_params(statement, values, param_formats=formats)
                    return self._first_value()
                self.pgconn.send_prepare(name, statement)
                self._first_value()
                self.prepared |= {name}
            self.pgconn.send_query_prepared(name, values, formats)
            return self._first_value()

    def _first_value(self) -> bytes | None:
        result = self.wait(self.driver.generators.execute(self.pgconn))[-1]
        status = self.driver.pq.ExecStatus
        if result.status not in (status.COMMAND_OK, status.TUPLES_OK):
            raise self.driver.errors.error_from_result(result)
        return result.get_value(0, 0) if result.ntuples else None


class ConnectionFacts(PreparedStatements):
    """A base class for connections: the time limits, and what was learned about the server and its tables."""

    deadline = float("inf")
    """The time when a wait ends, of `time.monotonic`."""
    answer_s = 0.0
    """The seconds that each answer may take even beyond the deadline."""
    used_s = 0.0
    """The time of its last use, of `time.monotonic`."""
    timeline = ""
    """The server's timeline (`server.timeline_of`) when the connection was made; empty if it has none."""
    layout: Layout = NUMBERED
    """The layout of the tables."""
    steps: frozenset[str] = frozenset()
    waits = False
    """Whether the server waits for its disk at each commit by its own setting, as it was when this was last asked."""
    touches = False
    """Whether appends update the column `touched` (`migration_steps.TOUCHED`)."""
    has_places = False
    """Whether the server tells at which place in its table a row is (`rows.Head.place`)."""
    is_unreplicated = False
    """Whether the server gave up waiting for a replica, so that a commit is on its own disk only."""

    def has(self, step: str) -> bool:
        """Return whether the tables had a step of `migration_steps.STEPS` when this connection was made."""
        return step in self.steps

    def heed(self, notice: Any) -> None:
        """Set `is_unreplicated` if a notice says that a commit's wait for a replica was cancelled.

        The notice is recognised by its function, because its text is in the server's language.
        """
        if notice.source_function == "SyncRepWaitForLSN":
            self.is_unreplicated = True


if TYPE_CHECKING:
    import psycopg

    class Connection(ConnectionFacts, psycopg.Connection[Any]):
        """The type of the connections that `connection_class` makes."""


def connection_class(psycopg: Any) -> Any:
    """Make the class of connections at run time, because the driver is an extra."""

    class DeadlineConnection(ConnectionFacts, psycopg.Connection):  # type: ignore[misc]  # imported only here
        """A connection whose every wait for the server ends at `deadline`, or after `answer_s` if that is later."""

        driver = psycopg

        def wait(self, gen: Generator[Any, Any, Any], interval: float = 0.1, **options: Any) -> Any:
            deadline = max(self.deadline, time.monotonic() + self.answer_s)
            return super().wait(until(gen, deadline), interval, **options)

    return DeadlineConnection
