"""Choose the implementation of a log by its location, for appending. For reading, see `open_reader`."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from .atomic_file import NewFile, check_free
from .atomic_file import taken_error as file_taken_error
from .contract import Log, ReadableLog, Snapshots
from .database_location import is_postgres, refuse_other_url, shown_location
from .file_log import FileLog
from .memory import MemoryLog
from .open_reader import open_reader
from .record_limits import MAX_RECORD_BYTES

if TYPE_CHECKING:
    from .postgres.new_log import NewStoredLog

IN_MEMORY = "memory:"
"""The location of a log that ends with its process."""


def open_log(
    location: str,
    *,
    durability: str = "fsync",
    lock_timeout_s: float = 10.0,
    max_record_bytes: int = MAX_RECORD_BYTES,
    snapshots: Snapshots | None = None,
    marks_open: bool = False,
    is_carried_copy: bool = False,
) -> Log:
    """Return the log for a location. Nothing is opened, created or locked before its first use.

    Args:
        location: a file's path, `IN_MEMORY`, or `postgresql://…#NAME` (`service=… #NAME`) for a log in PostgreSQL.
        durability: `fsync` or `write`; see `FileLog`.
        lock_timeout_s: how long to wait for another writer.
        max_record_bytes: larger records are refused.
        snapshots: keeps results of scans, so that opening a file need not read all of it.
        marks_open: mark the log as open while it is open, as a session does.
        is_carried_copy: whether the log is a copy in a place that is synced, or in a backup; see `FileLog`.

    Raises:
        ConfigError: the location is the URL of something else.
    """
    if location == IN_MEMORY:
        return MemoryLog(max_record_bytes=max_record_bytes)
    if is_postgres(location):
        from .postgres.postgres_log import PostgresLog  # its driver is an extra

        return PostgresLog(
            location,
            durability=durability,
            lock_timeout_s=lock_timeout_s,
            max_record_bytes=max_record_bytes,
            marks_open=marks_open,
        )
    refuse_other_url(location)
    return FileLog(
        location,
        durability=durability,
        lock_timeout_s=lock_timeout_s,
        max_record_bytes=max_record_bytes,
        snapshots=snapshots,
        marks_open=marks_open,
        is_carried_copy=is_carried_copy,
    )


def open_existing(location: str) -> ReadableLog | None:
    """Open the log at a location for reading; None if the log does not exist.

    Raises:
        FileExistsError: the path exists and is not a file.
        LogUnreadableError: the database cannot be queried.
    """
    if not is_postgres(location) and (os.path.islink(location) or not os.path.isfile(location)):
        check_free(location)
        return None
    reader = open_reader(location)
    if is_postgres(location):
        reader.follow()
        if not reader.describe().exists:
            reader.close()
            return None
    return reader


def check_is_free(location: str) -> None:
    """Raise an error if a location exists.

    Raises:
        FileExistsError: the location exists.
        LogUnreadableError: the database cannot be queried.
    """
    if (reader := open_existing(location)) is not None:
        reader.close()
        raise taken_error(location)


def taken_error(location: str) -> FileExistsError:
    """Return the error for a location that exists already."""
    if not is_postgres(location):
        return file_taken_error(location)
    what = "there is a log of that name already; nothing was written"
    return FileExistsError(errno.EEXIST, what, shown_location(location))


def new_log(location: str, *, reads_back: bool = False, needed_bytes: int = 0) -> NewFile | NewStoredLog:
    """Return a new log that appears whole or not at all. In a `with` statement, `write` lines with LF, then `finish`.

    Args:
        location: a file's path, or `postgresql://…#NAME`; it must not exist yet.
        reads_back: compare the stored bytes with the written ones before the log appears; a database always does.
        needed_bytes: the size of the log in bytes, to check the room for a file; 0 if it is not known.

    Raises:
        OSError: the log cannot be written, or the location exists already; nothing of the log is left.
    """
    if is_postgres(location):
        from .postgres.new_log import NewStoredLog  # its driver is an extra

        return NewStoredLog(location)
    refuse_other_url(location)
    return NewFile(location, with_directories=True, reads_back=reads_back, needed_bytes=needed_bytes)
