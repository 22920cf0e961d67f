"""The two sides of a sync: this home's sessions, and a directory or a database with sessions.

A directory has the layout of `~/.amplifier/projects`: `PROJECT/sessions/ID/context-messages.jsonl`. So the projects of
another home can be a side, and any directory can become one. The list of erasures is a file: in a home's `.amplifier`,
or in any other directory itself. In a database it is a table.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from ....checkout_remote import REMOTE, noted_remote, remote_of
from ....erasures.erasure_list import BACKUP_NAME, ListPlace, erasures_path, list_of_directory
from ....errors import ContextPersistentError, LogError
from ....log.database_location import location_of, refuse_other_url, split_location, stored_name, without_password
from ....log.open_mark import OPEN_SUFFIX, remove_stale_mark
from ....log.open_reader import open_reader
from ....paths import HOME_PROJECTS, LOG_NAME, check_session_id, home_projects, log_name, project_slug
from ....sessions.filters import SessionFilter
from ....sessions.session_files import SessionFile, session_files, sessions_below
from ....sessions.sub_agents import root_of
from ..host_files.metadata_lock import remove_stale_locks


class SideError(ContextPersistentError, ValueError):
    """Raised if a place cannot be a side of a sync; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Side:
    """A place with sessions: a directory, or a database."""

    name: str
    """The name of the side in messages to a person."""
    root: Path | None = None
    storage: str | None = None
    erasures: ListPlace = ""
    """The place of the side's list of erasures."""
    is_home: bool = False
    """Whether a host lists the sessions there, so that each needs the host's files."""
    is_this_home: bool = False

    @property
    def where(self) -> str:
        """The place of the side's sessions, as text for the user: "here" or "in NAME"."""
        return "here" if self.is_this_home else f"in {self.name}"

    def sessions(self) -> list[SessionFile]:
        """Return all sessions of the side, the most recently written first.

        Raises:
            LogUnreadableError: the database cannot be reached.
        """
        return sessions_below(self.root) if self.root is not None else session_files(storage=self.storage)

    def remove_stale_marks(self) -> None:
        """Remove the marks of open logs (`log/open_mark.py`) and the locks that a killed sync left in a directory."""
        if self.root is None:
            return
        remove_stale_locks(self.root)
        for mark in self.root.glob(f"*/sessions/*/{LOG_NAME}{OPEN_SUFFIX}"):
            remove_stale_mark(os.fspath(mark).removesuffix(OPEN_SUFFIX))

    def place(self, project: str, session_id: str) -> str:
        """Return the path or location of a session's log on this side. The log need not exist.

        Raises:
            ConfigError, SideError: the id or the project, which may come from a database, cannot be a directory's name.
        """
        if self.root is not None:
            check_session_id(session_id)
            if os.path.basename(project) != project or project in ("", os.curdir, os.pardir):
                raise SideError(f"the project {project!r} cannot be a directory")
            return os.fspath(self.root / project / "sessions" / session_id / LOG_NAME)
        assert self.storage is not None  # noqa: S101 - a side has one of the two
        return location_of(self.storage, log_name(session_id, ".", project))


def home_side() -> Side:
    """Return the side of a sync that has this user's sessions."""
    return Side("here", home_projects(), erasures=erasures_path(), is_home=True, is_this_home=True)


def other_side(place: str) -> Side:
    """Return the side of a sync for a place that a person names: a directory, another home, or a database.

    Raises:
        SideError: there is no such directory, it has other files and no sessions, or it is a backup or this home's own.
        ConfigError: the place is a URL, but not of PostgreSQL.
    """
    if stored_name(place) is not None:
        storage, _ = split_location(without_password(place))  # all of it is checked
        return Side(storage, storage=storage, erasures=storage)
    refuse_other_url(place)
    directory = Path(os.path.abspath(os.path.expanduser(place)))
    if not directory.is_dir():
        raise SideError(f"there is no directory {directory}; make it first, or connect the disk")
    root = _projects_in(directory)
    if (root / BACKUP_NAME).exists():
        raise SideError(f"{root} is a backup; `context-persistent backup` writes to it")
    if root.resolve() == home_projects().resolve():
        raise SideError(f"{root} holds the sessions of this home; name another directory")
    is_home = root.parts[-2:] == HOME_PROJECTS.parts
    erasures = list_of_directory(root)
    is_side = is_home or erasures.exists() or bool(sessions_below(root))
    if not is_side and any(_is_other_file(path) for path in root.iterdir()):
        raise SideError(
            f"{root} has other files and no sessions; make a directory for them, such as {root / 'sessions'}, "
            f"or for another home {root / HOME_PROJECTS}"
        )
    return Side(os.fspath(root), root, erasures=erasures, is_home=is_home)


def _projects_in(directory: Path) -> Path:
    """Return the directory of projects, if a directory is a home (`.amplifier/projects`) or `.amplifier` (`projects`).

    Any other directory is returned unchanged.
    """
    hosts_directory, projects = HOME_PROJECTS.parts
    if (directory / HOME_PROJECTS).is_dir():
        return directory / HOME_PROJECTS
    if directory.name == hosts_directory and (directory / projects).is_dir():
        return directory / projects
    return directory


def _is_other_file(path: Path) -> bool:
    """Return whether a path is not a project's directory; names of projects begin with `-`."""
    return not path.name.startswith("-")


def of_project(sessions: Iterable[SessionFile], wanted: SessionFilter) -> list[SessionFile]:
    """Return the sessions of the filter's project, or of the current directory's if the filter has none.

    A session belongs to a project by the project's name or by its remote repository.
    """
    project = wanted.project
    if project is None or project == "." or os.sep in project or Path(project).is_dir():
        directory = Path(project or ".").expanduser()
        slug, remote = project_slug(directory), remote_of(directory)
        remotes = Remotes()
        return [
            candidate
            for candidate in sessions
            if candidate.project == slug or (remote and remotes.of(candidate) == remote)
        ]
    name = project.casefold()
    found = []
    for session in sessions:
        name_of_its = session.project.casefold()
        if name_of_its == name or name_of_its.endswith(f"-{name}"):
            found.append(session)
    return found


class Remotes:
    """Looks up the remote repositories that the logs of sessions name.

    In a database, only one log of each project is read.
    """

    def __init__(self) -> None:
        self._of_projects = dict[str, str]()

    def of(self, session: SessionFile) -> str:
        """Return the remote repository of a session's checkout, or "" if the log names none or cannot be read."""
        path = str(session.path)
        if stored_name(path) is None:
            return noted_remote(path)
        if session.project not in self._of_projects:
            self._of_projects[session.project] = _stored_remote(path)
        return self._of_projects[session.project]


def _stored_remote(location: str) -> str:
    try:
        with closing(open_reader(location)) as reader:
            reader.follow()
            header = reader.index.headers[0] if reader.index.headers else {}
    except LogError:
        return ""
    return str(header.get(REMOTE) or "")


def with_sub_agents(chosen: set[str], ids: Iterable[str]) -> set[str]:
    """Return the chosen session ids, together with the ids of sub-agents of the chosen sessions."""
    return chosen | {session_id for session_id in ids if root_of(session_id, chosen) is not None}


class Projects:
    """Finds a session's project on the target side: the project of the same repository.

    Its checkout may have another path.

    Args:
        sessions: the sessions of the target side.
        here: whether the target side is this home. Then the current directory's checkout is preferred.
    """

    def __init__(self, sessions: Sequence[SessionFile], *, here: bool) -> None:
        self._sessions = sessions
        self._known = {session.project for session in sessions}
        self._projects: dict[str, str] | None = None
        """The names of projects, by remote repository; None before these were read."""
        self._here = here
        self._found = dict[str, str]()
        self._remotes = Remotes()

    def of(self, session: SessionFile) -> str:
        """Return the project on the target side for a session of the source side."""
        project = session.project
        if project in self._known:
            return project
        if project not in self._found and (remote := self._remotes.of(session)):
            self._found[project] = self._by_remote().get(remote, project)
        return self._found.get(project, project)

    def _by_remote(self) -> dict[str, str]:
        if self._projects is None:
            self._projects = {}
            if self._here and (remote := remote_of(".")):
                self._projects[remote] = project_slug(".")
            for session in self._sessions:
                remote = self._remotes.of(session)
                if remote:
                    self._projects.setdefault(remote, session.project)
        return self._projects
