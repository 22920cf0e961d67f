"""Which files are held open for writing, as far as the system tells.

A session holds no lock for its lifetime, but it holds its log open from the first use to the close. Linux shows the
open files of this user's processes; where it does not, or elsewhere, nothing is known.
"""

from __future__ import annotations

import os
from collections.abc import Collection

Identity = tuple[int, int]
"""Device and inode."""

_PROC = "/proc"


def identity_of(path: str | os.PathLike[str]) -> Identity:
    """The device and the inode of a file.

    Raises:
        OSError: it cannot be looked at.
    """
    status = os.stat(path)
    return status.st_dev, status.st_ino


def held_for_writing(names: Collection[str], proc: str = _PROC) -> frozenset[Identity] | None:
    """Find the files with one of these names that processes of this user hold open for writing.

    Args:
        names: names of files, without their directories.
        proc: where the system shows processes.

    Returns:
        Their identities; None where the system does not tell.
    """
    try:
        own_files = os.listdir(f"{proc}/self/fd")
    except OSError:
        return None
    if not own_files:
        return None
    held: set[Identity] = set()
    for process in os.listdir(proc):
        if not process.isdigit():
            continue
        try:
            descriptors = os.listdir(f"{proc}/{process}/fd")
        except OSError:
            continue  # another user's, or it has ended
        for descriptor in descriptors:
            identity = _identity(f"{proc}/{process}", descriptor, names)
            if identity is not None:
                held.add(identity)
    return frozenset(held)


def _identity(process: str, descriptor: str, names: Collection[str]) -> Identity | None:
    try:
        link = f"{process}/fd/{descriptor}"
        if os.path.basename(os.readlink(link)) not in names or not _writes(f"{process}/fdinfo/{descriptor}"):
            return None
        return identity_of(link)
    except (OSError, ValueError):
        return None  # closed meanwhile


def _writes(path: str) -> bool:
    with open(path, encoding="ascii") as lines:
        for line in lines:
            if line.startswith("flags:"):
                return int(line.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    return False
