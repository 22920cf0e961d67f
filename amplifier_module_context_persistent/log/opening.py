"""Opening a log's file, and saying why one cannot be read: unreadable is not empty."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

from ..errors import LogUnreadableError
from .filesystem import Files

Opened = tuple[int, tuple[int, int]]
"""A descriptor, and the device and inode that it stands for."""

_ABSENT = (FileNotFoundError, NotADirectoryError)


def open_file(files: Files, path: str, *, writable: bool, create: bool) -> Opened | None:
    """Open a log's file, or create it; None if it is not there. One that may only be read is opened for reading.

    Raises:
        LogUnreadableError: it is there and cannot be read.
        OSError: it is not there and cannot be created.
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
    return fd, (status.st_dev, status.st_ino)


def _open_readonly(files: Files, path: str, refused: OSError) -> int:
    try:
        return files.open_readonly(path)
    except OSError as error:
        raise unreadable(error, path) from refused


def unreadable(error: OSError, path: str) -> LogUnreadableError:
    """The error that tells why an existing log cannot be read, and what to do."""
    if isinstance(error, LogUnreadableError):
        return error
    reasons = {
        errno.ELOOP: "it is a symbolic link, which is not followed; configure the path it points to",
        errno.EISDIR: "it is a directory; configure a file, or a directory as storage_path",
        errno.EACCES: "this process may not read it; change its mode or owner",
    }
    code = error.errno or errno.EIO
    return LogUnreadableError(code, f"the log cannot be read: {reasons.get(code, os.strerror(code))}", path)
