"""Choose the implementation of a log by its location. The one place that knows them all."""

from __future__ import annotations

import errno

from ..errors import LogUnreadableError
from .base import Log, ReadableLog
from .file import FileLog
from .filesystem import FileSystem
from .location import is_postgres
from .memory import MemoryLog
from .reader import LogReader
from .record import MAX_RECORD_BYTES

IN_MEMORY = "memory:"
"""The location of a log that ends with its process."""

NO_FILE = "there is no such file; check the path"


def open_log(
    location: str,
    *,
    durability: str = "fsync",
    lock_timeout_s: float = 10.0,
    max_record_bytes: int = MAX_RECORD_BYTES,
) -> Log:
    """Choose the log for a location. Nothing is opened, created or locked before its first use.

    Args:
        location: a file's path, `IN_MEMORY`, or `postgresql://…#NAME` (`service=… #NAME`) for a log in PostgreSQL.
        durability: `fsync` or `write`; see `FileLog`.
        lock_timeout_s: how long to wait for another writer.
        max_record_bytes: larger records are refused.
    """
    if location == IN_MEMORY:
        return MemoryLog(max_record_bytes=max_record_bytes)
    if is_postgres(location):
        from .postgres.log import PostgresLog  # its driver is an extra

        return PostgresLog(
            location, durability=durability, lock_timeout_s=lock_timeout_s, max_record_bytes=max_record_bytes
        )
    return FileLog(location, durability=durability, lock_timeout_s=lock_timeout_s, max_record_bytes=max_record_bytes)


def not_there(location: str) -> LogUnreadableError:
    """The error that says that there is no log at a location."""
    what = "there is no such log in the database; check its name" if is_postgres(location) else NO_FILE
    return LogUnreadableError(errno.ENOENT, what, location)


def check_is_free(location: str) -> None:
    """Refuse a location in a database where there is a log.

    Raises:
        FileExistsError: there is one.
        LogUnreadableError: the database cannot be asked.
    """
    reader = open_reader(location)
    try:
        reader.follow()
        if (found := reader.describe()).exists:
            reason = "there is a log of that name already; nothing was written"
            raise FileExistsError(errno.EEXIST, reason, found.location)
    finally:
        reader.close()


def open_reader(location: str, *, files: FileSystem | None = None, trusting: bool = True) -> ReadableLog:
    """Choose what reads the log of a location, and never writes. Nothing is opened before its first use.

    Args:
        location: a file's path, or `postgresql://…#NAME`.
        files: the system calls, to be told how far the reading of a file is.
        trusting: believe what is stored beside the lines: a checkpoint, columns of rows; else every line is read.
    """
    if is_postgres(location):
        from .postgres.log import PostgresLog  # its driver is an extra

        return PostgresLog(location, trusting=trusting)
    return LogReader(location, files=files, trusting=trusting)
