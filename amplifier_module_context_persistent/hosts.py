"""The hosts whose sessions are found, and the directories of their projects.

A host is a program that runs sessions, such as Amplifier's command line.
"""

from __future__ import annotations

import os
from pathlib import Path

from .paths import home_projects

_HOSTS = (
    ("home:", "AMPLIFIER_HOME", "", "projects"),
    ("agent:", "AMPLIFIER_AGENT_HOME", ".amplifier-agent", "projects"),
    ("workspaces:", "AMPLIFIER_AGENT_HOME", ".amplifier-agent", "state/workspaces"),
    ("unified:", "AMPLIFIER_WEB_HOME", ".amplifier-unified", "projects"),
)
"""The hosts besides Amplifier's command line. For each: a prefix for the names of its projects in this package, the
environment variable with its directory, the default directory below the home, and the subdirectory of its projects."""


def projects_dirs() -> dict[Path, str]:
    """Return the prefix for project names by the directory of each host's projects; Amplifier's command line first."""
    found = {home_projects(): ""}
    for prefix, variable, usual, place in _HOSTS:
        root = os.environ.get(variable)
        if not root and usual:
            root = str(Path.home() / usual)
        if root:
            found.setdefault(Path(root).expanduser() / place, prefix)
    return found


def is_hosts_file(path: str | Path) -> bool:
    """Return whether a file is in the projects directory of a known host. Symbolic links are followed."""
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(os.path.realpath(root)) for root in projects_dirs())
