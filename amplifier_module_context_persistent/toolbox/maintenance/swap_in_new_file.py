"""The new file of a purge, which replaces the log, or is removed if the purge fails.

The new file is locked until the purge has finished. So nobody appends to a file whose name could still be lost.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from secrets import token_hex

from ...catalogue.catalogue_file import CatalogueError, remove_catalogue
from ...errors import NO_ROOM, AppendError, LogError, LogFailedError, PurgeError, reason_of
from ...log.append_lock import AppendLock
from ...log.atomic_file import no_room, remove_other_name
from ...log.file_trust import is_own
from ...log.filesystem import WINDOWS, FileSystem, unreadable
from ...log.index import Index
from ...log.reader import LogReader
from ...log.room_on_disk import no_room_error
from ...log.save_torn_tail import save_torn_tail, saved_tails
from ...sessions.delete_log import PURGING_SUFFIX, unfinished_purges
from .purge_options import Purge
from .purge_rewrite import SCANNER

_BLOCK_BYTES = 1 << 20


class NewLogFile:
    """A new file beside a log, which replaces the log at the end. Use it in a `with` statement.

    Args:
        reader: the open log.
        purge: the purge's options.
        lock_timeout_s: the longest wait in seconds for another process that holds the log's lock.
        done: the name of the operation in error messages.

    Raises:
        PurgeError: the log has other hard links, or belongs to another user.
        AppendError: the system refuses; the log is unchanged.
    """

    def __init__(self, reader: LogReader, purge: Purge, lock_timeout_s: float, *, done: str = "the purge") -> None:
        self._reader = reader
        self._files = reader.file.files
        self._takes_tails = purge.torn
        self._done = done
        self._timeout_s = lock_timeout_s
        self._path = f"{reader.path}{PURGING_SUFFIX}-{token_hex(4)}"
        self._check = LogReader(
            self._path, files=self._files, max_record_bytes=reader.max_record_bytes, new_scanner=SCANNER
        )
        self._fd = -1
        self._waiting = list[bytes]()
        self._waiting_bytes = 0
        self._in_place = False

    def __enter__(self) -> NewLogFile:
        _check_file(self._reader)
        try:
            _sweep(self._files, self._reader.path)
            self._fd = self._files.create_new(self._path)
            if not WINDOWS and self._files.try_lock(self._path, self._fd) is None:
                raise OSError(errno.EWOULDBLOCK, "the new file is locked by another process")
        except OSError as error:
            self._discard()
            raise self._refused(error) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._check.close()
        self._discard()

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """Convert an `OSError` in a block to an `AppendError` that says that the log is unchanged."""
        try:
            yield
        except LogError:
            raise
        except OSError as error:
            raise self._refused(error) from error

    def write(self, line: bytes) -> None:
        """Write a line, which ends with LF."""
        self._waiting.append(line)
        self._waiting_bytes += len(line)
        self._flush(_BLOCK_BYTES)

    def read_back(self) -> Index:
        """Sync the written lines to the disk, read them as any reader would, and return their index."""
        self._flush(0)
        self._files.sync(self._fd)
        self._check.follow()
        return self._check.index

    def holding(self) -> AppendLock:
        """Return a lock on the log, for a `with` statement; the records that others appended before are read first."""
        return AppendLock(self._reader, timeout_s=self._timeout_s)

    def take_place(self) -> None:
        """Rename the new file over the log, whose lock the caller holds.

        Raises:
            PurgeError: the catalogue cannot be removed; nothing was changed.
            LogFailedError: the log was purged, but a later step was refused.
        """
        reader = self._reader
        path = self._reader.path
        is_plain = reader.file.archive is None  # an archived log's end is torn only if a frame is damaged
        if (torn := reader.torn) and is_plain and not self._takes_tails:
            save_torn_tail(self._files, reader.file.descriptor, path, torn)
        try:
            remove_catalogue(path)
        except CatalogueError as error:
            raise PurgeError(f"the catalogue cannot be removed ({error}); nothing was changed; try again") from error
        if WINDOWS:  # an open file cannot be replaced there
            self._check.close()
            self._close()
            reader.close()
        self._files.replace(self._path, path)
        self._in_place = True
        try:
            self._files.sync_directory(os.path.dirname(path))
        except OSError as error:
            reason = f"the log was purged, but that may not survive a power cut ({error}); run the purge again"
            raise LogFailedError(error.errno or errno.EIO, reason, path) from error
        try:
            remove_catalogue(path)
        except (CatalogueError, OSError) as error:
            reason = f"the log was purged, but the catalogue may still hold traces of it ({error}); run the purge again"
            raise LogFailedError(errno.EIO, reason, path) from error
        if self._takes_tails:
            remove_tails(reader)

    def _flush(self, more_than_bytes: int) -> None:
        if self._waiting_bytes > more_than_bytes:
            written = self._files.write(self._fd, b"".join(self._waiting))
            if written != self._waiting_bytes:
                raise OSError(errno.ENOSPC, no_room(written, self._waiting_bytes))
            self._waiting.clear()
            self._waiting_bytes = 0

    def _refused(self, error: OSError) -> AppendError:
        why = error.strerror or str(error)
        if error.errno in NO_ROOM:
            why = reason_of(no_room_error(self._path, self._reader.size, self._size_on_disk()))
        reason = f"{self._done} was refused ({why}); the log is what it was"
        return AppendError(error.errno or errno.EIO, reason, self._reader.path)

    def _size_on_disk(self) -> int:
        if self._fd < 0:
            return 0
        try:
            return self._files.fstat(self._fd).st_size
        except OSError:
            return 0

    def _close(self) -> None:
        fd = self._fd
        self._fd = -1
        if fd >= 0:
            with contextlib.suppress(OSError):
                self._files.close(fd)

    def _discard(self) -> None:
        created = self._fd >= 0
        self._close()
        if created and not self._in_place:
            with contextlib.suppress(OSError):
                self._files.remove(self._path)


def _check_file(reader: LogReader) -> None:
    """Raise an error if the log has other names, where its content would stay, or another owner."""
    files = reader.file.files
    try:
        status = files.fstat(reader.file.descriptor)
        if status.st_nlink > 1:
            remove_other_name(reader.path, files)
            status = files.fstat(reader.file.descriptor)
    except OSError as error:
        raise unreadable(error, reader.path) from error
    if status.st_nlink > 1:
        raise PurgeError(f"the log has {status.st_nlink} names (hard links); remove the others first, then purge")
    if not is_own(status):
        raise PurgeError(f"the log belongs to the user with the id {status.st_uid}; purge it as that user")


def _sweep(files: FileSystem, path: str) -> None:
    """Remove the files that killed purges of this user left. A file of a running purge is locked, and stays."""
    for name in unfinished_purges(path):
        with contextlib.suppress(OSError):
            if not is_own(files.stat(name)):
                continue
            fd = files.open_readonly(name)
            try:
                if WINDOWS or files.try_lock(name, fd) is not None:
                    files.remove(name)
            finally:
                files.close(fd)


def remove_tails(reader: LogReader) -> None:
    """Remove the saved torn tails of a log.

    Raises:
        LogFailedError: the system refuses.
    """
    files = reader.file.files
    try:
        for name in saved_tails(reader.path):
            files.remove(name)
        files.sync_directory(os.path.dirname(reader.path))
    except OSError as error:
        reason = f"the saved torn tails could not all be removed ({error}); run the purge again"
        raise LogFailedError(error.errno or errno.EIO, reason, reader.path) from error
