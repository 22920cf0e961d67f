"""Finding sessions by name, in the directories of the host's command line, or in a database.

A name is one of these, tried in this order:
- the path of a log or of a session's directory, or a whole location in a database;
- a session's id;
- the beginning of exactly one id; its sub-sessions and branches do not count;
- a short form of a sub-agent's id (`is_short_id_of`);
- the name that a person or a host gave a session, in any case;
- the beginning of exactly one such name;
- words in exactly one such name.

With `storage` (a location without a log's name) ids are looked up in that database, and the whole name of a log is
accepted too. This project's sessions are tried first, then the sessions of all projects.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..checkout_remote import noted_remote, remote_of
from ..errors import ContextPersistentError
from ..log.database_location import location_of, split_location, stored_name, why_no_place
from ..log.file_handle import beginning
from ..paths import LOG_NAME, project_slug
from .session_name import key_of, metadata_files, name_of, names_of

_HEADER = b'{"_record":"header"'
_ROLE = re.compile(rb'"role"\s*:\s*"(?:system|developer|user|assistant|tool|function)"')
_HEAD_BYTES = 1 << 16  # so much of a first line is looked at
_MOST_NAMED = 5  # candidates for an ambiguous name
_NAME_CHARS = 40  # of a candidate's name are shown
_NO_LOG = f"there is no {LOG_NAME} in this directory; `context-persistent list DIRECTORY` shows the logs in one"


class SessionNameError(ContextPersistentError, ValueError):
    """No session, or more than one, has the name."""


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A session's log: its path, the session's id, the host's name of its project, when it was written last.

    Of a log that lies elsewhere, the id is the name of its directory or its file, and the project is empty. In a
    database the path is the log's location.
    """

    path: Path | str
    id: str
    project: str
    modified_s: float


_HOSTS = (
    ("home:", "AMPLIFIER_HOME", "", "projects"),
    ("agent:", "AMPLIFIER_AGENT_HOME", ".amplifier-agent", "projects"),
    ("workspaces:", "AMPLIFIER_AGENT_HOME", ".amplifier-agent", "state/workspaces"),
    ("unified:", "AMPLIFIER_WEB_HOME", ".amplifier-unified", "projects"),
)
"""Hosts besides Amplifier's command line. Each has a prefix for its projects' names here, an environment variable for
its directory, a default for that below the home, and the place of its projects in that directory."""


def projects_dirs() -> dict[Path, str]:
    """The directories of the hosts' projects, and the prefix of the projects' names; Amplifier's command line first."""
    found = {Path.home() / ".amplifier" / "projects": ""}
    for prefix, variable, usual, place in _HOSTS:
        root = os.environ.get(variable)
        if not root and usual:
            root = str(Path.home() / usual)
        if root:
            found.setdefault(Path(root).expanduser() / place, prefix)
    return found


def session_files(
    project: str | None = None, *, storage: str | None = None, since_s: float | None = None
) -> list[SessionFile]:
    """The sessions of one project, or of all, the one that was written last first.

    Args:
        project: the project; None for all.
        storage: a database to look in.
        since_s: of a database, leave out the sessions that were last written to before this time.

    Raises:
        LogUnreadableError: the database of `storage` cannot be asked.
    """
    if storage is not None:
        from ..log.postgres.names import stored_logs  # its driver is an extra

        return [stored_session(storage, *found) for found in stored_logs(storage, project, since_s=since_s)]
    below = f"{project}/sessions/*/{LOG_NAME}" if project is not None else f"*/sessions/*/{LOG_NAME}"
    paths = ((path, prefix) for root, prefix in projects_dirs().items() for path in root.glob(below))
    return _newest_first((path, path.parent.name, f"{prefix}{path.parents[2].name}") for path, prefix in paths)


def sessions_below(root: Path) -> list[SessionFile]:
    """The sessions of all projects in a directory of the host's kind, the one that was written last first."""
    paths = root.glob(f"*/sessions/*/{LOG_NAME}")
    return _newest_first((path, path.parent.name, path.parents[2].name) for path in paths)


def sessions_of_id(session_id: str, *, storage: str | None = None) -> list[SessionFile]:
    """The sessions of all projects that have this id.

    Raises:
        LogUnreadableError: the database of `storage` cannot be asked.
    """
    if storage is not None:
        return [session for session in _stored_of_id(storage, session_id, None) if session.id == session_id]
    below = f"*/sessions/{glob.escape(session_id)}/{LOG_NAME}"
    paths = ((path, prefix) for root, prefix in projects_dirs().items() for path in root.glob(below))
    return _newest_first((path, path.parent.name, f"{prefix}{path.parents[2].name}") for path, prefix in paths)


def project_sessions(working_dir: str | Path = ".", *, storage: str | None = None) -> list[SessionFile]:
    """The sessions of the project of a directory, the last written one first.

    These are the sessions that began there, and the sessions of other checkouts of the same repository, or of this
    checkout before it was moved: their headers name the same remote.

    Raises:
        LogUnreadableError: the database of `storage` cannot be asked.
    """
    found = session_files(project_slug(working_dir), storage=storage)
    if storage is not None or not (remote := remote_of(working_dir)):
        return found
    known = {session.path for session in found}
    found += [one for one in session_files() if one.path not in known and noted_remote(one.path) == remote]
    return sorted(found, key=_age)


def _age(session: SessionFile) -> tuple[float, str]:
    return -session.modified_s, session.id


def _stored_of_id(storage: str, beginning: str, project: str | None) -> list[SessionFile]:
    """The sessions of one project in a database, or of all, whose id or whose whole name begins so."""
    from ..log.postgres.names import stored_logs_of_id  # its driver is an extra

    return [stored_session(storage, *found) for found in stored_logs_of_id(storage, beginning, project)]


def sessions_beside(paths: Iterable[str]) -> list[SessionFile]:
    """For logs in databases: the sessions whose ids begin with the id of one of these logs' sessions.

    Files among the logs are left out.

    Raises:
        LogUnreadableError: a database cannot be asked.
    """
    found: dict[str, SessionFile] = {}
    for path in paths:
        if not (name := stored_name(path)):
            continue
        project, _, session_id = name.rpartition("/")
        beginning_so = _stored_of_id(split_location(path)[0], session_id, project or None)
        found |= {str(one.path): one for one in beginning_so}
    return list(found.values())


def _stored_with_names(storage: str, project: str | None) -> list[SessionFile]:
    """The sessions of one project in a database, or of all, that may have a name."""
    from ..log.postgres.names import stored_logs_with_names  # its driver is an extra

    hosted = [f"{path.parents[2].name}/{path.parent.name}" for path in metadata_files(project)]
    found = stored_logs_with_names(storage, hosted, project)
    if found is None:
        return session_files(project, storage=storage)
    return [stored_session(storage, *one) for one in found]


def stored_session(storage: str, name: str, changed_s: float) -> SessionFile:
    """The session of a log in a database, by the log's name."""
    project, _, session_id = name.rpartition("/")
    return SessionFile(location_of(storage, name), session_id, project, changed_s)


def stored_session_pages(storage: str, project: str | None) -> Iterator[list[SessionFile]]:
    """The sessions of one project in a database, or of all, a page at a time, the latest written first.

    Raises:
        LogUnreadableError: the database cannot be asked.
    """
    from ..log.postgres.names import stored_pages  # its driver is an extra

    for page in stored_pages(storage, project):
        yield [stored_session(storage, *found) for found in page]


def files_in(directory: str | Path) -> list[SessionFile]:
    """The logs in a directory that `storage_path` or `transcript_path` names, the one that was written last first.

    Those are logs of its own name and of its subdirectories, and other files `*.jsonl` that begin as a log does or with
    a plain message. What cannot be read is among them: whoever lists a directory is to know of it.

    Raises:
        OSError: it cannot be read.
    """
    root, found = Path(directory), []
    for path in sorted(root.iterdir()):
        if path.name == LOG_NAME:
            found.append((path, root.resolve().name, ""))
        elif _may_exist(path / LOG_NAME):
            found.append((path / LOG_NAME, path.name, ""))
        elif path.suffix == ".jsonl" and _begins_as_session(path):
            found.append((path, path.stem, ""))
    return _newest_first(found)


_PLACES_OF_PROJECTS = ("", "projects/", ".amplifier/projects/")
"""The places of projects in a directory of a kit, of Amplifier, and in a person's home."""


def sessions_in(directory: str | Path) -> list[SessionFile]:
    """The logs in a directory (`files_in`), and the logs of its projects: `sessions/ID` and `PROJECT/sessions/ID`.

    The id of a project's session is its path below the directory. The directory may be a home, too.

    Raises:
        OSError: the directory cannot be read.
    """
    root = Path(directory)
    found = [(path, path.parent.relative_to(root).as_posix(), "") for path in root.glob(f"sessions/*/{LOG_NAME}")]
    for place in _PLACES_OF_PROJECTS:
        below = root.glob(f"{place}*/sessions/*/{LOG_NAME}")
        found += [(path, path.parent.relative_to(root).as_posix(), path.parents[2].name) for path in below]
    return sorted([*files_in(root), *_newest_first(found)], key=_age)


def _newest_first(found: Iterable[tuple[Path, str, str]]) -> list[SessionFile]:
    sessions = []
    for path, session_id, project in found:
        try:
            modified_s = path.lstat().st_mtime
        except FileNotFoundError:
            continue  # it has gone meanwhile
        except OSError:
            modified_s = path.parent.lstat().st_mtime  # its directory may not be looked into
        sessions.append(SessionFile(path, session_id, project, modified_s))
    return sorted(sessions, key=_age)


def _may_exist(path: Path) -> bool:
    """Whether something has this name, or its directory may not be looked into."""
    try:
        path.lstat()
    except OSError as error:
        return not isinstance(error, FileNotFoundError | NotADirectoryError)
    return True


def _begins_as_session(path: Path) -> bool:
    """Whether a file may be a log: it begins with a log's header or a message, or it cannot be read.

    Not: lines of JSON of another program, an empty file, a directory, or a device.
    """
    try:
        if not path.is_file():  # a FIFO would be waited for
            return path.is_symlink() and not path.exists()
        lines = beginning(path, _HEAD_BYTES).splitlines()
    except OSError:
        return True
    for line in lines:
        is_message = line.startswith(b"{") and _ROLE.search(line)
        if is_message or line.startswith(_HEADER):
            return True
    has_json = any(line.startswith(b"{") or _is_json(line) for line in lines)
    return bool(lines) and not has_json


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def find_session(name: str, working_dir: str | Path = ".", *, storage: str | None = None) -> Path | str:
    """Find the log that a name means: its path, or its location in a database.

    Raises:
        SessionNameError: nothing or more than one session has that name.
        LogUnreadableError: the database cannot be asked.
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
    is_directory = os.path.isdir(path)  # a name may be longer than a path may be
    if is_directory and (path / LOG_NAME).exists():
        return path / LOG_NAME
    if is_directory and (os.sep in name or name.strip(".") == ""):
        raise SessionNameError(_NO_LOG)
    if not is_directory and os.path.lexists(path):
        return path

    of_id, of_name = _scopes(name, working_dir, storage)
    found = _by_id(name, of_id) or _by_name(name, of_name)
    if found is not None:
        return found.path
    if os.sep in name and storage is None and not is_directory:
        return path
    if is_directory:
        raise SessionNameError(_NO_LOG)
    raise SessionNameError(
        f"there is no such file or session{_there(storage)}; `context-persistent list --all` shows them, and"
        " `context-persistent search -w WORD --all -l` those that say a word"
    )


def find_among(sessions: Sequence[SessionFile], name: str) -> SessionFile:
    """Find the session that a name means among some: by its path, its id, or its name, as `find_session` does.

    Raises:
        SessionNameError: none of them has that name, or several have.
    """
    places = {name, str(Path(name).resolve()), str(Path(name).resolve() / LOG_NAME)} if name else set[str]()
    found = next((one for one in sessions if str(one.path) in places), None)
    found = found or next((one for one in sessions if one.id.rpartition("/")[2] == name), None)
    among: Scopes = [lambda: list(sessions)]
    found = found or (_by_id(name, among) if name else None) or _by_name(name, among)
    if found is None:
        raise SessionNameError("none of these sessions is called so")
    return found


def _scopes(name: str, working_dir: str | Path, storage: str | None) -> tuple[Scopes, Scopes]:
    """The sessions in which a name is looked for, the nearest first: as an id, and as a name that was given."""
    project = project_slug(working_dir)
    if storage is None:
        scopes = (
            partial(session_files, project, storage=None),
            partial(project_sessions, working_dir, storage=None),
            partial(session_files, storage=None),
        )
        return scopes, scopes
    begins = name.partition("_")[0] or name  # a short form begins so, too
    of_id = [partial(_stored_of_id, storage, begins, one) for one in (project, None)]
    of_name = [partial(_stored_with_names, storage, one) for one in (project, None)]
    return of_id, of_name


Scopes = Sequence[Callable[[], list[SessionFile]]]
"""The places that are searched for sessions, in order."""


def _by_id(name: str, scopes: Scopes) -> SessionFile | None:
    """Find the session whose id, or the beginning of whose id, this is.

    Raises:
        SessionNameError: it is the beginning of several.
    """
    for look in scopes:
        sessions = look()
        found = (
            [session for session in sessions if name in (session.id, f"{session.project}/{session.id}")]
            or [session for session in sessions if session.id.startswith(name)]
            or [session for session in sessions if is_short_id_of(session.id, name)]
        )
        if found and (first := min(found, key=lambda session: len(session.id))) and _are_below(first, found):
            return first
        if found:
            raise SessionNameError(f"more than one session has that name: {_listed(found)}; {_what_to_give(found)}")
    return None


def is_short_id_of(session_id: str, name: str) -> bool:
    """Whether a name is a short form of a sub-agent's id: the beginnings of its parts before and after the first `_`.

    The part before it is the id of the session that started it, with an id of the call; the other one is its own.
    """
    (head, sign, tail), (own_head, _, own_tail) = name.partition("_"), session_id.partition("_")
    return bool(sign and head and tail) and own_head.startswith(head) and own_tail.startswith(tail)


def _what_to_give(found: Sequence[SessionFile]) -> str:
    """Say how one of several sessions can be named."""
    ids = {session.id for session in found}
    return "give more of it" if len(ids) == len(found) else "name one by its path"


def _by_name(name: str, scopes: Scopes) -> SessionFile | None:
    """Find the session with this name, given by a person or a host; else the only one whose name begins so, or has it.

    Raises:
        SessionNameError: several have it, or begin so, or have it in their names.
    """
    if not (wanted := key_of(name)):
        return None
    for look in scopes:
        sessions = look()
        names = names_of(session.path for session in sessions)
        keys = [(session, named.key) for session, named in zip(sessions, names, strict=True)]
        found = (
            [session for session, key in keys if key == wanted]
            or [session for session, key in keys if key.startswith(wanted)]
            or [session for session, key in keys if wanted in key]
        )
        if len(found) == 1:
            return found[0]
        if found:
            raise SessionNameError(f"more than one session has that name: {_listed(found, named=True)}; give an id")
    return None


def root_of(session_id: str, roots: Container[str]) -> str | None:
    """The parent session of a sub-agent's session, by their ids; None if it has no parent.

    The id of a sub-agent's session consists of its parent's id, `-` or `_`, and a text with a `_`: the host takes every
    id with a `_` for a sub-session. A fork or a branch is a session of its own, even if its id has this form.
    """
    return next((root for root in possible_roots(session_id) if root in roots), None)


def with_sub_agents(session: SessionFile, others: Iterable[SessionFile]) -> list[SessionFile]:
    """A session and its sub-agents' sessions, from the sessions of its project."""
    below = [one for one in others if one.project == session.project and one.id != session.id]
    return [session, *(one for one in below if root_of(one.id, {session.id}) == session.id)]


def possible_roots(session_id: str) -> Iterator[str]:
    """The possible ids of a session's parent, judging by its own id; the shortest first."""
    return (session_id[:at] for at, sign in enumerate(session_id) if sign in "-_" and "_" in session_id[at:])


def _there(storage: str | None) -> str:
    return f" in {storage}" if storage is not None else ""


def _are_below(first: SessionFile, others: Iterable[SessionFile]) -> bool:
    """Whether sessions are one and its sub-sessions and branches, whose ids begin with its own."""
    return all(other is first or other.id.startswith((f"{first.id}_", f"{first.id}-")) for other in others)


def _listed(sessions: Iterable[SessionFile], *, named: bool = False) -> str:
    """The ids of some sessions; with `named`, each with its name. An id that two have is told by their paths."""
    found = list(sessions)
    times = Counter(session.id for session in found)
    shown = [session.id if times[session.id] == 1 else str(session.path) for session in found]
    listed = [f"{one} ({_shown_name(session)})" if named else one for one, session in zip(shown, found, strict=True)]
    more = f" and {len(listed) - _MOST_NAMED} more" if len(listed) > _MOST_NAMED else ""
    return ", ".join(listed[:_MOST_NAMED]) + more


def _shown_name(session: SessionFile) -> str:
    """A session's name as an error may show it."""
    name = "".join(character if character.isprintable() else "?" for character in name_of(session.path).name)
    return name if len(name) <= _NAME_CHARS else f"{name[: _NAME_CHARS - 1]}…"
