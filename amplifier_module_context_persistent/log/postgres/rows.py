"""The statements of a log in PostgreSQL. Each function is one round trip on a connection; nothing is kept here.

A statement names everything that it depends on, so it may run on any connection of a pool. Rules:
- Functions are always taken from `pg_catalog`, not from `search_path`. `unnest` of several arrays is a form of the
  server's grammar, which uses `pg_catalog` by itself.
- An append is one statement: it advances the log's row only if head, checksum and generation are the caller's, and
  inserts the lines in the same statement. Otherwise it does nothing and says so.
- With the log's row locked (`lock=True`, inside a transaction), nobody else can append.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..record_line import MARK
from .layout import LogId, LogKey, id_of, layout_of
from .steps import ARCHIVE

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

MESSAGE, CONTROL, OTHER, INDEXED, RECEIPT = range(5)
"""Kinds of rows: a message record and a control record, whose lines must be read; any other line, which only a scan can
judge; a sound message whose columns have all facts for the index; a sound receipt, which is only counted."""

PLAIN_USER = 1 << 5
"""A flag of a message: `Index.plain_users`."""

NO_NEWLINE = 1 << 14
"""A flag of a log's last row: its line has no LF (it was copied from such a file)."""

BLOCK_BYTES = 4 << 20
BLOCK_ROWS = 20_000

COLUMNS = "seq, at, kind, crc, role, flags, id_hash, length, line"
"""Of a row with a line, without those of its log."""
_VALUES = "new.at, new.kind, new.crc, new.role, new.flags, new.id_hash, pg_catalog.length(new.line), new.line"
_ROWS = """
    unnest(%(at)b::bigint[], %(kind)b::smallint[], %(crc)b::bigint[], %(role)b::smallint[], %(flags)b::smallint[],
           %(id_hash)b::bigint[], %(line)b::bytea[])
    with ordinality as new (at, kind, crc, role, flags, id_hash, line, number)
"""


TOUCHED_S = 3600
MAY_TOUCH = """
    exists (select from pg_catalog.pg_attribute
             where attrelid = pg_catalog.to_regclass('{s}.log') and attname = 'touched'
               and pg_catalog.has_column_privilege(attrelid, attnum, 'update'))
"""
"""Whether the role may write `touched`; one that older tables gave its rights may not."""
_IS_BEHIND = f"log.touched < pg_catalog.now() - interval '{TOUCHED_S} s'"
TOUCHING = f", touched = case when {_IS_BEHIND} then pg_catalog.now() else log.touched end"
"""Keeps `touched` an hour at most behind `changed`, in an update of a log's row (`steps.TOUCHED`)."""


WAITS = "coalesce(pg_catalog.current_setting('synchronous_commit', true), 'off') <> 'off'"
"""Whether the server waits for its disk by its own setting."""


def level_of(*, durable: bool) -> str:
    """A query that lets the transaction at hand wait until the server has it on its disk, or not."""
    level = "coalesce(nullif(pg_catalog.current_setting('synchronous_commit'), 'off'), 'on')" if durable else "'off'"
    return f"select pg_catalog.set_config('synchronous_commit', {level}, true)"


class Columns(NamedTuple):
    """The columns of a row: the facts about its line."""

    kind: int
    role: int
    flags: int
    length: int
    """With LF."""
    crc: int
    id_hash: int


@dataclass(frozen=True, slots=True)
class Row:
    """One stored line of a log, without its LF, and its offset."""

    at: int
    columns: Columns
    line: bytes


@dataclass(frozen=True, slots=True)
class Head:
    """The row of a log: its id, its lines, their bytes with LF, and the checksum that the next line continues."""

    log_id: LogId
    head: int
    size: int
    crc: int
    generation: int
    archived: int = 0
    """The number of lines in frames, counted from the first line."""

    @property
    def key(self) -> LogKey:
        """What its rows are found by."""
        return LogKey(self.log_id, self.generation)

    def after(self, new: Sequence[Row]) -> Head:
        """The log's row after these rows were appended."""
        last = new[-1]
        end = last.at + last.columns.length
        return Head(self.log_id, self.head + len(new), end, last.columns.crc, self.generation, self.archived)


def begin(connection: Connection, *, limit_s: float, idle_s: float = 0.0) -> None:
    """Begin a transaction that ends by itself, should this process vanish or wait for another one for ever.

    Args:
        connection: in autocommit mode, in no transaction.
        limit_s: how long it may wait for a lock.
        idle_s: how long this process may take between two statements; at least `limit_s`.
    """
    connection.execute(b"begin")
    limit_waits(connection, limit_s=limit_s, idle_s=idle_s)


def limit_waits(connection: Connection, *, limit_s: float, idle_s: float = 0.0) -> None:
    """Limit the waits of the transaction at hand, as `begin` does, and see whether the server waits for its disk."""
    limits = [f"{round(1000 * seconds) + 1000}ms" for seconds in (limit_s, max(limit_s, idle_s))]
    row = connection.execute(
        f"select {WAITS}, pg_catalog.set_config('lock_timeout', %s, true),"
        " pg_catalog.set_config('idle_in_transaction_session_timeout', %s, true)".encode(),
        limits,
    ).fetchone()
    connection.waits = bool(row and row[0])  # type: ignore[attr-defined]  # of DeadlineConnection


def read_head(connection: Connection, schema: str, name: str, *, lock: bool = False) -> Head | None:
    """Read a log's row; with `lock`, hold it until the transaction ends."""
    archived = "archived" if connection.has(ARCHIVE) else "0"  # type: ignore[attr-defined]  # of DeadlineConnection
    layout = layout_of(connection)
    statement = f"""
        select {layout.id_from("log_id")}, head, size, crc, generation, {archived} from {schema}.log
         where {layout.name_column} = %s{" for update" if lock else ""}
    """
    row = connection.execute(statement.encode(), [layout.key_of(name)]).fetchone()
    return Head(*row) if row else None


def read_archived(connection: Connection, schema: str, log_id: LogId) -> int | None:
    """Read how many lines of a log are in frames; None if there is no such log, or the tables have no frames."""
    if not connection.has(ARCHIVE):  # type: ignore[attr-defined]  # of DeadlineConnection
        return None
    row = connection.execute(f"select archived from {schema}.log where log_id = %s".encode(), [log_id]).fetchone()
    return row[0] if row else None


def create(
    connection: Connection, schema: str, name: str, *, like: LogKey | None = None, generation: int | None = None
) -> Head | None:
    """Make a log's row, and give it; None if there is one already.

    Args:
        connection: to the server.
        schema: the tables' schema.
        name: the name of the log.
        like: the log whose owner and creation it gets; if that is gone, nothing is made.
        generation: of a log that is made again with the lines that it had; else the server gives a new one.
    """
    layout = layout_of(connection)
    values, source = {"name": "%(name)s::text"}, ""
    if layout.has_derived_ids:
        values["log_id"] = "%(new_id)s::uuid"
    if generation is not None:
        values["generation"] = "%(new_generation)s::bigint"
    given: dict[str, Any] = {"name": name, "new_id": id_of(name), "new_generation": generation}
    if like is not None:
        values |= {"owner": "owner", "created": "created"}
        source = f"from {schema}.log where log_id = %(log_id)s and generation = %(generation)s"
        given |= like._asdict()
    statement = f"""
        insert into {schema}.log ({", ".join(values)}) select {", ".join(values.values())} {source}
            on conflict do nothing
        returning {layout.id_from("log_id")}, head, size, crc, generation
    """
    row = connection.execute(statement.encode(), given).fetchone()
    return Head(*row) if row else None


def delete(connection: Connection, schema: str, key: LogKey) -> None:
    """Delete a log's row and its lines."""
    of_row = "log_id = %(log_id)s and generation = %(generation)s"
    for table, rows_of_log in (("log", of_row), ("record", layout_of(connection).of_log)):
        connection.execute(f"delete from {schema}.{table} where {rows_of_log}".encode(), key._asdict())


def rename(connection: Connection, schema: str, made: LogKey, name: str, key: LogKey) -> None:
    """Give a log's row another name and key; nothing refers to it, and no other row has the name."""
    values = {"made": made.log_id, "name": name, **key._asdict()}
    if not layout_of(connection).has_derived_ids:
        statement = f"update {schema}.log set name = %(name)s, generation = %(generation)s where log_id = %(made)s"
        connection.execute(statement.encode(), values)
        return
    statement = f"""
        insert into {schema}.log (log_id, name, generation, owner, created)
        select %(log_id)s::uuid, %(name)s::text, %(generation)s, owner, created
          from {schema}.log where log_id = %(made)s
    """
    connection.execute(statement.encode(), values)
    connection.execute(f"delete from {schema}.log where log_id = %(made)s".encode(), values)


def insert(connection: Connection, schema: str, key: LogKey, start: int, rows: Sequence[Row]) -> None:
    """Insert lines from number `start` on, of a log whose row is written in the same transaction."""
    layout = layout_of(connection)
    statement = f"""
        insert into {schema}.record ({layout.key_columns}, {COLUMNS})
        select {layout.key_values}, %(start)s + new.number - 1, {_VALUES} from {_ROWS}
    """
    connection.execute(statement.encode(), {**key._asdict(), "start": start, **_values_of(rows)})


def append(
    connection: Connection, schema: str, known: Head, rows: Sequence[Row], *, durable: bool, touches: bool = False
) -> bool:
    """Append lines after what is known; False, and nothing done, if the log is not as known any more.

    Args:
        connection: in autocommit mode the statement is its own transaction.
        schema: the tables' schema.
        known: the log's row as the caller knows it.
        rows: the lines.
        durable: wait until the server has it on its disk; else a crash of the server may lose the last moments.
        touches: keep `touched` an hour at most behind `changed` (`steps.TOUCHED`).
    """
    values, columns = _values_of(rows), layout_of(connection).key_columns
    statement = f"""
        with advanced as (
            update {schema}.log as log
               set head = log.head + %(count)s, size = %(size)s, crc = %(last_crc)s,
                   changed = pg_catalog.now(){TOUCHING if touches else ""}
              from ({level_of(durable=durable)}) as level
             where log.log_id = %(log_id)s and log.head = %(head)s and log.crc = %(crc_before)s
               and log.generation = %(generation)s
            returning log.log_id, log.generation
        )
        insert into {schema}.record ({columns}, {COLUMNS})
        select {columns}, %(head)s + new.number - 1, {_VALUES} from {_ROWS}, advanced
    """
    end = known.after(rows)
    values |= {
        "count": len(rows),
        "size": end.size,
        "last_crc": end.crc,
        "log_id": known.log_id,
        "head": known.head,
        "crc_before": known.crc,
        "generation": known.generation,
    }
    return bool(connection.execute(statement.encode(), values).rowcount == len(rows))


def _values_of(rows: Sequence[Row]) -> dict[str, Any]:
    """The values of new rows, as `_ROWS` names them."""
    values: dict[str, Any] = {"at": [row.at for row in rows], "line": [row.line for row in rows]}
    columns = zip(*(row.columns for row in rows), strict=True)
    return values | {name: list(column) for name, column in zip(Columns._fields, columns, strict=True)}


def read_block(connection: Connection, schema: str, key: LogKey, start: int, stop: int) -> list[bytes]:
    """Read lines from number `start` on: at least one, up to about `BLOCK_BYTES`; a missing number ends it.

    Both limits are numbers of lines, so the work is one block with any plan of the server.
    """
    statement = f"""
        select line, seq from (
            select seq, line, pg_catalog.sum(length) over (order by seq) - length as before
              from {schema}.record
             where {layout_of(connection).of_log} and seq >= %(start)s and seq < %(stop)s
        ) as ahead
         where before < {BLOCK_BYTES}
         order by seq
    """
    values = {**key._asdict(), "start": start, "stop": min(stop, start + BLOCK_ROWS)}
    found = connection.execute(statement.encode(), values, binary=True).fetchall()
    return [line for number, (line, seq) in enumerate(found, start) if seq == number]


def read_lines(connection: Connection, schema: str, key: LogKey, start: int, stop: int) -> Iterator[bytes]:
    """Return the lines from number `start` up to `stop`; fewer if one is missing."""
    while start < stop and (block := read_block(connection, schema, key, start, stop)):
        yield from block
        start += len(block)


def read_columns(connection: Connection, schema: str, key: LogKey, start: int, stop: int) -> list[Columns]:
    """Read the columns of some rows from number `start` on, from the covering index; fewer if one is missing."""
    statement = f"""
        select kind, role, flags, length + 1, crc, id_hash from {schema}.record
         where {layout_of(connection).of_log} and seq >= %(start)s and seq < %(stop)s order by seq
    """
    values = {**key._asdict(), "start": start, "stop": stop}
    found = connection.execute(statement.encode(), values, binary=True).fetchall()
    return list(map(Columns._make, found))


def read_chosen(connection: Connection, schema: str, key: LogKey, numbers: Sequence[int]) -> dict[int, bytes]:
    """Read the lines with some numbers; one that is missing is not in the answer."""
    of_log = layout_of(connection).of_log
    statement = f"select seq, line from {schema}.record where {of_log} and seq = any(%(numbers)s::bigint[])"
    values = {**key._asdict(), "numbers": list(numbers)}
    return dict(connection.execute(statement.encode(), values, binary=True).fetchall())


def find_bytes(
    connection: Connection, schema: str, key: LogKey, numbers: Sequence[int], needle: bytes, *, ignores_case: bool
) -> set[int]:
    """Find the lines, of some, that hold bytes; a line that writes all but ASCII by escapes may hold any others."""
    asked, line = compared("%(needle)b::bytea", ignores_case=ignores_case)
    escaped = "" if needle.isascii() else " or pg_catalog.position(line, %(mark)b::bytea) > 0"
    statement = f"""
        select seq from {schema}.record
         where {layout_of(connection).of_log} and seq = any(%(numbers)s::bigint[])
           and (pg_catalog.position({line}, {asked}) > 0{escaped})
    """
    values = {**key._asdict(), "needle": needle, "mark": MARK, "numbers": list(numbers)}
    return {row[0] for row in connection.execute(statement.encode(), values).fetchall()}


def compared(asked: str, *, ignores_case: bool) -> tuple[str, str]:
    """The SQL expressions for the searched bytes and a line, in a form that can be compared.

    With `ignores_case` both are in the server's notation of ASCII characters only. So every line with the bytes is
    found, and now and then one without them.
    """
    if not ignores_case:
        return asked, "line"
    return tuple(f"""pg_catalog.lower(pg_catalog.encode({one}, 'escape') collate "C")""" for one in (asked, "line"))  # type: ignore[return-value]  # two
