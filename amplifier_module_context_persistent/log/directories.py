"""The directories that lead to a log: made with mode 0700, and synced before the first append is acknowledged.

Who made them may have died, or failed, before their entries were on the disk. So whoever appends first syncs all of
them that it could have made, whether it made them or not.
"""

from __future__ import annotations

import os

from .filesystem import Files


def make_directories(files: Files, path: str) -> None:
    """Make a directory and those above it, with mode 0700.

    Args:
        files: the system calls.
        path: an absolute path.

    Raises:
        OSError: one of them cannot be made; those above it stay.
    """
    if os.path.isdir(path):
        return
    make_directories(files, os.path.dirname(path))
    try:
        files.make_directory(path)
    except FileExistsError:  # another process was faster
        if not os.path.isdir(path):
            raise


def directories_above(path: str) -> list[str]:
    """The directories above a log, from the top down, of which this user may have made an entry.

    The one that holds the log comes last. They end with the first that belongs to somebody else or cannot be listed:
    nothing above it was made for this log.
    """
    own = getattr(os, "geteuid", lambda: None)()
    found = [os.path.dirname(path)]
    while True:
        above = os.path.dirname(found[-1])
        if above == found[-1] or os.stat(found[-1]).st_uid != own or not os.access(above, os.R_OK | os.X_OK):
            return found[::-1]
        found.append(above)
