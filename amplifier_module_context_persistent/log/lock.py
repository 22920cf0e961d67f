"""The one lock that guards everything that writes to a log: an OS lock on the log's own descriptor.

It is held for one operation, never for a session, and goes with its process. Once it is held, the path must still name
the locked file; if not, the new file is opened and locked instead, so nothing is ever written to a file that was
replaced.
"""

from __future__ import annotations

import contextlib
import errno
import time

from ..errors import AppendError, LockTimeoutError, LogError
from .filesystem import WINDOWS
from .reader import LogReader

SMALL_FOLLOW_BYTES = 256 << 10  # what may be taken in without waiting: about a millisecond

_FIRST_DELAY_S = 0.0005
_LONGEST_DELAY_S = 0.02


def try_lock(reader: LogReader) -> int:
    """Lock the open file if nobody else has it locked; the descriptor to unlock.

    Raises:
        BlockingIOError: another process has it.
        AppendError: the system refuses the lock.
    """
    file = reader.file
    try:
        lock = file.files.try_lock(file.path, file.descriptor)
    except OSError as error:
        reason = f"the system refuses a lock on the log ({error.strerror}); nothing was stored"
        raise AppendError(error.errno or errno.EIO, reason, reader.path) from error
    if lock is None:
        raise BlockingIOError(errno.EWOULDBLOCK, "another process holds the log's lock", reader.path)
    return lock


def lock_log(reader: LogReader, *, wait: bool, timeout_s: float, is_refused: bool = False) -> int:
    """Lock the file that the path names, with all that it holds taken in; the descriptor to unlock.

    Args:
        reader: the log; it is open.
        wait: wait for others, and take in however much they appended.
        timeout_s: how long to wait.
        is_refused: whether the lock was tried for just now, and another process has it.

    Raises:
        BlockingIOError: without `wait`, if it would take long.
        LockTimeoutError: another process kept it for `timeout_s`.
        LogUnreadableError: the log cannot be read.
        AppendError: the system refuses the lock.
    """
    deadline, delay_s = time.monotonic() + timeout_s, _FIRST_DELAY_S
    while True:
        try:
            lock = None if is_refused else try_lock(reader)
        except BlockingIOError:
            if not wait:
                raise
            lock = None
        is_refused = False
        if lock is not None:
            if _is_current(reader, lock, wait=wait):
                return lock
            reader.follow()  # the path names another file by now
            continue
        if time.monotonic() >= deadline:
            raise _timeout(reader, timeout_s)
        time.sleep(delay_s)
        delay_s = min(delay_s * 2, _LONGEST_DELAY_S)


def _is_current(reader: LogReader, lock: int, *, wait: bool) -> bool:
    """Take in what the locked file holds; unlock it if that fails, or if the path names another file."""
    is_current = False
    try:
        is_current = reader.take_in(at_most_bytes=None if wait else SMALL_FOLLOW_BYTES)
    finally:
        if not is_current:
            unlock_log(reader, lock)
    return is_current


def unlock_log(reader: LogReader, lock: int) -> None:
    """Give the lock back; a file that cannot be unlocked is closed, which does the same."""
    if reader.file.fd is None and not WINDOWS:  # it went when the file was closed
        return
    try:
        reader.file.files.unlock(lock)
    except OSError:
        with contextlib.suppress(OSError):
            reader.close()


def _timeout(reader: LogReader, timeout_s: float) -> LogError:
    holder = reader.file.files.lock_holder(reader.file.descriptor)
    who = f"process {holder}" if holder else "another process"
    return LockTimeoutError(
        errno.ETIMEDOUT,
        f"{who} has held the log's lock for {timeout_s:g} s; nothing was stored. "
        "End or resume that process, or raise lock_timeout_s",
        reader.path,
    )
