"""Which sessions are meant: the filters of every command and function that looks at sessions, in one place.

All filters hold together. They are about a session as a whole: one with a call of a tool is meant with all that it has.
What needs no log to be opened is looked at first.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from pathlib import Path

from ..errors import ContextPersistentError
from ..log.filesystem import FileSystem
from ..messages.metadata import instant_of
from ..paths import project_slug
from .find_session import (
    SessionFile,
    SessionNameError,
    find_among,
    project_sessions,
    session_files,
    sessions_in,
    with_sub_agents,
)
from .overview import Overview, look_at_all
from .session_name import SessionName, key_of, names_of

_MOST_NEAR = 5
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "y": 31_536_000}

Watch = Callable[[Sequence[str]], AbstractContextManager[FileSystem]]
"""Gives the system calls with which logs are read, and shows meanwhile how far that is."""
Moment = datetime | timedelta | str
"""A time: a moment, how long ago, or either as a text (`2026-01-31`, `12h`, `3d`, `last week`)."""


class FilterError(ContextPersistentError, ValueError):
    """A filter cannot be understood; says which and what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """The conditions that a session must fulfil, all of them. Case is ignored.

    Attributes:
        places: directories; the sessions in these are meant, instead of those of the hosts (`sessions_in`).
        project: a project's name or the end of it, a directory, or `.` for this one; None for all projects.
        since_s, until_s: it has a message between these times, in seconds since 1970.
        model: a request was answered by a model with this text in its name.
        tools: each of these tools was called.
        name: the session's name contains this text, or its id begins with it.
        tags: a person gave it each of these tags.
        without_tags: a person gave it none of these tags.
        untagged: a person gave it no tag.
        excepted: sessions, named as elsewhere (`find_session`), that are not meant, nor their sub-agents' sessions.
        failed: a call failed.
        most: the largest number of sessions; those with the newest messages stay.
    """

    places: tuple[str, ...] = ()
    project: str | None = None
    since_s: float | None = None
    until_s: float | None = None
    model: str | None = None
    tools: tuple[str, ...] = ()
    name: str | None = None
    tags: tuple[str, ...] = ()
    without_tags: tuple[str, ...] = ()
    untagged: bool = False
    excepted: tuple[str, ...] = ()
    failed: bool = False
    most: int | None = None

    @property
    def asks_figures(self) -> bool:
        """Whether this filter needs the sessions' totals."""
        return bool(self.model or self.tools or self.failed)

    @property
    def asks_names(self) -> bool:
        """Whether this filter needs what sessions are called, or their tags."""
        return self.name is not None or bool(self.tags or self.without_tags) or self.untagged

    @property
    def asks_times(self) -> bool:
        """Whether the times of messages have to be known."""
        return self.since_s is not None or self.until_s is not None or self.most is not None


TIMES = "give how long ago, as in 12h, 3d, 2w or 1y, a date, as in 2026-01-31, or words, as in yesterday or last week"
"""What to say if a text is no time."""
ALL_SESSIONS = SessionFilter()
"""The filter that means all."""


def moment_s(value: Moment, *, name: str = "time") -> float:
    """A time in seconds since 1970.

    Raises:
        FilterError: it is none.
    """
    try:
        if isinstance(value, timedelta):
            return time.time() - value.total_seconds()
        if isinstance(value, datetime):
            return value.timestamp()
        if found := re.fullmatch(r"(\d{1,9})([smhdwy])", value):
            return time.time() - int(found[1]) * _SECONDS[found[2]]
        if not re.match(r"\d{4}-", value) and (begin := _begin_in_words(value)) is not None:
            return begin
        return datetime.fromisoformat(value).timestamp()
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise FilterError(f"{name}: {TIMES}, not {value!r:.40}") from error


def _begin_in_words(text: str) -> float | None:
    """The beginning of a time in the words that questions read (`yesterday`, `last week`); None if it is none."""
    from ..search.question_languages import languages_of
    from ..search.question_times import periods_of

    now = datetime.now(UTC).astimezone()
    for said in (text, f"last {text}", f"in {text}"):  # `monday`, `march`
        periods = periods_of(said, now, languages_of(said.casefold().split()))
        if len(periods) == 1 and periods[0].said.strip() == said.strip() and periods[0].begin:
            return float(periods[0].begin)
    return None


def check_range(since_s: float | None, until_s: float | None) -> None:
    """Refuse a range of times that ends before it begins.

    Raises:
        FilterError: it does.
    """
    if since_s is not None and until_s is not None and since_s > until_s:
        raise FilterError("since is after until, so no message is between them")


def no_project(wanted: str, *, storage: str | None = None) -> str:
    """What to say if no project has a name: with the projects whose names are like it.

    Raises:
        LogUnreadableError: the database cannot be asked.
    """
    projects = sorted({one.project for one in session_files(storage=storage)})
    named = wanted.casefold()
    near = [one for one in projects if named in one.casefold()]
    near += [one for one in get_close_matches(wanted, projects, cutoff=0.5) if one not in near]
    told = f"; like it: {', '.join(near[:_MOST_NEAR])}" if near else ""
    return f"no project {wanted} has sessions{told}"


def candidates(wanted: SessionFilter, *, everywhere: bool, storage: str | None = None) -> list[SessionFile]:
    """The sessions in the filter's places, or of its project; without either, of this project, or of all.

    Raises:
        OSError: a place cannot be read.
        LogUnreadableError: the database of `storage` cannot be asked.
    """
    project = wanted.project
    if wanted.places:
        inside = {one.path: one for place in wanted.places for one in sessions_in(place)}
        return [one for one in inside.values() if project is None or is_of_project(one.project, project)]
    if project is None:
        if everywhere:
            since_s = wanted.since_s if not wanted.excepted else None  # an excepted one is looked up in all
            return session_files(storage=storage, since_s=since_s) or session_files(storage=storage)
        return project_sessions(storage=storage)
    if is_directory(project):
        return project_sessions(Path(project).expanduser(), storage=storage)
    return [one for one in session_files(storage=storage) if is_of_project(one.project, project)]


def is_directory(project: str) -> bool:
    """Whether a filter names a project by its directory."""
    return project == "." or os.sep in project or Path(project).is_dir()


def is_of_project(project: str, wanted: str) -> bool:
    """Whether a project is the one that a filter names: by its name, the end of it, or its directory."""
    if is_directory(wanted):
        return project == project_slug(Path(wanted).expanduser())
    named, known = wanted.casefold(), project.casefold()
    return known == named or known.endswith(f"-{named}")


def matching(
    sessions: Iterable[SessionFile],
    wanted: SessionFilter,
    *,
    watch: Watch | None = None,
    without_time: Callable[[int], None] = lambda _: None,
    unknown: Callable[[str, str, Sequence[str]], None] = lambda *_: None,
) -> list[SessionFile]:
    """The sessions that a filter means, in the order given; with `most`, by their newest messages.

    Args:
        sessions: of the filter's project (`candidates`).
        wanted: the filter.
        watch: shows how far the reading of logs is.
        without_time: told how many sessions a time left out because their messages have none.
        unknown: told the kind (`model`, `tool` or `tag`), the value that no session has, and the values that there are.

    Raises:
        CatalogueError: it asks what sessions add up to, and Python has no SQLite.
        FilterError: an excepted session is not among these.
    """
    found = [one for one in _without_excepted(sessions, wanted) if _may_be_of_time(one, wanted)]
    if wanted.asks_names:
        names = list(zip(found, names_of(one.path for one in found), strict=True))
        known_tags = sorted({tag for _, named in names for tag in named.tags})
        for tag in (*wanted.tags, *wanted.without_tags):
            if key_of(tag) not in map(key_of, known_tags):
                unknown("tag", tag, known_tags)
        found = [one for one, named in names if _is_called(one, named, wanted)]
    if wanted.asks_times:
        found = _of_time(found, wanted, without_time)
    if wanted.asks_figures:
        found = _with_figures(found, wanted, watch, unknown)
    return found[: wanted.most]


def _without_excepted(sessions: Iterable[SessionFile], wanted: SessionFilter) -> Iterable[SessionFile]:
    """The sessions without those that a filter excepts.

    Raises:
        FilterError: none of these sessions is called so, or several are: whoever erases all but one would erase it.
    """
    if not wanted.excepted:
        return sessions
    known, excepted = list(sessions), set[str]()
    for name in wanted.excepted:
        try:
            one = find_among(known, name)
        except SessionNameError as error:
            raise FilterError(f"except: {name!r:.80}: {error}") from error
        excepted.update(str(below.path) for below in with_sub_agents(one, known))
    return [one for one in known if str(one.path) not in excepted]


def has_tags(named: SessionName, wanted: SessionFilter) -> bool:
    """Whether a session has all tags that a filter wants, and none that it excludes."""
    tags = {key_of(tag) for tag in named.tags}
    if tags and wanted.untagged:
        return False
    return {key_of(tag) for tag in wanted.tags} <= tags and tags.isdisjoint(map(key_of, wanted.without_tags))


def _is_called(session: SessionFile, named: SessionName, wanted: SessionFilter) -> bool:
    """Whether a session has the name, or the beginning of the id, and the tags that are wanted."""
    if not has_tags(named, wanted):
        return False
    own_id = session.id.rpartition("/")[2]  # of a session in a place, the id is a path
    return wanted.name is None or own_id.startswith(wanted.name) or key_of(wanted.name) in named.key


def _may_be_of_time(session: SessionFile, wanted: SessionFilter) -> bool:
    """False if the session's file was last written before `since`: then none of its messages is newer."""
    return wanted.since_s is None or session.modified_s >= wanted.since_s


def _of_time(
    sessions: Sequence[SessionFile], wanted: SessionFilter, without_time: Callable[[int], None]
) -> list[SessionFile]:
    looked_at = look_at_all(sessions)
    seen = [one for one in looked_at if is_of_time(one, wanted)]
    if wanted.since_s is not None or wanted.until_s is not None:
        without_time(sum(not one.has_time for one in looked_at))
    if wanted.most is not None:
        seen.sort(key=lambda one: (-one.known_s, one.session.id))
    return [one.session for one in seen]


def is_of_time(seen: Overview, wanted: SessionFilter) -> bool:
    """Whether a session has messages in the time of a filter; of one whose messages have no times nobody knows."""
    if wanted.since_s is None and wanted.until_s is None:
        return True
    if not seen.has_time:
        return False
    if wanted.since_s is not None and seen.last_s < wanted.since_s:
        return False
    first = instant_of(seen.first_message)
    began_s = first.timestamp() if first is not None else seen.last_s
    return wanted.until_s is None or began_s < wanted.until_s


def _with_figures(
    sessions: list[SessionFile],
    wanted: SessionFilter,
    watch: Watch | None,
    unknown: Callable[[str, str, Sequence[str]], None],
) -> list[SessionFile]:
    from ..tokens.on_demand import named_counter  # most filters do not ask
    from .totals import gathered

    with gathered(sessions, named_counter("auto"), watch or (lambda _: nullcontext(FileSystem()))) as found:
        ask = found.connection.execute
        kept = {str(session.path) for session in sessions}
        if wanted.model:
            rows = ask("SELECT DISTINCT path, model FROM requests JOIN logs USING (session)").fetchall()
            if not any(wanted.model.casefold() in str(model).casefold() for _, model in rows):
                unknown("model", wanted.model, sorted({str(model) for _, model in rows if model}))
            kept &= {path for path, model in rows if wanted.model.casefold() in str(model).casefold()}
        calls = ask(
            "SELECT path, tool, max(failed) FROM calls JOIN logs USING (session) GROUP BY path, tool"
        ).fetchall()
        tools = sorted({str(name) for _, name, _ in calls})
        for tool in wanted.tools:
            if tool.casefold() not in map(str.casefold, tools):
                unknown("tool", tool, tools)
            kept &= {path for path, name, _ in calls if str(name).casefold() == tool.casefold()}
        if wanted.failed:
            kept &= {path for path, _, failed in calls if failed}
    return [session for session in sessions if str(session.path) in kept]
