"""Bring bytes to the end of a log's file: all of them or none, and to the disk where that is promised.

Everything here is called under the log's lock. A refused write is cut back and raised. After a failed sync or cut-back
nobody knows what is on the disk: from then on `failure` says why.
"""

from __future__ import annotations

import errno
import os

from ..errors import AppendError, LogCreateError, LogFailedError, LogUnreadableError
from .filesystem import directories_above, make_directories, why_read_only
from .index import TornTail
from .reader import LogReader
from .torn_tail import save_torn_tail


class FileWriter:
    """Writes at the end of one log.

    Args:
        log: the log; the size that it knows is where the file ends.
    """

    def __init__(self, log: LogReader) -> None:
        self._log, self._files = log, log.file.files
        self.failure: str | None = None
        """Why the state of the file is unknown; None as long as it is known."""
        self.unsynced_directories: list[str] | None = None
        """Those to sync with the next append; None for all that lead to the log."""

    def create(self) -> None:
        """Create the log, and the directories that lead to it.

        Raises:
            LogCreateError: that cannot be done.
            LogUnreadableError: it is there by now and cannot be read.
        """
        try:
            make_directories(self._files, os.path.dirname(self._log.path))
            self._log.open(create=True)
        except LogUnreadableError:
            raise
        except OSError as error:
            reason = f"no log can be created here: {error.strerror}"
            raise LogCreateError(error.errno or errno.EIO, reason, self._log.path) from error

    def write(self, data: bytes) -> None:
        """Write at the end of the file.

        Raises:
            AppendError: the write was refused; the file is as it was.
            LogFailedError: it was refused, and the file could not be cut back.
        """
        log, files = self._log, self._files
        fd, before = log.file.descriptor, log.size
        try:
            written = files.write(fd, data)
            if written == len(data):
                return
            error = OSError(errno.ENOSPC, f"no space left on the device: it took {written} of {len(data)} bytes")
        except OSError as refused:
            error = refused
        try:
            if files.fstat(fd).st_size != before:
                files.truncate(fd, before)
        except OSError as stuck:
            self._fail(f"a write was refused ({error}) and the log could not be cut back ({stuck})", stuck)
        is_read_only = error.errno == errno.EBADF  # a log that cannot be opened for writing is opened for reading
        why = why_read_only(self._log.path) if is_read_only else error.strerror
        reason = f"the write was refused ({why}); nothing was stored"
        raise AppendError(error.errno or errno.EIO, reason, self._log.path) from error

    def sync(self) -> None:
        """Bring what was written to the disk, and the directory entries that lead to it.

        Raises:
            LogFailedError: nobody knows what is there.
        """
        try:
            self._files.sync(self._log.file.descriptor)
            if self.unsynced_directories is None:
                self.unsynced_directories = directories_above(self._log.path)
            while self.unsynced_directories:
                self._files.sync_directory(self.unsynced_directories[-1])
                self.unsynced_directories.pop()
        except OSError as error:
            self._fail(f"the sync failed ({error})", error)

    def repair(self, torn: TornTail) -> None:
        """Save the bytes after the last whole record aside, sync the copy, and cut them (I2).

        Raises:
            AppendError: they cannot be saved, so they were not cut.
            LogFailedError: they cannot be cut.
        """
        try:
            save_torn_tail(self._files, self._log.file.descriptor, self._log.path, torn)
        except OSError as error:
            reason = f"the torn tail at byte {torn.offset} could not be saved aside ({error.strerror})"
            raise AppendError(error.errno or errno.EIO, f"{reason}; nothing was stored", self._log.path) from error
        try:
            self._files.truncate(self._log.file.descriptor, torn.offset)
        except OSError as error:
            self._fail(f"the torn tail could not be cut ({error})", error)
        self._log.take_written(b"")

    def _fail(self, reason: str, cause: OSError) -> None:
        self.failure = f"the log has failed: {reason}; whether the last records are stored is unknown"
        raise LogFailedError(cause.errno or errno.EIO, self.failure, self._log.path) from cause
