"""Which logs a PostgreSQL database holds, which of them may hold a word, what `list` says of each; and deleting one."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from ...errors import AppendError, DeleteError, LogUnreadableError
from ..database_location import Location, parse_location
from . import rows
from .layout import layout_of
from .open_marks import is_direct, may_go
from .replica import place_to_read
from .rows import TOUCHED_S
from .server import ServerError, using
from .steps import ARCHIVE, BY_ID, ID, PROJECT, TOUCHED

if TYPE_CHECKING:
    import psycopg

TIMEOUT_S = 10.0
SEARCH_S = 60.0
_FIRST_PAGE, _LARGEST_PAGE = 200, 5_000
_UNNAMED = """'"label":""'"""
"""The text in a kept list entry of a session to which nobody gave a name."""
_LAST_CHARACTER = chr(0x10FFFF)
"""The character that comes behind all others."""


@contextmanager
def asking(
    storage: str,
    limit_s: float,
    failure: type[LogUnreadableError | AppendError] = LogUnreadableError,
    advice: str = "",
    *,
    of_primary: bool = False,
) -> Iterator[tuple[psycopg.Connection[Any], Location]]:
    """Give a connection to a storage, and what its location says.

    Args:
        storage: a location.
        limit_s: how long everything may take.
        failure: the error if the server cannot be asked.
        advice: the end of that error's text.
        of_primary: ask the primary also while its replica is read.

    Raises:
        ValueError: the location is none.
        LogUnreadableError: there are no tables of ours.
        LogUnreadableError, AppendError: as `failure` says: the server cannot be asked, or refuses.
    """
    location = parse_location(storage)
    try:
        place = location if of_primary else place_to_read(location)
        with using(place) as server, server.connected(time.monotonic() + limit_s) as connection:
            yield connection, location
    except ServerError as error:
        raise failure(errno.EIO, f"the sessions cannot be reached: {error}{advice}", location.shown) from error


def of_project(connection: psycopg.Connection[Any]) -> str:
    """The condition of logs of the project `%(project)s`, by the index if there is one."""
    begins = "pg_catalog.starts_with(name, %(project)s || '/')"
    has_index = connection.has(TOUCHED)  # type: ignore[attr-defined]  # of DeadlineConnection
    return f"{PROJECT} = %(project)s and {begins}" if has_index else begins


def stored_logs(storage: str, project: str | None = None, *, since_s: float | None = None) -> list[tuple[str, float]]:
    """The names of the logs of one project, or of all, and their last writes in seconds since 1970.

    The last written log is the first.

    Args:
        storage: a location without a log's name.
        project: the part of a name before the last `/`.
        since_s: only logs that were written to at this time or later.

    Raises:
        ValueError: the location is invalid.
        LogUnreadableError: the server cannot be read, or has no tables of ours.
    """
    with asking(storage, TIMEOUT_S) as (connection, location):
        has_index = connection.has(TOUCHED)  # type: ignore[attr-defined]  # of DeadlineConnection
        wanted = [of_project(connection) if project is not None else "true"]
        if since_s is not None:
            at_least = "pg_catalog.to_timestamp(%(since)s::double precision)"
            wanted += [f"touched >= {at_least} - interval '{TOUCHED_S} s'"] * has_index + [f"changed >= {at_least}"]
        statement = f"""
            select name, pg_catalog.date_part('epoch', changed) from {location.schema}.log
             where {" and ".join(wanted)} order by changed desc, name
        """
        return connection.execute(statement.encode(), {"project": project, "since": since_s}).fetchall()


def stored_logs_of_id(storage: str, beginning: str, project: str | None = None) -> list[tuple[str, float]]:
    """Like `stored_logs`, but only logs whose id, or whose name with the project, begins with a text.

    Args:
        storage: a location without a log's name.
        beginning: the beginning of the last part of a name; or a whole name.
        project: the part of a name before the last `/`.

    Raises:
        ValueError, LogUnreadableError: as `stored_logs`.
    """
    with asking(storage, TIMEOUT_S) as (connection, location):
        if connection.has(BY_ID):  # type: ignore[attr-defined]  # of DeadlineConnection
            begins = f"{ID} >= %(beginning)s::text and {ID} < %(beginning)s::text || %(last)s::text"
        else:
            begins = f"pg_catalog.starts_with({ID}, %(beginning)s::text)"
        layout = layout_of(connection)
        statement = f"""
            select name, pg_catalog.date_part('epoch', changed) from {location.schema}.log
             where ({begins} or {layout.name_column} = %(whole)s)
               and (%(project)s::text is null or pg_catalog.starts_with(name, %(project)s::text || '/'))
             order by changed desc, name
        """
        values = {
            "beginning": beginning,
            "whole": layout.key_of(beginning),
            "last": _LAST_CHARACTER,
            "project": project,
        }
        return connection.execute(statement.encode(), values).fetchall()


def stored_logs_with_names(
    storage: str, hosted: Sequence[str], project: str | None = None
) -> list[tuple[str, float]] | None:
    """As `stored_logs`, only those that may have a name: by their list entry, since that is missing, or by a host.

    None if the server does not say: the tables may be older, or the role may not read list entries.

    Args:
        storage: a location without a log's name.
        hosted: names of logs whose sessions a host may have named.
        project: what stands before the last `/` of a name.
    """
    with suppress(LogUnreadableError), asking(storage, SEARCH_S) as (connection, location):
        statement = f"""
            select name, pg_catalog.date_part('epoch', changed)
              from {location.schema}.log left join {location.schema}.glance using (log_id)
             where {of_project(connection) if project is not None else "true"}
               and (coalesce(glance.size <> log.size, true) or name = any(%(hosted)s::text[])
                    or pg_catalog.position(told, {_UNNAMED}) = 0)
             order by changed desc, name
        """
        values = {"project": project, "hosted": list(hosted)}
        return connection.execute(statement.encode(), values).fetchall()
    return None


def stored_pages(storage: str, project: str | None = None) -> Iterator[list[tuple[str, float]]]:
    """The same as `stored_logs`, page by page: what is asked for costs, not what is there.

    Each page is a question of its own, which begins behind the last log of the one before. A log that is written to
    meanwhile may come on no page; then it was on none of those that came.

    Raises:
        ValueError, LogUnreadableError: as `stored_logs`.
    """
    waiting: list[tuple[datetime, str]] = []
    last: tuple[Any, str] | tuple[None, None] = (None, None)
    size = _FIRST_PAGE
    while True:
        found, lag = _page(storage, project, last, size)
        waiting += [(changed, name) for _, changed, name in found]
        waiting.sort(reverse=True)
        is_last = len(found) < size
        # of those that come later, none was written to after this
        latest = None if is_last else found[-1][0] + lag
        known = [one for one in waiting if latest is None or one[0] > latest]
        if known:
            yield [(name, changed.timestamp()) for changed, name in known]
            del waiting[: len(known)]
        if is_last:
            return
        last, size = (found[-1][0], found[-1][2]), min(2 * size, _LARGEST_PAGE)


def _page(
    storage: str, project: str | None, last: tuple[Any, str] | tuple[None, None], size: int
) -> tuple[list[tuple[datetime, datetime, str]], timedelta]:
    """Some logs behind one: the time that orders them, when they were written last, and their names.

    And how much later than the time that orders it a log may have been written to.
    """
    with asking(storage, TIMEOUT_S) as (connection, location):
        has_index = connection.has(TOUCHED)  # type: ignore[attr-defined]  # of DeadlineConnection
        order = "touched" if has_index else "changed"
        statement = f"""
            select {order}, changed, name from {location.schema}.log
             where {of_project(connection) if project is not None else "true"}
               {f"and ({order}, name) < (%(time)s::timestamptz, %(name)s::text)" if last[1] is not None else ""}
             order by {order} desc, name desc limit %(size)s
        """
        values = {"project": project, "time": last[0], "name": last[1], "size": size}
        found = connection.execute(statement.encode(), values).fetchall()
    return found, timedelta(seconds=rows.TOUCHED_S if has_index else 0)


def stored_heads(storage: str, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Read of some logs, by their names, what changes with every append and every purge.

    Raises:
        ValueError: the location is none.
        LogUnreadableError: the server cannot be asked, or has no tables of ours.
    """
    with asking(storage, TIMEOUT_S) as (connection, location):
        layout = layout_of(connection)
        statement = f"""
            select name, {layout.successor_column}, head, size from {location.schema}.log
             where {layout.among()}
        """
        found = connection.execute(statement.encode(), {"keys": layout.keys_of(names)}).fetchall()
        return {name: tuple(changing) for name, *changing in found}


def logs_with_word(storage: str, word: bytes, unless: bytes, *, ignores_case: bool) -> set[str]:
    """The names of the logs with a message that contains a word of ASCII letters, or the bytes `unless`.

    Logs that the server cannot judge are included: those with archived lines, or with lines that their columns do not
    describe completely. The server reads all other lines, in parallel if it is configured so. With `ignores_case` the
    word is in lower case, and the search takes twice as long.

    Raises:
        ValueError: the location is invalid.
        LogUnreadableError: the server cannot be read.
    """
    asked, line = rows.compared("%b::bytea", ignores_case=ignores_case)
    with asking(storage, SEARCH_S) as (connection, location):
        statement = f"""
            with found as materialized (  -- so that several processes of the server may share the work
                select distinct log_id from {location.schema}.record
                 where kind in ({rows.MESSAGE}, {rows.OTHER}) or kind = {rows.INDEXED} and (
                       pg_catalog.position({line}, {asked}) > 0 or pg_catalog.position(line, %b::bytea) > 0)
            )
            select name from found join {location.schema}.log using (log_id)
        """
        if connection.has(ARCHIVE):  # type: ignore[attr-defined]  # of DeadlineConnection
            statement += f" union select name from {location.schema}.log where archived > 0"
        return {name for (name,) in connection.execute(statement.encode(), [word, unless]).fetchall()}


def kept_glances(storage: str, names: Sequence[str]) -> dict[str, tuple[str, bytes]]:
    """Kept list entries of unchanged logs, by name: the entry, and the line that it names.

    Empty if the server does not give them: the tables may be older, or the role may not read them.
    """
    with suppress(LogUnreadableError), asking(storage, TIMEOUT_S) as (connection, location):
        layout = layout_of(connection)
        statement = f"""
            select log.name, glance.told, coalesce(record.line, '')
              from {location.schema}.glance join {location.schema}.log using (log_id)
              left join {location.schema}.record
                on record.log_id = log.log_id and record.seq = glance.line {layout.same_generation}
             where {layout.among("glance")} and glance.size = log.size
        """
        found = connection.execute(statement.encode(), {"keys": layout.keys_of(names)}, binary=True).fetchall()
        return {name: (told, line) for name, told, line in found}
    return {}


def archived_among(storage: str, names: Sequence[str]) -> set[str]:
    """The logs whose lines are all archived; empty if the server does not tell."""
    with suppress(LogUnreadableError), asking(storage, TIMEOUT_S) as (connection, location):
        if connection.has(ARCHIVE):  # type: ignore[attr-defined]  # of DeadlineConnection
            layout = layout_of(connection)
            statement = f"""
                select name from {location.schema}.log
                 where {layout.among()} and archived >= head and head > 0
            """
            found = connection.execute(statement.encode(), {"keys": layout.keys_of(names)}).fetchall()
            return {name for (name,) in found}
    return set()


def keep_glances(storage: str, new: Sequence[tuple[str, int, str, int]]) -> None:
    """Keep list entries of logs. Each item has a log's name and size, its entry, and an offset.

    The offset is that of the log's line whose text the entry shows, -1 if it shows none.

    Entries that the role may not write are computed again each time, and so are entries whose line is in no row because
    it is archived.
    """
    with suppress(LogUnreadableError), asking(storage, TIMEOUT_S, of_primary=True) as (connection, location):
        layout, has_row = layout_of(connection), ""
        names, *facts = zip(*new, strict=True)
        if connection.has(ARCHIVE):  # type: ignore[attr-defined]  # of DeadlineConnection
            has_row = f"""where log.archived = 0 or new.at < 0 or exists (
                select from {location.schema}.record where record.log_id = log.log_id and record.at = new.at)"""
        statement = f"""
            insert into {location.schema}.glance (log_id, size, told, line)
            select log.log_id, log.size, new.told, (
                       select seq from {location.schema}.record
                        where record.log_id = log.log_id and record.at = new.at order by seq limit 1)
              from unnest(%s::{layout.name_type}[], %s::bigint[], %s::text[], %s::bigint[]) as new (key, size, told, at)
              join {location.schema}.log on log.{layout.name_column} = new.key and log.size = new.size {has_row}
                on conflict (log_id) do update set size = excluded.size, told = excluded.told, line = excluded.line
        """
        connection.execute(statement.encode(), [layout.keys_of(names), *map(list, facts)])


def open_marks_in(storage: str) -> frozenset[int] | None:
    """The keys (`open_marks.mark_key`) of the logs that sessions have open; None if that is not known.

    Raises:
        ValueError: the location is none.
        LogUnreadableError: the server cannot be asked.
    """
    with asking(storage, TIMEOUT_S, of_primary=True) as (connection, location):
        if not (location.prepares and is_direct(connection)):
            return None
        statement = b"""
            select (classid::bigint << 32) | objid::bigint from pg_catalog.pg_locks
             where locktype = 'advisory' and objsubid = 1 and mode = 'ShareLock' and granted
               and database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
        """
        return frozenset(key for (key,) in connection.execute(statement).fetchall())


def delete_stored_log(
    location: str, size_bytes: int, *, begin: Callable[[], None] = lambda: None, timeout_s: float = TIMEOUT_S
) -> None:
    """Delete a log's rows, if it has the size that it had when it was looked at; `begin` is called before they go.

    Raises:
        DeleteError: it has another one; nothing was deleted.
        LogUnreadableError: there is no such log.
        AppendError: the server refused or went away; look before trying again.
    """
    advice = "; look whether the log is there before trying again"
    with asking(location, timeout_s, AppendError, advice, of_primary=True) as (connection, parsed):
        rows.begin(connection, limit_s=timeout_s)
        head = rows.read_head(connection, parsed.schema, parsed.name, lock=True)
        if head is None:
            raise LogUnreadableError(errno.ENOENT, "there is no such log; look again", parsed.shown)
        if head.size != size_bytes:
            raise DeleteError("the log was written to since it was looked at; nothing was deleted; look again")
        if parsed.prepares and is_direct(connection) and not may_go(connection, parsed):
            raise DeleteError("the session is open; close it first; nothing was deleted")
        begin()
        rows.delete(connection, parsed.schema, head.key)
        connection.execute(b"commit")
