"""The logs of a PostgreSQL database that may be deleted as old, chosen by one question to the server."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from ...errors import LogUnreadableError
from .names import SEARCH_S, asking, of_project

_LAST_DAY = """
    pg_catalog.substr(told, nullif(pg_catalog.position(told, '"last_message":"'), 0) + 16, 10) collate "C"
"""
"""The day of a log's last message by its kept list entry; a regular expression takes the server 4 times as long."""


class LogInTime(NamedTuple):
    """A log, and whether it has news."""

    name: str
    changed_s: float
    """When it was written last, in seconds since 1970."""
    is_in_use: bool
    """Whether its kept list entry tells a message since the time that was asked for."""


def logs_without_news(storage: str, since_s: float, project: str | None = None) -> list[LogInTime] | None:
    """The logs that may have no message since a time; and those in use that may be a sub-agent's, by their names.

    A log is in use if it was written to since then, and its kept list entry tells a message since then. An entry counts
    only from the second day on after that time, as its message may name any time zone. None if the server does not
    say: the tables may be older, or the role may not read list entries.

    Args:
        storage: a location without a log's name.
        since_s: the time, in seconds since 1970.
        project: what stands before the last `/` of a name; None for all.
    """
    day = datetime.fromtimestamp(since_s, UTC) + timedelta(days=2)
    with suppress(LogUnreadableError), asking(storage, SEARCH_S, of_primary=True) as (connection, location):
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
