"""The mark that a session has its log open: a shared lock on a file beside the log, from the first use to the close.

Rules:
- The mark is not the log's lock. Any number of sessions may have it at once, and it delays no opening and no append.
- Its file is beside the log (`OPEN_SUFFIX`), so that it survives a purge, which replaces the log's file.
- A mark ends with its process. A forked child closes an inherited mark at once, and takes a new one when it uses the
  log.
- A process that deletes a log, or rewrites the host's files beside it, holds the mark exclusively until it has done so
  (`keep_closed`). A session that opens the log at that moment does not wait: it takes its mark with its next call.
- The last session removes the file at its close. After a kill the file may stay; it is not locked, and means nothing.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from weakref import WeakSet

from .file_handle import FileHandle
from .forked_process import call_in_children
from .os_file_lock import try_lock

OPEN_SUFFIX = ".open"
"""The suffix of the mark's file after the log's name."""
SESSION_IS_OPEN = "the session is open; close it first"
"""The reason why a log is neither deleted nor archived while a session has it open."""

_FLAGS = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_TRIES = 5
"""Tries to take a mark whose file is removed at the same moment."""
_PAUSE_S = 0.01


class OpenMark:
    """A session's mark on its log. Its methods raise no errors, because a session works without its mark.

    Args:
        file: the log's file; a forked child closes it together with the mark.
    """

    def __init__(self, file: FileHandle) -> None:
        self._file = file
        self._path = mark_path(file.path)
        self._fd = -1
        self._is_refused = False
        """Whether a mark was refused. Then no mark is tried before the log is closed."""

    @property
    def is_due(self) -> bool:
        """Whether the log is not marked yet, and no mark was refused."""
        return self._fd < 0 and not self._is_refused

    def take(self) -> None:
        """Mark the log as open. Do nothing if the log is marked already, or is being deleted at this moment."""
        if not self.is_due:
            return
        try:
            fd = _locked(self._path, exclusive=False, create=True)
        except OSError:
            self._is_refused = True
            return
        if fd is None:
            return
        if fd >= _most_descriptors():
            self._is_refused = True
            _close(fd, self._path)
            return
        self._fd = fd
        _HELD.add(self)

    def give_back(self) -> None:
        """Remove the mark, and its file if no other session has the log open."""
        fd = self._fd
        self._fd = -1
        self._is_refused = False
        if fd >= 0:
            _HELD.discard(self)
            _close(fd, self._path)

    def __del__(self) -> None:
        """Remove the mark of a log that was dropped without a close."""
        if getattr(self, "_fd", -1) >= 0:
            self.give_back()

    def forget(self) -> None:
        """Close the inherited files in a forked child, without removing the mark.

        Parent and child share the lock on the mark's file. So closing the file in the child does not unlock it: the log
        stays marked until the parent process closes the file too.
        """
        fd = self._fd
        self._fd = -1
        if fd >= 0:
            with contextlib.suppress(OSError):
                os.close(fd)
        self._file.close()


_HELD: WeakSet[OpenMark] = WeakSet()


def _forget_all() -> None:
    """Close all inherited marks; called in a forked child."""
    for mark in list(_HELD):
        mark.forget()
    _HELD.clear()


call_in_children(_forget_all)


def _most_descriptors() -> int:
    """Return the number of descriptors that marks may use. A process with too many sessions marks only some of them."""
    if sys.platform == "win32":
        return sys.maxsize
    import resource

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit // 2


def mark_path(log: str) -> str:
    """Return the path of the file that a session locks while it has a log open."""
    return log + OPEN_SUFFIX


def is_marked(log: str) -> bool | None:
    """Return whether a session has a log open, judged by its mark; None if the file system has no locks."""
    path = mark_path(log)
    try:
        fd = _locked(path, exclusive=True, create=False)
    except FileNotFoundError:
        return False
    except OSError:
        return None
    if fd is None:
        return True
    os.close(fd)
    return False


def remove_stale_mark(log: str) -> None:
    """Remove the file of a mark that a killed process left. Do nothing if a session has the log open."""
    path = mark_path(log)
    with contextlib.suppress(OSError):  # there is no such file, or the file system has no locks
        fd = _locked(path, exclusive=True, create=False)
        if fd is not None:
            _close(fd, path)


@contextlib.contextmanager
def keep_closed(log: str) -> Iterator[bool | None]:
    """Keep sessions from marking a log as open while a block lasts.

    Yields:
        True if no session has the log open. None if this is unknown because the file system has no locks. False if a
        session has the log open; then sessions are not kept from marking it.
    """
    path = mark_path(log)
    try:
        fd = _locked(path, exclusive=True, create=True)
        for _ in range(_TRIES):
            if fd is not None:
                break
            time.sleep(_PAUSE_S)  # another process may only be checking whether the log is open
            fd = _locked(path, exclusive=True, create=True)
    except OSError:
        yield None
        return
    if fd is None:
        yield False
        return
    try:
        yield True
    finally:
        _close(fd, path)


def _locked(path: str, *, exclusive: bool, create: bool) -> int | None:
    """Lock the file of a mark; return its descriptor, or None if another open file has the lock.

    Raises:
        OSError: the file does not exist or cannot be opened, or the file system has no locks.
    """
    for _ in range(_TRIES):
        fd = os.open(path, _FLAGS | (os.O_CREAT if create else 0), 0o600)
        try:
            if not try_lock(fd, exclusive=exclusive):
                os.close(fd)
                return None
            if _names(path, fd):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # the last other user removed the file before it was locked here
    return None


def _names(path: str, fd: int) -> bool:
    """Return whether a path still names an open file."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(fd))
    except FileNotFoundError:
        return False


def _close(fd: int, path: str) -> None:
    """Close the file of a mark, and remove the file if no other session has locked it."""
    with contextlib.suppress(OSError):
        is_last = try_lock(fd, exclusive=True) and _names(path, fd)
        if is_last and sys.platform != "win32":
            os.remove(path)
    with contextlib.suppress(OSError):
        os.close(fd)
    if sys.platform == "win32":
        with contextlib.suppress(OSError):  # another session has it open
            os.remove(path)
