"""The path of a session's log.

Order: `transcript_path` (a file), `storage_path` (a directory), else the directory where the host's command line keeps
its sessions, `~/.amplifier/projects/<slug>/sessions/<session-id>/`. Child sessions inherit a configured file with the
rest of the configuration; each gets a file of its own beside it. In a database (`storage`) a log is named by project
and session id.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import ConfigError
from .log.database_location import stored_name
from .log.filesystem import is_name

if TYPE_CHECKING:
    from .config import Config

LOG_NAME = "context-messages.jsonl"
HOME_PROJECTS = Path(".amplifier", "projects")
"""The directories below a home that lead to the projects. The directory of a session is `PROJECT/sessions/ID` below."""
_LEVELS = 3
"""The number of directories that a session's directory is below the directory of projects, counted from the log."""
SEALED_ENDING = ".age"
"""The end of a sealed file's name: an encrypted export or log."""


def log_path(
    config: Config, *, session_id: str | None, parent_id: str | None = None, working_dir: str | None = None
) -> Path | None:
    """Return the path of a session's log file; None if neither the configuration nor a session id names one.

    Args:
        config: its `transcript_path` names the file; else its `storage_path` names the directory.
        session_id: the session's id; None if the host gives none.
        parent_id: the id of the session that started this one.
        working_dir: the directory of the project; None for the current directory.

    Raises:
        ConfigError: the session id cannot be part of a path.
    """
    if session_id is not None:
        check_session_id(session_id)
    base = Path(working_dir or os.getcwd())
    if config.transcript_path is not None:
        configured = os.fspath(config.transcript_path)
        path = base / _expand(configured, session_id)
        if parent_id is not None and session_id is not None and "{session_id}" not in configured:
            path = path.with_name(f"{path.stem}.{session_id}{path.suffix}")
        return path
    if config.storage_path is not None:
        configured = os.fspath(config.storage_path)
        directory = base / _expand(configured, session_id)
        if session_id is not None and "{session_id}" not in configured:
            directory /= session_id
        return directory / LOG_NAME
    if session_id is None:
        return None
    return home_projects() / project_slug(base) / "sessions" / session_id / LOG_NAME


def home_projects() -> Path:
    """Return the directory of the projects in this user's home."""
    return Path.home() / HOME_PROJECTS


def log_name(session_id: str, working_dir: str | Path, project: str | None = None) -> str:
    """The name that a session's log has in a database: its project and its id, as its directory is named on disk."""
    return f"{project or project_slug(working_dir)}/{session_id}"


def session_id_of(location: str) -> str | None:
    """The session's id that a log's place gives: its directory's name, or the end of its name in a database.

    None for a file of another name.
    """
    if (name := stored_name(location)) is not None:
        return name.rpartition("/")[2]
    path = Path(location).absolute()
    return path.parent.name if path.name == LOG_NAME else None


def project_slug(working_dir: str | Path) -> str:
    """The host's name of a project: the resolved directory with separators as `-`, `:` removed, a leading `-`."""
    slug = str(Path(working_dir).resolve()).replace("/", "-").replace("\\", "-").replace(":", "")
    return slug if slug.startswith("-") else f"-{slug}"


def check_session_id(session_id: str) -> None:
    """Refuse a session id that would lead out of its directory.

    Raises:
        ConfigError: it is empty or has a path separator, `..` or NUL.
    """
    if not is_name(session_id):
        raise ConfigError(f"session_id: {session_id!r} is not allowed; allowed: a name without '/', '\\', '..' and NUL")


def why_linked(location: str) -> str:
    """Return the reason why a log must not be changed or deleted: a symbolic link leads to its directory; else "".

    A link that stays within the directory of projects is allowed, and so is a link to the whole directory of projects.

    Args:
        location: a log's file or its location in a database.

    Returns:
        The reason for a person; empty if there is no such link, or if the log is not below a directory of projects.
    """
    path = Path(os.path.abspath(location))
    is_in_project = path.name == LOG_NAME and len(path.parents) > _LEVELS and path.parents[1].name == "sessions"
    if stored_name(location) is not None or not is_in_project:
        return ""
    real = os.path.realpath(path.parent)
    root = os.path.realpath(path.parents[_LEVELS])
    if Path(real).is_relative_to(root):
        return ""
    return f"a symbolic link brings it in from {real}, and nothing is changed through such a link; name {real}"


def _expand(path: str, session_id: str | None) -> str:
    if "{session_id}" in path:
        if session_id is None:
            raise ConfigError(f"{path!r} names {{session_id}}, and this session has none")
        return os.path.expanduser(path).replace("{session_id}", session_id)  # an id that begins with `~` is no user
    return os.path.expanduser(path)
