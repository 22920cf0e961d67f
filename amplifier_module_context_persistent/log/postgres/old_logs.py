"""Find the logs of a PostgreSQL database that may be deleted as old, with one query."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from ...errors import LogUnreadableError
from .ask_database import SEARCH_S, asking
from .list_logs import of_project

_LAST_DAY = """
    pg_catalog.substr(told, nullif(pg_catalog.position(told, '"last_message":"'), 0) + 16, 10) collate "C"
"""
"""SQL: the day of a log's last message, from its kept list entry. A regular expression would take 4 times as long."""


class LogInTime(NamedTuple):
    """A log, and whether it has a message since a given time."""

    name: str
    changed_s: float
    """The time of its last write, in seconds since 1970."""
    is_in_use: bool
    """Whether the log was written to since the given time, and its kept list entry shows a message since then."""


def logs_without_news(storage: str, since_s: float, project: str | None = None) -> list[LogInTime] | None:
    """Return the logs that may have no message since a time, and the logs in use that may belong to a sub-agent.

    A log is in use if it was written to since the time, and its kept list entry shows a message since then. A list
    entry has only the day of a message, in any time zone, so the day must be at least two days after the time. A log
    may belong to a sub-agent if its name contains `_`. None if the server does not give this: the tables may be older,
    or the role may not read list entries.

    Args:
        storage: a location without a log's name.
        since_s: the time, in seconds since 1970.
        project: the part of a name before the last `/`; None for all projects.
    """
    day = datetime.fromtimestamp(since_s, UTC) + timedelta(days=2)
    with suppress(LogUnreadableError), asking(storage, SEARCH_S) as (connection, location):
        statement = f"""
            select name, pg_catalog.date_part('epoch', changed), is_in_use
              from (select name, changed, changed >= pg_catalog.to_timestamp(%(since)s::double precision)
                           and coalesce(glance.size = log.size and {_LAST_DAY} >= %(day)s::text, false) as is_in_use
                      from {location.schema}.log left join {location.schema}.glance using (log_id)
                     where {of_project(connection) if project is not None else "true"}) as judged
             where not is_in_use or pg_catalog.position(name, '_') > 0
        """
        values = {"since": since_s, "day": f"{day:%Y-%m-%d}", "project": project}
        return [LogInTime(*row) for row in connection.execute(statement.encode(), values).fetchall()]
    return None
