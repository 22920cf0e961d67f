"""A log in a file: `FileLog`. It implements `contract.Log`.

When `FileLog.append` returns without an error, the records of the batch survive:
- with `durability="fsync"` a killed process and a power cut, and so do the directory entries of the log's path;
- with `durability="write"` a killed process, but not a power cut.

Rules:
- Each operation that writes holds one lock on the log's own descriptor, and only for this operation.
- Memory changes after the disk does. If a write is refused, the file is cut back to its former size, and the error is
  raised. After a failed sync or cut-back it is unknown which bytes are on the disk. Then the log still serves the
  acknowledged records, but rejects every append until it is closed and opened again
  (on Linux a second sync after a failed one proves nothing: https://lwn.net/Articles/752063/).
- A torn tail (an incomplete record at the end) is saved to another file and synced before it is cut.
- An archived log is read in place, and brought back before the first append (`archive_log`).

Calls block and are not safe for concurrent use; `append_queue.AppendQueue` serialises them.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

from ..errors import AppendError, LogCreateError, LogFailedError, LogUnreadableError
from .append_lock import AppendLock
from .batch import append_in_parts, prepare_part, reset_parts
from .bring_back_log import restore_for_append
from .checksum import seal
from .contract import Outcome, Prepare, Snapshots
from .file_trust import check_trust
from .filesystem import FileSystem, check_can_sync, directories_above, make_directories, why_refused
from .forked_process import is_child_of
from .format_version import check_may_append
from .index import TornTail
from .open_mark import OpenMark
from .reader import END_BYTES, LogReader
from .record_limits import MAX_RECORD_BYTES, SEAL_BYTES
from .save_torn_tail import save_torn_tail
from .thread_pool import WAITING

APPENDED_BYTES = 64 << 20
"""A snapshot is taken each time this many bytes were appended, so a resume after SIGKILL scans at most this many."""
CLOSE_BYTES = 64 << 10
"""A close takes a snapshot if at least this many bytes were appended since the last snapshot."""


class FileLog(LogReader):
    """A log in one file: a `LogReader` that can also append.

    Args:
        path: the path of the file; a symbolic link as its last component is not followed.
        files: the system calls; tests replace them.
        durability: `fsync` or `write` (see the module's docstring).
        lock_timeout_s: how long to wait for another process that holds the lock, in seconds.
        max_record_bytes: the size limit of a record. Larger records are rejected by `append`, and reported and skipped
            by a scan.
        snapshots: keeps the results of scans; without it, every opening scans the whole file.
        marks_open: mark the log as open while it is open (`open_mark`), as a session does.
        is_carried_copy: whether the log is a copy in a place that is synced, or in a backup (`check_trust`).
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
        marks_open: bool = False,
        is_carried_copy: bool = False,
    ) -> None:
        super().__init__(path, files=files, max_record_bytes=max_record_bytes, writable=True, snapshots=snapshots)
        self._mark = OpenMark(self.file) if marks_open else None
        self._is_carried_copy = is_carried_copy
        self._durable = durability == "fsync"
        self._lock = AppendLock(self, timeout_s=lock_timeout_s)
        self._failure = ""
        """The reason why the state of the file is unknown; "" while it is known."""
        self._checked_identity: tuple[int, int] | None = None
        """The identity of the file whose owner was checked; None before the first check."""
        self._synced_identity: tuple[int, int] | None = None
        """The identity of the file whose directory entries were synced; None before the first sync."""

    @property
    def waits_for_storage(self) -> bool:
        """Whether an append waits for the disk: true with `durability="fsync"`."""
        return self._durable

    def follow(self) -> None:
        """Read records that others appended. Do nothing if the log has failed.

        Raises:
            LogUnreadableError: the log cannot be read, is not trusted, or was removed while it was open.
        """
        if not self._failure:
            super().follow()
            self._check_file()

    def _open(self, *, create: bool = False) -> bool:
        opened = super()._open(create=create)
        if self._mark is not None and self.file.fd is not None:
            self._mark.take()
        return opened

    def close(self) -> None:
        """Close the file and forget a failure; `follow` and `append` open the file again."""
        if not self._failure:
            self._keep_snapshot(CLOSE_BYTES, waits=True)
        super().close()
        if self._mark is not None:
            self._mark.give_back()
        self._failure = ""
        self._synced_identity = None

    def append(self, batch: Sequence[Prepare], *, wait: bool = True) -> list[Outcome]:
        """Append the records of each caller of a batch, and return the outcome of each caller.

        One part of a batch (`batch`) takes one write and one sync; a part with a reset takes more (`reset_parts`).

        Args:
            batch: each caller's function; an exception in one function rejects only its caller.
            wait: if false, raise BlockingIOError instead of waiting for another process or for a repair.

        Raises:
            AppendError: the write was refused; nothing of the batch is stored.
            LogFailedError: a sync or a cut-back failed, now or before; the outcome is unknown.
            LockTimeoutError: another process holds the lock; nothing of the batch is stored.
            LogCreateError: there is no log and none can be created.
            LogUnreadableError: the log exists and cannot be read.
            LogVersionError: a later version wrote the log; nothing was stored.
            BlockingIOError: without `wait`; nothing was done.
        """
        if len(batch) == 1 and self._is_ready() and self._lock.take_at_once(self.size, self._end):
            try:
                return [self._append_one(batch[0])]
            finally:
                self._lock.give_back()
        return append_in_parts(batch, self._append_part, wait=wait)

    def repair(self) -> None:
        """Repair the end of the log: save a torn tail to another file and cut the tail, or add a missing last LF.

        Raises:
            LogError: as for `append`; no byte was removed without a saved copy.
        """
        self.follow()
        if self.file.fd is None:
            raise LogUnreadableError(errno.ENOENT, "there is no log", self.path)
        self._take_lock()
        try:
            check_may_append(self.index, self.path)
            with WAITING:
                if torn := self.torn:
                    self._cut(torn)
                elif self.lacks_newline:
                    self._write_or_take_back(b"\n")
                else:
                    return
                self._sync()
            self.take_in()
        finally:
            self._lock.give_back()

    def _is_ready(self) -> bool:
        """Return whether a record may be written as soon as the file is locked, without any other preparation."""
        file = self.file
        if file.fd is None or self._failure or is_child_of(self._pid):
            return False
        # `is`, not `==`: if the file was opened anew, `_append_part` looks at it again
        is_checked = file.identity is self._checked_identity
        needs_sync_of_path = self._durable and file.identity is not self._synced_identity
        if not is_checked or needs_sync_of_path or file.archive is not None:
            return False
        has_unread_bytes = self.size != self.scanner.offset
        if has_unread_bytes:
            return False
        return self._mark is None or not self._mark.is_due

    def _append_one(self, prepare: Prepare) -> Outcome:
        """Append one caller's records, and return its outcome. The file must be locked, and `_is_ready` be true."""
        scanner = self.scanner
        index = scanner.builder.index
        try:
            bodies = prepare(index)
        except Exception as error:  # noqa: BLE001 - the caller gets the error
            return error
        if len(bodies) != 1 or index.unknown_version or len(bodies[0]) > self.max_record_bytes - SEAL_BYTES:
            part = prepare_part([lambda _: bodies], index, self.max_record_bytes, self.path, bundles=True)
            if part.bodies:
                self._write_records(part.bodies)
            return part.outcomes[0]
        first = len(index.columns.offsets)
        line, crc = seal(bodies[0], scanner.seed)
        if self._durable:
            with WAITING:
                self._write_or_take_back(line)
                self._sync()
        else:
            self._write_or_take_back(line)
        scanner.take_sealed(line, crc)
        self.size = scanner.offset
        self._end = self.known_end = line[-END_BYTES:]
        if scanner.offset - self.covered_bytes >= APPENDED_BYTES:
            self._keep_snapshot(APPENDED_BYTES)
        return range(first, len(index.columns.offsets))

    def _append_part(self, batch: Sequence[Prepare], *, wait: bool) -> list[Outcome]:
        """Append the first part of a batch (`prepare_part`), and return the outcomes of its callers."""
        if self._failure:
            raise LogFailedError(errno.EIO, f"{self._failure}; close() and initialize() read the log anew", self.path)
        file = self.file
        if not wait and file.fd is None:
            raise BlockingIOError(errno.EWOULDBLOCK, "the log is to be opened first", self.path)
        self._open()
        if file.fd is None or file.identity is not self._checked_identity:
            self._check_file()
        if self._durable and self._synced_identity is None:
            check_can_sync(self.path, exists=file.fd is not None)
        if file.fd is None:
            part = prepare_part(batch, self.index, self.max_record_bytes, self.path, bundles=True)
            if not part.bodies:
                return part.outcomes
            self._create()
        self._take_lock(wait=wait)
        try:
            index = self.index
            if torn := self.torn:
                check_may_append(index, self.path)
                if not wait:
                    raise BlockingIOError(errno.EWOULDBLOCK, "the log is to be repaired first", self.path)
                self._cut(torn)
            part = prepare_part(batch, index, self.max_record_bytes, self.path, bundles=True)
            if part.bodies:
                self._write_records(part.bodies)
            return part.outcomes
        finally:
            self._lock.give_back()

    def _take_lock(self, *, wait: bool = True) -> None:
        """Take the log's lock. If the log is archived, bring it back first.

        Raises:
            LogError: as for `AppendLock.take`.
            AppendError: the log cannot be brought back; the lock is not held.
            BlockingIOError: without `wait`, if the log is archived or as for `AppendLock.take`; the lock is not held.
        """
        self._lock.take(wait=wait)
        while self.file.archive is not None:
            self._bring_back(wait=wait)
            self._lock.take()  # of the new file; another process may have archived the log again

    def _bring_back(self, *, wait: bool) -> None:
        """Bring the archived log back as a new file, and open this file. The lock of the old file is released.

        Raises:
            LogError, BlockingIOError: as for `_take_lock`; the lock is released, too.
        """
        try:
            check_may_append(self.index, self.path)
            if not wait:
                raise BlockingIOError(errno.EWOULDBLOCK, "the log is archived, and is brought back first", self.path)
            before = self.file.open_status()
            with WAITING:
                restore_for_append(self.file)
        finally:
            self._lock.give_back()
        self.reopen_same(before)
        self._check_file()

    def _check_file(self) -> None:
        """Check the file that is open, if any. A new file must have a trusted owner; an older one must still exist.

        Raises:
            LogUnreadableError: the file was removed, or another user may have forged it.
        """
        if self.file.fd is None:
            if self._checked_identity is None:
                return
            reason = "the log was removed since this session opened it; put it back, or begin a new session"
            raise LogUnreadableError(errno.ENOENT, reason, self.path)
        if self.file.identity == self._checked_identity:
            return
        if status := self.file.opened_status:
            try:
                check_trust(status, self.path, is_carried_copy=self._is_carried_copy)
            except LogUnreadableError:
                self._let_go()
                raise
        self._checked_identity = self.file.identity

    def _create(self) -> None:
        """Create the log, and missing directories above it.

        Raises:
            LogCreateError: the system refuses.
            LogUnreadableError: another process created the log first, and it cannot be read.
        """
        try:
            make_directories(self.file.files, os.path.dirname(self.path))
            self._open(create=True)
        except LogUnreadableError:
            raise
        except OSError as error:
            reason = f"no log can be created here: {error.strerror}"
            raise LogCreateError(error.errno or errno.EIO, reason, self.path) from error
        self._check_file()

    def _write_records(self, bodies: Sequence[bytes]) -> None:
        seed = self.scanner.seed
        lines = list[bytes]()
        checks = list[int]()
        for body in bodies:
            line, seed = seal(body, seed)
            lines.append(line)
            checks.append(seed)
        parts = [b"".join(lines)]
        if self._durable and len(lines) > 1:
            parts = _synced_parts(bodies, lines)
        if self.lacks_newline:
            parts[0] = b"\n" + parts[0]
        with WAITING:
            for part in parts:
                self._write_or_take_back(part)
                if self._durable:
                    self._sync()
        self._take_written(lines, checks)
        self._keep_snapshot(APPENDED_BYTES)

    def _write_or_take_back(self, data: bytes) -> None:
        """Write all bytes at the end of the file, or no byte.

        Raises:
            AppendError: the write was refused; the file is unchanged.
            LogFailedError: the write was refused, and the file could not be cut back to its former size.
        """
        files = self.file.files
        fd = self.file.descriptor
        before = self.size
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
        code, why = why_refused(error, self.path)
        raise AppendError(code, f"the write was refused ({why}); nothing was stored", self.path) from error

    def _sync(self) -> None:
        """Sync the file to the disk, and for a newly opened file also the directories above it.

        Raises:
            LogFailedError: a sync failed, and nobody knows which bytes are on the disk.
        """
        files = self.file.files
        try:
            files.sync(self.file.descriptor)
            if self._synced_identity != self.file.identity:  # whoever replaced the file may have died before this sync
                for directory in reversed(directories_above(self.path)):
                    files.sync_directory(directory)
        except OSError as error:
            self._fail(f"the sync failed ({error})", error)
        self._synced_identity = self.file.identity

    def _cut(self, torn: TornTail) -> None:
        """Copy the bytes after the last whole record to another file, sync the copy, and cut the bytes (I2).

        Raises:
            AppendError: the bytes cannot be saved, so they were not cut.
            LogFailedError: the bytes cannot be cut.
        """
        files = self.file.files
        fd = self.file.descriptor
        try:
            save_torn_tail(files, fd, self.path, torn)
        except OSError as error:
            reason = f"the torn tail at byte {torn.offset} could not be saved aside ({error.strerror})"
            raise AppendError(error.errno or errno.EIO, f"{reason}; nothing was stored", self.path) from error
        try:
            files.truncate(fd, torn.offset)
        except OSError as error:
            self._fail(f"the torn tail could not be cut ({error})", error)
        self._take_written((), ())

    def _fail(self, reason: str, cause: OSError) -> NoReturn:
        self._failure = f"the log has failed: {reason}; whether the last records are stored is unknown"
        raise LogFailedError(cause.errno or errno.EIO, self._failure, self.path) from cause


def _synced_parts(bodies: Sequence[bytes], lines: Sequence[bytes]) -> list[bytes]:
    """Join the lines of records into parts that must be synced one after the other (`reset_parts`)."""
    cuts = [0, *reset_parts(bodies), len(lines)]
    return [b"".join(lines[start:stop]) for start, stop in pairwise(cuts)]
