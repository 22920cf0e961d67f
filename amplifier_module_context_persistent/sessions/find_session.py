"""Find sessions by name, in the directories of the hosts or in a database.

A name may be any of the following, tried in this order:
- the path of a log or of a session's directory, or a whole location in a database;
- a session's id;
- the beginning of exactly one id, not counting the sub-sessions and branches of that session;
- a short form of a sub-agent's id (`is_short_id_of`);
- the name that a user or a host gave to a session, ignoring case;
- the beginning of exactly one such name;
- a part of exactly one such name.

With `storage` (a database location without a log's name) ids are looked up in that database, and the whole name of a
log (`PROJECT/ID`) is accepted too. The sessions of the current project are tried first, then those of all projects.

A host is a program that runs sessions, such as Amplifier's command line. A project is the host's name for a working
directory. A sub-agent is an agent that a session starts; it has a session of its own.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from ..errors import ContextPersistentError
from ..log.database_location import stored_name, why_no_place
from ..paths import LOG_NAME, project_slug
from ..session_ids import is_short_id_of
from .path_aliases import are_one_log
from .session_files import (
    SessionFile,
    project_sessions,
    session_files,
    sessions_of_id,
    stored_session,
    stored_sessions_of_id,
)
from .session_name import key_of, metadata_files, read_name, read_names

_MOST_NAMED = 5  # the candidates that an error lists for an ambiguous name
_NAME_CHARS = 40  # the characters of a candidate's name that an error shows
_NO_LOG = f"there is no {LOG_NAME} in this directory; `context-persistent list DIRECTORY` shows the logs in one"


class SessionNameError(ContextPersistentError, ValueError):
    """Raised if no session, or more than one, has a name."""


def _stored_with_names(storage: str, project: str | None) -> list[SessionFile]:
    """Return all sessions in a database that have a name, and perhaps some that have none.

    Args:
        storage: the location of the database.
        project: the project of the sessions; None for all projects.
    """
    from ..log.postgres.list_logs import stored_logs_with_names  # its driver is an extra

    hosted = [f"{path.parents[2].name}/{path.parent.name}" for path in metadata_files(project)]
    logs = stored_logs_with_names(storage, hosted, project)
    if logs is None:
        return session_files(project, storage=storage)
    return [stored_session(storage, name, changed_s) for name, changed_s in logs]


def _session_of_alias(name: str) -> SessionFile | None:
    """Return the session of which a symbolic link with this name is another path, or None if there is no such link."""
    aliases = [alias.path for alias in sessions_of_id(name)]
    if not aliases:
        return None
    for session in session_files():
        if any(are_one_log(session.path, alias) for alias in aliases):
            return session
    return None


def find_session(name: str, working_dir: str | Path = ".", *, storage: str | None = None) -> Path | str:
    """Return the path of the log that a name refers to, or its location in a database.

    Raises:
        SessionNameError: no session, or more than one, has this name.
        LogUnreadableError: the database cannot be queried.
    """
    location = stored_name(name)
    if location == "":
        raise SessionNameError("a location in a database names its log after #; or give it as --storage")
    if location is not None:
        return name
    if not name:
        raise SessionNameError("a session's name is empty")
    why_not = why_no_place(name)
    if why_not:
        raise SessionNameError(why_not)

    path = Path(name)
    is_directory = os.path.isdir(path)  # the name may be longer than a path can be
    if is_directory and (path / LOG_NAME).exists():
        return path / LOG_NAME
    if is_directory and (os.sep in name or name.strip(".") == ""):
        raise SessionNameError(_NO_LOG)
    if not is_directory and os.path.lexists(path):
        return path

    session = _by_id(name, _scopes_of_id(name, working_dir, storage))
    if session is None:
        session = _by_name(name, _scopes_of_name(working_dir, storage))
    if session is None and storage is None and os.sep not in name:
        session = _session_of_alias(name)
    if session is not None:
        return session.path
    if is_directory:
        raise SessionNameError(_NO_LOG)
    if os.sep in name and storage is None:
        return path
    raise SessionNameError(
        f"there is no such file or session{_there(storage)}; `context-persistent list --all` shows them, and"
        " `context-persistent search -w WORD --all -l` those that say a word"
    )


def find_among(sessions: Sequence[SessionFile], name: str) -> SessionFile:
    """Return the session, among the given ones, with this path, id or name, by the rules of `find_session`.

    Raises:
        SessionNameError: none of the sessions, or more than one, has this name.
    """
    scopes: Scopes = [lambda: list(sessions)]
    session = None
    if name:
        session = _with_path(sessions, name) or _with_own_id(sessions, name) or _by_id(name, scopes)
    if session is None:
        session = _by_name(name, scopes)
    if session is None:
        raise SessionNameError("none of these sessions is called so")
    return session


def _with_path(sessions: Iterable[SessionFile], name: str) -> SessionFile | None:
    """Return the session with this path or location, or in this directory; None if there is none."""
    path = Path(name).resolve()
    places = {name, str(path), str(path / LOG_NAME)}
    for session in sessions:
        if str(session.path) in places:
            return session
    return None


def _with_own_id(sessions: Iterable[SessionFile], name: str) -> SessionFile | None:
    """Return the session with this id, which may have a directory before it; None if there is none."""
    for session in sessions:
        if session.id.rpartition("/")[2] == name:
            return session
    return None


def _scopes_of_id(name: str, working_dir: str | Path, storage: str | None) -> Scopes:
    """Return where to look for a session whose id is `name`, the current project first."""
    if storage is None:
        return _scopes_of_files(working_dir)
    beginning = name.partition("_")[0] or name  # a short form of an id has this beginning too
    in_project = partial(stored_sessions_of_id, storage, beginning, project_slug(working_dir))
    in_all_projects = partial(stored_sessions_of_id, storage, beginning, None)
    return in_project, in_all_projects


def _scopes_of_name(working_dir: str | Path, storage: str | None) -> Scopes:
    """Return where to look for a session to which a user or a host gave a name, the current project first."""
    if storage is None:
        return _scopes_of_files(working_dir)
    in_project = partial(_stored_with_names, storage, project_slug(working_dir))
    in_all_projects = partial(_stored_with_names, storage, None)
    return in_project, in_all_projects


def _scopes_of_files(working_dir: str | Path) -> Scopes:
    """Return where to look for a session without a database: this directory, its project, and all projects."""
    in_directory = partial(session_files, project_slug(working_dir), storage=None)
    in_project = partial(project_sessions, working_dir, storage=None)
    in_all_projects = partial(session_files, storage=None)
    return in_directory, in_project, in_all_projects


Scopes = Sequence[Callable[[], list[SessionFile]]]
"""Functions that return the sessions to search; they are called in order until a session is found."""


def _by_id(name: str, scopes: Scopes) -> SessionFile | None:
    """Return the session with this id, beginning of an id, or short form of an id; None if there is none.

    If a session matches together with its sub-sessions and branches, return that session.

    Raises:
        SessionNameError: several unrelated sessions match.
    """
    for list_sessions in scopes:
        matches = _matches_of_id(list_sessions(), name)
        if not matches:
            continue
        shortest = min(matches, key=lambda session: len(session.id))
        if _are_below(shortest, matches):
            return shortest
        raise SessionNameError(f"more than one session has that name: {_listed(matches)}; {_advice(matches)}")
    return None


def _by_name(name: str, scopes: Scopes) -> SessionFile | None:
    """Return the session to which a user or a host gave this name; None if there is none.

    An equal name is preferred. Next is a name that begins with the text, then a name that contains the text.

    Raises:
        SessionNameError: more than one session matches.
    """
    wanted = key_of(name)
    if not wanted:
        return None
    for list_sessions in scopes:
        matches = _matches_of_name(list_sessions(), wanted)
        if len(matches) > 1:
            raise SessionNameError(f"more than one session has that name: {_listed(matches, named=True)}; give an id")
        if matches:
            return matches[0]
    return None


def _there(storage: str | None) -> str:
    return f" in {storage}" if storage is not None else ""


def _matches_of_id(sessions: Sequence[SessionFile], name: str) -> list[SessionFile]:
    """Return the sessions with this id; else those whose id begins with it; else those of which it is the short id."""
    with_id = [session for session in sessions if name in (session.id, f"{session.project}/{session.id}")]
    if with_id:
        return with_id
    beginning = [session for session in sessions if session.id.startswith(name)]
    if beginning:
        return beginning
    return [session for session in sessions if is_short_id_of(session.id, name)]


def _advice(matches: Sequence[SessionFile]) -> str:
    """Return advice on how to name exactly one of several sessions."""
    ids = {session.id for session in matches}
    have_different_ids = len(ids) == len(matches)
    return "give more of it" if have_different_ids else "name one by its path"


def _matches_of_name(sessions: Sequence[SessionFile], wanted: str) -> list[SessionFile]:
    """Return the sessions that a name means.

    A name's key is compared with `wanted`. The result is the sessions with an equal key; if there are none, those whose
    key begins with `wanted`; else those whose key contains it.
    """
    names = read_names(session.path for session in sessions)
    keys = [(session, name.key) for session, name in zip(sessions, names, strict=True)]
    equal = [session for session, key in keys if key == wanted]
    if equal:
        return equal
    beginning = [session for session, key in keys if key.startswith(wanted)]
    if beginning:
        return beginning
    return [session for session, key in keys if wanted in key]


def _are_below(first: SessionFile, others: Iterable[SessionFile]) -> bool:
    """Return whether all other sessions are sub-sessions or branches of the first: their ids begin with its id."""
    return all(other is first or other.id.startswith((f"{first.id}_", f"{first.id}-")) for other in others)


def _listed(sessions: Sequence[SessionFile], *, named: bool = False) -> str:
    """Return the ids of sessions as a list for an error message, of a few sessions at most.

    If two sessions have the same id, their paths are listed instead.

    Args:
        sessions: the sessions to list.
        named: whether to add the name of each session.
    """
    times = Counter(session.id for session in sessions)
    entries = []
    for session in sessions[:_MOST_NAMED]:
        text = session.id if times[session.id] == 1 else str(session.path)
        if named:
            text += f" ({_shown_name(session)})"
        entries.append(text)
    more = len(sessions) - _MOST_NAMED
    rest = f" and {more} more" if more > 0 else ""
    return ", ".join(entries) + rest


def _shown_name(session: SessionFile) -> str:
    """Return a session's name for an error message: printable and shortened."""
    name = read_name(session.path).name
    printable = "".join([character if character.isprintable() else "?" for character in name])
    if len(printable) <= _NAME_CHARS:
        return printable
    return f"{printable[: _NAME_CHARS - 1]}…"
