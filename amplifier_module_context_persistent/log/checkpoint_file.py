"""The checkpoint's file, `<log>.checkpoint`: how it is written, and when it is believed.

Rules:
- A checkpoint that cannot be used, read or written is never an error: the log is the truth, and is scanned.
- It is written under a name of its own and renamed, mode 0600, and not synced: its checksums tell what a power cut
  leaves of it. It never replaces one of the same log that stands further.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import stat
from collections.abc import Iterator
from secrets import token_hex

from ..errors import LogUnreadableError
from .checkpoint import Checkpoint, LogStatus, encode
from .checkpoint_controls import CheckpointError
from .filesystem import WINDOWS, FileSystem, unreadable
from .open_log import OpenLog
from .scanner import Scanner

logger = logging.getLogger(__name__)

SUFFIX = ".checkpoint"
LEAST_LOG_BYTES = 64 << 10
"""A smaller log is scanned in a millisecond: it gets no checkpoint, and none is looked for."""


def is_large(size_bytes: int) -> bool:
    """Whether a log is so large that a checkpoint of it is worth a file."""
    return size_bytes >= LEAST_LOG_BYTES


def read_checkpoint(log: OpenLog, max_record_bytes: int) -> Scanner | None:
    """Make the scanner that a log's checkpoint describes; None if there is none, or it cannot be believed.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    if not os.path.lexists(log.path + SUFFIX):
        return None
    try:
        status = _status(log)
        if not is_large(status.size_bytes):
            return None
        with _opened(log) as checkpoint:
            checkpoint.check_log(status, log.read)
            return checkpoint.scanner(max_record_bytes, log.read)
    except FileNotFoundError:
        return None
    except CheckpointError as error:
        logger.info("%s%s is not used: %s", log.path, SUFFIX, error)
    except LogUnreadableError:
        raise
    except OSError as error:
        logger.info("%s%s cannot be read: %s", log.path, SUFFIX, error.strerror)
    return None


def write_checkpoint(log: OpenLog, scanner: Scanner, known_end: bytes, *, anew: bool = False) -> int:
    """Write the checkpoint of an open log; whatever fails is only noted.

    Args:
        log: the log.
        scanner: what is known of it.
        known_end: the last bytes of that; they must still be there.
        anew: also where one that covers the same is there.

    Returns:
        The end of what the checkpoint covers that is there by now; 0 if there is none.
    """
    files, path, aside = log.files, log.path + SUFFIX, f"{log.path}{SUFFIX}-{token_hex(4)}.part"
    try:
        status = _status(log)
        with contextlib.suppress(CheckpointError, FileNotFoundError), _opened(log) as other:
            other.check_log(status, log.read)
            if other.offset >= scanner.offset + anew:
                return other.offset
        _sweep(files, log.path)
        fd = files.create_new(aside)
    except (OSError, CheckpointError) as error:
        logger.info("%s is not written: %s", path, error)
        return 0
    try:
        try:
            if not WINDOWS and files.try_lock(aside, fd) is None:  # who sweeps looks for the lock
                raise OSError(errno.EWOULDBLOCK, "the new file is locked")
            for block in encode(scanner, status, log.read, known_end):
                if files.write(fd, block) != len(block):
                    raise OSError(errno.ENOSPC, "a short write")
        finally:
            files.close(fd)
        here = files.stat(log.path)
        if (here.st_dev, here.st_ino) != log.identity:
            raise CheckpointError("the log was replaced")
        files.replace(aside, path)
    except (OSError, CheckpointError) as error:
        logger.info("%s is not written: %s", path, error)
        with contextlib.suppress(OSError):
            files.remove(aside)
        return 0
    except BaseException:
        with contextlib.suppress(OSError):
            files.remove(aside)
        raise
    return scanner.offset


def remove_checkpoint(files: FileSystem, log_path: str) -> None:
    """Remove a log's checkpoint, and what was left of unfinished ones; nothing if there is none.

    Raises:
        OSError: the system refuses.
    """
    with contextlib.suppress(FileNotFoundError):
        files.remove(log_path + SUFFIX)
    _sweep(files, log_path)


def discard_checkpoint(files: FileSystem, log_path: str) -> None:
    """Remove a log's checkpoint that proved wrong, so that nobody begins with it again; who may not, leaves it."""
    with contextlib.suppress(OSError):
        files.remove(log_path + SUFFIX)


@contextlib.contextmanager
def _opened(log: OpenLog) -> Iterator[Checkpoint]:
    """Open the checkpoint of a log.

    Raises:
        FileNotFoundError: there is none.
        OSError: it cannot be read.
        CheckpointError: it cannot be believed, whatever the log is.
    """
    files = log.files
    fd = files.open_readonly(log.path + SUFFIX)
    try:
        status = files.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise CheckpointError("it is no regular file")
        if not WINDOWS and (status.st_mode & 0o022 or not _is_trusted(status, log)):
            raise CheckpointError("somebody else may have written it")
        yield Checkpoint(lambda offset, size: files.read(fd, size, offset), status.st_size)
    finally:
        with contextlib.suppress(OSError):
            files.close(fd)


def _is_trusted(status: os.stat_result, log: OpenLog) -> bool:
    owner = log.opened_status.st_uid if log.opened_status is not None else os.geteuid()
    return status.st_uid in (owner, os.geteuid())


def _status(log: OpenLog) -> LogStatus:
    try:
        status = log.files.fstat(log.descriptor)
    except OSError as error:
        raise unreadable(error, log.path) from error
    return LogStatus(status.st_size, status.st_mtime_ns)


def _sweep(files: FileSystem, log_path: str) -> None:
    """Remove what killed writers left; one that still writes holds a lock on its file."""
    directory, name = os.path.split(log_path)
    pattern = re.compile(re.escape(name + SUFFIX) + r"-[0-9a-f]{8}\.part")
    for other in sorted(filter(pattern.fullmatch, os.listdir(directory))):
        path = os.path.join(directory, other)
        with contextlib.suppress(OSError):
            fd = files.open_readonly(path)
            try:
                if WINDOWS or files.try_lock(path, fd) is not None:
                    files.remove(path)
            finally:
                files.close(fd)
