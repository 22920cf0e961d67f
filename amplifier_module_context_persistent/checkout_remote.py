"""The remote repository of a checkout, by which a session is found again after its directory moved.

A log's header names the repository of the checkout that the session began in. Only git's own files are read, and git is
not run: no message waits for another program.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from .log.file_handle import first_line

REMOTE = "remote"
"""The key of a header that names the repository."""
_URL = re.compile(
    r"[a-z][a-z0-9+.-]*://(?:[^@/]*@)?(?P<host>[^/:?#]+|\[[^]]*\])(?::\d*)?/(?P<path>[^?#]+)", re.IGNORECASE
)
_SCP = re.compile(r"(?:[^@/:]*@)?(?P<host>[^/:@]{2,}):(?P<path>[^/].*)")
"""Matches `git@host:owner/name`. A single letter before the colon is a drive of Windows and does not match."""
_SECTION = re.compile(r"\[\s*remote\s+\"(?P<name>[^\"]*)\"\s*\]", re.IGNORECASE)
_VALUE = re.compile(r"url\s*=\s*(?P<url>.+)", re.IGNORECASE)
_MOST_BYTES = 1 << 20  # of a configuration, and of a header


def remote_of(directory: str | Path) -> str:
    """Return the name of a directory's remote repository, with the directory's place in it.

    The name is `github.com/owner/name`, or `github.com/owner/name//docs` for a directory below the checkout's root. It
    does not depend on how the URL is written, and has no user, password or port. The remote is `origin`, or the first
    remote with a URL.

    Returns:
        The name; "" if the directory is in no checkout, its remote is a directory, or the checkout cannot be read.
    """
    try:
        place = Path(directory).resolve()
        for top in (place, *place.parents):
            git = top / ".git"
            if git.exists():
                name = _remote_in(git)
                if not name or place == top:
                    return name
                return f"{name}//{place.relative_to(top).as_posix()}"
    except (OSError, ValueError, RuntimeError):  # not allowed, no UTF-8, links in a circle
        return ""
    return ""


def _remote_in(git: Path) -> str:
    if git.is_file():  # of a worktree or a submodule: the file names the directory
        git = git.parent / git.read_text("utf-8").removeprefix("gitdir:").strip()
    common = git / "commondir"
    if common.exists():
        git = git / common.read_text("utf-8").strip()
    with open(git / "config", encoding="utf-8") as file:
        lines = file.read(_MOST_BYTES).splitlines()
    names: dict[str, str] = {}
    section = ""
    for line in map(str.strip, lines):
        if line.startswith("["):
            found = _SECTION.match(line)
            section = found["name"] if found else ""
            continue
        value = _VALUE.fullmatch(line)
        if section and value is not None:
            name = _name_of(value["url"].strip().strip('"'))
            if name:
                names.setdefault(section, name)
    return names.get("origin") or next(iter(names.values()), "")


def _name_of(url: str) -> str:
    """Return the host and the path of a URL; "" if the URL is a directory of this machine."""
    found = _URL.fullmatch(url) or (None if "://" in url else _SCP.fullmatch(url))
    if found is None or os.sep == url[:1]:
        return ""
    path = found["path"].strip("/").removesuffix(".git").strip("/")
    return f"{found['host'].lower()}/{path}" if path else ""


def noted_remote(path: str | Path) -> str:
    """Return the remote repository that a log's first record names; "" if it names none or cannot be read."""
    try:
        line = first_line(path, _MOST_BYTES)
        remote = json.loads(line).get(REMOTE) if REMOTE.encode() in line else None
    except (OSError, ValueError, RecursionError, AttributeError):
        return ""
    return remote if isinstance(remote, str) else ""
