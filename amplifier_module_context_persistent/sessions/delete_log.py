"""Delete a whole log, and the files that this package put beside it.

Rules:
- A log is deleted only if it is unchanged since the caller looked at it. If a record was added, it stays.
- An archive of which no record can be read is deleted too; any other file that is not a log stays.
- The log is deleted last, after all files that were made from it, while its lock is held. So a crash leaves a whole
  log, and the deletion can be repeated.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from ..catalogue.catalogue_file import CatalogueError, remove_catalogue
from ..errors import DamagedArchiveError, DeleteError, LogFailedError
from ..log.append_lock import AppendLock
from ..log.database_location import stored_name
from ..log.filesystem import FileSystem
from ..log.reader import LogReader
from ..log.save_torn_tail import saved_tails
from .raw_records import read_log

PURGING_SUFFIX = ".purging"
"""The suffix that a purge adds to a log's name for the file that it writes."""
_CHANGED = "the log was written to, purged or replaced since it was looked at; nothing was deleted; look again"


def unfinished_purges(path: str) -> list[str]:
    """Return the paths of files beside a log that purges left behind or are still writing.

    A purge removes texts from a log: it writes a new file, which then replaces the log.
    """
    directory, name = os.path.split(path)
    pattern = re.compile(re.escape(name + PURGING_SUFFIX) + r"(-[0-9a-f]{8})?")
    return sorted(os.path.join(directory, other) for other in os.listdir(directory) if pattern.fullmatch(other))


def files_of(path: str) -> list[str]:
    """Return the paths of a log's file and of the files that this package put beside it; the log is last.

    For a log in a database, return its location only.

    Raises:
        OSError: the directory cannot be read.
    """
    if stored_name(path) is not None:
        return [path]
    path = os.path.abspath(path)
    return [*saved_tails(path), *unfinished_purges(path), path]


def delete_log(
    path: str,
    size_bytes: int,
    *,
    begin: Callable[[], None] = lambda: None,
    others: Sequence[str] = (),
    files: FileSystem | None = None,
    lock_timeout_s: float = 10.0,
) -> list[str]:
    """Delete a log and return the paths of the deleted files, or the location of a log that was in a database.

    Args:
        path: the log's file, or its location in a database.
        size_bytes: the size of the log when the caller looked at it, with its torn tail.
        begin: called after all checks, before the log and the other files are deleted.
        others: further files to delete before a log in a file. Files that do not exist are skipped.
        files: the system calls, for tests to replace.
        lock_timeout_s: how long to wait for another process that holds the lock.

    Raises:
        Exception: `begin` raised it; nothing was deleted.
        DeleteError: the log has changed, or the system refused the deletion; nothing was deleted.
        NotALogError: the file is not a log.
        LogUnreadableError: the log does not exist or cannot be read.
        LockTimeoutError: another process holds the lock.
        LogFailedError: the system refused to delete some of the files; the deletion can be repeated.
    """
    if stored_name(path) is not None:
        from ..log.postgres.list_logs import delete_stored_log  # its driver is an extra

        delete_stored_log(path, size_bytes, begin=begin, timeout_s=lock_timeout_s)
        return [path]
    reader = LogReader(path, files=files, writable=True)
    try:
        with suppress(DamagedArchiveError):
            read_log(reader)
        with AppendLock(reader, timeout_s=lock_timeout_s):
            if reader.size != size_bytes:
                raise DeleteError(_CHANGED)
            return _remove(reader, begin, others)
    finally:
        reader.close()


def _remove(reader: LogReader, begin: Callable[[], None], others: Sequence[str]) -> list[str]:
    system = reader.file.files
    removed = list[str]()
    try:
        remove_catalogue(reader.path)
    except (CatalogueError, OSError) as error:
        raise DeleteError(f"the catalogue cannot be removed ({error}); nothing was deleted; try again") from error
    begin()
    try:
        for name in [*others, *files_of(reader.path)]:
            if name in others and not os.path.lexists(name):
                continue
            system.remove(name)
            removed.append(name)
        system.sync_directory(os.path.dirname(reader.path))
    except OSError as error:
        if not removed:
            raise DeleteError(f"{error.filename or reader.path}: {error.strerror}; nothing was deleted") from error
        reason = f"not all of the log's files could be deleted ({error}); delete it again"
        raise LogFailedError(error.errno or errno.EIO, reason, reader.path) from error
    return removed
