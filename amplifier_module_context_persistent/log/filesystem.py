"""The system calls of the log in one place, so that a test can make each of them fail, or count them.

Nothing is decided here. A test passes its own object with these methods to `FileLog`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from io import BufferedReader

from ..errors import AppendError, LogCreateError, LogUnreadableError
from . import os_file_lock

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_COMMON = _NOFOLLOW | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
WINDOWS = sys.platform == "win32"

if sys.platform == "win32":

    def _read_at(fd: int, size: int, offset: int, /) -> bytes:
        os.lseek(fd, offset, os.SEEK_SET)
        return os.read(fd, size)

else:
    _read_at = os.pread


def is_name(value: str) -> bool:
    """Return whether a text can be one part of a path, such as an id or a project."""
    return value not in ("", ".") and not any(bad in value for bad in ("/", "\\", "..", "\0"))


class FileSystem:
    """The real file system."""

    def open_log(self, path: str, *, create: bool) -> int:
        """Open a log for reading and appending, never through a link; `create` makes a missing log with mode 0600."""
        flags = os.O_RDWR | os.O_APPEND | _COMMON
        if create:
            flags |= os.O_CREAT
        return os.open(path, flags, 0o600)

    def open_readonly(self, path: str) -> int:
        """Open a log for reading only, never through a link."""
        return os.open(path, os.O_RDONLY | _COMMON)

    def create_new(self, path: str) -> int:
        """Create a file that must not exist yet, with mode 0600."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _COMMON, 0o600)

    def create_unnamed(self, directory: str) -> int | None:
        """Create a file without a name in a directory, with mode 0600; return its descriptor.

        The result is None if the system has no such files. The file disappears with its process, unless `give_name`
        gives it a name.
        """
        flag = getattr(os, "O_TMPFILE", 0)
        if not flag:
            return None
        try:
            fd = os.open(directory, os.O_RDWR | flag | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError:
            return None
        if not os.path.exists(open_file_path(fd)):  # `give_name` needs this path
            os.close(fd)
            return None
        return fd

    def give_name(self, fd: int, path: str) -> None:
        """Name a file that was made without a name. No other file may have this name."""
        self._link(open_file_path(fd), path, src_dir_fd=fd)  # only with `src_dir_fd` the link to the file is followed

    _link = staticmethod(os.link)

    def make_directory(self, path: str) -> None:
        """Create one directory with mode 0700."""
        os.mkdir(path, 0o700)

    stat = staticmethod(os.lstat)
    """Stat a path without following a link."""

    fstat = staticmethod(os.fstat)
    """Stat a descriptor."""

    read = staticmethod(_read_at)
    """Read up to `size` bytes (the second argument) of a descriptor, at an offset (the third)."""

    def note_read(self, size: int) -> None:
        """Do nothing. A replacement may count here the bytes of a log that were read from a server."""

    write = staticmethod(os.write)
    """Write at the end of an appending descriptor; return the number of written bytes."""

    def sync(self, fd: int) -> None:
        """Sync a file's bytes and size to the disk (on macOS through the drive's cache)."""
        if sys.platform == "darwin":
            import fcntl

            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        elif hasattr(os, "fdatasync"):
            os.fdatasync(fd)
        else:
            os.fsync(fd)

    def sync_directory(self, path: str) -> None:
        """Sync a directory's entries to the disk; does nothing if directories cannot be opened (Windows)."""
        if sys.platform == "win32":
            return
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    remove = staticmethod(os.remove)
    """Remove a file."""

    replace = staticmethod(os.replace)
    """Rename a file (the first argument) over another one of the same directory (the second)."""

    truncate = staticmethod(os.ftruncate)
    """Cut the file of a descriptor to a number of bytes (the second argument)."""

    close = staticmethod(os.close)
    """Close a descriptor."""

    def try_lock(self, path: str, fd: int) -> int | None:
        """Try once to take the exclusive lock on a log's file.

        Return the descriptor that holds the lock, or None if another process has the lock. The lock is on the log's own
        descriptor. On Windows, where locks are mandatory, it is on a file beside the log.
        """
        lock_fd = os.open(path + ".lock", os.O_RDWR | os.O_CREAT, 0o600) if WINDOWS else fd
        if os_file_lock.try_lock(lock_fd, exclusive=True):
            return lock_fd
        if WINDOWS:
            os.close(lock_fd)
        return None

    def unlock(self, lock_fd: int) -> None:
        """Release the lock."""
        os_file_lock.unlock(lock_fd)
        if WINDOWS:
            os.close(lock_fd)


def open_file_path(fd: int) -> str:
    """Return the path of an open file's entry in `/proc`, which leads to the file even after it was renamed (Linux)."""
    return f"/proc/self/fd/{fd}"


def make_directories(files: FileSystem, path: str) -> None:
    """Make a directory and missing directories above it, with mode 0700.

    Args:
        files: the system calls.
        path: an absolute path.

    Raises:
        OSError: a directory cannot be made; directories made above it stay.
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
    """Return the directories above a log in which this user may have made an entry, from the top down.

    The log's own directory comes last. The search goes up from there, and stops at a directory that belongs to another
    user, or whose parent cannot be listed, because no directory above was made for this log.
    """
    user_id = getattr(os, "geteuid", lambda: None)()
    found = [os.path.dirname(path)]
    while True:
        directory = found[-1]
        above = os.path.dirname(directory)
        is_root = above == directory
        if is_root or os.stat(directory).st_uid != user_id or not os.access(above, os.R_OK | os.X_OK):
            return found[::-1]
        found.append(above)


def check_can_sync(path: str, *, exists: bool) -> None:
    """Raise an error if a log's directory cannot be opened, because then its entries cannot be synced.

    Raises:
        AppendError: the log exists (`exists`).
        LogCreateError: the log does not exist.
    """
    directory = os.path.dirname(path)
    if WINDOWS or not os.path.isdir(directory) or os.access(directory, os.R_OK):
        return
    reason = f"{directory} cannot be read, so its entries cannot be synced; chmod u+r it; nothing was stored"
    if exists:
        raise AppendError(errno.EACCES, reason, path)
    raise LogCreateError(errno.EACCES, reason, path)


Opened = tuple[int, os.stat_result]
"""A descriptor, and the status of its file."""

_ABSENT = (FileNotFoundError, NotADirectoryError)


def open_file(files: FileSystem, path: str, *, writable: bool, create: bool) -> Opened | None:
    """Open a log's file, or create it; None if the file does not exist.

    A file that is not writable is opened for reading.

    Raises:
        LogUnreadableError: the file exists and cannot be read.
        OSError: the file does not exist and cannot be created.
    """
    try:
        fd = files.open_log(path, create=create) if writable else files.open_readonly(path)
    except _ABSENT:
        if create:
            raise
        return None
    except OSError as error:
        if create and not os.path.lexists(path):
            raise
        fd = _open_readonly(files, path, error)
    try:
        status = files.fstat(fd)
        if stat.S_ISDIR(status.st_mode):  # the system lets a directory be opened for reading
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(status.st_mode):
            raise LogUnreadableError(errno.EINVAL, "this is no regular file, so it cannot be a log", path)
    except OSError as error:
        with contextlib.suppress(OSError):
            files.close(fd)
        raise unreadable(error, path) from error
    return fd, status


def open_regular(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a regular file for reading, through a link, too. Nothing waits for a FIFO or reads a device.

    Raises:
        OSError: the file cannot be read, or is no regular file.
    """

    def opened(name: str, _: int) -> int:
        fd = os.open(name, os.O_RDONLY | (_COMMON & ~_NOFOLLOW))
        mode = os.fstat(fd).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # `open` refuses a directory itself
            os.close(fd)
            raise OSError(errno.EINVAL, "this is no regular file", os.fspath(path))
        return fd

    return open(path, "rb", opener=opened)


def _open_readonly(files: FileSystem, path: str, refused: OSError) -> int:
    try:
        return files.open_readonly(path)
    except OSError as error:
        raise unreadable(error, path) from refused


def why_refused(error: OSError, path: str) -> tuple[int, str]:
    """Return the number of an error, and the reason why an existing log cannot be written or locked.

    A log that is not writable is opened for reading. Then the system reports a bad descriptor, and the reason is found
    here.
    """
    if error.errno != errno.EBADF:
        return error.errno or errno.EIO, error.strerror or str(error)
    with contextlib.suppress(OSError):
        if sys.platform != "win32" and os.statvfs(path).f_flag & os.ST_RDONLY:
            return errno.EROFS, "it lies on a read-only file system"
    return errno.EACCES, "this process may only read it; change its mode or owner"


def unreadable(error: OSError, path: str) -> LogUnreadableError:
    """Return the error that says why an existing log cannot be read, and what to do."""
    if isinstance(error, LogUnreadableError):
        return error
    reasons = {
        errno.ELOOP: "it is a symbolic link, which is not followed; configure the path it points to",
        errno.EISDIR: "it is a directory; configure a file, or a directory as storage_path",
        errno.EACCES: "this process may not read it; change its mode or owner",
    }
    code = error.errno or errno.EIO
    return LogUnreadableError(code, f"the log cannot be read: {reasons.get(code, os.strerror(code))}", path)
