"""Foundation's lock around a change of a session's `metadata.json`: two programs that write it lose no name.

It is a `FileLock` of the package filelock on `.<session id>.metadata.lock` beside the session's directory; foundation
waits 10 s for it. Hosts before September 2026 (`d0d96f7`) take no lock. So the file of an open session is never changed
here.
Source: amplifier-foundation, `metadata_lock` in `amplifier_foundation/session/metadata.py` at commit 7553d54.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import LockTimeoutError

TIMEOUT_S = 10.0


def lock_path(directory: Path) -> Path:
    """The lock's file of a session's directory; it outlives the directory."""
    whole = directory.absolute()
    return whole.parent / f".{whole.name}.metadata.lock"


@contextmanager
def metadata_lock(directory: Path, *, timeout_s: float = TIMEOUT_S) -> Iterator[None]:
    """Hold the lock of a session's `metadata.json`; it is read only once it is held.

    Args:
        directory: the session's directory.
        timeout_s: the longest wait for another program.

    Raises:
        LockTimeoutError: another program held it all that time; nothing was changed.
        OSError: the lock's file cannot be made.
    """
    from filelock import FileLock, Timeout  # asyncio comes with it, and most commands write no metadata

    path = lock_path(directory)
    lock = FileLock(path, timeout=timeout_s)
    try:
        lock.acquire()
    except Timeout as error:
        reason = f"another program has been changing the session's metadata.json for {timeout_s:g} s"
        raise LockTimeoutError(errno.ETIMEDOUT, reason, str(path)) from error
    try:
        yield
    finally:
        lock.release()
