"""Keep plain copies of sealed and compressed files while a command reads them.

Each copy is in a private directory of its own: in memory if the system has a directory for that, else among the
temporary files. SIGTERM and SIGHUP remove it before they end the process. A command that is killed otherwise leaves its
directory behind. Therefore each directory holds a lock file that is locked while it is used, and the next command
removes the directories that are not locked.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import threading
from functools import partial
from typing import Any, BinaryIO

from ...log.file_trust import is_own
from ...log.os_file_lock import try_lock
from ..abandoned_copies import PREFIX

_LOCK = ".lock"
_FLAGS = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class PrivateDirectory:
    """A new temporary directory that only this user can read.

    Call `remove` at the end, or use it in a `with` statement.

    Raises:
        OSError: the directory cannot be made.
    """

    def __init__(self) -> None:
        remove_abandoned_copies()
        _in_use.expect_signals()
        self.path = tempfile.mkdtemp(prefix=PREFIX, dir=_in_memory())
        _in_use.add(self.path)
        self._fd = os.open(os.path.join(self.path, f"{_LOCK}.new"), _FLAGS | os.O_CREAT, 0o600)
        with contextlib.suppress(OSError):  # without locks the directory of a killed command stays
            try_lock(self._fd, exclusive=True)
            os.rename(os.path.join(self.path, f"{_LOCK}.new"), os.path.join(self.path, _LOCK))

    def __enter__(self) -> PrivateDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def file(self, name: str) -> str:
        """Return the path in the directory for a file with this name."""
        return os.path.join(self.path, name)

    def new_file(self, path: str) -> BinaryIO:
        """Create a file in the directory that only this user can read and write, and open it for writing."""
        return open(path, "xb", opener=partial(os.open, mode=0o600))

    def remove(self) -> None:
        """Remove the directory with its content. A second call does nothing."""
        fd = self._fd
        self._fd = -1
        if fd >= 0:
            os.close(fd)
            shutil.rmtree(self.path, ignore_errors=True)
            _in_use.discard(self.path)


class _DirectoriesInUse:
    """The private directories of this process. SIGTERM and SIGHUP remove these before they end the process.

    A signal for which the process has a handler of its own, or that it ignores, is left alone.
    """

    def __init__(self) -> None:
        self._pid = 0
        self._paths = set[str]()

    def expect_signals(self) -> None:
        """Handle the signals from now on. Does nothing outside of the main thread, where Python allows no handler."""
        if self._pid != os.getpid():  # a forked child has none of its parent's directories
            self._pid = os.getpid()
            self._paths = set()
        if threading.current_thread() is not threading.main_thread():
            return
        for number in _ENDING:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, self._end)

    def add(self, path: str) -> None:
        """Note a directory that was made."""
        self._paths.add(path)

    def discard(self, path: str) -> None:
        """Note that a directory was removed. When none is left, the signals have their usual effect again."""
        self._paths.discard(path)
        if self._paths or threading.current_thread() is not threading.main_thread():
            return
        for number in _ENDING:
            if signal.getsignal(number) == self._end:
                signal.signal(number, signal.SIG_DFL)

    def _end(self, number: int, _frame: Any) -> None:
        """Remove the directories, and end the process by the same signal, so that its parent sees the signal."""
        if self._pid == os.getpid():
            for path in list(self._paths):
                shutil.rmtree(path, ignore_errors=True)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_in_use = _DirectoriesInUse()


def remove_abandoned_copies() -> None:
    """Remove private directories of this user that killed commands left."""
    for parent in {tempfile.gettempdir(), _in_memory() or tempfile.gettempdir()}:
        with contextlib.suppress(OSError):
            names = [name for name in os.listdir(parent) if name.startswith(PREFIX)]
            for name in names:
                _remove_abandoned(os.path.join(parent, name))


def _remove_abandoned(path: str) -> None:
    try:
        if os.path.islink(path) or not is_own(os.stat(path)):
            return
        fd = os.open(os.path.join(path, _LOCK), _FLAGS)
    except OSError:  # the directory is still being made, or is not ours
        return
    try:
        is_abandoned = try_lock(fd, exclusive=True)
    except OSError:  # no locks here: nobody knows
        is_abandoned = False
    finally:
        os.close(fd)
    if is_abandoned:
        shutil.rmtree(path, ignore_errors=True)


def _in_memory() -> str | None:
    """Return the user's directory that is in memory (`XDG_RUNTIME_DIR`), or None if there is none."""
    directory = os.environ.get("XDG_RUNTIME_DIR")
    if directory and os.access(directory, os.W_OK):
        return directory
    return None
