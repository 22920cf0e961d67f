"""The SQL statements of a log. The functions send statements on a given connection; this module keeps no state.

A statement does not depend on earlier ones, so it may run on any connection of a pool. Rules:
- Functions are always called with `pg_catalog`, never by `search_path`. Only `unnest` of several arrays is written
  without it: it belongs to the server's grammar, which uses `pg_catalog`.
- An append is one statement. It advances the log's row only if head, checksum and generation are as the caller knows
  them, and inserts the lines. Otherwise it does nothing, and the function returns False.
- While the log's row is locked (`lock=True`, in a transaction), no other client can append.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ..record_line import MARK
from .layout import LogId, LogKey, id_of
from .migration_steps import ARCHIVE

if TYPE_CHECKING:
    from .connection import Connection

MESSAGE, CONTROL, OTHER, INDEXED, RECEIPT = range(5)
"""Kinds of rows, in this order: a message record, whose line must be read; a control record, whose line must be read;
any other line, which must be scanned; a sound message whose columns have all facts for the index; a sound receipt (the
record of a request to a model), of which only one line for each recipient must be read."""

PLAIN_USER = 1 << 5
"""A flag of a plain user's message (`MessageColumns.plain_users`)."""

NO_NEWLINE = 1 << 14
"""A flag of a log's last row: its line has no LF, because the log was copied from a file without a last LF."""

BLOCK_BYTES = 4 << 20
BLOCK_ROWS = 20_000

COLUMNS = "seq, at, kind, crc, role, flags, id_hash, length, line"
"""The columns of a row of `record`, without the key of its log."""
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
"""SQL: whether the role may write `touched`. A role that got its rights before `touched` was added may not."""
_IS_BEHIND = f"log.touched < pg_catalog.now() - interval '{TOUCHED_S} s'"
TOUCHING = f", touched = case when {_IS_BEHIND} then pg_catalog.now() else log.touched end"
"""SQL, in an update of a log's row: keep `touched` at most an hour behind `changed` (`migration_steps.TOUCHED`)."""


WAITS = "coalesce(pg_catalog.current_setting('synchronous_commit', true), 'off') <> 'off'"
"""An SQL condition: whether the server's own setting makes a commit wait for the disk."""


def level_of(*, durable: bool) -> str:
    """Return a query that sets whether the commit of the current transaction waits for the server's disk."""
    level = "coalesce(nullif(pg_catalog.current_setting('synchronous_commit'), 'off'), 'on')" if durable else "'off'"
    return f"select pg_catalog.set_config('synchronous_commit', {level}, true)"


class Columns(NamedTuple):
    """The columns of a row: the facts about its line."""

    kind: int
    role: int
    flags: int
    length: int
    """The length of the line in bytes, with LF."""
    crc: int
    id_hash: int


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a log without its LF, its offset `at`, and its columns."""

    at: int
    columns: Columns
    line: bytes


@dataclass(frozen=True, slots=True)
class Head:
    """The row of a log in the table `log`.

    `head` is the number of its lines, `size` their bytes with LF, and `crc` the checksum that the next line continues.
    """

    log_id: LogId
    head: int
    size: int
    crc: int
    generation: int
    archived: int = 0
    """The number of lines in frames, counted from the first line."""
    place: str = field(default="", compare=False)
    """The place of this version of the row in its table (`ctid`); "" if it is unknown. See `place_of_row`."""

    @property
    def key(self) -> LogKey:
        """The key of the log's rows."""
        return LogKey(self.log_id, self.generation)

    def after(self, new: Sequence[Row], place: str = "") -> Head:
        """Return the log's row after the rows `new` were appended, with the place of the row's new version."""
        last = new[-1]
        end = last.at + last.columns.length
        return Head(self.log_id, self.head + len(new), end, last.columns.crc, self.generation, self.archived, place)


def place_of_row(*, has_place: bool) -> str:
    """Return the SQL expression for the place of a log's row in its table (`Head.place`), as text.

    Each append writes a new version of the row. While another transaction is open for long, the server keeps the old
    versions, and looks at all of these if it finds the row by the log's id. So an append also names the place at which
    the last append put the row. The place is only a hint: an append that does not find the row there stores nothing,
    and the log's row is then found by the id.
    """
    return "log.ctid::text" if has_place else "''"


def begin(connection: Connection, *, limit_s: float, idle_s: float = 0.0) -> None:
    """Begin a transaction with time limits, so that the server ends it if this process dies or waits too long.

    Each statement sees what was committed before it, whatever isolation level the role or the database has by default.

    Args:
        connection: the connection, in autocommit mode and in no transaction.
        limit_s: how long a statement may wait for a lock, in seconds.
        idle_s: how long this process may take between two statements, in seconds; `limit_s` if that is longer.
    """
    connection.execute(b"begin isolation level read committed")
    limit_waits(connection, limit_s=limit_s, idle_s=idle_s)


_ANY_LENGTH = """
    case when pg_catalog.current_setting('transaction_timeout', true) is not null
         then pg_catalog.set_config('transaction_timeout', '0', true) end
"""
"""SQL: let the current transaction take any time, whatever limit the role has. PostgreSQL has the limit since 17.
A purge or a copy may take long; the other limits end it soon after its process died."""


def limit_waits(connection: Connection, *, limit_s: float, idle_s: float = 0.0) -> None:
    """Set the time limits of the current transaction, as for `begin`, and update `DeadlineConnection.waits`."""
    limits = [f"{round(1000 * seconds) + 1000}ms" for seconds in (limit_s, max(limit_s, idle_s))]
    row = connection.execute(
        f"select {WAITS}, pg_catalog.set_config('lock_timeout', %s, true),"
        f" pg_catalog.set_config('idle_in_transaction_session_timeout', %s, true), {_ANY_LENGTH}".encode(),
        limits,
    ).fetchone()
    connection.waits = bool(row and row[0])


def read_head(connection: Connection, schema: str, name: str, *, lock: bool = False) -> Head | None:
    """Return a log's row; None if there is no such log. With `lock`, the row is locked until the transaction ends."""
    layout = connection.layout
    has_archive = connection.has(ARCHIVE)
    archived = "archived" if has_archive else "0"
    place = place_of_row(has_place=connection.has_places)
    for_update = " for update" if lock else ""
    statement = f"""
        select {layout.id_from("log_id")}, head, size, crc, generation, {archived}, {place}
          from {schema}.log
         where {layout.name_column} = %s{for_update}
    """
    row = connection.execute(statement.encode(), [layout.key_of(name)]).fetchone()
    return Head(*row) if row else None


def read_archived(connection: Connection, schema: str, log_id: LogId) -> int | None:
    """Return the number of a log's archived lines; None if there is no such log, or no table for archived lines."""
    if not connection.has(ARCHIVE):
        return None
    row = connection.execute(f"select archived from {schema}.log where log_id = %s".encode(), [log_id]).fetchone()
    return row[0] if row else None


def create(
    connection: Connection, schema: str, name: str, *, like: LogKey | None = None, generation: int | None = None
) -> Head | None:
    """Create a log's row, and return the row; None if nothing was created, because a log has this name already.

    Args:
        connection: to the server.
        schema: the tables' schema.
        name: the name of the log.
        like: a log whose owner and time of creation the new row gets. If it does not exist, nothing is created.
        generation: the former generation of a log that is created again with its old lines; None for a new one.
    """
    layout = connection.layout
    expressions = {"name": "%(name)s::text"}  # by column
    source = ""
    parameters: dict[str, Any] = {"name": name, "new_id": id_of(name), "new_generation": generation}
    if layout.has_derived_ids:
        expressions["log_id"] = "%(new_id)s::uuid"
    if generation is not None:
        expressions["generation"] = "%(new_generation)s::bigint"
    if like is not None:
        expressions |= {"owner": "owner", "created": "created"}
        source = f"from {schema}.log where log_id = %(log_id)s and generation = %(generation)s"
        parameters |= like._asdict()
    statement = f"""
        insert into {schema}.log ({", ".join(expressions)}) select {", ".join(expressions.values())} {source}
            on conflict do nothing
        returning {layout.id_from("log_id")}, head, size, crc, generation
    """
    row = connection.execute(statement.encode(), parameters).fetchone()
    return Head(*row) if row else None


def delete(connection: Connection, schema: str, key: LogKey, *, successor: LogKey | None = None) -> None:
    """Delete a log's row, its lines, and lines that an earlier log under its id left (`count_leftover`).

    The lines are deleted first: with row-level security a role sees them only as long as it sees the log's row.

    Args:
        connection: the connection, in a transaction.
        schema: the tables' schema.
        key: the log.
        successor: the log that takes its place; its lines stay.
    """
    others = [""]
    values: dict[str, Any] = key._asdict()
    if successor is not None and successor.log_id == key.log_id:
        others = [" and generation < %(kept)s", " and generation > %(kept)s"]  # each is a range of the index
        values["kept"] = successor.generation
    for condition in others:
        connection.execute(f"delete from {schema}.record where log_id = %(log_id)s{condition}".encode(), values)
    of_row = "log_id = %(log_id)s and generation = %(generation)s"
    connection.execute(f"delete from {schema}.log where {of_row}".encode(), values)


def count_leftover(connection: Connection, schema: str, name: str) -> int:
    """Count the rows of `record` under a log's id that are not lines of the log; 0 if there is no such log.

    They have a number beyond the log's end, or the generation of an earlier log of this name. No transaction of this
    package leaves such rows. They are left if somebody deletes the row of a log without its lines, or restores one
    table alone.
    """
    layout = connection.layout
    conditions = [f"record.seq >= log.head {layout.same_generation}"]
    if layout.has_derived_ids:
        conditions += ["record.generation < log.generation", "record.generation > log.generation"]
    counts = [
        f"(select pg_catalog.count(*) from {schema}.record where record.log_id = log.log_id and {condition})"
        for condition in conditions
    ]
    statement = f"select {' + '.join(counts)} from {schema}.log where {layout.name_column} = %s"
    row = connection.execute(statement.encode(), [layout.key_of(name)]).fetchone()
    return int(row[0]) if row else 0


def rename(connection: Connection, schema: str, new_key: LogKey, name: str, key: LogKey) -> None:
    """Give a log's row another name and key.

    No row of another table may refer to the row, and the name must be free.
    """
    values = {"made": new_key.log_id, "name": name, **key._asdict()}
    if not connection.layout.has_derived_ids:
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
    """Insert lines with the numbers from `start` on. The caller updates the log's row in the same transaction."""
    layout = connection.layout
    statement = f"""
        insert into {schema}.record ({layout.key_columns}, {COLUMNS})
        select {layout.key_values}, %(start)s + new.number - 1, {_VALUES} from {_ROWS}
    """
    connection.execute(statement.encode(), {**key._asdict(), "start": start, **_values_of(rows)})


def append(
    connection: Connection, schema: str, known: Head, rows: Sequence[Row], *, durable: bool, touches: bool = False
) -> Head | None:
    """Append lines if the log is unchanged since the caller read its row (`known`), and return the new row.

    The result is None if it has changed.

    Args:
        connection: the connection; in autocommit mode the statement is its own transaction.
        schema: the tables' schema.
        known: the log's row as the caller knows it.
        rows: the lines.
        durable: wait until the server has the lines on its disk; if false, a crash of the server may lose them.
        touches: set `touched`, if it is more than an hour old. `changed` is the exact time of the last append, but only
            `touched` has an index, which is seldom updated for this reason (`migration_steps.TOUCHED`).
    """
    values = _values_of(rows)
    columns = connection.layout.key_columns
    touching = TOUCHING if touches else ""
    at_place = " and log.ctid = %(place)s::tid" if known.place else ""
    place = place_of_row(has_place=connection.has_places)
    statement = f"""
        with advanced as (
            update {schema}.log as log
               set head = log.head + %(count)s, size = %(size)s, crc = %(last_crc)s,
                   changed = pg_catalog.now(){touching}
              from ({level_of(durable=durable)}) as level
             where log.log_id = %(log_id)s and log.head = %(head)s and log.crc = %(crc_before)s
               and log.generation = %(generation)s{at_place}
            returning log.log_id, log.generation, {place} as place
        ), added as (
            insert into {schema}.record ({columns}, {COLUMNS})
            select {columns}, %(head)s + new.number - 1, {_VALUES} from {_ROWS}, advanced
        )
        select place from advanced
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
        "place": known.place,
    }
    stored = connection.execute(statement.encode(), values).fetchone()
    return None if stored is None else known.after(rows, stored[0])


def _values_of(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the columns of new rows, each as a list by its name, as the parameters of the SQL in `_ROWS`."""
    values: dict[str, Any] = {name: [getattr(row.columns, name) for row in rows] for name in Columns._fields}
    values["at"] = [row.at for row in rows]
    values["line"] = [row.line for row in rows]
    return values


def read_block(connection: Connection, schema: str, key: LogKey, start: int, stop: int) -> list[bytes]:
    """Read a block of lines from number `start` on: at least one line, about `BLOCK_BYTES`, up to a missing number.

    The query is limited by line numbers, so the server reads only one block, whatever its query plan is.
    """
    statement = f"""
        select line, seq from (
            select seq, line, pg_catalog.sum(length) over (order by seq) - length as before
              from {schema}.record
             where {connection.layout.of_log} and seq >= %(start)s and seq < %(stop)s
        ) as ahead
         where before < {BLOCK_BYTES}
         order by seq
    """
    values = {**key._asdict(), "start": start, "stop": min(stop, start + BLOCK_ROWS)}
    found = connection.execute(statement.encode(), values, binary=True).fetchall()
    return [line for number, (line, seq) in enumerate(found, start) if seq == number]


def read_lines(connection: Connection, schema: str, key: LogKey, start: int, stop: int) -> Iterator[bytes]:
    """Yield the lines from number `start` to before `stop`; end early if a line is missing."""
    while start < stop and (block := read_block(connection, schema, key, start, stop)):
        yield from block
        start += len(block)


def read_columns(connection: Connection, schema: str, key: LogKey, start: int, stop: int) -> list[Columns]:
    """Read the columns of the rows from number `start` to before `stop`, from the covering index."""
    statement = f"""
        select kind, role, flags, length + 1, crc, id_hash from {schema}.record
         where {connection.layout.of_log} and seq >= %(start)s and seq < %(stop)s order by seq
    """
    values = {**key._asdict(), "start": start, "stop": stop}
    found = connection.execute(statement.encode(), values, binary=True).fetchall()
    return list(map(Columns._make, found))


def read_chosen(connection: Connection, schema: str, key: LogKey, numbers: Sequence[int]) -> dict[int, bytes]:
    """Read the lines with these numbers, and return them by number. Missing lines are left out."""
    of_log = connection.layout.of_log
    statement = f"select seq, line from {schema}.record where {of_log} and seq = any(%(numbers)s::bigint[])"
    values = {**key._asdict(), "numbers": list(numbers)}
    return dict(connection.execute(statement.encode(), values, binary=True).fetchall())


def find_bytes(
    connection: Connection, schema: str, key: LogKey, numbers: Sequence[int], needle: bytes, *, ignores_case: bool
) -> set[int]:
    """Search the lines with these numbers for bytes, and return the numbers of lines that may contain these bytes.

    In a line with the mark `MARK`, all characters beyond ASCII are written as escapes. So if the searched bytes are not
    ASCII, each such line is returned.
    """
    searched, line = compared("%(needle)b::bytea", ignores_case=ignores_case)
    escaped = "" if needle.isascii() else " or pg_catalog.position(line, %(mark)b::bytea) > 0"
    statement = f"""
        select seq from {schema}.record
         where {connection.layout.of_log} and seq = any(%(numbers)s::bigint[])
           and (pg_catalog.position({line}, {searched}) > 0{escaped})
    """
    values = {**key._asdict(), "needle": needle, "mark": MARK, "numbers": list(numbers)}
    return {row[0] for row in connection.execute(statement.encode(), values).fetchall()}


def compared(needle: str, *, ignores_case: bool) -> tuple[str, str]:
    """Return SQL expressions for the searched bytes and for a line, in a form that can be compared.

    With `ignores_case`, both are written in ASCII (with escapes) and in lower case. So every line with the bytes is
    found, and sometimes a line without the bytes.
    """
    if not ignores_case:
        return needle, "line"
    return _in_lower_case(needle), _in_lower_case("line")


def _in_lower_case(expression: str) -> str:
    return f"""pg_catalog.lower(pg_catalog.encode({expression}, 'escape') collate "C")"""
