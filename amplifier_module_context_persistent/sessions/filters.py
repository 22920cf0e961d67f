"""Filter sessions: the conditions with which every command and function selects sessions.

A session has to fulfil all conditions of a filter. A condition selects whole sessions: for example, a session with a
call of the given tool is selected with all its messages. Conditions that need no open log are checked first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ContextPersistentError
from ..log.filesystem import FileSystem
from ..messages.message_times import instant_of
from ..paths import project_slug
from .find_session import SessionNameError, find_among
from .overview import Overview, overviews_of
from .session_files import SessionFile, project_sessions, session_files, sessions_in
from .session_name import SessionName, key_of, read_names
from .sub_agents import with_sub_agents

if TYPE_CHECKING:
    from .gather_figures import GatheredFigures

_MOST_NEAR = 5

Watch = Callable[[Sequence[str]], AbstractContextManager[FileSystem]]
"""A function that takes the paths of logs and shows progress. It gives the file system with which to read these logs.
"""


class FilterError(ContextPersistentError, ValueError):
    """Raised if a filter has an invalid value; the message names the filter and the allowed values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """The conditions that a session must fulfil, all of them. Case is ignored.

    Attributes:
        places: directories to look for sessions in, instead of those of the hosts (`sessions_in`).
        project: the name of a project or the end of the name, a directory, or `.` for this one; None for all projects.
        since_s, until_s: the session has messages between these times, in seconds since 1970.
        model: a request was answered by a model with this text in its name.
        tools: each of these tools was called.
        name: the session's name contains this text, or its id begins with it.
        tags: the session has each of these tags, which users give to sessions.
        without_tags: the session has none of these tags.
        untagged: the session has no tag.
        excepted: names of sessions (as for `find_session`) that are not selected, nor are their sub-agents' sessions.
        failed: a call of a tool failed.
        most: the largest number of sessions; the sessions with the newest messages are selected.
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
        """Whether this filter needs the names or the tags of sessions."""
        return self.name is not None or bool(self.tags or self.without_tags) or self.untagged

    @property
    def asks_times(self) -> bool:
        """Whether this filter needs the times of messages."""
        return self.since_s is not None or self.until_s is not None or self.most is not None


ALL_SESSIONS = SessionFilter()
"""The filter that selects all sessions."""


def no_project(wanted: str, *, storage: str | None = None) -> str:
    """Return an error message that no project has this name, with the projects that have similar names.

    Raises:
        LogUnreadableError: the database cannot be queried.
    """
    projects = sorted({session.project for session in session_files(storage=storage)})
    folded_name = wanted.casefold()
    near = [project for project in projects if folded_name in project.casefold()]
    from difflib import get_close_matches  # only a mistyped name needs it

    near += [project for project in get_close_matches(wanted, projects, cutoff=0.5) if project not in near]
    similar = f"; like it: {', '.join(near[:_MOST_NEAR])}" if near else ""
    return f"no project {wanted} has sessions{similar}"


def candidates(wanted: SessionFilter, *, everywhere: bool, storage: str | None = None) -> list[SessionFile]:
    """Return the sessions in the filter's places or of its project; the other conditions of the filter are not checked.

    If the filter has neither places nor a project, return the sessions of the current project, or with `everywhere`
    those of all projects.

    Raises:
        OSError: a place cannot be read.
        LogUnreadableError: the database of `storage` cannot be queried.
    """
    project = wanted.project
    if wanted.places:
        by_path = {session.path: session for place in wanted.places for session in sessions_in(place)}
        sessions = list(by_path.values())
        if project is None:
            return sessions
        return [session for session in sessions if is_of_project(session.project, project)]
    if project is not None:
        if is_directory(project):
            return project_sessions(Path(project).expanduser(), storage=storage)
        return [session for session in session_files(storage=storage) if is_of_project(session.project, project)]
    if not everywhere:
        return project_sessions(storage=storage)
    if wanted.since_s is not None and not wanted.excepted:  # the names of excepted sessions are looked up among all
        recent = session_files(storage=storage, since_s=wanted.since_s)
        if recent:
            return recent
    return session_files(storage=storage)  # without recent ones too: an empty list means that there is no session


def is_directory(project: str) -> bool:
    """Return whether the `project` of a filter is a directory, not a name."""
    return project == "." or os.sep in project or Path(project).is_dir()


def is_of_project(project: str, wanted: str) -> bool:
    """Return whether a filter's `project` matches a project: by its name, the end of its name, or its directory."""
    if is_directory(wanted):
        return project == project_slug(Path(wanted).expanduser())
    folded_wanted, known = wanted.casefold(), project.casefold()
    return known == folded_wanted or known.endswith(f"-{folded_wanted}")


def matching(
    sessions: Iterable[SessionFile],
    wanted: SessionFilter,
    *,
    watch: Watch | None = None,
    without_time: Callable[[int], None] = lambda _: None,
    unknown: Callable[[str, str, Sequence[str]], None] = lambda *_: None,
) -> list[SessionFile]:
    """Return the sessions that match a filter, in the given order.

    If the filter limits their number (`SessionFilter.most`), return those with the newest messages, newest first.

    Args:
        sessions: the sessions to choose from (`candidates`).
        wanted: the filter.
        watch: shows the progress of reading logs.
        without_time: called with the number of sessions that were left out because their messages have no times.
        unknown: called for a model, tool or tag of the filter that no session has, with its kind (`model`, `tool` or
            `tag`), its value, and the values that exist.

    Raises:
        CatalogueError: the filter needs the sessions' totals, and Python has no SQLite.
        FilterError: the name of an excepted session matches no session, or several sessions.
    """
    chosen = [session for session in _without_excepted(sessions, wanted) if _may_be_of_time(session, wanted)]
    if wanted.asks_names:
        chosen = _with_names(chosen, wanted, unknown)
    if wanted.asks_times:
        chosen = _of_time(chosen, wanted, without_time)
    if wanted.asks_figures:
        chosen = _with_figures(chosen, wanted, watch, unknown)
    return chosen[: wanted.most]


def _with_names(
    sessions: list[SessionFile], wanted: SessionFilter, unknown: Callable[[str, str, Sequence[str]], None]
) -> list[SessionFile]:
    """Return the sessions that match a filter's name and tags. `unknown` is as for `matching`."""
    names = list(read_names(session.path for session in sessions))
    known_tags = sorted({tag for name in names for tag in name.tags})
    known_keys = {key_of(tag) for tag in known_tags}
    for tag in (*wanted.tags, *wanted.without_tags):
        if key_of(tag) not in known_keys:
            unknown("tag", tag, known_tags)
    return [session for session, name in zip(sessions, names, strict=True) if _is_called(session, name, wanted)]


def _without_excepted(sessions: Iterable[SessionFile], wanted: SessionFilter) -> Iterable[SessionFile]:
    """Return the sessions without those that a filter excepts.

    Raises:
        FilterError: no session, or more than one, has the name of an excepted session. This is an error because a
            command that erases all other sessions would erase that session, too.
    """
    if not wanted.excepted:
        return sessions
    known = list(sessions)
    excepted = set[str]()
    for name in wanted.excepted:
        try:
            session = find_among(known, name)
        except SessionNameError as error:
            raise FilterError(f"except: {name!r:.80}: {error}") from error
        excepted.update(str(below.path) for below in with_sub_agents(session, known))
    return [session for session in known if str(session.path) not in excepted]


def has_tags(session_name: SessionName, wanted: SessionFilter) -> bool:
    """Return whether a session has all tags that a filter requires, and none that it excludes."""
    tags = {key_of(tag) for tag in session_name.tags}
    if tags and wanted.untagged:
        return False
    return {key_of(tag) for tag in wanted.tags} <= tags and tags.isdisjoint(map(key_of, wanted.without_tags))


def _is_called(session: SessionFile, session_name: SessionName, wanted: SessionFilter) -> bool:
    """Return whether a session matches a filter's `name` (by its name or the beginning of its id) and tags."""
    if not has_tags(session_name, wanted):
        return False
    own_id = session.id.rpartition("/")[2]  # the id of a session in a place is a path
    return wanted.name is None or own_id.startswith(wanted.name) or key_of(wanted.name) in session_name.key


def _may_be_of_time(session: SessionFile, wanted: SessionFilter) -> bool:
    """Return False if a session's log was last written before `since_s`, so that none of its messages is newer."""
    return wanted.since_s is None or session.modified_s >= wanted.since_s


def _of_time(
    sessions: Sequence[SessionFile], wanted: SessionFilter, without_time: Callable[[int], None]
) -> list[SessionFile]:
    looked_at = overviews_of(sessions)
    seen = [overview for overview in looked_at if is_of_time(overview, wanted)]
    if wanted.since_s is not None or wanted.until_s is not None:
        without_time(sum(not overview.has_time for overview in looked_at))
    if wanted.most is not None:
        seen.sort(key=lambda overview: (-overview.known_s, overview.session.id))
    return [overview.session for overview in seen]


def is_of_time(seen: Overview, wanted: SessionFilter) -> bool:
    """Return whether a session has messages in the time range of a filter; False if its messages have no times."""
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
    """Return the sessions that match a filter's model, tools and `failed`. `unknown` is as for `matching`."""
    from ..tokens.on_demand import named_counter  # most filters do not need it
    from .gather_figures import gathered

    with gathered(sessions, named_counter("auto"), watch or _without_progress) as figures:
        matching_paths = {str(session.path) for session in sessions}
        if wanted.model:
            matching_paths &= _paths_with_model(figures, wanted.model, unknown)
        if wanted.tools:
            matching_paths &= _paths_with_tools(figures, wanted.tools, unknown)
        if wanted.failed:
            rows = figures.connection.execute("SELECT DISTINCT path FROM calls JOIN logs USING (session) WHERE failed")
            matching_paths &= {path for (path,) in rows}
    return [session for session in sessions if str(session.path) in matching_paths]


def _without_progress(_: Sequence[str]) -> AbstractContextManager[FileSystem]:
    return nullcontext(FileSystem())


def _paths_with_model(
    figures: GatheredFigures, wanted: str, unknown: Callable[[str, str, Sequence[str]], None]
) -> set[str]:
    """Return the paths of the logs with a request to a model whose name contains a text, ignoring case."""
    rows = figures.connection.execute("SELECT DISTINCT path, model FROM requests JOIN logs USING (session)").fetchall()
    paths = {path for path, model in rows if wanted.casefold() in str(model).casefold()}
    if not paths:
        unknown("model", wanted, sorted({str(model) for _, model in rows if model}))
    return paths


def _paths_with_tools(
    figures: GatheredFigures, wanted: Sequence[str], unknown: Callable[[str, str, Sequence[str]], None]
) -> set[str]:
    """Return the paths of the logs with calls of all these tools, ignoring case."""
    paths_by_tool: dict[str, set[str]] = {}
    tools = set[str]()
    for path, tool in figures.connection.execute("SELECT DISTINCT path, tool FROM calls JOIN logs USING (session)"):
        tools.add(str(tool))
        paths_by_tool.setdefault(str(tool).casefold(), set()).add(path)
    for tool in wanted:
        if tool.casefold() not in paths_by_tool:
            unknown("tool", tool, sorted(tools))
    return set.intersection(*(paths_by_tool.get(tool.casefold(), set()) for tool in wanted))
