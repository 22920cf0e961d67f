"""Bring an archived log back: its file is replaced by the plain log in one step.

Rules:
- A session does so before its first append (`FileLog`), a person with `archive --undo`.
- The plain file is written beside the archive, synced and read back, and then renamed over it, under the log's lock. A
  crash at any moment leaves either the archive or the plain log.
- An archive with a damaged frame is not brought back; it stays readable where it is.
"""

from __future__ import annotations

import errno
import hashlib
from contextlib import closing

from ..errors import AppendError, ArchiveError
from .append_lock import AppendLock
from .archive_log import Archived, keep_times_and_snapshots
from .archived_bytes import ArchivedBytes
from .atomic_file import NewFile
from .contract import Snapshots
from .file_handle import FileHandle
from .filesystem import FileSystem
from .reader import LogReader


def bring_back(
    path: str,
    *,
    files: FileSystem | None = None,
    snapshots: Snapshots | None = None,
    lock_timeout_s: float = 10.0,
) -> Archived:
    """Bring an archived log back, byte for byte, and return the sizes of its file before and after.

    Args:
        path: the log's file.
        files: the system calls, for tests to replace.
        snapshots: keeps the results of scans.
        lock_timeout_s: how long to wait for another process that holds the lock.

    Raises:
        ArchiveError: the log is not archived, or a part of it is damaged.
        LogError: the archive cannot be read or locked.
        OSError: the log cannot be written. In each case the archive is unchanged.
    """
    with closing(LogReader(path, files=files, writable=True, snapshots=snapshots)) as log:
        log.follow()
        with AppendLock(log, timeout_s=lock_timeout_s):
            if (archive := log.file.archive) is None:
                raise ArchiveError("the log is not archived")
            before = log.file.open_status()
            restore_in_place(log.file)
    keep_times_and_snapshots(log.path, before, files, snapshots)
    return Archived(archive.file_bytes, before.st_size)


def restore_in_place(file: FileHandle) -> None:
    """Replace an open archive with the plain log. The caller must hold its lock.

    Raises:
        ArchiveError: a part of the archive is damaged.
        OSError: the log cannot be written; the archive is unchanged.
    """
    archive = file.archive
    if archive is None:
        raise ArchiveError("the log is not archived")
    digest = hashlib.sha256()
    files = None if type(file.files) is FileSystem else file.files  # None allows an unnamed file
    with NewFile(file.path, replace=True, reads_back=True, needed_bytes=archive.size, files=files) as new:
        for content in archive.contents():
            digest.update(content)
            new.write(content)
        _check_sound(archive, digest.hexdigest())
        new.finish()


def restore_for_append(file: FileHandle) -> None:
    """Replace an archive with the plain log before an append.

    Raises:
        AppendError: the log cannot be brought back; the text says why. Nothing was stored.
    """
    try:
        restore_in_place(file)
    except (ArchiveError, OSError) as error:
        why = str(error)
        code = errno.EIO
        if isinstance(error, OSError):
            why = error.strerror or why
            code = error.errno or code
        reason = f"the log is archived and could not be brought back ({why}); nothing was stored"
        raise AppendError(code, reason, file.path) from error


def _check_sound(archive: ArchivedBytes, sha256: str) -> None:
    """Check that an archive was read completely and without damage.

    Args:
        archive: the archive, after it was read.
        sha256: the hash of the bytes of the log that were read from the archive.

    Raises:
        ArchiveError: a part of it is damaged.
    """
    if archive.damaged:
        finding = f"the archive is damaged: {archive.first_damage()}"
        raise ArchiveError(f"{finding}; put a backup in its place, or go on with a fork of what can be read")
    if archive.sha256 and archive.sha256 != sha256:
        raise ArchiveError("the archive does not hold the log that was archived; put a backup in its place")
