"""Which files are held open for writing, as far as the system tells.

A session holds no lock for its lifetime, but it holds its log open from the first use to the close. Linux shows the
open files of this user's processes; where it does not, or elsewhere, nothing is known.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Collection

Identity = tuple[int, int]
"""Device and inode."""


def identity_of(path: str | os.PathLike[str]) -> Identity:
    """The device and the inode of a file.

    Raises:
        OSError: it cannot be looked at.
    """
    status = os.stat(path)
    return status.st_dev, status.st_ino


def held_for_writing(names: Collection[str], proc: str = "/proc") -> frozenset[Identity] | None:
    """Find the files with one of these names that processes of this user hold open for writing.

    Args:
        names: names of files, without their directories.
        proc: where the system shows processes.

    Returns:
        Their identities; None where the system does not tell.
    """
    try:
        if not os.listdir(f"{proc}/self/fd"):
            return None
    except OSError:
        return None
    held: set[Identity] = set()
    for link in glob.iglob(f"{proc}/[0-9]*/fd/*"):  # nothing of other users' processes, nor of those that ended
        try:
            if os.path.basename(os.readlink(link)) in names and _writes(link.replace("/fd/", "/fdinfo/")):
                held.add(identity_of(link))
        except (OSError, ValueError):
            continue  # closed meanwhile
    return frozenset(held)


def _writes(path: str) -> bool:
    with open(path, encoding="ascii") as lines:
        for line in lines:
            if line.startswith("flags:"):
                return int(line.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    return False
