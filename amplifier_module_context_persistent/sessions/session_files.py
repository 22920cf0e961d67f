"""The logs of sessions: those of a project, below a directory, in a database, or with an id."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..checkout_remote import noted_remote, remote_of
from ..hosts import projects_dirs
from ..log.database_location import location_of, split_location, stored_name
from ..paths import LOG_NAME, project_slug
from .path_aliases import aliases_among
from .recognise_log import may_be_log, may_exist


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A session's log.

    Attributes:
        path: the path of the log's file, or the log's location in a database.
        id: the id of the session. For a log outside the hosts' directories, it is the name of the log's directory or
            file.
        project: the name that the host gives the session's project; "" for a log outside the hosts' directories.
        modified_s: when the log was last written, in seconds since 1970.
    """

    path: Path | str
    id: str
    project: str
    modified_s: float


def session_files(
    project: str | None = None, *, storage: str | None = None, since_s: float | None = None
) -> list[SessionFile]:
    """Return the sessions of one project or of all projects, the last written first.

    Args:
        project: the name of the project; None for all projects.
        storage: a database to use instead of the hosts' directories.
        since_s: leave out sessions of a database that were last written before this time, in seconds since 1970.
            Files are not filtered.

    Raises:
        LogUnreadableError: the database of `storage` cannot be queried.
    """
    if storage is not None:
        from ..log.postgres.list_logs import stored_logs  # its driver is an extra

        logs = stored_logs(storage, project, since_s=since_s)
        return [stored_session(storage, name, changed_s) for name, changed_s in logs]
    project_pattern = "*" if project is None else glob.escape(project)
    return _hosted_sessions(f"{project_pattern}/sessions/*/{LOG_NAME}")


def _hosted_sessions(pattern: str) -> list[SessionFile]:
    """Return the sessions of all hosts whose log has this path, the last written first.

    The path is relative to the directory of the host's projects; the path may contain wildcards.
    """
    logs = list[tuple[Path, str, str]]()
    for root, prefix in projects_dirs().items():
        logs.extend((path, path.parent.name, f"{prefix}{path.parents[2].name}") for path in root.glob(pattern))
    return _newest_first(logs)


def sessions_below(root: Path) -> list[SessionFile]:
    """Return the sessions of all projects in a directory with the layout of a host, the last written first."""
    paths = root.glob(f"*/sessions/*/{LOG_NAME}")
    return _newest_first((path, path.parent.name, path.parents[2].name) for path in paths)


def sessions_of_id(session_id: str, *, storage: str | None = None) -> list[SessionFile]:
    """Return the sessions with this id, in all projects.

    Raises:
        LogUnreadableError: the database of `storage` cannot be queried.
    """
    if storage is not None:
        return [session for session in stored_sessions_of_id(storage, session_id, None) if session.id == session_id]
    return _hosted_sessions(f"*/sessions/{glob.escape(session_id)}/{LOG_NAME}")


def project_sessions(working_dir: str | Path = ".", *, storage: str | None = None) -> list[SessionFile]:
    """Return the sessions of a directory's project, the last written first.

    Sessions of other directories are included if the headers of their logs name the same git remote: such sessions
    belong to another checkout of the same repository, or to this checkout before it was moved. In a database only the
    sessions of the directory itself are found.

    Raises:
        LogUnreadableError: the database of `storage` cannot be queried.
    """
    sessions = session_files(project_slug(working_dir), storage=storage)
    if storage is not None:
        return sessions
    remote = remote_of(working_dir)
    if not remote:
        return sessions
    paths = {session.path for session in sessions}
    others = [session for session in session_files() if session.path not in paths]
    sessions += [session for session in others if noted_remote(session.path) == remote]
    return sorted(sessions, key=_age)


def _age(session: SessionFile) -> tuple[float, str]:
    return -session.modified_s, session.id


def sessions_with_id_prefix(paths: Iterable[str]) -> list[SessionFile]:
    """Return the sessions in databases whose id begins with the id of a given session, in the same project.

    The given sessions themselves are included.

    Args:
        paths: the locations of the sessions' logs. Paths of files are ignored.

    Raises:
        LogUnreadableError: a database cannot be queried.
    """
    sessions: dict[str, SessionFile] = {}
    for path in paths:
        name = stored_name(path)
        if not name:
            continue
        storage, _ = split_location(path)
        project, _, session_id = name.rpartition("/")
        for session in stored_sessions_of_id(storage, session_id, project or None):
            sessions[str(session.path)] = session
    return list(sessions.values())


def stored_sessions_of_id(storage: str, beginning: str, project: str | None) -> list[SessionFile]:
    """Return the sessions in a database whose id, or whole name, has this beginning; `project` None searches all."""
    from ..log.postgres.list_logs import stored_logs_of_id  # its driver is an extra

    logs = stored_logs_of_id(storage, beginning, project)
    return [stored_session(storage, name, changed_s) for name, changed_s in logs]


def stored_session(storage: str, name: str, changed_s: float) -> SessionFile:
    """Return the session of a log in a database.

    Args:
        storage: the location of the database, without a log's name.
        name: the log's name, `PROJECT/ID`.
        changed_s: when the log was last written, in seconds since 1970.
    """
    project, _, session_id = name.rpartition("/")
    return SessionFile(location_of(storage, name), session_id, project, changed_s)


def stored_session_pages(storage: str, project: str | None) -> Iterator[list[SessionFile]]:
    """Yield pages of the sessions in a database, of one project or of all projects, the last written first.

    Raises:
        LogUnreadableError: the database cannot be queried.
    """
    from ..log.postgres.list_logs import stored_pages  # its driver is an extra

    for page in stored_pages(storage, project):
        yield [stored_session(storage, *found) for found in page]


def files_in(directory: str | Path) -> list[SessionFile]:
    """Return the logs in a directory that is used as `storage_path` or `transcript_path`, the last written first.

    These are the log files with the usual name in the directory and in its subdirectories, and other `*.jsonl` files
    that begin with a log's header or with a plain message. Files that cannot be read are included, so that the caller
    can report them.

    Raises:
        OSError: the directory cannot be read.
    """
    root = Path(directory)
    logs = []
    for path in sorted(root.iterdir()):
        if path.name == LOG_NAME:
            logs.append((path, root.resolve().name, ""))
        elif may_exist(os.path.join(path, LOG_NAME)):  # a path object for each file would take as long as the rest
            logs.append((path / LOG_NAME, path.name, ""))
        elif path.suffix == ".jsonl" and may_be_log(path):
            logs.append((path, path.stem, ""))
    return _newest_first(logs)


_PLACES_OF_PROJECTS = ("", "projects/", ".amplifier/projects/")
"""The subdirectory with the projects: in a kit's directory, in `.amplifier`, and in a user's home."""


def sessions_in(directory: str | Path) -> list[SessionFile]:
    """Return the logs in a directory (`files_in`) and in the projects below it, the last written first.

    Projects are found as `sessions/ID` and `PROJECT/sessions/ID`, also if the directory is a user's home. The id of a
    project's session is its path below the directory.

    Raises:
        OSError: the directory cannot be read.
    """
    root = Path(directory)
    no_project = ""
    projects = dict.fromkeys(root.glob(f"sessions/*/{LOG_NAME}"), no_project)
    for place in _PLACES_OF_PROJECTS:
        for path in root.glob(f"{place}*/sessions/*/{LOG_NAME}"):
            projects[path] = path.parents[2].name
    logs = [(path, path.parent.relative_to(root).as_posix(), project) for path, project in projects.items()]
    return sorted([*files_in(root), *_newest_first(logs)], key=_age)


def _newest_first(logs: Iterable[tuple[Path, str, str]]) -> list[SessionFile]:
    """Return sessions for logs, the last written first; a log with further paths by symbolic links is one session."""
    sessions = list[SessionFile]()
    statuses = dict[Path, os.stat_result]()
    for path, session_id, project in logs:
        try:
            status = statuses[path] = path.lstat()
        except FileNotFoundError:
            continue  # it was removed during the listing
        except OSError:
            status = path.parent.lstat()  # there is no permission to search its directory
        sessions.append(SessionFile(path, session_id, project, status.st_mtime))
    aliases = aliases_among(statuses)
    return sorted((session for session in sessions if session.path not in aliases), key=_age)
