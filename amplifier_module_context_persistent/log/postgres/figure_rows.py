"""The stored figures of logs (counts of turns, calls and tokens): bytes that the server does not interpret."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import LogUnreadableError
from .ask_database import TIMEOUT_S, ask, asking

if TYPE_CHECKING:
    from ..database_location import Location
    from .connection import Connection


def kept_figures(storage: str, names: Sequence[str], counted: str) -> dict[str, bytes]:
    """Return the stored figures of those logs that have not changed since they were counted, by the logs' names.

    The result is empty if the server does not give figures: the tables may be older, or the role may not read them.

    Args:
        storage: a location without a log's name.
        names: the logs.
        counted: the counter and version of the wanted figures; figures of another counter or version are not returned.
    """

    def question(connection: Connection, location: Location) -> dict[str, bytes]:
        layout = connection.layout
        statement = f"""
            select log.name, figures.told from {location.schema}.figures join {location.schema}.log using (log_id)
             where {layout.among("figures")}
               and figures.size = log.size and figures.counted = %(counted)s
        """
        values = {"keys": layout.keys_of(names), "counted": counted}
        return dict(connection.execute(statement.encode(), values, binary=True).fetchall())

    with suppress(LogUnreadableError):
        return ask(storage, TIMEOUT_S, question)
    return {}


def keep_figures(storage: str, counted: str, new: Sequence[tuple[str, int, bytes]]) -> None:
    """Store the figures of logs. Do nothing if the role may not write figures.

    Args:
        storage: a location without a log's name.
        counted: the counter and the version of the figures.
        new: for each log, its name, its size when it was counted, and its figures.
    """
    with suppress(LogUnreadableError), asking(storage, TIMEOUT_S) as (connection, location):
        layout = connection.layout
        names = [name for name, _, _ in new]
        sizes = [size for _, size, _ in new]
        figures = [figure for _, _, figure in new]
        statement = f"""
            insert into {location.schema}.figures (log_id, size, counted, told)
            select log.log_id, log.size, %s, new.told
              from unnest(%s::{layout.name_type}[], %s::bigint[], %b::bytea[]) as new (key, size, told)
              join {location.schema}.log on log.{layout.name_column} = new.key and log.size = new.size
                on conflict (log_id) do update
               set size = excluded.size, counted = excluded.counted, told = excluded.told
        """
        connection.execute(statement.encode(), [counted, layout.keys_of(names), sizes, figures])
