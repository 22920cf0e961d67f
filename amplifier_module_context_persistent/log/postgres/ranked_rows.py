"""The SQL statements of ranked search: which messages of which logs have a term (a word in its indexed form).

`ranked_message` has a row for each message of a log: the checksums of its terms, with a GIN index, and a weight of one
byte for each term. `ranked_log` says how much of a log is indexed. The rows of both tables are deleted with the log's
row, also in a purge. They are written when a session closes and when a question is searched, never by an append. If the
tables or the rights are missing, the client ranks in memory.
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
from .layout import LogId, LogKey
from .server_connections import ServerError, using
from .sqlstates import NO_RIGHTS

if TYPE_CHECKING:
    from .connection import Connection

ANSWER_S = 10.0
CHUNK = 256
"""The number of adjacent messages that form a chunk, for a query that is limited to some parts of logs."""

_REASONS = {
    "42P01": "the database has no tables for questions, so sessions are read for each;"
    " `storage init --migrate` makes them",
    NO_RIGHTS: "this role has no right to the tables for questions, so sessions are read for each; `storage init`"
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
    """The terms of a message and their weights, with the message's number, offset (`at`) and time in seconds."""

    number: int
    at: int
    seconds: int
    terms: Sequence[int]
    weights: bytes


class RankedServer:
    """The ranked search index of a database.

    Args:
        connection: the connection to the server.
        schema: the tables' schema.
        version: the version of terms and weights; rows of another version are ignored.
    """

    def __init__(self, connection: Connection, schema: str, version: int) -> None:
        self._connection = connection
        self._schema = schema
        self._version = version
        self._layout = connection.layout

    def _ask(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        self._connection.deadline = time.monotonic() + ANSWER_S
        return self._connection.execute(statement.encode(), values).fetchall()

    def logs(self, names: Sequence[str]) -> dict[str, RankedLog]:
        """Return the indexed part of each log, by name. Missing logs, and logs of another version, are left out."""
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
        found: dict[str, RankedLog] = {}
        for name, log_id, generation, size, end_offset, messages in rows:
            found[name] = RankedLog(LogKey(log_id, generation), size, end_offset, messages)
        return found

    def keep(self, known: RankedLog, new: Sequence[RankedRow], end_offset: int) -> RankedLog | None:
        """Add messages of a log to the index, and return the new indexed part.

        Return None, and do nothing, if another process has added messages first, or the log was deleted.
        """
        after = RankedLog(known.key, max(known.size, end_offset), end_offset, known.messages + len(new))
        numbers = [row.number for row in new]
        offsets = [row.at for row in new]
        seconds = [row.seconds for row in new]
        terms = [_array_text(row.terms) for row in new]
        weights = [row.weights for row in new]
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
            known.key.log_id,
            known.key.generation,
            known.end_offset,
            known.messages,
            numbers,
            offsets,
            seconds,
            terms,
            weights,
        )
        return after if rows else None

    def frequencies(self, logs: Sequence[RankedLog], terms: Sequence[int]) -> dict[int, int]:
        """Return how many messages in these logs have each of these terms, by term."""
        log_ids, counts = _columns_of(logs)
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
            log_ids,
            counts,
        )
        return dict(rows)

    def messages(
        self, logs: Sequence[RankedLog], term: int, chunks: Sequence[tuple[LogId, int]] | None = None
    ) -> list[tuple[Any, ...]]:
        """Return the messages with a term, as tuples of log id, number, offset, seconds and the term's weight.

        The tuples are ordered by log and number.

        Args:
            logs: the logs to search.
            term: the checksum of the term.
            chunks: the only chunks to search, each as a log's id and the chunk's number; None for all.
        """
        log_ids, counts = _columns_of(logs)
        is_in_chunks = ""
        values: list[Any] = [term, log_ids, counts, term]
        if chunks is not None:
            wanted = f"select * from unnest(%s::{self._layout.id_type}[], %s::bigint[])"
            is_in_chunks = f"and (message.log_id, message.number / %s) in ({wanted})"
            values += [CHUNK, [log_id for log_id, _ in chunks], [number for _, number in chunks]]
        return self._ask(
            f"""
            select {self._layout.id_from("message.log_id")}, message.number, message.at, message.seconds,
                   pg_catalog.get_byte(message.weights, pg_catalog.array_position(message.terms, %s::integer) - 1)
              from {self._schema}.ranked_message as message
              join unnest(%s::{self._layout.id_type}[], %s::bigint[]) as kept (log_id, messages)
                on kept.log_id = message.log_id and message.number < kept.messages
             where message.terms @> array[%s::integer] {is_in_chunks}
             order by message.log_id, message.number
            """,
            *values,
        )


def _columns_of(logs: Sequence[RankedLog]) -> tuple[list[LogId], list[int]]:
    """Return the ids of logs, and the numbers of their indexed messages."""
    return [log.key.log_id for log in logs], [log.messages for log in logs]


def _array_text(numbers: Sequence[int]) -> str:
    """Return numbers as the text of an SQL array. Such texts are needed because `unnest` takes no array of arrays."""
    return "{" + ",".join(map(str, numbers)) + "}"


@contextmanager
def ranked_server(storage: str, version: int) -> Iterator[RankedServer]:
    """Give the ranked search index of a storage, for a `with` statement.

    Raises:
        LogUnreadableError: the server cannot be queried, or refuses; perhaps the tables or the rights are missing.
    """
    location: Location = parse_location(storage)
    try:
        with using(location) as server, server.connected(time.monotonic() + ANSWER_S) as connection:
            yield RankedServer(connection, location.schema, version)
    except ServerError as error:
        reason = _REASONS.get(error.sqlstate, f"the ranked words cannot be reached: {error}")
        raise LogUnreadableError(errno.EIO, reason, location.shown) from error
