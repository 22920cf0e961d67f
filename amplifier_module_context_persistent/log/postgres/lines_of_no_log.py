"""Lines in the table `record` that belong to no log: find them, and delete them.

No transaction of this package leaves any. They are left if somebody deletes rows of `log` by hand, or restores one
table alone. A restore that is running has such lines until it ends.

Rule: with row-level security a role sees only some rows of `log`, and would take the lines of all other logs for lines
of no log. So each statement is refused if the server would hide rows from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .layout import Layout, LogKey
from .row_security import seeing_all

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]


class LinesOfNoLog(NamedTuple):
    """Lines in the tables under one key, for which no log exists.

    Attributes:
        key: the key of the log that had them; in tables of version 2 the generation is unknown (0).
        lines: their number.
        size_bytes: their bytes in a file, with LF.
    """

    key: LogKey
    lines: int
    size_bytes: int


def lines_of_no_log(connection: Connection, schema: str, layout: Layout) -> list[LinesOfNoLog]:
    """Find the lines of no log, by key. The server reads the whole index of `record`.

    Args:
        connection: a connection in autocommit mode.
        schema: the tables' schema.
        layout: the tables' layout.

    Raises:
        psycopg.Error: the server refused, as it does if it would hide rows from this role.
    """
    generation = "generation" if layout.has_derived_ids else "0"
    statement = f"""
        select {layout.id_from("log_id")}, {generation}, pg_catalog.count(*), pg_catalog.sum(length + 1)::bigint
          from {schema}.record where {_of_no_log(schema, layout)}
         group by {layout.key_columns} order by {layout.key_columns}
    """
    with seeing_all(connection):
        found = connection.execute(statement.encode()).fetchall()
    return [LinesOfNoLog(LogKey(log_id, begun), lines, size) for log_id, begun, lines, size in found]


def delete_lines_of_no_log(connection: Connection, schema: str, layout: Layout, key: LogKey) -> int:
    """Delete the lines under a key, if there still is no log with this key, in one transaction.

    Return the number of lines.

    Raises:
        psycopg.Error: the server refused.
    """
    statement = f"delete from {schema}.record where {layout.of_log} and {_of_no_log(schema, layout)}"
    with seeing_all(connection):
        return connection.execute(statement.encode(), key._asdict()).rowcount


def _of_no_log(schema: str, layout: Layout) -> str:
    of_line = f"log.log_id = record.log_id {layout.same_generation}"
    return f"not exists (select from {schema}.log where {of_line})"
