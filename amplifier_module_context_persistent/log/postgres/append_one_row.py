"""Append a single line, the case of nearly every append."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from .layout import Layout
from .rows import COLUMNS, TOUCHING, Head, Row, level_of, place_of_row

if TYPE_CHECKING:
    from .connection import Connection

_FORMATS = (0,) * 12 + (1, 0)  # numbers and the place are sent as text, the line as bytes


@cache
def statement_for(
    schema: str, layout: Layout, *, durable: bool, waits: bool, touches: bool, has_place: bool, by_place: bool
) -> bytes:
    """Return the SQL statement that appends one line to a log, for one combination of the options.

    Args:
        schema: the tables' schema.
        layout: the tables' layout.
        durable: whether the server must have the line on its disk before it answers.
        waits: whether the server's own setting makes it wait for its disk. Then the statement only checks the setting,
            which saves the server a tenth of the work. If the setting was changed, the statement stores nothing.
        touches: whether to update the column `touched`, as `rows.append` does.
        has_place: whether the server says at which place the log's row is.
        by_place: whether the statement finds the log's row by its place, which is its parameter $14.
    """
    sets_level = f"from ({level_of(durable=durable)}) as level"
    checks_level = ""
    if durable and waits:
        sets_level = ""
        checks_level = " and pg_catalog.current_setting('synchronous_commit') <> 'off'"
    touching = TOUCHING if touches else ""
    at_place = " and log.ctid = $14::tid" if by_place else ""
    place = place_of_row(has_place=has_place)
    return f"""
        with advanced as (
            update {schema}.log as log
               set head = $2::bigint + 1, size = $6::bigint, crc = $7::bigint,
                   changed = pg_catalog.now(){touching}
              {sets_level}
             where log.log_id = $1::{layout.id_type} and log.head = $2::bigint and log.crc = $3::bigint
               and log.generation = $4::bigint{checks_level}{at_place}
            returning log.log_id, log.generation, {place} as place
        ), added as (
            insert into {schema}.record ({layout.key_columns}, {COLUMNS})
            select {layout.key_columns}, $2::bigint, $5::bigint, $8::smallint, $7::bigint, $9::smallint, $10::smallint,
                   $11::bigint, $12::bigint, $13::bytea
              from advanced
        )
        select place from advanced
    """.encode()


def append_one_row(
    connection: Connection, schema: str, known: Head, row: Row, *, durable: bool, touches: bool
) -> Head | None:
    """Append a line if the log is unchanged since the caller read its row (`known`), and return the new row.

    The result is None if it has changed. With `durable`, the line is also not stored if the server's setting was
    changed so that the server does not wait for its disk (`connection.waits` is outdated). The caller then
    tries again with the log's row locked; `rows.begin` reads the setting again.

    Args:
        connection: the connection; in autocommit mode the statement is its own transaction.
        schema: the tables' schema.
        known: the log's row as the caller knows it.
        row: the line.
        durable: as for `rows.append`.
        touches: as for `rows.append`.
    """
    columns = row.columns
    values = [  # $1, $2 and so on of the statement
        str(known.log_id).encode(),
        b"%d" % known.head,
        b"%d" % known.crc,
        b"%d" % known.generation,
        b"%d" % row.at,
        b"%d" % (row.at + columns.length),
        b"%d" % columns.crc,
        b"%d" % columns.kind,
        b"%d" % columns.role,
        b"%d" % columns.flags,
        b"%d" % columns.id_hash,
        b"%d" % (columns.length - 1),
        row.line,
    ]
    by_place = bool(known.place)
    if by_place:
        values.append(known.place.encode())
    waits: bool = connection.waits
    has_place: bool = connection.has_places
    statement = statement_for(
        schema,
        connection.layout,
        durable=durable,
        waits=waits,
        touches=touches,
        has_place=has_place,
        by_place=by_place,
    )
    name = b"append %d%d%d%d%d" % (durable, waits, touches, has_place, by_place)  # one for each combination
    place = connection.run(name, statement, values, _FORMATS[: len(values)])
    return None if place is None else known.after([row], place.decode())
