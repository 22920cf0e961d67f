"""Take Foundation's lock for a change of a session's `metadata.json`, so that no program overwrites another's change.

Foundation is the library `amplifier-foundation`, which hosts use.

The lock is a `FileLock` of the package filelock on `.<session id>.metadata.lock` beside the session's directory;
Foundation waits 10 s for it. Hosts before September 2026 (`d0d96f7`) take no lock. So the file of an open session is
never changed here. In a home the lock's file stays, as with Foundation; elsewhere, no host needs it, and it goes.
Source: amplifier-foundation, `metadata_lock` in `amplifier_foundation/session/metadata.py` at commit 7553d54.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ....errors import LockTimeoutError
from ....hosts import is_hosts_file
from ....paths import HOME_PROJECTS

TIMEOUT_S = 10.0


def lock_path(directory: Path) -> Path:
    """Return the path of the lock file for a session's directory.

    The lock file is beside the directory, so that it remains when the directory is deleted.
    """
    whole = directory.absolute()
    return whole.parent / f".{whole.name}.metadata.lock"


@contextmanager
def metadata_lock(directory: Path, *, timeout_s: float | None = None) -> Iterator[None]:
    """Hold the lock of a session's `metadata.json` while a `with` block lasts.

    Callers read the metadata inside the block.

    Args:
        directory: the session's directory.
        timeout_s: the longest wait for another program; `TIMEOUT_S` by default.

    Raises:
        LockTimeoutError: another program held the lock for `timeout_s` seconds; nothing was changed.
        OSError: the lock file cannot be made.
    """
    from filelock import FileLock, Timeout  # it imports asyncio, and most commands write no metadata

    path = lock_path(directory)
    timeout_s = TIMEOUT_S if timeout_s is None else timeout_s
    lock = FileLock(path, timeout=timeout_s)
    try:
        lock.acquire()
    except Timeout as error:
        reason = f"another program has been changing the session's metadata.json for {timeout_s:g} s"
        raise LockTimeoutError(errno.ETIMEDOUT, reason, str(path)) from error
    try:
        yield
    finally:
        if not _is_in_home(path):
            with suppress(OSError):  # Windows removes no open file
                os.remove(path)
        lock.release()


def remove_stale_locks(root: Path) -> None:
    """Remove the lock files in a directory with projects that is no home, such as a stick. A lock that is held stays.

    In a home they belong to the host, which leaves them.
    """
    for path in root.glob("*/sessions/.*.metadata.lock"):
        session = path.name.removeprefix(".").removesuffix(".metadata.lock")
        is_empty = path.is_file() and not path.is_symlink() and not path.stat().st_size
        if is_empty and not _is_in_home(path):
            with suppress(OSError, LockTimeoutError), metadata_lock(path.with_name(session), timeout_s=0):
                pass


def _is_in_home(lock: Path) -> bool:
    """Return whether a lock file is in a home: that of a host here, or another `.amplifier/projects`."""
    return lock.parts[-5:-3] == HOME_PROJECTS.parts or is_hosts_file(lock)
