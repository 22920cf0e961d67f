"""The append lock: an OS lock on the log's own descriptor, which every writer of a log takes.

It is held for one operation, never for a session, and ends with its process. Once it is held, the path must still name
the locked file; if not, the new file is opened and locked instead, so nothing is ever written to a file that was
replaced.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from pathlib import Path

from ..errors import AppendError, LockTimeoutError, LogError
from .filesystem import WINDOWS, why_refused
from .reader import LogReader
from .thread_pool import WAITING

SMALL_FOLLOW_BYTES = 256 << 10  # most bytes of other writers that are read without `wait`: about a millisecond

_FIRST_DELAY_S = 0.0005
_LONGEST_DELAY_S = 0.02


class AppendLock:
    """A lock on the file that the log's path names, for a `with` statement.

    Once the lock is held, all records are read.

    Args:
        log: the log; it is open.
        timeout_s: how long to wait for another process that holds the lock, in seconds.

    Raises:
        LockTimeoutError: another process held the lock for `timeout_s`.
        LogUnreadableError: the log cannot be read.
        AppendError: the system refuses the lock.
    """

    def __init__(self, log: LogReader, *, timeout_s: float) -> None:
        self._log = log
        self._timeout_s = timeout_s
        self._deadline_s: float | None = None
        """The time on the monotonic clock at which the waiting ends; None before the first wait."""

    def __enter__(self) -> None:
        self.take()

    def __exit__(self, *_: object) -> None:
        self.give_back()

    def take(self, *, wait: bool = True) -> None:
        """Take the lock, and read what other processes appended.

        Args:
            wait: wait for another holder of the lock, and read any number of appended bytes.

        Raises:
            LockTimeoutError, LogUnreadableError, AppendError: as for the class.
            BlockingIOError: without `wait`, if another process holds the lock, or more than `SMALL_FOLLOW_BYTES` would
                be read; the lock is not held.
        """
        log = self._log
        file = self._log.file
        self._deadline_s = None
        while True:
            try:
                lock = file.files.try_lock(file.path, file.descriptor)
            except OSError as error:
                raise _refusal(error, log.path) from error
            if lock is None:
                if not wait:
                    raise BlockingIOError(errno.EWOULDBLOCK, "another process holds the log's lock", log.path)
                self._pause()
                continue
            self._lock = lock
            try:
                is_current = log.take_in(at_most_bytes=None if wait else SMALL_FOLLOW_BYTES)
            except BaseException:
                self.give_back()
                raise
            if is_current:
                return
            self.give_back()
            log.follow()  # the path names another file by now

    def take_at_once(self, size: int, end: bytes) -> bool:
        """Take the lock without waiting, if the file still has this size and ends with these bytes.

        Returns:
            Whether the lock is held now. It is not if no file is open, another process holds the lock, or the file has
            changed.

        Raises:
            LogUnreadableError, AppendError: as for the class.
        """
        file = self._log.file
        fd = self._log.file.fd
        is_as_left = False
        if fd is None:
            return False
        try:
            lock = file.files.try_lock(file.path, fd)
        except OSError as error:
            raise _refusal(error, file.path) from error
        if lock is None:
            return False
        self._lock = lock
        try:
            is_as_left = file.is_as_left(size, end)
        finally:
            if not is_as_left:
                self.give_back()
        return is_as_left

    def give_back(self) -> None:
        """Release the lock. If the system cannot unlock the file, close the file, which releases the lock too."""
        file = self._log.file
        if file.fd is None and not WINDOWS:  # closing the file released the lock
            return
        try:
            file.files.unlock(self._lock)
        except OSError:
            with contextlib.suppress(OSError):
                file.close()

    def _pause(self) -> None:
        """Sleep while another process holds the lock: twice as long each time, until the timeout is over.

        Raises:
            LockTimeoutError: the timeout is over.
        """
        now_s = time.monotonic()
        if self._deadline_s is None:
            self._deadline_s = now_s + self._timeout_s
            self._delay_s = _FIRST_DELAY_S
        if now_s >= self._deadline_s:
            raise _timeout(self._log, self._timeout_s)
        with WAITING:
            time.sleep(self._delay_s)
        self._delay_s = min(self._delay_s * 2, _LONGEST_DELAY_S)


def _refusal(error: OSError, path: str) -> AppendError:
    code, why = why_refused(error, path)
    return AppendError(code, f"the system refuses a lock on the log ({why}); nothing was stored", path)


def _timeout(log: LogReader, timeout_s: float) -> LogError:
    holder = _holder(log.file.descriptor)
    who = f"process {holder}" if holder else "another process"
    return LockTimeoutError(
        errno.ETIMEDOUT,
        f"{who} has held the log's lock for {timeout_s:g} s; nothing was stored. "
        "End or resume that process, or raise lock_timeout_s",
        log.path,
    )


def _holder(fd: int) -> int | None:
    """Return the id of the process that holds the lock on a file; None if the id is unknown (only Linux tells it)."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        inode = f":{os.fstat(fd).st_ino} "
        for row in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            if " FLOCK " in row and inode in row and "->" not in row:
                holder = int(row.split()[4])
                return holder if holder > 0 else None  # a process of another namespace has no id here
    return None
