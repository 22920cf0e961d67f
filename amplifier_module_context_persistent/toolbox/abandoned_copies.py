"""Tell quickly whether killed commands may have left plain copies of sealed files (`transfer/plain_copies`)."""

from __future__ import annotations

import os
from contextlib import suppress

PREFIX = "context-persistent-plain-"
"""The beginning of the name of each private directory with plain copies."""
_DIRECTORIES = ("XDG_RUNTIME_DIR", "TMPDIR", "TEMP", "TMP")
"""Environment variables with directories in which private directories are made."""


def usual_places() -> set[str]:
    """Return the directories in which commands make their private directories."""
    named_directories = {os.environ.get(variable, "") for variable in _DIRECTORIES}
    return (named_directories | {"/tmp"}) - {""}  # noqa: S108 - only looked into


def may_be_left() -> bool:
    """Return whether a private directory is in one of the usual places. It may be in use by another command."""
    for place in usual_places():
        with suppress(OSError):
            if any(name.startswith(PREFIX) for name in os.listdir(place)):
                return True
    return False
