"""Count history that several sessions contain only once, in the session in which it was made.

Three things make copies of history: a fork begins with the history of another session (its origin), agents copy the
history into a new session when they resume one, and an export may be imported again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ..log.database_location import stored_name
from ..log.file_handle import first_line

if TYPE_CHECKING:
    import sqlite3

TIMES = {"turns": "first_us", "calls": "ifnull(called_us, answered_us)", "requests": "time_us"}
"""The time of a row of each table, in SQL."""
_MOST_HEADER_BYTES = 1 << 20


def count_once(connection: sqlite3.Connection) -> None:
    """Find the copied turns, calls and requests in the figures of sessions, so that they are not counted twice.

    The copied turns and calls are listed in new tables (`copies_table`). The tokens of copied requests are set to NULL,
    so that these requests cost nothing.
    """
    _note_created(connection)
    for table, when in (("turns", TIMES["turns"]), ("calls", TIMES["calls"])):
        connection.execute(f"CREATE TABLE {copies_table(table)} (place INTEGER PRIMARY KEY)")
        connection.execute(f"INSERT INTO {copies_table(table)} {_COPIES.format(table, 'copy_id', when, 1)}")
    paid = "uncached_tokens = NULL, cached_tokens = NULL, written_tokens = NULL, written_1h_tokens = 0"
    copies = _COPIES.format("requests", "bill_id", TIMES["requests"], "uncached_tokens IS NOT NULL")
    connection.execute(f"UPDATE requests SET {paid} WHERE rowid IN ({copies})")


def copies_table(table: str) -> str:
    """Return the name of the table that lists the copied rows of a table."""
    return f"copied_{table}"


def _note_created(connection: sqlite3.Connection) -> None:
    """Store the creation times of log files that share turns or answers with another log, from the files' headers."""
    connection.execute("CREATE TABLE made (session INTEGER PRIMARY KEY, created TEXT NOT NULL)")
    shared = " UNION ".join(
        f"SELECT session, path FROM {table} JOIN logs USING (session) WHERE {column} IN"
        f" (SELECT {column} FROM {table} WHERE {column} != '' GROUP BY {column} HAVING count(DISTINCT session) > 1)"
        for table, column in (("turns", "copy_id"), ("requests", "bill_id"))
    )
    for session, path in connection.execute(shared).fetchall():
        if stored_name(path) is None:
            connection.execute("INSERT INTO made VALUES (?, ?)", (session, _created(path)))


def _created(path: str) -> str:
    """Return the creation time in a log's header; "" if there is none or the header cannot be read."""
    try:
        created = orjson.loads(first_line(path, _MOST_HEADER_BYTES)).get("created")
    except (OSError, ValueError, AttributeError):
        return ""
    return created if isinstance(created, str) else ""


_COPIES = """SELECT place FROM (
    SELECT {0}.rowid AS place, row_number() OVER (
        PARTITION BY {1} ORDER BY instr(name, '_') > 0, is_fork, {2}, ended, created, length, session DESC
    ) AS number
    FROM {0} JOIN logs USING (session) LEFT JOIN made USING (session)
    LEFT JOIN (
        SELECT session, max(last_us) AS ended, sum(messages) AS length FROM turns GROUP BY session
    ) USING (session)
    WHERE {1} != '' AND {3}
) WHERE number > 1"""
"""SQL for the copied rows of a table: all but the most likely original of each set of equal rows.

The placeholders are the table, the column with the value that copies share, the expression for the row's time, and a
further condition. Nothing says for sure which session is the origin. So a row is judged to be a copy by these criteria,
in this order: the row's session is a sub-agent's, or a fork; the row is younger; the row's session went on for longer,
was made later (an export that was imported again), or has more messages.
"""
