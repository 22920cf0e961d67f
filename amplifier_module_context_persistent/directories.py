"""Making the directories that lead to a log, so that none of them is forgotten when the log is synced."""

from __future__ import annotations

import os

from .files import Files


def make_directories(files: Files, path: str, unsynced: list[str]) -> None:
    """Make a directory and those above it, with mode 0700.

    Args:
        files: the system calls.
        path: an absolute path.
        unsynced: gets the parent of each directory that was made, from the top down: its new entry is not synced yet.

    Raises:
        OSError: one of them cannot be made; those above it stay.
    """
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    make_directories(files, parent, unsynced)
    try:
        files.make_directory(path)
    except FileExistsError:  # another process was faster
        if not os.path.isdir(path):
            raise
    unsynced.append(parent)
