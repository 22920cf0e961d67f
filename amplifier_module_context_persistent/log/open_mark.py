"""The mark that a session has its log open: a shared lock on a file beside the log, from the first use to the close.

Rules:
- The mark is not the log's lock. Any number of sessions hold it at once, and it delays no opening and no append.
- Its file lies beside the log (`OPEN_SUFFIX`), so it survives a purge, which puts another file in the log's place.
- It ends with its process. A forked child closes what it inherits at once, and takes a mark of its own when it uses
  the log.
- Who deletes a log, or rewrites the host's files beside it, holds the mark exclusively meanwhile (`keep_closed`). A
  session that opens the log at that moment does not wait: it takes its mark with its next call.
- Whoever closes last removes the file. One that is left after a kill is locked by nobody, and says nothing.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from weakref import WeakSet

from .file_handle import FileHandle
from .whole_file_lock import try_lock

OPEN_SUFFIX = ".open"
"""The mark's file has the log's name and this."""

_FLAGS = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_TRIES = 5
"""So often a mark is looked for whose file is removed at the same moment."""
_PAUSE_S = 0.01


class OpenMark:
    """A session's mark on its log. Its calls raise no error: a session works without its mark.

    Args:
        file: the log's file; a forked child closes it together with the mark.
    """

    def __init__(self, file: FileHandle) -> None:
        self._file, self._path = file, mark_path(file.path)
        self._fd = -1
        self._is_refused = False
        """Whether the system takes no mark here; that is not tried again before the log is closed."""

    @property
    def is_due(self) -> bool:
        """Whether the log is not marked, and that is still to be tried."""
        return self._fd < 0 and not self._is_refused

    def take(self) -> None:
        """Mark the log as open, if it is not marked already and nobody deletes it at this moment."""
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
        """Take the mark away; its file too if nobody else has the log open."""
        fd, self._fd, self._is_refused = self._fd, -1, False
        if fd >= 0:
            _HELD.discard(self)
            _close(fd, self._path)

    def __del__(self) -> None:
        """Take the mark of a log away that was dropped without a close."""
        if getattr(self, "_fd", -1) >= 0:
            self.give_back()

    def forget(self) -> None:
        """Close what a forked child inherited; the parent's mark stays, since it belongs to the open file."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            with contextlib.suppress(OSError):
                os.close(fd)
        self._file.close()


_HELD: WeakSet[OpenMark] = WeakSet()


def _forget_all() -> None:
    for mark in list(_HELD):
        mark.forget()
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def _most_descriptors() -> int:
    """The first descriptor that is left to logs: a process with very many sessions marks only some of them."""
    if sys.platform == "win32":
        return sys.maxsize
    import resource

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit // 2


def mark_path(log: str) -> str:
    """The file whose lock says that a session has a log open."""
    return log + OPEN_SUFFIX


def is_marked(log: str) -> bool | None:
    """Whether a session has a log open, by its mark; None if the system gives no locks there."""
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


@contextlib.contextmanager
def keep_closed(log: str) -> Iterator[bool | None]:
    """Keep sessions from marking a log as open while a block lasts.

    Yields:
        True if no session has the log open. None if that is not known, since the system gives no locks there. False if
        a session has it open: then nothing is held.
    """
    path = mark_path(log)
    try:
        fd = _locked(path, exclusive=True, create=True)
        for _ in range(_TRIES):
            if fd is not None:
                break
            time.sleep(_PAUSE_S)  # somebody may only be asking whether it is open
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
    """Lock the file of a mark; its descriptor, or None if another open file holds the lock.

    Raises:
        OSError: there is no such file, it cannot be opened, or the system gives no locks.
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
        os.close(fd)  # whoever closed last removed the file in between
    return None


def _names(path: str, fd: int) -> bool:
    """Whether a path still names an open file."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(fd))
    except FileNotFoundError:
        return False


def _close(fd: int, path: str) -> None:
    """Close the file of a mark, and remove it if nobody else holds it."""
    with contextlib.suppress(OSError):
        is_last = try_lock(fd, exclusive=True) and _names(path, fd)
        if is_last and sys.platform != "win32":
            os.remove(path)
    with contextlib.suppress(OSError):
        os.close(fd)
    if sys.platform == "win32":
        with contextlib.suppress(OSError):  # another session has it open
            os.remove(path)
