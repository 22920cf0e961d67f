"""The append-only log behind a session: `FileLog` on disk, `MemoryLog` for a session that keeps nothing.

What has survived when `FileLog.commit` returns without an error:
- with `durability="fsync"` every record of the batch, after a killed process and after a power cut, and the directory
  entries that lead to it;
- with `durability="write"` every record of the batch after a killed process, not after a power cut.

Rules:
- Everything that writes does so under one lock, on the log's own descriptor, held for that one operation.
- Memory changes after the disk does. A refused write is cut back and raised. After a failed sync or cut-back nobody
  knows what is on disk: the log latches, serves what was acknowledged, and takes no append until it is opened anew
  (on Linux a second sync after a failed one proves nothing: https://lwn.net/Articles/752063/).
- A torn tail is saved aside and synced before it is cut.

These classes block and are not safe for concurrent calls; `commit.GroupCommit` serialises the calls to one of them.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from .errors import AppendError, LockTimeoutError, LogCreateError, LogFailedError, LogUnreadableError, RecordError
from .files import Files
from .index import Index, TornTail
from .reader import LogReader
from .record import MAX_RECORD_BYTES, Message, decode, seal
from .repair import save_torn_tail
from .scan import Scanner

Prepare = Callable[[Index], Sequence[bytes]]
"""Gives the record bodies to append, from the index as it is under the lock. May run twice; must change nothing."""

Outcome = range | Exception
"""The ordinals of the message records that were appended, or why the whole of it was refused."""


class Log(Protocol):
    """What the rooms above need of a log."""

    @property
    def index(self) -> Index:
        """The index; another object after the log was scanned anew."""
        ...

    def follow(self) -> None:
        """Take in what others appended."""
        ...

    def commit(self, batch: Sequence[Prepare], *, wait: bool = True) -> list[Outcome]:
        """Append what each of the batch prepares."""
        ...

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse records afresh, in the given order."""
        ...

    def close(self) -> None:
        """Give back what the log holds."""
        ...


class FileLog:
    """A log in one file.

    Args:
        path: the file; its last component is never followed if it is a link.
        files: the system calls, for tests to replace.
        durability: `fsync` or `write` (see the module's docstring).
        lock_timeout_s: how long to wait for another process that holds the lock.
        max_record_bytes: larger records are refused at append, and reported and skipped at a scan.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        files: Files | None = None,
        durability: str = "fsync",
        lock_timeout_s: float = 10.0,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        self._reader = LogReader(path, files=files, max_record_bytes=max_record_bytes, writable=True)
        self._files = self._reader.files
        self._durable = durability == "fsync"
        self._lock_timeout_s = lock_timeout_s
        self._failure: str | None = None
        self._unsynced_directories: list[str] = []

    @property
    def path(self) -> str:
        """The file's absolute path."""
        return self._reader.path

    @property
    def index(self) -> Index:
        """The index of what is known; another object after the log was scanned anew."""
        return self._reader.index

    @property
    def exists(self) -> bool:
        """Whether the log's file was there when last looked at."""
        return self._reader.fd is not None

    @property
    def torn(self) -> TornTail | None:
        """What the next append will save aside and cut, as of the last `follow`."""
        return self._reader.torn

    def follow(self) -> None:
        """Take in what others appended since; nothing once the log has failed.

        Raises:
            LogUnreadableError: the log cannot be read, or was removed while it was open.
        """
        if not self._failure:
            self._reader.follow()

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse records afresh from their bytes, in the given order."""
        return self._reader.read(ordinals)

    def close(self) -> None:
        """Close the file; `follow` and `commit` open it anew, also after a failure."""
        self._reader.close()
        self._failure = None

    def commit(self, batch: Sequence[Prepare], *, wait: bool = True) -> list[Outcome]:
        """Append what each of the batch prepares, with one write and one sync.

        Args:
            batch: each prepares its records; what one of them raises refuses that one alone.
            wait: wait for another process's lock, else raise BlockingIOError.

        Raises:
            AppendError: the write was refused; nothing of the batch is stored.
            LogFailedError: a sync or a cut-back failed, now or before; the outcome is unknown.
            LockTimeoutError: another process holds the lock; nothing of the batch is stored.
            LogCreateError: there is no log and none can be created.
            LogUnreadableError: the log is there and cannot be read.
        """
        self._check_failure()
        self._reader.ensure_open()
        if self._reader.fd is None:
            bodies = _prepare_all(batch, self.index, self._reader.max_record_bytes)
            if not any(isinstance(prepared, list) and prepared for prepared in bodies):
                return [prepared if isinstance(prepared, Exception) else range(0) for prepared in bodies]
            self._create()
        lock = self._lock(wait=wait)
        try:
            bodies = _prepare_all(batch, self.index, self._reader.max_record_bytes)
            if not any(isinstance(prepared, list) and prepared for prepared in bodies):
                return [prepared if isinstance(prepared, Exception) else range(0) for prepared in bodies]
            self._repair_tail()
            return self._write(bodies)
        finally:
            self._files.unlock(lock)

    # -- under the lock ----------------------------------------------------------------------------------------------

    def _write(self, bodies: Sequence[list[bytes] | Exception]) -> list[Outcome]:
        reader, seed = self._reader, self._reader.scanner.seed
        lines: list[bytes] = []
        outcomes: list[Outcome] = []
        at = len(self.index)
        for prepared in bodies:
            if isinstance(prepared, Exception):
                outcomes.append(prepared)
                continue
            messages = 0
            for body in prepared:
                line, seed = seal(body, seed)
                lines.append(line)
                messages += not body.startswith(b'{"_record"')
            outcomes.append(range(at, at + messages))
            at += messages
        records = b"".join(lines)
        before = reader.size
        self._append(b"\n" + records if reader.lacks_newline else records, before)
        if self._durable:
            self._sync()
        reader.scanner.feed(records)
        reader.size = reader.scanner.offset
        if self._files.fstat(self._reader.descriptor).st_size != reader.size:
            reader.reload()  # somebody wrote without taking the lock
        return outcomes

    def _append(self, data: bytes, before: int) -> None:
        fd = self._reader.descriptor
        try:
            written = self._files.write(fd, data)
            if written == len(data):
                return
            error = OSError(errno.ENOSPC, f"only {written} of {len(data)} bytes were taken")
        except OSError as refused:
            error = refused
        try:
            self._files.truncate(fd, before)
        except OSError as stuck:
            self._fail(f"a write was refused ({error}) and the log could not be cut back ({stuck})", stuck)
        raise AppendError(
            error.errno or errno.EIO, f"the write was refused ({error.strerror}); nothing was stored", self.path
        ) from error

    def _sync(self) -> None:
        try:
            self._files.sync(self._reader.descriptor)
            while self._unsynced_directories:
                self._files.sync_directory(self._unsynced_directories[-1])
                self._unsynced_directories.pop()
        except OSError as error:
            self._fail(f"the sync failed ({error})", error)

    def _repair_tail(self) -> None:
        """Save what stands behind the last whole record aside, sync it, and cut it; rule I2."""
        torn = self._reader.torn
        if torn is None:
            return
        try:
            save_torn_tail(self._files, self._reader.descriptor, self.path, torn)
        except OSError as error:
            raise AppendError(
                error.errno or errno.EIO,
                f"the torn tail at byte {torn.offset} could not be saved aside ({error.strerror}); nothing was stored",
                self.path,
            ) from error
        try:
            self._files.truncate(self._reader.descriptor, torn.offset)
        except OSError as error:
            self._fail(f"the torn tail could not be cut ({error})", error)
        self._reader.scanner.abandon_reset()
        self._reader.size = torn.offset

    def _lock(self, *, wait: bool) -> int:
        """Lock the file that the path names, with all that it holds taken in."""
        deadline, delay_s = time.monotonic() + self._lock_timeout_s, 0.0005
        while True:
            fd = self._reader.descriptor
            lock = self._files.try_lock(self.path, fd)
            if lock is not None:
                try:
                    if not self._reader.follow():
                        return lock
                except BaseException:
                    self._files.unlock(lock)
                    raise
                if lock != fd:  # the path names another file by now; a lock on the old descriptor went with it
                    self._files.unlock(lock)
                continue
            if not wait:
                raise BlockingIOError(errno.EWOULDBLOCK, "another process holds the log's lock", self.path)
            if time.monotonic() >= deadline:
                holder = self._files.lock_holder(fd)
                who = f"process {holder}" if holder else "another process"
                raise LockTimeoutError(
                    errno.ETIMEDOUT,
                    f"{who} has held the log's lock for {self._lock_timeout_s:g} s; nothing was stored. "
                    "End or resume that process, or raise lock_timeout_s",
                    self.path,
                )
            time.sleep(delay_s)
            delay_s = min(delay_s * 2, 0.02)

    # -- creating and failing ----------------------------------------------------------------------------------------

    def _create(self) -> None:
        created: list[str] = []
        try:
            self._make_directories(os.path.dirname(self.path), created)
            self._reader.open(create=True)
        except LogUnreadableError:
            raise
        except OSError as error:
            raise LogCreateError(
                error.errno or errno.EIO, f"no log can be created here: {error.strerror}", self.path
            ) from error
        self._unsynced_directories = [os.path.dirname(path) for path in created] + [os.path.dirname(self.path)]

    def _make_directories(self, path: str, created: list[str]) -> None:
        if os.path.isdir(path):
            return
        self._make_directories(os.path.dirname(path), created)
        try:
            self._files.make_directory(path)
            created.append(path)
        except FileExistsError:
            if not os.path.isdir(path):
                raise

    def _check_failure(self) -> None:
        if self._failure:
            raise LogFailedError(errno.EIO, f"{self._failure}; close() and initialize() read the log anew", self.path)

    def _fail(self, reason: str, cause: OSError) -> None:
        self._failure = f"the log has failed: {reason}; whether the last records are stored is unknown"
        raise LogFailedError(cause.errno or errno.EIO, self._failure, self.path) from cause


class MemoryLog:
    """A log that lives and dies with its process: the same records, kept as bytes in a list."""

    def __init__(self, *, max_record_bytes: int = MAX_RECORD_BYTES) -> None:
        self._scanner = Scanner(max_record_bytes)
        self._lines: list[bytes] = []

    @property
    def index(self) -> Index:
        """The index of all records."""
        return self._scanner.index

    def follow(self) -> None:
        """Do nothing: nobody else can append."""

    def commit(self, batch: Sequence[Prepare], *, wait: bool = True) -> list[Outcome]:
        """Append what each of the batch prepares; what one of them raises refuses that one alone."""
        outcomes: list[Outcome] = []
        for prepare in batch:
            (prepared,) = _prepare_all([prepare], self.index, self._scanner.max_record_bytes)
            if isinstance(prepared, Exception):
                outcomes.append(prepared)
                continue
            first = len(self.index)
            for body in prepared:
                line, _ = seal(body, self._scanner.seed)
                known = len(self.index)
                self._scanner.feed(line)
                self._lines.extend([line] * (len(self.index) - known))
            outcomes.append(range(first, len(self.index)))
        return outcomes

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse records afresh, in the given order."""
        return (decode(self._lines[ordinal]) for ordinal in ordinals)

    def close(self) -> None:
        """Do nothing: what is in memory stays until the log is let go."""


def _prepare_all(batch: Sequence[Prepare], index: Index, max_record_bytes: int) -> list[list[bytes] | Exception]:
    results: list[list[bytes] | Exception] = []
    for prepare in batch:
        try:
            bodies = list(prepare(index))
            longest = max(map(len, bodies), default=0)
            if longest > max_record_bytes - 20:
                raise RecordError(f"the record has {longest:,} bytes; at most {max_record_bytes:,} are stored")
        except Exception as error:  # noqa: BLE001 - it belongs to that caller alone, who gets it
            results.append(error)
        else:
            results.append(bodies)
    return results
