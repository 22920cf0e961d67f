"""Whether a session has a log open.

A session marks its log as open (`log/open_mark.py`). Sessions of an earlier version did not, and a directory that may
not be written takes no mark; so on Linux the open files of this user's processes are looked at too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator

from ..log.open_mark import is_marked

Identity = tuple[int, int]
"""Device and inode."""


def is_open(log: str | os.PathLike[str], held: Collection[Identity | str] | None = None) -> bool | None:
    """Tell whether a session has a log open.

    Args:
        log: the log's file.
        held: the files that are held open for writing, as `held_for_writing` found them; by default it is asked now.

    Returns:
        True or False; None if it is not known, since the system gives no locks there.
    """
    marked = is_marked(os.fspath(log))
    if marked:
        return True
    return is_held(log, held) or marked


def is_held(log: str | os.PathLike[str], held: Collection[Identity | str] | None = None) -> bool:
    """Whether a process of this user is seen to hold a log's file open for writing; arguments as `is_open`."""
    others = held_for_writing({os.path.basename(log)}) if held is None else held
    with contextlib.suppress(OSError):
        return others is not None and identity_of(log) in others
    return False


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
        proc: the directory in which the system shows processes.

    Returns:
        Their identities; None if the system does not tell.
    """
    try:
        if not os.listdir(f"{proc}/self/fd"):
            return None
    except OSError:
        return None
    held: set[Identity] = set()
    for link in _open_files(proc):
        try:
            if os.path.basename(os.readlink(link)) in names and _writes(link.replace("/fd/", "/fdinfo/")):
                held.add(identity_of(link))
        except (OSError, ValueError):
            continue  # closed meanwhile
    return frozenset(held)


def _open_files(proc: str) -> Iterator[str]:
    """The links to open files; none of other users' processes, nor of those that ended."""
    for process in filter(str.isdecimal, os.listdir(proc)):
        directory = f"{proc}/{process}/fd"
        with contextlib.suppress(OSError):
            yield from [f"{directory}/{descriptor}" for descriptor in os.listdir(directory)]


_ACCESS_MODE = 3  # O_ACCMODE of Linux, the only system with this directory


def _writes(path: str) -> bool:
    with open(path, encoding="ascii") as lines:
        for line in lines:
            if line.startswith("flags:"):
                return int(line.split()[1], 8) & _ACCESS_MODE != os.O_RDONLY
    return False
