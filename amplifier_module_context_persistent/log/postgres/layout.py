"""The layouts of the tables. A layout says how a log is found by its name, and a line by its number.

Each version of the tables from 2 on has a layout. New tables get the newest one; tables that exist keep theirs, and a
client works with both. `copy` moves sessions from one to the other.

In version 2 the server numbers the logs, and a separate index keeps names unique. A purge makes a new log, which gets
the name of the old one.

In version 3 the id of a log is a hash of its name. So the primary key keeps names unique, and a client knows the id
without asking. A line is found by the id, the generation and its number. A purge writes a new generation, and a log
that is begun after a deletion has a new one, too. A log that a failover lost is made again with the generation that it
had.

A generation is the time at which its transaction began, not a count, because two generations must never be equal. For
example, two purges begin with the same generation, and the first one loses its connection before it commits. It then
looks for its own new generation in the log's row, and must not mistake the second purge's generation for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias
from uuid import UUID

LogId: TypeAlias = int | str
"""The id of a log: a number, or a UUID as text. Making a `uuid.UUID` object would slow down each append."""


class LogKey(NamedTuple):
    """The key of a log's rows. A new log under an old name has another key."""

    log_id: LogId
    generation: int


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The parts of SQL statements that depend on the version. Parameters of conditions are the fields of a `LogKey`.

    Attributes:
        version: the number in the table `version`.
        id_type: the SQL type of `log_id`.
        name_column, name_type: the column of `log` by which a log with a name is found, and its type.
        successor_column: the column of `log` that tells a log from an earlier one of the same name.
        key_columns: the primary key of a table with lines, before the number of the line.
        of_log: the condition of the rows of a table with lines that belong to a log.
        same_generation: the end of the condition that joins such a table to `log` by `log_id`.
    """

    version: int
    id_type: str
    name_column: str
    name_type: str
    successor_column: str
    key_columns: str
    of_log: str
    same_generation: str

    @property
    def key_values(self) -> str:
        """The SQL parameters for the values of `key_columns`."""
        generation = ", %(generation)s::bigint" if self.has_derived_ids else ""
        return f"%(log_id)s::{self.id_type}{generation}"

    def id_from(self, expression: str) -> str:
        """Return the SQL expression that turns the id of a log into a `LogId`."""
        return f"{expression}::text" if self.has_derived_ids else expression

    @property
    def has_derived_ids(self) -> bool:
        """Whether the id of a log is a hash of its name, so that a log keeps its id when it is purged."""
        return self.name_column == "log_id"

    def among(self, *tables: str) -> str:
        """Return the SQL condition for the rows of the given logs, in `log` and in tables joined to it by `log_id`.

        Its parameter `keys` is the result of `keys_of`. With derived ids there is a condition for each table, because
        the server skips parts of a partitioned table only by a condition on this table.
        """
        chosen = ("log", *tables) if self.has_derived_ids else ("log",)
        return " and ".join(f"{table}.{self.name_column} = any(%(keys)s::{self.name_type}[])" for table in chosen)

    def keys_of(self, names: Sequence[str]) -> list[str]:
        """Return the key of each name, in the same order (`key_of`)."""
        return [self.key_of(name) for name in names]

    def key_of(self, name: str) -> str:
        """Return the value of the column `name_column` for a log: the log's name, or the id derived from this name."""
        return id_of(name) if self.has_derived_ids else name


NUMBERED = Layout(
    version=2,
    id_type="bigint",
    name_column="name",
    name_type="text",
    successor_column="log_id",
    key_columns="log_id",
    of_log="log_id = %(log_id)s",
    same_generation="",
)
DERIVED = Layout(
    version=3,
    id_type="uuid",
    name_column="log_id",
    name_type="uuid",
    successor_column="generation",
    key_columns="log_id, generation",
    of_log="log_id = %(log_id)s and generation = %(generation)s",
    same_generation="and record.generation = log.generation",
)
LAYOUTS = {layout.version: layout for layout in (NUMBERED, DERIVED)}


@lru_cache(maxsize=256)
def id_of(name: str) -> str:
    """Return the id of the log with a name: the first 128 bits of SHA-256 of the name in UTF-8, written as a UUID."""
    return str(UUID(bytes=hashlib.sha256(name.encode()).digest()[:16]))
