"""Plain copies of sealed and compressed files, for as long as a command reads them.

They lie in a private directory each: in memory if the system has a directory for that, else among the temporary files.
A killed command leaves its directory there. So each holds a lock while it is used, and the next command that makes a
copy, deletes or purges removes those that nobody has locked.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile

from ...log.filesystem import is_own
from ...log.os_file_lock import try_lock

_PREFIX = "context-persistent-plain-"
_LOCK = ".lock"
_FLAGS = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class PrivateDirectory:
    """A new directory that only this user can look into; `remove` it, or use it in a `with` statement.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self) -> None:
        remove_abandoned_copies()
        self.path = tempfile.mkdtemp(prefix=_PREFIX, dir=_in_memory())
        self._fd = os.open(os.path.join(self.path, f"{_LOCK}.new"), _FLAGS | os.O_CREAT, 0o600)
        with contextlib.suppress(OSError):  # without locks the directory of a killed command stays
            try_lock(self._fd, exclusive=True)
            os.rename(os.path.join(self.path, f"{_LOCK}.new"), os.path.join(self.path, _LOCK))

    def __enter__(self) -> PrivateDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def file(self, name: str) -> str:
        """The path of a file in the directory."""
        return os.path.join(self.path, name)

    def remove(self) -> None:
        """Remove the directory with all that is in it; once more does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
            shutil.rmtree(self.path, ignore_errors=True)


def remove_abandoned_copies() -> None:
    """Remove the directories that killed commands of this user left."""
    for parent in {tempfile.gettempdir(), _in_memory() or tempfile.gettempdir()}:
        with contextlib.suppress(OSError):
            names = [name for name in os.listdir(parent) if name.startswith(_PREFIX)]
            for name in names:
                _remove_abandoned(os.path.join(parent, name))


def _remove_abandoned(path: str) -> None:
    try:
        if os.path.islink(path) or not is_own(os.stat(path)):
            return
        fd = os.open(os.path.join(path, _LOCK), _FLAGS)
    except OSError:  # nothing is in it yet, or it is none of ours
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
    """The directory of this user that is in memory, if the system has one."""
    directory = os.environ.get("XDG_RUNTIME_DIR")
    return directory if directory and os.access(directory, os.W_OK) else None
