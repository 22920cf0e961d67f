"""Find out whether a running session has a log open.

A session marks its log as open (`log/open_mark.py`). Sessions of earlier versions make no mark, and a directory that is
not writable allows none. So on Linux, the open files of this user's processes are checked too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator

from ..log.open_mark import is_marked

Identity = tuple[int, int]
"""The device and the inode of a file."""

PROCESSES = "/proc"
"""The directory with the system's processes."""


def is_open(log: str | os.PathLike[str], held: Collection[Identity | str] | None = None) -> bool | None:
    """Return whether a session has a log open.

    Args:
        log: the path of the log's file.
        held: the files that are open for writing, as returned by `held_for_writing`; by default it is called here.

    Returns:
        True or False; None if this is unknown because the system has no file locks for the log.
    """
    marked = is_marked(os.fspath(log))
    if marked:
        return True
    return is_held(log, held) or marked


def is_held(log: str | os.PathLike[str], held: Collection[Identity | str] | None = None) -> bool:
    """Return whether a process of this user is known to have a log open for writing; arguments as for `is_open`."""
    others = held_for_writing({os.path.basename(log)}) if held is None else held
    with contextlib.suppress(OSError):
        return others is not None and identity_of(log) in others
    return False


def identity_of(path: str | os.PathLike[str]) -> Identity:
    """Return the device and the inode of a file.

    Raises:
        OSError: the status of the file cannot be read.
    """
    status = os.stat(path)
    return status.st_dev, status.st_ino


def held_for_writing(names: Collection[str], proc: str | None = None) -> frozenset[Identity] | None:
    """Return the files with one of `names` that processes of this user have open for writing.

    Args:
        names: the names of files, without directories.
        proc: the directory with the system's processes; `PROCESSES` by default.

    Returns:
        The identities of the files; None if the system does not report open files.
    """
    proc = proc or PROCESSES
    try:
        if not os.listdir(f"{proc}/self/fd"):
            return None
    except OSError:
        return None
    open_files: set[Identity] = set()
    for link in _open_files(proc):
        try:
            if os.path.basename(os.readlink(link)) in names and _writes(link.replace("/fd/", "/fdinfo/")):
                open_files.add(identity_of(link))
        except (OSError, ValueError):
            continue  # closed during the listing
    return frozenset(open_files)


def _open_files(proc: str) -> Iterator[str]:
    """Yield the paths of the links to open files of all processes, except those that cannot be read."""
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
