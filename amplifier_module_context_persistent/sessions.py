"""Finding sessions by name, where the host's command line keeps them.

A name is the path of a log or of a session's directory, else a session's id, else the beginning of one id and no other.
This project's sessions are looked at first, then those of all projects.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .errors import ContextPersistentError
from .location import LOG_NAME, project_slug

_MOST_NAMED = 5  # candidates for an ambiguous name


class SessionNameError(ContextPersistentError, ValueError):
    """No session, or more than one, has the name."""


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A session's log: its path, the session's id, the host's name of its project, when it was written last."""

    path: Path
    id: str
    project: str
    modified_s: float


def projects_dir() -> Path:
    """Where the host's command line keeps its projects."""
    return Path.home() / ".amplifier" / "projects"


def session_files(project: str | None = None) -> list[SessionFile]:
    """The sessions of one project, or of all, the one that was written last first."""
    place = projects_dir() / project / "sessions" if project is not None else projects_dir()
    found = []
    for path in place.glob(f"*/{LOG_NAME}" if project is not None else f"*/sessions/*/{LOG_NAME}"):
        try:
            modified_s = path.stat().st_mtime
        except OSError:
            continue  # it has gone meanwhile
        found.append(SessionFile(path, path.parent.name, path.parents[2].name, modified_s))
    return sorted(found, key=lambda session: (-session.modified_s, session.id))


def last_session(working_dir: str | Path = ".") -> SessionFile:
    """The session of the project of `working_dir` that was written last.

    Raises:
        SessionNameError: there is none.
    """
    found = session_files(project_slug(working_dir))
    if not found:
        raise SessionNameError("this project has no session; `context-persistent list --all` shows those of others")
    return found[0]


def find_session(name: str, working_dir: str | Path = ".") -> Path:
    """Find the log that a name means.

    Raises:
        SessionNameError: nothing or more than one session has that name.
    """
    path = Path(name)
    if path.is_dir() and (path / LOG_NAME).exists():
        return path / LOG_NAME
    if os.path.lexists(path) or os.sep in name:
        return path
    for project in (project_slug(working_dir), None):
        found = session_files(project)
        ids = [session for session in found if session.id == name] or [
            session for session in found if session.id.startswith(name)
        ]
        if len(ids) == 1:
            return ids[0].path
        if ids:
            raise SessionNameError(f"more than one session has that name: {_listed(ids)}; give more of it")
    raise SessionNameError("there is no such file or session; see `context-persistent list --all`")


def _listed(sessions: Iterable[SessionFile]) -> str:
    named = [str(session.path.parent) for session in sessions]
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return ", ".join(named[:_MOST_NAMED]) + more
