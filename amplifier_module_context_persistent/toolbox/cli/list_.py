"""`context-persistent list`: which sessions there are.

Exit codes: 0 done, even if there are none; 2 a directory cannot be read. A log that cannot be read is listed.
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
from ...paths import project_slug
from ...sessions.filters import ALL_SESSIONS, SessionFilter, candidates, is_of_time, matching
from ...sessions.find_session import (
    SessionFile,
    stored_session_pages,
)
from ...sessions.open_files import Identity
from ...sessions.other_projects import where_else, without_remote
from ...sessions.overview import Overview, held_logs, look_at
from ...sessions.prices import PriceList
from ...sessions.resume_cost import resume_cost
from .filter_options import check_places, filter_options, say_unknown, say_without_time, watched
from .parameters import check_place
from .progress import progress
from .session_argument import no_catalogue_option, read_replica, storage, storage_option
from .session_rows import ListedSession, SessionRows
from .short_ids import shortest_ids
from .terminal import UnusableError, console, one_line, unreadable, unusable

if TYPE_CHECKING:
    from ...sessions.totals import Total


@click.command("list")
@storage_option
@no_catalogue_option
@click.argument(
    "directories", metavar="[DIRECTORY]...", nargs=-1, callback=check_place, type=click.Path(file_okay=False)
)
@filter_options()
@click.option("--grep", "words", metavar="TEXT", help="Only those in which a message says TEXT, whatever its case.")
@click.option(
    "--sort",
    "order",
    type=click.Choice(["age", "took", "turns", "messages", "tokens", "size", "resume", "cost"]),
    default="age",
    show_default=True,
    help="By this column, the largest first; -n then takes the first of them. The age: the newest first.",
)
@click.option(
    "-l", "--long", "in_full", is_flag=True, help="Also turns, cost, begin, model, failed calls and description."
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

    With DIRECTORY, the logs and plain message files in it (a storage_path), and the logs of its projects
    (PROJECT/sessions/ID, as other kits keep theirs). Each row has the age of the last message, the time from the first
    to the last, live messages, tokens (an estimate), size, what the next request costs (the cache of the provider is
    warm or cold), state and id. Below it stand the name that a host or a person gave the session, if it has one, and
    the first line that a person wrote. A terminal gets the beginning of a long id, which is enough to name it.

    A session is open while a process of yours has its log open for writing (known on Linux only). It is interrupted if
    its end is torn or its last calls have no results. For a damaged one, `verify` says what is wrong.
    """
    _check_directories(directories)
    wanted = replace(wanted, places=(*directories, *wanted.places))
    check_places(wanted, everywhere=everywhere)
    read_replica()
    pages: Iterable[list[SessionFile]]
    sessions, matches = list[SessionFile](), None
    if is_paged := _asks_only_time(wanted, words):
        pages = _pages(everywhere=everywhere)
    else:
        sessions = sessions_of(wanted, everywhere=everywhere)
        matches = MessageFilter(words, sessions) if words is not None else None
        pages = [sorted(sessions, key=lambda session: -session.modified_s)]
    look = _SessionPicker(pages, wanted, matches)
    has_costs = in_full or order in ("cost", "turns")
    listed = _in_order(look.newest_first(), order, wanted.most, has_costs=has_costs)
    by_project = everywhere and order == "age"
    if by_project:
        listed = iter(_by_project(list(listed)))
    if as_json:
        told = [one.seen.to_json() | _figures(one, has_costs=has_costs) for one in listed]
        click.echo(json.dumps({"sessions": told}))
        look.finish()
        return
    output = console()
    can_shorten = output.is_terminal and not is_paged and not wanted.places
    shortest = shortest_ids(one.id for one in sessions if one.project) if can_shorten else {}
    projects = "" if not everywhere else "heading" if by_project else "line"
    rows = SessionRows(
        output,
        shortest,
        has_costs=has_costs,
        in_full=in_full,
        with_date=words is not None,
        order=order,
        with_projects=projects,
    )
    for one in listed:
        rows.show(one)
        sys.stdout.flush()  # in a pipe too: whoever reads has something to read
    look.finish()
    if not rows.count:
        was_found = look.found > 0 or replace(wanted, places=()) != ALL_SESSIONS
        has_scope = everywhere or bool(wanted.places)
        output.print(_nothing(found=was_found, has_scope=has_scope), soft_wrap=True)
    if sessions and wanted == ALL_SESSIONS and not everywhere and storage() is None:
        _say_without_remote(sessions)


def _check_directories(directories: Sequence[str]) -> None:
    """Refuse a name in the place of a directory that is none: it may be a session's.

    Raises:
        UsageError: there is no such directory.
    """
    for name in directories:
        if os.sep not in name and not os.path.lexists(name):
            shown, quoted = one_line(name), shlex.quote(one_line(name))
            raise click.UsageError(
                f"{shown}: there is no such directory; `context-persistent show {quoted}` shows a session, and"
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
"""The keys of `--sort`; the largest comes first."""


def _in_order(
    newest_first: Iterator[Overview], order: str, most: int | None, *, has_costs: bool
) -> Iterator[ListedSession]:
    """The sessions in the chosen order and number; in the order of age, each is yielded as soon as it is known.

    Args:
        newest_first: the sessions.
        order: one of `_ORDERS`.
        most: the largest number; None for all.
        has_costs: whether costs are added up.
    """
    is_by_age = order == "age"
    prices = PriceList()
    seen = islice(newest_first, most) if is_by_age else newest_first
    listed = (ListedSession(one, resume_cost(prices, one.last_request)) for one in seen)
    if not has_costs and is_by_age:
        return listed
    known = list(listed)
    if has_costs:
        totals = _totals([one.seen.session for one in known], prices)
        for one in known:
            one.total = totals.get(str(one.seen.session.path))
    if not is_by_age:
        known.sort(key=_ORDERS[order], reverse=True)  # stable: among equals the newest first
    return iter(known[:most])


def _asks_only_time(wanted: SessionFilter, words: str | None) -> bool:
    """Whether a list of sessions in a database can be read page by page, since every session is known to be meant."""
    others = words is not None or wanted.project is not None or wanted.asks_names or bool(wanted.excepted)
    return storage() is not None and not others and not wanted.asks_figures


def _pages(*, everywhere: bool) -> Iterator[list[SessionFile]]:
    """The sessions in the database, a page at a time, the latest written first.

    Raises:
        UnusableError: the database cannot be asked.
    """
    place = storage()
    assert place is not None  # noqa: S101 - `_asks_only_time` says so
    with unusable():
        yield from stored_session_pages(place, None if everywhere else project_slug("."))


class _SessionPicker:
    """Filters sessions, and yields each as soon as it is known to be the next one.

    Args:
        pages: the sessions, the last written ones first; the next page is read when it is needed.
        wanted: the filter.
        matches: finds sessions with a message that contains some words; None for all sessions.
    """

    def __init__(
        self,
        pages: Iterable[list[SessionFile]],
        wanted: SessionFilter,
        matches: MessageFilter | None,
    ) -> None:
        self._pages, self._wanted, self._matches = pages, wanted, matches
        self._held: frozenset[Identity | str] = frozenset()
        self._glances = Glances()
        self.found = 0
        """The number of sessions so far, filtered out or not."""
        self._without_time = 0

    def _newest_written(self) -> Iterator[SessionFile]:
        for page in self._pages:
            self.found += len(page)
            self._held |= held_logs(page)
            self._glances.expect(session.path for session in page if isinstance(session.path, str))
            yield from page

    def newest_first(self) -> Iterator[Overview]:
        """Give them in order of their last messages.

        A file is written no earlier than its last message: so a session comes next once all files that are left are
        older than its last message, and files older than what is wanted are not read.
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
                one = look_at(session, self._held, glances=self._glances, files=files)
            self._without_time += not one.has_time
            if is_of_time(one, self._wanted):
                heappush(waiting, (-one.known_s, -session.modified_s, session.id, number, one))
        while waiting:
            yield heappop(waiting)[-1]

    def finish(self) -> None:
        """Write to the catalogues what they lacked, and say which sessions a time left out because they have none."""
        if self._wanted.since_s is not None or self._wanted.until_s is not None:
            say_without_time(self._without_time)
        self._glances.keep()
        if self._matches is not None:
            self._matches.catalogues.update()


def _watched_file(session: SessionFile) -> AbstractContextManager[FileSystem]:
    """Show how far the reading of a file is; most sessions in a database are listed without reading them."""
    return nullcontext(FileSystem()) if isinstance(session.path, str) else progress(str(session.path))


class MessageFilter:
    """Says in which sessions a message says something; what cannot be read says nothing."""

    def __init__(self, words: str, sessions: Sequence[SessionFile]) -> None:
        from ...search.pattern import text_pattern  # most lists are of all sessions
        from ...sessions.project_search import SessionsSearch, may_match_there

        try:
            self._pattern = text_pattern(words)
        except RecallError as error:
            raise click.UsageError(f"--grep: {one_line(str(error))}") from error
        has_catalogues = all(session.project and isinstance(session.path, Path) for session in sessions)
        self.catalogues = SessionsSearch(sessions if has_catalogues else [], self._pattern)
        self._has_catalogues = has_catalogues
        self._stored: set[SessionFile] | None = None
        """The sessions in a database that may match; None if all may."""
        if (where := storage()) is not None:
            with suppress(LogError):
                self._stored = set(may_match_there(sessions, where, self._pattern))

    def is_found_in(self, session: SessionFile) -> bool:
        """Whether one of a session's messages says it."""
        from ...log.open_reader import file_reader
        from ...sessions.search_session import search
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
    """The totals of each session, by its path; empty if they cannot be added up.

    Failed calls are those that the session holds, as `--failed` chooses; a fork has those of its copied history, too.
    """
    from ...sessions.totals import held_failures, totals
    from ...tokens.on_demand import named_counter  # most lists do not say it
    from .many_sessions import gathering

    try:
        with gathering(sessions, named_counter("auto")) as found:
            by_path = totals(found, prices, "path")
            for path, failed in held_failures(found).items():
                by_path[path].failed_calls = failed
            return by_path
    except UnusableError as error:
        click.echo(f"no costs: {error}", err=True)
        return {}


def _figures(one: ListedSession, *, has_costs: bool) -> dict[str, Any]:
    """The further facts about a session in JSON, besides its overview; null is what is not known.

    What was not asked for (`has_costs`) is left out.
    """
    resuming = {"resuming": one.resuming.to_json() if one.resuming is not None else None}
    if not has_costs:
        return resuming
    total = one.total
    bill = total.bill if total is not None and total.bill.has_cost else None
    return {
        "turns": total.turns if total is not None else None,
        "failed_calls": total.failed_calls if total is not None else None,
        "cost": round(bill.cost, 6) if bill is not None else None,
        "is_cost_estimated": bill.is_estimated if bill is not None else None,
        **resuming,
    }


def _by_project(listed: list[ListedSession]) -> list[ListedSession]:
    """Keep the sessions of each project together, the project with the newest message first."""
    newest: dict[str, int] = {}
    for position, one in enumerate(listed):
        newest.setdefault(one.seen.session.project, position)
    return sorted(listed, key=lambda one: newest[one.seen.session.project])


def _say_without_remote(sessions: Sequence[SessionFile]) -> None:
    """Say on the error stream which sessions of a moved checkout its git remote does not find."""
    if left := without_remote(sessions):
        click.echo(f"not listed: {one_line(left)}", err=True)


def _nothing(*, found: bool, has_scope: bool) -> str:
    """Say that the list is empty; `has_scope` tells that it is not about this project."""
    if found:
        return "no session matches"
    if has_scope:
        return "no sessions"
    return f"no sessions in this project; {one_line(where_else(storage=storage()))}"


def sessions_of(wanted: SessionFilter, *, everywhere: bool) -> list[SessionFile]:
    """The sessions of this project, of all, in directories or in the database that the filters mean.

    The time and the number are left to whoever looks at the sessions.

    Raises:
        UnusableError: a directory cannot be read, or the database cannot be asked.
    """
    with unusable():
        found = candidates(wanted, everywhere=everywhere, storage=storage())
    whenever = replace(wanted, since_s=None, until_s=None, most=None)
    with unreadable():
        return matching(found, whenever, watch=watched, unknown=say_unknown)
