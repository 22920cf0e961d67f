"""The one lock that guards everything that writes to a log: an OS lock on the log's own descriptor.

It is held for one operation, never for a session, and goes with its process. Once it is held, the path must still name
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

SMALL_FOLLOW_BYTES = 256 << 10  # what may be taken in without waiting: about a millisecond

_FIRST_DELAY_S = 0.0005
_LONGEST_DELAY_S = 0.02


class LogLock:
    """Holds the lock of the file that the path names, with all that it holds taken in; for a `with` statement.

    Args:
        log: the log; it is open.
        timeout_s: how long to wait for others.
        wait: wait for others, and take in however much they appended.

    Raises:
        BlockingIOError: without `wait`, if it would take long.
        LockTimeoutError: another process kept it for `timeout_s`.
        LogUnreadableError: the log cannot be read.
        AppendError: the system refuses the lock.
    """

    def __init__(self, log: LogReader, *, timeout_s: float, wait: bool = True) -> None:
        self._log, self._timeout_s, self._wait = log, timeout_s, wait

    def __enter__(self) -> None:
        self._lock = _lock(self._log, timeout_s=self._timeout_s, wait=self._wait)

    def __exit__(self, *_: object) -> None:
        _unlock(self._log, self._lock)


def _lock(log: LogReader, *, timeout_s: float, wait: bool) -> int:
    """Lock the file; the descriptor to unlock. Errors as `LogLock`."""
    deadline, delay_s = time.monotonic() + timeout_s, _FIRST_DELAY_S
    while True:
        lock = _try_lock(log)
        if lock is not None:
            if _is_current(log, lock, wait=wait):
                return lock
            log.follow()  # the path names another file by now
            continue
        if not wait:
            raise BlockingIOError(errno.EWOULDBLOCK, "another process holds the log's lock", log.path)
        if time.monotonic() >= deadline:
            raise _timeout(log, timeout_s)
        with WAITING:
            time.sleep(delay_s)
        delay_s = min(delay_s * 2, _LONGEST_DELAY_S)


def _try_lock(log: LogReader) -> int | None:
    """Lock the open file; None if another process has it locked.

    Raises:
        AppendError: the system refuses the lock.
    """
    file = log.file
    try:
        return file.files.try_lock(file.path, file.descriptor)
    except OSError as error:
        code, why = why_refused(error, file.path)
        raise AppendError(
            code, f"the system refuses a lock on the log ({why}); nothing was stored", log.path
        ) from error


def _is_current(log: LogReader, lock: int, *, wait: bool) -> bool:
    """Take in what the locked file holds; unlock it if that fails, or if the path names another file."""
    is_current = False
    try:
        is_current = log.take_in(at_most_bytes=None if wait else SMALL_FOLLOW_BYTES)
    finally:
        if not is_current:
            _unlock(log, lock)
    return is_current


def _unlock(log: LogReader, lock: int) -> None:
    """Give the lock back; a file that cannot be unlocked is closed, which does the same."""
    if log.file.fd is None and not WINDOWS:  # it went when the file was closed
        return
    try:
        log.file.files.unlock(lock)
    except OSError:
        with contextlib.suppress(OSError):
            log.file.close()


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
    """The process that holds the lock on a file, where the system tells it (Linux)."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        inode = f":{os.fstat(fd).st_ino} "
        for row in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            if " FLOCK " in row and inode in row and "->" not in row:
                holder = int(row.split()[4])
                return holder if holder > 0 else None  # a process of another namespace has no name here
    return None
