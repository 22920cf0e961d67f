"""Name other projects with sessions, for a user who looks for sessions in the wrong directory.

A project belongs to a directory, so a checkout that was moved has a new project. Its older sessions are found by the
git remote in their logs (`session_files.project_sessions`). Sessions without a remote are only found in the old
project, which this module names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..paths import project_slug
from .find_session import SessionNameError
from .session_files import SessionFile, project_sessions, session_files

_MOST_NAMED = 3


def last_session(working_dir: str | Path = ".", *, storage: str | None = None) -> SessionFile:
    """Return the last written session of the project of `working_dir`.

    Raises:
        SessionNameError: the project has no session.
        LogUnreadableError: the database cannot be queried.
    """
    sessions = project_sessions(working_dir, storage=storage)
    if not sessions:
        place = f" in {storage}" if storage is not None else ""
        raise SessionNameError(f"this project has no session{place}; {other_projects_hint(working_dir, storage)}")
    return sessions[0]


def other_projects_hint(working_dir: str | Path = ".", storage: str | None = None) -> str:
    """Return a sentence that names other projects with sessions, for a project without sessions."""
    usual = "`context-persistent list --all` shows those of others"
    if storage is not None:
        return usual
    above = _sessions_above(working_dir)
    if above:
        directory, count = above
        return f"the project {directory} above has {count:,}; `context-persistent list --all` shows all"
    project_names = named_projects(session_files())
    return f"{project_names}; `context-persistent list --all` shows all" if project_names else usual


def _sessions_above(working_dir: str | Path) -> tuple[Path, int] | None:
    """Return the nearest parent directory with sessions, and their number; None if there is none."""
    for directory in Path(working_dir).resolve().parents:
        count = len(session_files(project_slug(directory)))
        if count:
            return directory, count
    return None


def named_projects(sessions: Iterable[SessionFile]) -> str:
    """Return a text that names the projects of sessions, the largest first, and the option for a project.

    Return "" if no session has a project.
    """
    counts = Counter(session.project for session in sessions if session.project).most_common()
    if not counts:
        return ""
    if len(counts) == 1:
        name, count = counts[0]
        return f"the project {name} has {count:,} (--project {name})"
    listed = ", ".join(f"{name} has {count:,}" for name, count in counts[:_MOST_NAMED])
    more = f", and {len(counts) - _MOST_NAMED:,} more have some" if len(counts) > _MOST_NAMED else ""
    return f"of other projects {listed}{more} (--project NAME)"


def earlier_checkouts_hint(sessions: Sequence[SessionFile], working_dir: str | Path = ".") -> str:
    """Return a text that names earlier checkouts of this repository with sessions that were not found; else "".

    Args:
        sessions: the sessions of the project of `working_dir`.
        working_dir: a directory in the current checkout.
    """
    here = project_slug(working_dir)
    earlier = {session.project for session in sessions if session.project and session.project != here}
    if not earlier:
        return ""
    paths = {session.path for session in sessions}
    not_found = Counter[str]()
    for session in session_files():
        if session.project in earlier and session.path not in paths:
            not_found[session.project] += 1
    return "; ".join(
        f"{count:,} more of the project {name} name no git remote, or another one: --project {name}"
        for name, count in not_found.most_common(_MOST_NAMED)
    )
