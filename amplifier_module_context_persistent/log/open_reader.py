"""Choose the reader of a log by its location. A reader never writes; most commands need nothing more."""

from __future__ import annotations

import errno

from ..errors import LogUnreadableError
from .contract import ReadableLog, Snapshots
from .database_location import is_postgres, refuse_other_url
from .filesystem import FileSystem
from .reader import LogReader

NO_FILE = "there is no such file; check the path"


def not_there(location: str) -> LogUnreadableError:
    """Return the error for a location without a log."""
    what = "there is no such log in the database; check its name" if is_postgres(location) else NO_FILE
    return LogUnreadableError(errno.ENOENT, what, location)


def file_reader(log: object) -> LogReader | None:
    """Return the log as a `LogReader`, for abilities that only files have (offsets, a torn tail); else None."""
    return log if isinstance(log, LogReader) else None


def open_reader(
    location: str, *, files: FileSystem | None = None, snapshots: Snapshots | None = None, trusting: bool = True
) -> ReadableLog:
    """Return the reader for a location. The reader never writes, and opens nothing before its first use.

    Args:
        location: a file's path, or `postgresql://…#NAME`.
        files: makes the system calls for a file. For a database only `files.note_read` is used, to report progress.
        snapshots: keeps results of scans, so that opening a file need not read all of it.
        trusting: whether to trust the columns of rows in a database; if not, every line is read.
    """
    if is_postgres(location):
        from .postgres.postgres_log import PostgresLog  # its driver is an extra

        on_read = files.note_read if files is not None else lambda _: None
        return PostgresLog(location, trusting=trusting, on_read=on_read)
    refuse_other_url(location)
    return LogReader(location, files=files, snapshots=snapshots)
