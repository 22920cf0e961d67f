"""The list of erasures in a database: one row for each line that the list has in a home directory's file."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import AppendError
from .list_logs import TIMEOUT_S, asking
from .migration_steps import ERASURES


def erasure_lines(storage: str) -> list[str]:
    """Read the erasure lines of a database, oldest first; an empty list if it has no table for them.

    Raises:
        ValueError: the location is invalid.
        LogUnreadableError: the server cannot be queried, so it is unknown what was erased.
    """
    with asking(storage, TIMEOUT_S) as (connection, location):
        if not connection.has(ERASURES):  # type: ignore[attr-defined]  # of DeadlineConnection
            return []
        statement = f"select line from {location.schema}.erasure order by number"
        return [line for (line,) in connection.execute(statement.encode()).fetchall()]


def add_erasure_lines(storage: str, lines: Sequence[str]) -> None:
    """Add erasure lines to a database, within this thread's transaction if it has one.

    If the database has no table for them, do nothing.

    Raises:
        ValueError: the location is invalid.
        AppendError: the server refused, or the connection broke.
    """
    with asking(storage, TIMEOUT_S, AppendError) as (connection, location):
        if connection.has(ERASURES):  # type: ignore[attr-defined]  # of DeadlineConnection
            statement = (
                f"insert into {location.schema}.erasure (line) select new.line from unnest(%s::text[]) as new (line)"
            )
            with connection.transaction():  # a refusal must not end the transaction of a deletion
                connection.execute(statement.encode(), [list(lines)])
