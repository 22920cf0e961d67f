"""The list of erasures in a database: one row for each line that the list has in a home directory's file."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ...errors import AppendError
from ..salted_name import salted_name
from .ask_database import TIMEOUT_S, asking
from .migration_steps import ERASURES
from .sqlstates import NO_RIGHTS

if TYPE_CHECKING:
    from .connection import Connection


def erasure_lines(storage: str) -> list[str]:
    """Read the erasure lines of a database, oldest first; an empty list for a database without a table of erasures.

    Raises:
        ValueError: the location is invalid.
        LogUnreadableError: the server cannot be queried, so it is unknown what was erased.
    """
    with asking(storage, TIMEOUT_S) as (connection, location):
        if not connection.has(ERASURES):
            return []
        return _lines(connection, location.schema)


def is_log_deleted(connection: Connection, schema: str, log_ids: Iterable[str], session_id: str) -> bool | None:
    """Tell whether a deletion in force names a log. A line that cannot be read is skipped.

    Args:
        connection: to the server.
        schema: the tables' schema.
        log_ids: the ids in the log's headers.
        session_id: the id of its session, by which a log without an id is known.

    Returns:
        False also if the database has no table for erasures, since nothing is noted there. None if this role may not
        read the table.
    """
    if not connection.has(ERASURES):
        return False
    try:
        with connection.transaction():  # a refusal must not end the caller's transaction
            lines = _lines(connection, schema)
    except Exception as error:
        if getattr(error, "sqlstate", None) == NO_RIGHTS:
            return None
        raise
    names = [f"log:{log_id}" for log_id in log_ids] or [f"session:{session_id}"]
    deleted = set[str]()
    """The salts of the deletions that name the log."""
    lifted = set[str]()
    for line in lines:
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
            value = json.loads(line)
            lifted.update(str(salt) for salt in value.get("lifts", ()))
            if value.get("erased") == "session":
                salt = str(value["salt"])
                if any(salted_name(salt, name) in value["names"] for name in names):
                    deleted.add(salt)
    return bool(deleted - lifted)


def _lines(connection: Connection, schema: str) -> list[str]:
    statement = f"select line from {schema}.erasure order by number"
    return [line for (line,) in connection.execute(statement.encode()).fetchall()]


def add_erasure_lines(storage: str, lines: Sequence[str]) -> None:
    """Add erasure lines to a database, within this thread's transaction if it has one.

    Do nothing if the database has no table of erasures.

    Raises:
        ValueError: the location is invalid.
        AppendError: the server refused, or the connection broke.
    """
    with asking(storage, TIMEOUT_S, AppendError) as (connection, location):
        if connection.has(ERASURES):
            statement = (
                f"insert into {location.schema}.erasure (line) select new.line from unnest(%s::text[]) as new (line)"
            )
            with connection.transaction():  # a refusal must not end the transaction of a deletion
                connection.execute(statement.encode(), [list(lines)])
