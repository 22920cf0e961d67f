"""A log in a file: `FileLog`. `base` states the contract that it keeps.

What has survived when `FileLog.append` returns without an error:
- with `durability="fsync"` every record of the batch, after a killed process and after a power cut, and the directory
  entries that lead to it;
- with `durability="write"` every record of the batch after a killed process, not after a power cut.

Rules:
- Everything that writes does so under one lock, on the log's own descriptor, held for that one operation.
- Memory changes after the disk does. A refused write is cut back and raised. After a failed sync or cut-back nobody
  knows what is on disk: the log latches, serves what was acknowledged, and takes no append until it is opened anew
  (on Linux a second sync after a failed one proves nothing: https://lwn.net/Articles/752063/).
- A torn tail is saved aside and synced before it is cut.

These classes block and are not safe for concurrent calls; `group_commit.GroupCommit` serialises calls to one of them.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import LogFailedError, LogUnreadableError
from .base import LogDescription, Outcome, Prepare, Snapshots
from .batch import append_in_parts, prepare_part, reset_parts
from .file_writer import FileWriter
from .filesystem import FileSystem, check_can_sync, check_trust
from .format_version import check_may_append
from .index import Index
from .lock import LogLock
from .read_back import parsed
from .reader import LogReader
from .record import MAX_RECORD_BYTES, Message, seal

APPENDED_BYTES = 64 << 20
"""A snapshot is taken after so much was appended: a resume after SIGKILL scans at most that."""
CLOSE_BYTES = 64 << 10
"""Likewise as the log is closed."""


class FileLog:
    """A log in one file.

    Args:
        path: the file; its last component is never followed if it is a link.
        files: the system calls, for tests to replace.
        durability: `fsync` or `write` (see the module's docstring).
        lock_timeout_s: how long to wait for another process that holds the lock.
        max_record_bytes: larger records are refused at append, and reported and skipped at a scan.
        snapshots: keeps what a scan knows; else every opening scans the whole file.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        files: FileSystem | None = None,
        durability: str = "fsync",
        lock_timeout_s: float = 10.0,
        max_record_bytes: int = MAX_RECORD_BYTES,
        snapshots: Snapshots | None = None,
    ) -> None:
        self._reader = LogReader(
            path, files=files, max_record_bytes=max_record_bytes, writable=True, snapshots=snapshots
        )
        self._durable, self._lock_timeout_s = durability == "fsync", lock_timeout_s
        self._writer = FileWriter(self._reader)
        self._checked: tuple[int, int] | None = None
        """The file whose owner was looked at; None as long as there was none."""

    @property
    def path(self) -> str:
        """The file's absolute path."""
        return self._reader.path

    @property
    def index(self) -> Index:
        """The index of what is known; another object after the log was scanned anew."""
        return self._reader.index

    @property
    def waits_for_storage(self) -> bool:
        """Whether an append waits for the disk."""
        return self._durable

    def follow(self) -> None:
        """Take in what others appended since; nothing once the log has failed.

        Raises:
            LogUnreadableError: the log cannot be read, or was removed while it was open.
        """
        if not self._writer.failure:
            self._reader.follow()
            self._check_file()

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse records afresh from their bytes, in the given order."""
        return parsed(self.index, self.lines(ordinals), self.path)

    def lines(self, ordinals: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Read records' lines as they were written, without LF, in the given order."""
        return self._reader.lines(ordinals)

    def records(self) -> Iterator[bytes]:
        """Give the line of every record, oldest first, each with its LF."""
        return self._reader.records()

    def stored_bytes(self) -> Iterator[bytes]:
        """Give the bytes of the file line by line, a torn tail too."""
        return self._reader.stored_bytes()

    def describe(self) -> LogDescription:
        """Describe the log as it was when last looked at."""
        return self._reader.describe()

    def close(self) -> None:
        """Close the file; `follow` and `append` open it anew, also after a failure."""
        if not self._writer.failure:
            self._reader.keep_snapshot(CLOSE_BYTES, waits=True)
        self._reader.close()
        self._writer = FileWriter(self._reader)

    def append(self, batch: Sequence[Prepare], *, wait: bool = True) -> list[Outcome]:
        """Append what each of the batch prepares, with one write and one sync; with more for a reset (`reset_parts`).

        Args:
            batch: each prepares its records; what one of them raises refuses that one alone.
            wait: wait for another process's lock, else raise BlockingIOError.

        Raises:
            AppendError: the write was refused; nothing of the batch is stored.
            LogFailedError: a sync or a cut-back failed, now or before; the outcome is unknown.
            LockTimeoutError: another process holds the lock; nothing of the batch is stored.
            LogCreateError: there is no log and none can be created.
            LogUnreadableError: the log is there and cannot be read.
            LogVersionError: a later version wrote it; nothing was stored.
        """
        return append_in_parts(batch, self._append_part, wait=wait)

    def _append_part(self, batch: Sequence[Prepare], *, wait: bool) -> list[Outcome]:
        """Append what the first of the batch prepare, as `prepare_part` takes them together; their outcomes."""
        log, writer = self._reader, self._writer
        if failure := writer.failure:
            raise LogFailedError(errno.EIO, f"{failure}; close() and initialize() read the log anew", self.path)
        if not wait and log.file.fd is None:
            raise BlockingIOError(errno.EWOULDBLOCK, "the log is to be opened first", self.path)
        log.open()
        self._check_file()
        if self._durable and writer.unsynced_directories is None:
            check_can_sync(self.path, exists=log.file.fd is not None)
        if log.file.fd is None:
            part = prepare_part(batch, self.index, log.max_record_bytes)
            if not part.bodies:
                return part.outcomes(0)
            writer.create()
        with LogLock(log, timeout_s=self._lock_timeout_s, wait=wait):
            self._check_file()
            index = self.index
            check_may_append(index, self.path)
            if torn := log.torn:
                if not wait:
                    raise BlockingIOError(errno.EWOULDBLOCK, "the log is to be repaired first", self.path)
                writer.repair(torn)
            first = len(index)
            part = prepare_part(batch, index, log.max_record_bytes)
            if part.bodies:
                self._write_records(part.bodies)
            return part.outcomes(first)

    def repair(self) -> None:
        """Save a torn tail aside and cut it, or give a last line its LF; nothing where the tail is sound.

        Raises:
            LogError: as `append`; nothing was removed that is not saved.
        """
        log = self._reader
        log.follow()
        if log.file.fd is None:
            raise LogUnreadableError(errno.ENOENT, "there is no log", self.path)
        with LogLock(log, timeout_s=self._lock_timeout_s):
            check_may_append(self.index, self.path)
            if torn := log.torn:
                self._writer.repair(torn)
            elif log.lacks_newline:
                self._writer.write(b"\n")
            else:
                return
            self._writer.sync()
            log.take_in()

    def _check_file(self) -> None:
        """Look at the file whenever another one was opened: it must be there if it ever was, and of a trusted owner.

        Its directory is synced with the next append: who put it there may have died before that.

        Raises:
            LogUnreadableError: it was there and is no more, or somebody else may have made it up.
        """
        log, before = self._reader, self._checked
        if log.file.fd is None:
            if before is None:
                return
            reason = "the log was removed since this session opened it; put it back, or begin a new session"
            raise LogUnreadableError(errno.ENOENT, reason, log.path)
        if log.file.identity == before:
            return
        if status := log.file.opened_status:
            try:
                check_trust(status, log.path)
            except LogUnreadableError:
                log.close()
                raise
        self._checked = log.file.identity
        if before is not None and self._writer.unsynced_directories is not None:
            self._writer.unsynced_directories.append(os.path.dirname(self.path))

    def _write_records(self, bodies: Sequence[bytes]) -> None:
        log, writer, seed = self._reader, self._writer, self._reader.scanner.seed
        lines: list[bytes] = []
        for body in bodies:
            line, seed = seal(body, seed)
            lines.append(line)
        if log.lacks_newline:
            lines[0] = b"\n" + lines[0]
        start = 0
        for stop in (*reset_parts(bodies), len(lines)) if self._durable else (len(lines),):
            writer.write(lines[start] if stop - start == 1 else b"".join(lines[start:stop]))
            if self._durable:
                writer.sync()
            start = stop
        log.take_written(b"".join(lines).removeprefix(b"\n"))
        log.keep_snapshot(APPENDED_BYTES)
