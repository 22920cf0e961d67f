"""The statements of ranked words in PostgreSQL: which messages of which logs have a term.

`ranked_message` has a row for each message of a log: its terms' checksums, which a GIN index finds, and the weight of
each, a byte. `ranked_log` says how much of a log is indexed. Both are deleted with the log's row, as in a purge. They
are filled when sessions close and when a question is asked, never by an append. A database without these tables, or a
role without the rights, works too: the client then ranks in memory.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import LogUnreadableError
from ..database_location import Location, parse_location
from .layout import LogId, LogKey, layout_of
from .server import ServerError, using

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

ANSWER_S = 10.0
CHUNK = 256
"""Messages of a log that are asked for together when only those near some are wanted."""

_SAYS = {
    "42P01": "the database has no tables for questions, so sessions are read for each;"
    " `storage init --migrate` makes them",
    "42501": "this role has no right to the tables for questions, so sessions are read for each; `storage init`"
    " with --grant or --grant-read gives it",
}
"""The messages for errors of the server, by SQLSTATE: undefined table, insufficient privilege."""


@dataclass(frozen=True, slots=True)
class RankedLog:
    """The indexed part of a log.

    Attributes:
        key: the log.
        size: the current size of the log.
        end_offset, messages: the end of the indexed part, and its number of messages; 0 if nothing is indexed.
    """

    key: LogKey
    size: int
    end_offset: int
    messages: int


@dataclass(frozen=True, slots=True)
class RankedRow:
    """The terms of a message, with its number and its offset in the log, and when it was written."""

    number: int
    at: int
    seconds: int
    terms: Sequence[int]
    weights: bytes


class RankedServer:
    """The ranked words of a database.

    Args:
        connection: to the server.
        schema: of the tables.
        version: of terms and weights; rows of another one count for nothing.
    """

    def __init__(self, connection: Connection, schema: str, version: int) -> None:
        self._connection, self._schema, self._version = connection, schema, version
        self._layout = layout_of(connection)

    def _ask(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        self._connection.deadline = time.monotonic() + ANSWER_S  # type: ignore[attr-defined]  # of DeadlineConnection
        return self._connection.execute(statement.encode(), values).fetchall()

    def logs(self, names: Sequence[str]) -> dict[str, RankedLog]:
        """The indexed parts of logs, by their names; logs that do not exist are left out."""
        rows = self._ask(
            f"""
            select name, {self._layout.id_from("log_id")}, generation, size,
                   coalesce(end_offset, 0), coalesce(messages, 0)
              from {self._schema}.log
              left join {self._schema}.ranked_log as kept using (log_id)
             where log.{self._layout.name_column} = any(%s::{self._layout.name_type}[])
               and (kept.version is null or kept.version = %s)
            """,
            self._layout.keys_of(names),
            self._version,
        )
        return {name: RankedLog(LogKey(log_id, generation), *rest) for name, log_id, generation, *rest in rows}

    def keep(self, known: RankedLog, new: Sequence[RankedRow], end_offset: int) -> RankedLog | None:
        """Add messages of a log; None, and nothing done, if another process added some, or the log is gone."""
        after = RankedLog(known.key, max(known.size, end_offset), end_offset, known.messages + len(new))
        rows = self._ask(
            f"""
            with noted as (
                insert into {self._schema}.ranked_log as kept (log_id, version, end_offset, messages)
                select log_id, %s, %s, %s from {self._schema}.log where log_id = %s and generation = %s
                    on conflict (log_id) do update
                   set version = excluded.version, end_offset = excluded.end_offset, messages = excluded.messages
                 where kept.version <> excluded.version or (kept.end_offset, kept.messages) = (%s, %s)
                returning log_id
            ), added as (
                insert into {self._schema}.ranked_message (log_id, number, at, seconds, terms, weights)
                select noted.log_id, new.number, new.at, new.seconds, new.terms::integer[], new.weights
                  from noted, unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %b::bytea[])
                    as new (number, at, seconds, terms, weights)
                    on conflict (log_id, number) do update
                   set at = excluded.at, seconds = excluded.seconds, terms = excluded.terms, weights = excluded.weights
            )
            select log_id from noted
            """,
            self._version,
            end_offset,
            after.messages,
            *known.key,
            known.end_offset,
            known.messages,
            [row.number for row in new],
            [row.at for row in new],
            [row.seconds for row in new],
            ["{" + ",".join(map(str, row.terms)) + "}" for row in new],
            [row.weights for row in new],
        )
        return after if rows else None

    def frequencies(self, logs: Sequence[RankedLog], terms: Sequence[int]) -> dict[int, int]:
        """The number of messages in these logs with each of these terms."""
        rows = self._ask(
            f"""
            select wanted.term, found.messages
              from pg_catalog.unnest(%s::integer[]) as wanted (term), lateral (  -- term by term: the index is used
                   select pg_catalog.count(*) as messages
                     from {self._schema}.ranked_message as message
                     join unnest(%s::{self._layout.id_type}[], %s::bigint[]) as kept (log_id, messages)
                       on kept.log_id = message.log_id and message.number < kept.messages
                    where message.terms @> array[wanted.term]) as found
            """,
            list(set(terms)),
            *_columns_of(logs),
        )
        return dict(rows)

    def messages(
        self, logs: Sequence[RankedLog], term: int, chunks: Sequence[tuple[LogId, int]] | None = None
    ) -> list[tuple[Any, ...]]:
        """The messages of some logs that have a term: log, number, offset, seconds, and the term's weight; in order.

        Args:
            logs: the logs.
            term: the term.
            chunks: only these, each by the id of its log and its number, `CHUNK` messages each.
        """
        near, values = "", list[Any]()
        if chunks is not None:
            asked = f"select * from unnest(%s::{self._layout.id_type}[], %s::bigint[])"
            near = f"and (message.log_id, message.number / %s) in ({asked})"
            values = [CHUNK, [log_id for log_id, _ in chunks], [number for _, number in chunks]]
        return self._ask(
            f"""
            select {self._layout.id_from("message.log_id")}, message.number, message.at, message.seconds,
                   pg_catalog.get_byte(message.weights, pg_catalog.array_position(message.terms, %s::integer) - 1)
              from {self._schema}.ranked_message as message
              join unnest(%s::{self._layout.id_type}[], %s::bigint[]) as kept (log_id, messages)
                on kept.log_id = message.log_id and message.number < kept.messages
             where message.terms @> array[%s::integer] {near}
             order by message.log_id, message.number
            """,
            term,
            *_columns_of(logs),
            term,
            *values,
        )


def _columns_of(logs: Sequence[RankedLog]) -> tuple[list[LogId], list[int]]:
    return [log.key.log_id for log in logs], [log.messages for log in logs]


@contextmanager
def ranked_server(storage: str, version: int) -> Iterator[RankedServer]:
    """Give the ranked words of a storage.

    Raises:
        LogUnreadableError: the server cannot be asked, or refuses; perhaps the tables or the rights are missing.
    """
    location: Location = parse_location(storage)
    try:
        with using(location) as server, server.connected(time.monotonic() + ANSWER_S) as connection:
            yield RankedServer(connection, location.schema, version)
    except ServerError as error:
        said = _SAYS.get(error.sqlstate, f"the ranked words cannot be reached: {error}")
        raise LogUnreadableError(errno.EIO, said, location.shown) from error
