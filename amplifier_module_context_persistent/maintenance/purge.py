"""Purging: the one way to remove history for good. A new file takes the log's place, chained anew.

Rules:
- Under the log's lock, what stays is written to a new file beside the log (mode 0600), synced, read back and compared;
  then it is renamed over the log, and the directory synced. A crash leaves the old log or the new one.
- The new file is locked too until all that is done, so nobody appends to a file whose name could still be lost.
- What stays keeps its order and its bytes, but for its checksum. Bytes that cannot be read stay where everything but
  `everything` is purged; a torn tail and the saved ones go.
- The `purge` record that is left holds counts, and nothing of what was removed: not even the pattern.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from zlib import crc32

from ..errors import AppendError, LogError, LogFailedError, LogUnreadableError, PurgeError
from ..log.filesystem import WINDOWS, FileSystem, unreadable
from ..log.lock import lock_log, unlock_log
from ..log.reader import LogReader
from ..log.record import encode_control, seal, stored_crc
from ..log.torn_tail import saved_tails
from .purge_options import Purge, PurgeCounts
from .purge_rewrite import Rewrite
from .verify import PURGING_SUFFIX

_BLOCK_BYTES = 1 << 20


def plan_purge(path: str, purge: Purge, *, files: FileSystem | None = None) -> PurgeCounts:
    """Count what a purge would remove; writes nothing.

    Raises:
        PurgeError: this log cannot be purged so.
        LogUnreadableError: there is no log, or it cannot be read.
    """
    reader = _open(path, files, writable=False)
    try:
        return _count(reader, purge)
    finally:
        reader.close()


def purge_log(
    path: str, purge: Purge, *, now: Callable[[], str], files: FileSystem | None = None, lock_timeout_s: float = 10.0
) -> PurgeCounts:
    """Remove history for good; what was removed. Where nothing goes, nothing is written.

    Args:
        path: the log's file.
        purge: what goes.
        now: gives ISO 8601 timestamps.
        files: the system calls, for tests to replace.
        lock_timeout_s: how long to wait for another process that holds the lock.

    Raises:
        PurgeError: this log cannot be purged so; nothing was changed.
        AppendError: the system refused; the log is what it was.
        LogFailedError: the log was purged, and the system refused what makes that durable or removes the saved tails.
        LockTimeoutError: another process holds the lock.
        LogUnreadableError: there is no log, or it cannot be read.
    """
    reader = _open(path, files, writable=True)
    try:
        lock = lock_log(reader, wait=True, timeout_s=lock_timeout_s)
        try:
            counts = _count(reader, purge)
            if counts.is_nothing:
                return counts
            _check_file(reader)
            with _NewFile(reader) as new:
                return new.fill(purge, counts, now())
        finally:
            unlock_log(reader, lock)
    finally:
        reader.close()


def _open(path: str, files: FileSystem | None, *, writable: bool) -> LogReader:
    reader = LogReader(path, files=files, writable=writable)
    reader.follow()
    if reader.file.fd is None:
        raise LogUnreadableError(errno.ENOENT, "there is no such file; check the path", reader.path)
    return reader


def _count(reader: LogReader, purge: Purge) -> PurgeCounts:
    counts = PurgeCounts(bytes_before=reader.size, saved_tails=len(saved_tails(reader.path)))
    Rewrite(reader, purge, counts).run(lambda _body: None, lambda _line: None)
    return counts


def _check_file(reader: LogReader) -> None:
    """Refuse a file whose content would stay elsewhere, or get into other hands, when its name gets a new one."""
    try:
        status = reader.file.files.fstat(reader.file.descriptor)
    except OSError as error:
        raise unreadable(error, reader.path) from error
    if status.st_nlink > 1:
        raise PurgeError(f"the log has {status.st_nlink} names (hard links); remove the others first, then purge")
    if not WINDOWS and status.st_uid != os.geteuid():
        raise PurgeError(f"the log belongs to the user with the id {status.st_uid}; purge it as that user")


class _NewFile:
    """The file that takes the log's place; removed again if it does not."""

    def __init__(self, reader: LogReader) -> None:
        self._reader, self._files, self._path = reader, reader.file.files, reader.path + PURGING_SUFFIX
        self._fd: int | None = None
        self._seed = 0
        self._waiting = bytearray()
        self._in_place = False

    def __enter__(self) -> _NewFile:
        try:
            with contextlib.suppress(FileNotFoundError):
                self._files.remove(self._path)  # of a purge that was killed: the lock is ours
            self._fd = self._files.create_new(self._path)
            if not WINDOWS and self._files.try_lock(self._path, self._fd) is None:
                raise OSError(errno.EWOULDBLOCK, "the new file is locked by another process")
        except OSError as error:
            self._discard()
            raise self._refused(error) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._discard()

    def fill(self, purge: Purge, planned: PurgeCounts, time: str) -> PurgeCounts:
        """Write what stays, and put it in the log's place."""
        reader, files = self._reader, self._files
        counts = PurgeCounts(bytes_before=reader.size, saved_tails=planned.saved_tails)
        rewrite = Rewrite(reader, purge, counts)
        try:
            rewrite.run(self._put, self._put_raw)
            self._put(encode_control("purge", time=time, mode=purge.mode, **counts.to_record()))
            self._flush(0)
            files.sync(self._descriptor)
            self._check(rewrite.expected())
            if WINDOWS:  # an open file cannot be replaced there
                self._close()
                reader.close()
            files.replace(self._path, reader.path)
            self._in_place = True
        except LogError:
            raise
        except OSError as error:
            raise self._refused(error) from error
        try:
            files.sync_directory(os.path.dirname(reader.path))
            for name in saved_tails(reader.path):
                files.remove(name)
            files.sync_directory(os.path.dirname(reader.path))
        except OSError as error:
            reason = f"the log was purged, but not all that belongs to it ({error}); run the purge again"
            raise LogFailedError(error.errno or errno.EIO, reason, reader.path) from error
        return counts

    @property
    def _descriptor(self) -> int:
        assert self._fd is not None  # noqa: S101 - between __enter__ and __exit__ it is open
        return self._fd

    def _put(self, body: bytes) -> None:
        line, self._seed = seal(body, self._seed)
        self._waiting += line
        self._flush(_BLOCK_BYTES)

    def _put_raw(self, line: bytes) -> None:
        """Carry over bytes that are no record; the chain goes through them as a reader's does."""
        stored = stored_crc(line)
        self._seed = crc32(line, self._seed) if stored is None else stored
        self._waiting += line + b"\n"
        self._flush(_BLOCK_BYTES)

    def _flush(self, more_than_bytes: int) -> None:
        if len(self._waiting) > more_than_bytes:
            written = self._files.write(self._descriptor, bytes(self._waiting))
            if written != len(self._waiting):
                raise OSError(errno.ENOSPC, f"only {written} of {len(self._waiting)} bytes were taken")
            self._waiting.clear()

    def _check(self, expected: list[int]) -> None:
        """Read the new file as any reader would: it must hold what stays, live in the same order, and verify."""
        reader = LogReader(self._path, files=self._files, max_record_bytes=self._reader.max_record_bytes)
        try:
            reader.follow()
            index = reader.index
            wrong = [found for found in index.damage if found.kind not in ("unreadable", "glued")]
            if wrong or reader.torn or [index.id_hashes[ordinal] for ordinal in index.live] != expected:
                raise PurgeError("the damage in this log is such that it cannot be purged so; only --all works")
        finally:
            reader.close()

    def _refused(self, error: OSError) -> AppendError:
        reason = f"the purge was refused ({error.strerror or error}); the log is what it was"
        return AppendError(error.errno or errno.EIO, reason, self._reader.path)

    def _close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            with contextlib.suppress(OSError):
                self._files.close(fd)

    def _discard(self) -> None:
        created = self._fd is not None
        self._close()
        if created and not self._in_place:
            with contextlib.suppress(OSError):
                self._files.remove(self._path)
