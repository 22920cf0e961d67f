"""List and search the logs of a PostgreSQL database, keep their list entries, and delete a log.

A *list entry* is the text that `list` shows for a log; the table `glance` keeps it. A log's *project* is the part of
its name before the last `/`.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import AppendError, DeleteError, LogUnreadableError
from ..open_mark import SESSION_IS_OPEN
from . import rows
from .ask_database import SEARCH_S, TIMEOUT_S, ask, asking
from .marks_after_start import seconds_until_marked
from .migration_steps import ARCHIVE, BY_ID, ID, PROJECT, TOUCHED
from .open_marks import is_direct, may_go
from .row_security import seeing_all
from .rows import TOUCHED_S
from .sqlstates import NO_RIGHTS

if TYPE_CHECKING:
    from ..database_location import Location
    from .connection import Connection


_FIRST_PAGE, _LARGEST_PAGE = 200, 5_000
_UNNAMED = """'"label":""'"""
"""The text in the kept list entry of a session without a name."""
_LAST_CHARACTER = chr(0x10FFFF)
"""The last character in the order of Unicode."""


def of_project(connection: Connection) -> str:
    """Return the SQL condition for the logs of the project `%(project)s`.

    The condition uses the index of projects, if there is one.
    """
    begins = "pg_catalog.starts_with(name, %(project)s || '/')"
    has_index = connection.has(TOUCHED)
    return f"{PROJECT} = %(project)s and {begins}" if has_index else begins


def stored_logs(storage: str, project: str | None = None, *, since_s: float | None = None) -> list[tuple[str, float]]:
    """Return the names of the logs of a project, or of all projects, each with the time of its last write.

    The times are in seconds since 1970. The log with the latest write comes first.

    Args:
        storage: a location without a log's name.
        project: the part of a name before the last `/`.
        since_s: only logs that were written to at this time or later.

    Raises:
        ValueError: the location is invalid.
        LogUnreadableError: the server cannot be read, or has no tables of ours.
    """

    def question(connection: Connection, location: Location) -> list[tuple[str, float]]:
        has_index = connection.has(TOUCHED)
        conditions = [of_project(connection) if project is not None else "true"]
        if since_s is not None:
            at_least = "pg_catalog.to_timestamp(%(since)s::double precision)"
            conditions.append(f"changed >= {at_least}")
            if has_index:
                conditions.append(f"touched >= {at_least} - interval '{TOUCHED_S} s'")
        statement = f"""
            select name, pg_catalog.date_part('epoch', changed) from {location.schema}.log
             where {" and ".join(conditions)} order by changed desc, name
        """
        return connection.execute(statement.encode(), {"project": project, "since": since_s}).fetchall()

    return ask(storage, TIMEOUT_S, question)


def stored_logs_of_id(storage: str, beginning: str, project: str | None = None) -> list[tuple[str, float]]:
    """Return logs like `stored_logs`, but only logs whose id begins with a text, or whose whole name is this text.

    Args:
        storage: a location without a log's name.
        beginning: the beginning of a session's id (the last part of a name), or a whole name.
        project: the part of a name before the last `/`.

    Raises:
        ValueError, LogUnreadableError: as for `stored_logs`.
    """

    def question(connection: Connection, location: Location) -> list[tuple[str, float]]:
        if connection.has(BY_ID):
            begins = f"{ID} >= %(beginning)s::text and {ID} < %(beginning)s::text || %(last)s::text"
        else:
            begins = f"pg_catalog.starts_with({ID}, %(beginning)s::text)"
        layout = connection.layout
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

    return ask(storage, TIMEOUT_S, question)


def stored_logs_with_names(
    storage: str, hosted: Sequence[str], project: str | None = None
) -> list[tuple[str, float]] | None:
    """Return logs like `stored_logs`, but only those whose sessions may have a name.

    These are logs whose kept list entry has a name, or is missing or outdated, and the logs in `hosted`.

    The result is None if the server refuses to answer. Its tables may be older, or the role may not read list entries.

    Args:
        storage: a location without a log's name.
        hosted: names of logs whose sessions a host may have named.
        project: the part of a name before the last `/`.
    """

    def question(connection: Connection, location: Location) -> list[tuple[str, float]]:
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

    with suppress(LogUnreadableError):
        return ask(storage, SEARCH_S, question)
    return None


class _PageRow(NamedTuple):
    """A row of a long listing: a log, with the values by which the next page continues."""

    ordered_by: datetime
    """The time that orders the pages: `touched`, which may be earlier than `changed`; without its index, `changed`."""
    changed: datetime
    """The time of the last write."""
    name: str


def stored_pages(storage: str, project: str | None = None) -> Iterator[list[tuple[str, float]]]:
    """Yield the logs of `stored_logs` page by page, so that the cost depends only on the pages that are used.

    Each page is a separate query, which begins after the last log of the page before. A log that is written to
    between two pages may be missing on all pages, but is never on two pages.

    Raises:
        ValueError, LogUnreadableError: as `stored_logs`.
    """
    waiting: list[tuple[datetime, str]] = []
    last: _PageRow | None = None
    size = _FIRST_PAGE
    while True:
        page, lag = _page(storage, project, last, size)
        waiting += [(row.changed, row.name) for row in page]
        waiting.sort(reverse=True)
        is_last_page = len(page) < size
        if is_last_page:
            ready = waiting
        else:
            latest_on_later_pages = page[-1].ordered_by + lag
            ready = [log for log in waiting if log[0] > latest_on_later_pages]
        if ready:
            yield [(name, changed.timestamp()) for changed, name in ready]
        if is_last_page:
            return
        waiting = waiting[len(ready) :]
        last = page[-1]
        size = min(2 * size, _LARGEST_PAGE)


def _page(storage: str, project: str | None, last: _PageRow | None, size: int) -> tuple[list[_PageRow], timedelta]:
    """Read the next page: at most `size` logs after the log `last`.

    Returns:
        The logs; and how much later than `ordered_by` the last write to a log may be.
    """

    def question(connection: Connection, location: Location) -> tuple[list[_PageRow], timedelta]:
        has_index = connection.has(TOUCHED)
        order = "touched" if has_index else "changed"
        conditions = [of_project(connection) if project is not None else "true"]
        values: dict[str, Any] = {"project": project, "size": size}
        if last is not None:
            conditions.append(f"({order}, name) < (%(time)s::timestamptz, %(name)s::text)")
            values |= {"time": last.ordered_by, "name": last.name}
        statement = f"""
            select {order}, changed, name from {location.schema}.log
             where {" and ".join(conditions)}
             order by {order} desc, name desc limit %(size)s
        """
        found = connection.execute(statement.encode(), values).fetchall()
        lag = timedelta(seconds=rows.TOUCHED_S if has_index else 0)
        return [_PageRow._make(row) for row in found], lag

    return ask(storage, TIMEOUT_S, question)


def stored_heads(storage: str, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return values that change with every append and every purge of a log, by the logs' names.

    Raises:
        ValueError: the location is invalid.
        LogUnreadableError: the server cannot be queried, or has no tables of this package.
    """

    def question(connection: Connection, location: Location) -> dict[str, tuple[int, ...]]:
        layout = connection.layout
        statement = f"""
            select name, {layout.successor_column}, head, size from {location.schema}.log
             where {layout.among()}
        """
        found = connection.execute(statement.encode(), {"keys": layout.keys_of(names)}).fetchall()
        return {name: tuple(changing) for name, *changing in found}

    return ask(storage, TIMEOUT_S, question)


def logs_with_word(storage: str, word: bytes, unless: bytes, *, ignores_case: bool) -> set[str]:
    """Return the names of the logs that may have a message with a word.

    Logs that the server cannot judge are included: logs with archived lines, and logs with lines that their columns do
    not describe completely. The server reads all other lines, in parallel if it is configured so.

    Args:
        storage: a location without a log's name.
        word: a word of ASCII letters; in lower case with `ignores_case`.
        unless: further bytes; a log with a line that contains them is included, too.
        ignores_case: whether upper and lower case are the same. The search then takes twice as long.

    Raises:
        ValueError: the location is invalid.
        LogUnreadableError: the server cannot be read.
    """
    searched, line = rows.compared("%b::bytea", ignores_case=ignores_case)

    def question(connection: Connection, location: Location) -> set[str]:
        statement = f"""
            with found as materialized (  -- so that several processes of the server may share the work
                select distinct log_id from {location.schema}.record
                 where kind in ({rows.MESSAGE}, {rows.OTHER}) or kind = {rows.INDEXED} and (
                       pg_catalog.position({line}, {searched}) > 0 or pg_catalog.position(line, %b::bytea) > 0)
            )
            select name from found join {location.schema}.log using (log_id)
        """
        if connection.has(ARCHIVE):
            statement += f" union select name from {location.schema}.log where archived > 0"
        return {name for (name,) in connection.execute(statement.encode(), [word, unless]).fetchall()}

    return ask(storage, SEARCH_S, question)


def kept_glances(storage: str, names: Sequence[str]) -> dict[str, tuple[str, bytes]]:
    """Return the kept list entries of logs that have not changed since, by the logs' names.

    The result is empty if the server does not give them: the tables may be older, or the role may not read them.

    Returns:
        The entry of each log, and the line of the log whose text the entry shows; b"" if the entry shows no line.
    """

    def question(connection: Connection, location: Location) -> dict[str, tuple[str, bytes]]:
        layout = connection.layout
        statement = f"""
            select log.name, glance.told, coalesce(record.line, '')
              from {location.schema}.glance join {location.schema}.log using (log_id)
              left join {location.schema}.record
                on record.log_id = log.log_id and record.seq = glance.line {layout.same_generation}
             where {layout.among("glance")} and glance.size = log.size
        """
        found = connection.execute(statement.encode(), {"keys": layout.keys_of(names)}, binary=True).fetchall()
        return {name: (entry, line) for name, entry, line in found}

    with suppress(LogUnreadableError):
        return ask(storage, TIMEOUT_S, question)
    return {}


def archived_among(storage: str, names: Sequence[str]) -> set[str]:
    """Return the names of the logs whose lines are all archived.

    An empty set if the tables or the role's rights do not allow the question.
    """

    def question(connection: Connection, location: Location) -> set[str]:
        if connection.has(ARCHIVE):
            layout = connection.layout
            statement = f"""
                select name from {location.schema}.log
                 where {layout.among()} and archived >= head and head > 0
            """
            found = connection.execute(statement.encode(), {"keys": layout.keys_of(names)}).fetchall()
            return {name for (name,) in found}
        return set()

    with suppress(LogUnreadableError):
        return ask(storage, TIMEOUT_S, question)
    return set()


def keep_glances(storage: str, new: Sequence[tuple[str, int, str, int]]) -> None:
    """Store list entries (the texts that `list` shows) in the table `glance`.

    An entry is not stored if the role may not write it. It is also not stored if the line whose text it shows is
    archived, since the table refers to the line's row, and an archived line has none. Such entries are computed again
    each time.

    Args:
        storage: a location without a log's name.
        new: for each log, its name, its size, its list entry, and the offset of the line whose text the entry shows;
            -1 if the entry shows no line.
    """
    with suppress(LogUnreadableError), asking(storage, TIMEOUT_S) as (connection, location):
        layout = connection.layout
        row_of_text = f"record.log_id = log.log_id {layout.same_generation} and record.at = new.at"
        has_row = ""
        if connection.has(ARCHIVE):
            has_row = f"""where log.archived = 0 or new.at < 0 or exists (
                select from {location.schema}.record where {row_of_text})"""
        statement = f"""
            insert into {location.schema}.glance (log_id, size, told, line)
            select log.log_id, log.size, new.told, (
                       select seq from {location.schema}.record
                        where {row_of_text} order by seq limit 1)
              from unnest(%s::{layout.name_type}[], %s::bigint[], %s::text[], %s::bigint[]) as new (key, size, told, at)
              join {location.schema}.log on log.{layout.name_column} = new.key and log.size = new.size {has_row}
                on conflict (log_id) do update set size = excluded.size, told = excluded.told, line = excluded.line
        """
        keys = layout.keys_of([name for name, _, _, _ in new])
        sizes = [size for _, size, _, _ in new]
        entries = [entry for _, _, entry, _ in new]
        offsets = [offset for _, _, _, offset in new]
        connection.execute(statement.encode(), [keys, sizes, entries, offsets])


def hides_logs(storage: str) -> bool:
    """Return whether row-level security hides logs of other roles from this role; False if that is unknown.

    Raises:
        ValueError: the location is invalid.
    """
    may_read = False
    try:
        with asking(storage, TIMEOUT_S) as (connection, location):
            statement = f"select from {location.schema}.log limit 1".encode()
            connection.execute(statement)  # a role without rights is refused here
            may_read = True
            with seeing_all(connection):
                connection.execute(statement)
    except LogUnreadableError as error:
        return may_read and getattr(error.__cause__, "sqlstate", "") == NO_RIGHTS
    return False


def open_marks_in(storage: str) -> frozenset[int] | None:
    """Return the keys (`open_marks.mark_key`) of the logs that sessions have open; None if that is unknown.

    Raises:
        ValueError: the location is invalid.
        LogUnreadableError: the server cannot be queried.
    """
    with asking(storage, TIMEOUT_S) as (connection, location):
        if not (location.prepares and is_direct(connection)):
            return None
        statement = b"""
            select (classid::bigint << 32) | objid::bigint from pg_catalog.pg_locks
             where locktype = 'advisory' and objsubid = 1 and mode = 'ShareLock' and granted
               and database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
        """
        return frozenset(key for (key,) in connection.execute(statement).fetchall())


def wait_for_marks(storage: str, tell: Callable[[float], None] = lambda _: None) -> None:
    """Wait until all open sessions of a database have had the time to mark their logs (`marks_after_start`).

    Args:
        storage: a location.
        tell: called before the wait with its length in seconds; not called if nothing is to be waited for.

    Raises:
        ValueError: the location is invalid.
        LogUnreadableError: the server cannot be queried.
    """
    with asking(storage, TIMEOUT_S) as (connection, location):
        seconds = seconds_until_marked(connection, location)
    if seconds > 0:
        tell(seconds)
        time.sleep(seconds)


def delete_stored_log(
    location: str, size_bytes: int, *, begin: Callable[[], None] = lambda: None, timeout_s: float = TIMEOUT_S
) -> None:
    """Delete a log's rows, if the log still has the size `size_bytes`; `begin` is called right before the deletion.

    If the server has just been started, first wait until open sessions have marked their logs (`marks_after_start`).

    Raises:
        DeleteError: the log has another size, or a session has it open; nothing was deleted.
        LogUnreadableError: there is no such log.
        AppendError: the server refused, or the connection broke; check whether the log exists before trying again.
    """
    advice = "; look whether the log is there before trying again"
    with asking(location, timeout_s, AppendError, advice) as (connection, parsed):
        time.sleep(seconds_until_marked(connection, parsed))
        connection.deadline = time.monotonic() + timeout_s
        rows.begin(connection, limit_s=timeout_s)
        head = rows.read_head(connection, parsed.schema, parsed.name, lock=True)
        if head is None:
            raise LogUnreadableError(errno.ENOENT, "there is no such log; look again", parsed.shown)
        if head.size != size_bytes:
            raise DeleteError("the log was written to since it was looked at; nothing was deleted; look again")
        if parsed.prepares and is_direct(connection) and not may_go(connection, parsed):
            raise DeleteError(f"{SESSION_IS_OPEN}; nothing was deleted")
        begin()
        rows.delete(connection, parsed.schema, head.key)
        connection.execute(b"commit")
