"""`context-persistent list`: list sessions.

Exit codes: 0 done, even if there are none; 2 a directory cannot be read. A log that cannot be read is listed.

The list entry of a session (`Overview`) has the facts that the list shows; the catalogues of projects store it.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from heapq import heappop, heappush
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...catalogue.session_list_cache import Glances
from ...errors import LogError, RecallError
from ...log.filesystem import FileSystem
from ...paths import SEALED_ENDING, project_slug
from ...sessions.filters import ALL_SESSIONS, SessionFilter, candidates, is_directory, is_of_time, matching
from ...sessions.other_projects import earlier_checkouts_hint, other_projects_hint
from ...sessions.overview import Overview, held_logs, overview_of
from ...sessions.prices import PriceList
from ...sessions.resume_cost import resume_cost
from ...sessions.session_files import SessionFile, stored_session_pages
from ...sessions.session_is_open import Identity
from .error_messages import UnusableError, unreadable, unusable
from .filter_options import check_places, filter_options, no_project_error, say_unknown, say_without_time, watched
from .parameters import check_place
from .progress import progress
from .read_from_replica import read_replica
from .sealed_files import say_left_sealed
from .session_argument import no_catalogue_option, say_hidden_sessions, storage, storage_option
from .session_rows import ListedSession, SessionRows
from .short_ids import shortest_ids
from .terminal import console, one_line

if TYPE_CHECKING:
    from ...sessions.totals import Total


@click.command("list")
@storage_option
@no_catalogue_option
@click.argument(
    "directories",
    metavar="[DIRECTORY]...",
    nargs=-1,
    callback=check_place,
    type=click.Path(),  # a file gets an error that says what shows it
    shell_complete=click.Path(file_okay=False).shell_complete,
)
@filter_options()
@click.option(
    "--grep", "words", metavar="TEXT", help="Only sessions with a message that contains TEXT, in upper or lower case."
)
@click.option(
    "--sort",
    "order",
    type=click.Choice(["age", "took", "turns", "messages", "tokens", "size", "resume", "cost"]),
    default="age",
    show_default=True,
    help="Sort by this column, largest first (age: newest first). -n takes the first rows.",
)
@click.option(
    "-l", "--long", "in_full", is_flag=True, help="Also show turns, cost, start, model, failed calls and description."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_sessions(
    directories: tuple[str, ...],
    *,
    everywhere: bool,
    wanted: SessionFilter,
    words: str | None,
    order: str,
    in_full: bool,
    as_json: bool,
) -> None:
    """List the sessions of this project, by their last messages, the newest first.

    With DIRECTORY, list the logs and plain message files in this directory, such as a storage_path, and the logs of
    projects below it at PROJECT/sessions/ID. Each row has the age of the last message, the time from the first to the
    last, the live messages, the tokens (an estimate), the size, the cost of the next request, the state and the id. The
    cost is marked warm if the provider's cache can still be used, and cold if not. Below the row are the name that a
    host or a person gave the session, if any, and the first line that a person wrote. A terminal shows only the
    beginning of a long id; this beginning is enough to name the session.

    A session is open while a process of yours has its log open for writing (known on Linux only). It is interrupted if
    its end is torn or its last calls have no results. For a damaged one, `verify` says what is wrong.
    """
    _check_directories(directories)
    wanted = replace(wanted, places=(*directories, *wanted.places))
    check_places(wanted, everywhere=everywhere)
    read_replica()
    look, sessions = _picker(wanted, words, everywhere=everywhere)
    has_costs = in_full or order in ("cost", "turns")
    listed = _in_order(look.newest_first(), order, wanted.most, has_costs=has_costs)
    by_project = everywhere and order == "age"
    if by_project:
        listed = iter(_by_project(list(listed)))
    if as_json:
        entries = [row.seen.to_json() | _figures(row, has_costs=has_costs) for row in listed]
        click.echo(json.dumps({"sessions": entries}))
        look.finish()
        say_left_sealed(wanted.places)
        return
    output = console()
    can_shorten = output.is_terminal and not wanted.places
    shortest = shortest_ids(session.id for session in sessions if session.project) if can_shorten else {}
    rows = SessionRows(
        output,
        shortest,
        has_costs=has_costs,
        in_full=in_full,
        with_date=words is not None,
        order=order,
        with_projects=_place_of_projects(everywhere=everywhere, by_project=by_project),
    )
    for row in listed:
        rows.show(row)
        sys.stdout.flush()  # so that a reader of a pipe also gets each row at once
    look.finish()
    say_left_sealed(wanted.places)
    if not rows.count:
        say_hidden_sessions()
        output.print(_nothing(wanted, found=look.found, everywhere=everywhere), soft_wrap=True)
    if sessions and wanted == ALL_SESSIONS and not everywhere and storage() is None:
        _say_without_remote(sessions)


def _place_of_projects(*, everywhere: bool, by_project: bool) -> str:
    """Return where a list shows the sessions' projects: above each group, below each row, or "" for nowhere."""
    if not everywhere:
        return ""
    return "heading" if by_project else "line"


def _picker(wanted: SessionFilter, words: str | None, *, everywhere: bool) -> tuple[_SessionPicker, list[SessionFile]]:
    """Return the object that filters the sessions to list, and the sessions that it filters."""
    if _asks_only_time(wanted, words):
        return _SessionPicker(_pages(everywhere=everywhere), wanted, None), []
    sessions = sessions_of(wanted, everywhere=everywhere)
    if not sessions:
        _check_project(wanted.project)
    matches = MessageFilter(words, sessions) if words is not None else None
    newest_first = sorted(sessions, key=lambda session: -session.modified_s)
    return _SessionPicker([newest_first], wanted, matches), sessions


def _check_project(project: str | None) -> None:
    """Check that a project that is given by its name, not as a directory, has sessions.

    Raises:
        UnusableError: it has none, or the database cannot be queried.
    """
    if project is None or is_directory(project):
        return
    with unusable():
        known = candidates(SessionFilter(project=project), everywhere=False, storage=storage())
    if not known:
        raise no_project_error(project)


def _check_directories(directories: Sequence[str]) -> None:
    """Check that directories exist, because a person may have given a session's name or file instead.

    Raises:
        UsageError: a directory does not exist, or is a file.
    """
    for name in directories:
        if os.path.isfile(name):
            shown_name = one_line(name)
            quoted = shlex.quote(one_line(name))
            key = " --identity KEY" if name.endswith(SEALED_ENDING) else ""
            raise click.UsageError(f"{shown_name} is a file; `context-persistent show {quoted}{key}` shows its session")
        if os.sep not in name and not os.path.lexists(name):
            shown_name = one_line(name)
            quoted = shlex.quote(one_line(name))
            raise click.UsageError(
                f"{shown_name}: there is no such directory; `context-persistent show {quoted}` shows a session, and"
                f" `context-persistent list --name {quoted}` lists those with this in their names"
            )


_ORDERS: Mapping[str, Callable[[ListedSession], float]] = {
    "age": lambda one: one.seen.known_s,
    "took": lambda one: one.seen.duration_s or 0.0,
    "turns": lambda one: one.total.turns if one.total is not None else 0,
    "messages": lambda one: one.seen.messages,
    "tokens": lambda one: one.seen.tokens,
    "size": lambda one: one.seen.size_bytes,
    "resume": lambda one: one.resuming.cost if one.resuming is not None else 0.0,
    "cost": lambda one: one.total.bill.cost if one.total is not None else 0.0,
}
"""The sort keys of `--sort`; the session with the largest key comes first."""


def _in_order(
    newest_first: Iterator[Overview], order: str, most: int | None, *, has_costs: bool
) -> Iterator[ListedSession]:
    """Return the sessions in the chosen order and number; in order of age, each is yielded as soon as possible.

    Args:
        newest_first: the sessions, the newest first.
        order: one of `_ORDERS`.
        most: the largest number; None for all.
        has_costs: whether costs and turns are added up.
    """
    is_by_age = order == "age"
    prices = PriceList()
    overviews = islice(newest_first, most) if is_by_age else newest_first
    listed = (ListedSession(overview, resume_cost(prices, overview.last_request)) for overview in overviews)
    if not has_costs and is_by_age:
        return listed
    rows = list(listed)
    if has_costs:
        totals = _totals([row.seen.session for row in rows], prices)
        for row in rows:
            row.total = totals.get(str(row.seen.session.path))
    if not is_by_age:
        rows.sort(key=_ORDERS[order], reverse=True)  # the sort is stable: among equal rows the newest comes first
    return iter(rows[:most])


def _asks_only_time(wanted: SessionFilter, words: str | None) -> bool:
    """Return whether a database's sessions are filtered by time only, so that they can be read in pages."""
    asks_more = wanted.project is not None or wanted.asks_names or bool(wanted.excepted) or wanted.asks_figures
    return storage() is not None and words is None and not asks_more


def _pages(*, everywhere: bool) -> Iterator[list[SessionFile]]:
    """Yield the sessions in the database, a page at a time, the last written first.

    Raises:
        UnusableError: the database cannot be asked.
    """
    place = storage()
    assert place is not None  # noqa: S101 - `_asks_only_time` has checked this
    with unusable():
        yield from stored_session_pages(place, None if everywhere else project_slug("."))


class _SessionPicker:
    """Filters sessions, and yields each session as soon as no other session can come before it in the list.

    Args:
        pages: the sessions, the last written ones first; the next page is read when it is needed.
        wanted: the filter.
        matches: finds the sessions that have a message with the wanted words; None for all sessions.
    """

    def __init__(
        self,
        pages: Iterable[list[SessionFile]],
        wanted: SessionFilter,
        matches: MessageFilter | None,
    ) -> None:
        self._pages = pages
        self._wanted = wanted
        self._matches = matches
        self._held: frozenset[Identity | str] = frozenset()
        self._glances = Glances()
        self.found = 0
        """The number of sessions read so far, before filtering."""
        self._without_time = 0

    def _newest_written(self) -> Iterator[SessionFile]:
        for page in self._pages:
            self.found += len(page)
            self._held |= held_logs(page)
            self._glances.expect(session.path for session in page if isinstance(session.path, str))
            yield from page

    def newest_first(self) -> Iterator[Overview]:
        """Yield the sessions in order of their last messages, the newest first.

        A file is written no earlier than its last message. So a session is the next one when all remaining files are
        older than its last message, and files that are older than `--since` are not read.
        """
        waiting: list[tuple[float, float, str, int, Overview]] = []
        for number, session in enumerate(self._newest_written()):
            if self._wanted.since_s is not None and session.modified_s < self._wanted.since_s:
                break
            while waiting and -waiting[0][0] > session.modified_s:
                yield heappop(waiting)[-1]
            if self._matches is not None and not self._matches.is_found_in(session):
                continue
            with _watched_file(session) as files:
                overview = overview_of(session, self._held, glances=self._glances, files=files)
            if not overview.has_time:
                self._without_time += 1
            if is_of_time(overview, self._wanted):
                heappush(waiting, (-overview.known_s, -session.modified_s, session.id, number, overview))
        while waiting:
            yield heappop(waiting)[-1]

    def finish(self) -> None:
        """Update the catalogues, and print how many sessions were left out because their messages have no times."""
        if self._wanted.since_s is not None or self._wanted.until_s is not None:
            say_without_time(self._without_time)
        self._glances.keep()
        if self._matches is not None:
            self._matches.catalogues.update()


def _watched_file(session: SessionFile) -> AbstractContextManager[FileSystem]:
    """Return the file system to read a session with, which shows the progress for a log in a file."""
    return nullcontext(FileSystem()) if isinstance(session.path, str) else progress(str(session.path))


class MessageFilter:
    """Finds sessions with a message that contains the given words; a session that cannot be read does not match."""

    def __init__(self, words: str, sessions: Sequence[SessionFile]) -> None:
        from ...search.pattern import text_pattern  # most lists have no `--grep`
        from ...sessions.pattern_in_projects import SessionsSearch, may_match_there

        try:
            self._pattern = text_pattern(words)
        except RecallError as error:
            raise click.UsageError(f"--grep: {one_line(str(error))}") from error
        has_catalogues = all(session.project and isinstance(session.path, Path) for session in sessions)
        self.catalogues = SessionsSearch(sessions if has_catalogues else [], self._pattern)
        self._has_catalogues = has_catalogues
        self._stored: set[SessionFile] | None = None
        """The sessions in a database that may match; None if all sessions may."""
        where = storage()
        if where is not None:
            with suppress(LogError):
                self._stored = set(may_match_there(sessions, where, self._pattern))

    def is_found_in(self, session: SessionFile) -> bool:
        """Return whether one of a session's messages contains the words."""
        from ...log.open_reader import file_reader
        from ...sessions.pattern_in_session import search
        from ...sessions.transcript import Transcript

        if self._stored is not None and session not in self._stored:
            return False
        if self._has_catalogues and self.catalogues.rules_out(session):
            return False
        try:
            with progress(str(session.path)) as files, Transcript(session.path, files=files) as transcript:
                reader = file_reader(transcript.reader) if self._has_catalogues else None
                among = self.catalogues.positions(session, reader) if reader is not None else None
                return next(iter(search(transcript, self._pattern, among=among)), None) is not None
        except (OSError, ValueError, LogError):
            return False


def _totals(sessions: Sequence[SessionFile], prices: PriceList) -> Mapping[str, Total]:
    """Return the totals of each session by its log's path; an empty mapping if the totals cannot be computed.

    The failed calls are all those in a session, as for `--failed`; a fork also has the ones of its copied history.
    """
    from ...sessions.totals import failures_by_log, totals
    from ...tokens.on_demand import named_counter  # most lists have no totals
    from .many_sessions import gathering

    try:
        with gathering(sessions, named_counter("auto")) as figures:
            by_path = totals(figures, prices, "path")
            for path, failed in failures_by_log(figures).items():
                by_path[path].failed_calls = failed
            return by_path
    except UnusableError as error:
        click.echo(f"no costs: {error}", err=True)
        return {}


def _figures(listed: ListedSession, *, has_costs: bool) -> dict[str, Any]:
    """Return the facts about a session, besides its overview, for JSON; None stands for an unknown fact.

    Turns, failed calls and costs are left out without `has_costs`.
    """
    figures: dict[str, Any] = {}
    if has_costs:
        figures = dict.fromkeys(("turns", "failed_calls", "cost", "is_cost_estimated"))
        total = listed.total
        if total is not None:
            figures["turns"] = total.turns
            figures["failed_calls"] = total.failed_calls
            if total.bill.has_cost:
                figures["cost"] = round(total.bill.cost, 6)
                figures["is_cost_estimated"] = total.bill.is_estimated
    figures["resuming"] = listed.resuming.to_json() if listed.resuming is not None else None
    return figures


def _by_project(listed: list[ListedSession]) -> list[ListedSession]:
    """Return the sessions grouped by project, the project with the newest message first."""
    newest: dict[str, int] = {}
    for position, row in enumerate(listed):
        newest.setdefault(row.seen.session.project, position)
    return sorted(listed, key=lambda row: newest[row.seen.session.project])


def _say_without_remote(sessions: Sequence[SessionFile]) -> None:
    """Print on the error stream which sessions of a moved checkout are not found by its git remote."""
    left = earlier_checkouts_hint(sessions)
    if left:
        click.echo(f"not listed: {one_line(left)}", err=True)


def _nothing(wanted: SessionFilter, *, found: int, everywhere: bool) -> str:
    """Return a message for an empty list. `found` is the number of sessions before `wanted` was applied."""
    has_condition = replace(wanted, places=()) != ALL_SESSIONS
    if found or has_condition:
        return "no session matches"
    if everywhere or wanted.places:
        return "no sessions"
    return f"no sessions in this project; {one_line(other_projects_hint(storage=storage()))}"


def sessions_of(wanted: SessionFilter, *, everywhere: bool) -> list[SessionFile]:
    """Return the sessions of this project, of all, in directories or in the database that the filters choose.

    The filters by time and number are not applied; the caller applies them when it has looked at the sessions.

    Raises:
        UnusableError: a directory cannot be read, or the database cannot be asked.
    """
    with unusable():
        sessions = candidates(wanted, everywhere=everywhere, storage=storage())
    whenever = replace(wanted, since_s=None, until_s=None, most=None)
    with unreadable():
        return matching(sessions, whenever, watch=watched, unknown=say_unknown)
