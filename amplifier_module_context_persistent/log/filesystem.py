"""The system calls that the log makes, in one place, so that a test can fail, tear or count each of them.

Nothing is decided here. A test passes its own object of this shape to `FileLog`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from filelock import lock_descriptor, unlock_descriptor

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_COMMON = _NOFOLLOW | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
WINDOWS = sys.platform == "win32"


class Files:
    """The real file system."""

    def open_log(self, path: str, *, create: bool) -> int:
        """Open a log for reading and appending, never through a link; `create` makes it with mode 0600."""
        return os.open(path, os.O_RDWR | os.O_APPEND | _COMMON | (os.O_CREAT if create else 0), 0o600)

    def open_readonly(self, path: str) -> int:
        """Open a log for reading only, never through a link."""
        return os.open(path, os.O_RDONLY | _COMMON)

    def create_new(self, path: str) -> int:
        """Create a file that must not exist yet, with mode 0600."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _COMMON, 0o600)

    def make_directory(self, path: str) -> None:
        """Create one directory with mode 0700, whatever the umask."""
        os.mkdir(path, 0o700)

    def stat(self, path: str) -> os.stat_result:
        """Stat a path, not following a link."""
        return os.stat(path, follow_symlinks=False)

    def fstat(self, fd: int) -> os.stat_result:
        """Stat a descriptor."""
        return os.fstat(fd)

    def read(self, fd: int, size: int, offset: int) -> bytes:
        """Read up to `size` bytes at `offset`."""
        if WINDOWS:
            os.lseek(fd, offset, os.SEEK_SET)
            return os.read(fd, size)
        return os.pread(fd, size, offset)

    def write(self, fd: int, data: bytes) -> int:
        """Write at the end of an appending descriptor; the number of bytes taken."""
        return os.write(fd, data)

    def sync(self, fd: int) -> None:
        """Bring a file's bytes and size to the disk (on macOS through the drive's cache)."""
        if sys.platform == "darwin":
            import fcntl

            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        elif hasattr(os, "fdatasync"):
            os.fdatasync(fd)
        else:
            os.fsync(fd)

    def sync_directory(self, path: str) -> None:
        """Bring a directory's entries to the disk; a no-op where directories cannot be opened (Windows)."""
        if WINDOWS:
            return
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def remove(self, path: str) -> None:
        """Remove a file."""
        os.remove(path)

    def replace(self, source: str, target: str) -> None:
        """Rename a file over another one of the same directory."""
        os.replace(source, target)

    def truncate(self, fd: int, size: int) -> None:
        """Cut a file to `size` bytes."""
        os.ftruncate(fd, size)

    def close(self, fd: int) -> None:
        """Close a descriptor."""
        os.close(fd)

    def try_lock(self, path: str, fd: int) -> int | None:
        """Try once for the exclusive lock on a log's file; the descriptor that holds it, or None.

        It is taken on the log's own descriptor, or on Windows (where locks are mandatory) on a sidecar's.
        """
        lock_fd = os.open(path + ".lock", os.O_RDWR | os.O_CREAT, 0o600) if WINDOWS else fd
        if lock_descriptor(lock_fd, blocking=False):
            return lock_fd
        if WINDOWS:
            os.close(lock_fd)
        return None

    def unlock(self, lock_fd: int) -> None:
        """Give the lock back."""
        unlock_descriptor(lock_fd)
        if WINDOWS:
            os.close(lock_fd)

    def lock_holder(self, fd: int) -> int | None:
        """Name the process that holds the lock, where the system tells it (Linux)."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            inode = f":{os.fstat(fd).st_ino} "
            for row in Path("/proc/locks").read_text(encoding="ascii").splitlines():
                if " FLOCK " in row and inode in row and "->" not in row:
                    holder = int(row.split()[4])
                    return holder if holder > 0 else None  # a process of another namespace has no name here
        return None
