"""Append a single line, the case of nearly every append."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from .layout import Layout, layout_of
from .rows import COLUMNS, TOUCHING, Head, Row, level_of

if TYPE_CHECKING:
    import psycopg

_FORMATS = (0,) * 12 + (1,)  # numbers are sent as text, the line as bytes


@cache
def statement_for(schema: str, layout: Layout, *, durable: bool, waits: bool, touches: bool) -> bytes:
    """Return the SQL statement that appends one line.

    Args:
        schema: the tables' schema.
        layout: the tables' layout.
        durable: whether the server must have the line on its disk before it answers.
        waits: whether the server's own setting makes it wait for its disk. Then the statement only checks the setting,
            which saves the server a tenth of the work. If the setting was changed, the statement stores nothing.
        touches: whether to update the column `touched`, as `rows.append` does.
    """
    is_set = durable and waits
    source = "" if is_set else f"from ({level_of(durable=durable)}) as level"
    guard = " and pg_catalog.current_setting('synchronous_commit') <> 'off'" if is_set else ""
    return f"""
        with advanced as (
            update {schema}.log as log
               set head = $2::bigint + 1, size = $6::bigint, crc = $7::bigint,
                   changed = pg_catalog.now(){TOUCHING if touches else ""}
              {source}
             where log.log_id = $1::{layout.id_type} and log.head = $2::bigint and log.crc = $3::bigint
               and log.generation = $4::bigint{guard}
            returning log.log_id, log.generation
        )
        insert into {schema}.record ({layout.key_columns}, {COLUMNS})
        select {layout.key_columns}, $2::bigint, $5::bigint, $8::smallint, $7::bigint, $9::smallint, $10::smallint,
               $11::bigint, $12::bigint, $13::bytea
          from advanced
    """.encode()


def append_one_row(
    connection: psycopg.Connection[Any], schema: str, known: Head, row: Row, *, durable: bool, touches: bool
) -> bool:
    """Append a line if the log still is as the caller knows it, and return whether the line was stored.

    With `durable`, nothing is stored either if the server has stopped waiting for its disk since `waits` was read. The
    caller then locks the log's row and tries again; for this, `rows.begin` reads the setting again.

    Args:
        connection: the connection; in autocommit mode the statement is its own transaction.
        schema: the tables' schema.
        known: the log's row as the caller knows it.
        row: the line.
        durable: as for `rows.append`.
        touches: as for `rows.append`.
    """
    kind, role, flags, length, crc, id_hash = row.columns
    numbers = (
        known.head,
        known.crc,
        known.generation,
        row.at,
        row.at + length,
        crc,
        kind,
        role,
        flags,
        id_hash,
        length - 1,
    )
    waits: bool = connection.waits  # type: ignore[attr-defined]  # of DeadlineConnection
    name = b"append %d%d%d" % (durable, waits, touches)
    statement = statement_for(schema, layout_of(connection), durable=durable, waits=waits, touches=touches)
    values = [str(known.log_id).encode(), *(b"%d" % number for number in numbers), row.line]
    return bool(connection.run(name, statement, values, _FORMATS))  # type: ignore[attr-defined]  # likewise
