"""The list of what was erased from a database's sessions: one row for each line that a home has in its file."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import AppendError
from .names import TIMEOUT_S, asking
from .steps import ERASURES


def erasure_lines(storage: str) -> list[str]:
    """The lines of a database, oldest first; none if its tables cannot hold any.

    Raises:
        ValueError: the location is none.
        LogUnreadableError: the server cannot be asked: nobody knows what was erased.
    """
    with asking(storage, TIMEOUT_S) as (connection, location):
        if not connection.has(ERASURES):  # type: ignore[attr-defined]  # of DeadlineConnection
            return []
        statement = f"select line from {location.schema}.erasure order by number"
        return [line for (line,) in connection.execute(statement.encode()).fetchall()]


def add_erasure_lines(storage: str, lines: Sequence[str]) -> None:
    """Add lines; nothing if the tables cannot hold any. In a transaction of this thread they are part of it.

    Raises:
        ValueError: the location is none.
        AppendError: the server refused or went away.
    """
    with asking(storage, TIMEOUT_S, AppendError) as (connection, location):
        if connection.has(ERASURES):  # type: ignore[attr-defined]  # of DeadlineConnection
            statement = (
                f"insert into {location.schema}.erasure (line) select new.line from unnest(%s::text[]) as new (line)"
            )
            with connection.transaction():  # a refusal must not end the transaction of a deletion
                connection.execute(statement.encode(), [list(lines)])
