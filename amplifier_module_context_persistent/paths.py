"""The path of a session's log.

Order: `transcript_path` (a file), `storage_path` (a directory), else the directory where the host's command line keeps
its sessions, `~/.amplifier/projects/<slug>/sessions/<session-id>/`. Child sessions inherit a configured file with the
rest of the configuration; each gets a file of its own beside it. In a database (`storage`) a log is named by project
and session id.

A checkout may move: so a log's header names the remote repository of the checkout that the session began in, and
sessions are found by it too. Only git's own files are read, and git is not run: no message waits for another program.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from .config import Config
from .config.checks import is_name
from .errors import ConfigError
from .log.database_location import stored_name

LOG_NAME = "context-messages.jsonl"
REMOTE = "remote"
"""The key of a header that names the repository."""

_URL = re.compile(
    r"[a-z][a-z0-9+.-]*://(?:[^@/]*@)?(?P<host>[^/:?#]+|\[[^]]*\])(?::\d*)?/(?P<path>[^?#]+)", re.IGNORECASE
)
_SCP = re.compile(r"(?:[^@/:]*@)?(?P<host>[^/:@]{2,}):(?P<path>[^/].*)")
"""As in `git@host:owner/name`; one letter before the colon is a drive."""
_SECTION = re.compile(r"\[\s*remote\s+\"(?P<name>[^\"]*)\"\s*\]", re.IGNORECASE)
_VALUE = re.compile(r"url\s*=\s*(?P<url>.+)", re.IGNORECASE)
_MOST_BYTES = 1 << 20  # of a configuration, and of a header


def log_path(
    config: Config, *, session_id: str | None, parent_id: str | None = None, working_dir: str | None = None
) -> Path | None:
    """Find a session's log file; None if neither the configuration nor a session id names one.

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
    return Path.home() / ".amplifier" / "projects" / project_slug(base) / "sessions" / session_id / LOG_NAME


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


def _expand(path: str, session_id: str | None) -> str:
    if "{session_id}" in path:
        if session_id is None:
            raise ConfigError(f"{path!r} names {{session_id}}, and this session has none")
        return os.path.expanduser(path).replace("{session_id}", session_id)  # an id that begins with `~` is no user
    return os.path.expanduser(path)


def remote_of(directory: str | Path) -> str:
    """Name what a directory holds: the remote repository of its checkout, and where in it the directory is.

    `github.com/owner/name`, and `github.com/owner/name//docs` for a directory in it, however the URL is written and
    without the user, the password and the port in it. It is that of `origin`, else of the first remote that has one.

    Returns:
        The name; empty where there is no checkout, its remote is a directory, or it cannot be read.
    """
    try:
        place = Path(directory).resolve()
        for top in (place, *place.parents):
            if (git := top / ".git").exists():
                name = _remote_in(git)
                inside = place.relative_to(top).as_posix()
                return name if inside == "." or not name else f"{name}//{inside}"
    except (OSError, ValueError, RuntimeError):  # not allowed, no UTF-8, links in a circle
        return ""
    return ""


def _remote_in(git: Path) -> str:
    if git.is_file():  # a worktree or a submodule: where its files are
        git = git.parent / git.read_text("utf-8").removeprefix("gitdir:").strip()
    if (common := git / "commondir").exists():
        git = git / common.read_text("utf-8").strip()
    with open(git / "config", encoding="utf-8") as file:
        lines = file.read(_MOST_BYTES).splitlines()
    names: dict[str, str] = {}
    section = ""
    for line in map(str.strip, lines):
        if line.startswith("["):
            found = _SECTION.match(line)
            section = found["name"] if found else ""
        elif section and (value := _VALUE.fullmatch(line)) and (name := _name_of(value["url"].strip().strip('"'))):
            names.setdefault(section, name)
    return names.get("origin") or next(iter(names.values()), "")


def _name_of(url: str) -> str:
    """The host and the path of a URL; empty where it is a directory of this machine."""
    found = _URL.fullmatch(url) or (None if "://" in url else _SCP.fullmatch(url))
    if found is None or os.sep == url[:1]:
        return ""
    path = found["path"].strip("/").removesuffix(".git").strip("/")
    return f"{found['host'].lower()}/{path}" if path else ""


def noted_remote(path: str | Path) -> str:
    """The remote repository that a log's first record names; empty where it names none or cannot be read."""
    try:
        with open(path, "rb") as file:
            line = file.readline(_MOST_BYTES)
        remote = json.loads(line).get(REMOTE) if REMOTE.encode() in line else None
    except (OSError, ValueError, RecursionError, AttributeError):
        return ""
    return remote if isinstance(remote, str) else ""
