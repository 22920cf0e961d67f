"""The public functions of `sessions` for programs: list sessions, search them, sum up their costs and file uses.

They take the filters of the commands, with the same names and meanings (`filters.py`):

- `places`: directories of sessions, instead of those of the hosts.
- `project`: a project's name or the end of it, a directory, or `"."` for the working directory's; None means all.
- `since`, `until`: a `datetime`, a `timedelta` before now, or a text such as `"3d"`, `"2026-01-31"` or `"last week"`.
- `model`: a part of a model's name. `name`: a part of a session's name, or the beginning of its id.
- `tag`: a tag from a user, or several tags, all of which the session has.
- `not_tag`: a tag, or several, none of which the session has. `untagged`: it has no tag.
- `except_`: a session, or several, to leave out: an id, the beginning of an id, a name or a path.
- `tool`: a tool that was called, or several, all of which were called. `failed`: a call failed.
- `n`: the largest number of sessions; those with the newest messages are selected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypedDict, Unpack

from ..errors import RecallError
from ..log.filesystem import FileSystem
from ..tokens.on_demand import named_counter
from .all_sessions_index import RankedSearch
from .best_messages import BestMessages, Narrowing, best_messages
from .file_uses import FileUse, files_of
from .filters import FilterError, SessionFilter, candidates, is_directory, matching, no_project
from .gather_figures import gathered
from .given_times import Moment, check_range, moment_s
from .overview import Overview, held_logs, overviews_of
from .prices import PriceList
from .session_files import SessionFile
from .totals import BY, Period, Total, total_of, totals


class Filters(TypedDict, total=False):
    """The filters, as keyword arguments."""

    places: str | Sequence[str]
    project: str | None
    since: Moment | None
    until: Moment | None
    model: str | None
    tool: str | Sequence[str]
    name: str | None
    tag: str | Sequence[str]
    not_tag: str | Sequence[str]
    untagged: bool
    except_: str | Sequence[str]
    failed: bool
    n: int | None


@dataclass(frozen=True, slots=True)
class CostReport:
    """The cost of sessions.

    Attributes:
        total: the sum: requests, tokens, US dollars (`total.bill.cost`), calls.
        parts: the totals for each day, project, … (as given by `by`), in order.
        unreadable: the errors of logs that cannot be read, by path.
    """

    total: Total
    parts: Mapping[str, Total]
    unreadable: Mapping[str, str]

    def __repr__(self) -> str:
        return f"CostReport(total={self.total!r}, parts={len(self.parts)}, unreadable={len(self.unreadable)})"


def sessions(*, storage: str | None = None, **filters: Unpack[Filters]) -> list[Overview]:
    """Return the overviews of the sessions that match the filters. Sessions with the newest messages come first.

    Args:
        storage: a PostgreSQL database to use instead of the disk.
        filters: the conditions on sessions, by name; `Filters` describes each.

    Raises:
        FilterError: a filter cannot be understood.
        LogUnreadableError: the database cannot be queried.
    """
    found = _chosen(storage, filters)
    return sorted(overviews_of(found, held_logs(found)), key=lambda one: (-one.known_s, one.session.id))


def search(
    question: str,
    *,
    most: int = 10,
    role: str | None = None,
    of_tool: str | Sequence[str] = (),
    storage: str | None = None,
    **filters: Unpack[Filters],
) -> BestMessages:
    """Find the messages that answer a question best, as `search --best` does.

    Args:
        question: a question in words, or keywords.
        most: the largest number of messages to return.
        role: only messages of this role.
        of_tool: only calls and results of this tool, or of one of several tools.
        storage: a PostgreSQL database to use instead of the disk.
        filters: the filters for the sessions to search. `since` and `until` also apply to each message.

    Raises:
        FilterError: a filter cannot be understood.
        RecallError: the question is too long, or contains no word.
        LogUnreadableError: the database cannot be queried.
    """
    wanted = _filter(filters)
    narrowing = Narrowing(role, _names(of_tool), wanted.since_s, wanted.until_s)
    searched_sessions = RankedSearch(_chosen(storage, filters))
    try:
        return best_messages(searched_sessions, question, most=most, narrowing=narrowing)
    except RecallError as error:  # the message names the argument of `recall`
        raise RecallError(f"question: {str(error).removeprefix('query: ')}") from error


def cost(*, by: str = "model", storage: str | None = None, **filters: Unpack[Filters]) -> CostReport:
    """Return the cost of the sessions that match the filters: the total, and the parts by one criterion.

    With `since` and `until`, only requests and calls between these times count.

    Args:
        by: one of `day`, `week` (by its Monday), `month`, `project`, `session`, `model` and `tool`.
        storage: a PostgreSQL database to use instead of the disk.
        filters: the conditions on sessions, by name; `Filters` describes each.

    Raises:
        FilterError: a filter cannot be understood.
        CatalogueError: Python has no SQLite.
        LogUnreadableError: the database cannot be read.
    """
    if by not in BY:
        raise FilterError(f"by: {by!r:.40} is none of {', '.join(BY)}")
    wanted = _filter(filters)
    period = Period(wanted.since_s, wanted.until_s)
    watch = nullcontext(FileSystem())
    with gathered(_chosen(storage, filters), named_counter("auto"), lambda _: watch) as figures:
        prices = PriceList()
        return CostReport(
            total_of(figures, prices, period), totals(figures, prices, by, period), dict(figures.unreadable)
        )


def files(*, path: str = "", storage: str | None = None, **filters: Unpack[Filters]) -> list[FileUse]:
    """Return the uses of files by the sessions that match the filters, the last used files first.

    Args:
        path: only uses of this file: its name, the end of its path, or its path from the working directory.
        storage: a PostgreSQL database to use instead of the disk.
        filters: the conditions on sessions, by name; `Filters` describes each.

    Raises:
        FilterError: a filter cannot be understood.
        LogUnreadableError: the database cannot be read.
    """
    return files_of(_chosen(storage, filters), path)[0]


def _chosen(storage: str | None, filters: Filters) -> list[SessionFile]:
    wanted = _filter(filters)
    sessions = candidates(wanted, everywhere=True, storage=storage)
    if not sessions and not wanted.places and wanted.project is not None and not is_directory(wanted.project):
        raise FilterError(f"project: {no_project(wanted.project, storage=storage)}")
    return matching(sessions, wanted)


def _filter(filters: Filters) -> SessionFilter:
    since, until = filters.get("since"), filters.get("until")
    since_s = moment_s(since, name="since") if since is not None else None
    until_s = moment_s(until, name="until") if until is not None else None
    check_range(since_s, until_s)
    return SessionFilter(
        places=_names(filters.get("places", ())),
        project=filters.get("project"),
        since_s=since_s,
        until_s=until_s,
        model=filters.get("model"),
        tools=_names(filters.get("tool", ())),
        name=filters.get("name"),
        tags=_names(filters.get("tag", ())),
        without_tags=_names(filters.get("not_tag", ())),
        untagged=filters.get("untagged", False),
        excepted=_names(filters.get("except_", ())),
        failed=filters.get("failed", False),
        most=filters.get("n"),
    )


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
