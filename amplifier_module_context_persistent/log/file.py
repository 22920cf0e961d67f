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

from ..errors import LogError, LogFailedError, LogUnreadableError
from .base import LogDescription, Outcome, Prepare
from .batch import SEAL_BYTES, check_version, prepare_part, reset_parts
from .checkpoint_writer import CheckpointWriter
from .file_writer import FileWriter
from .filesystem import FileSystem, check_can_sync
from .index import Index, TornTail
from .lock import lock_log, try_lock, unlock_log
from .reader import LogReader
from .record import CONTROL_HEAD, FORMAT_VERSION, MAX_RECORD_BYTES, Message, seal
from .trust import OpenedCheck
from .written_records import Written


class FileLog:
    """A log in one file.

    14 public methods: the contract of a log, that of one that keeps checkpoints, and what a repair and tests look at.

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
        files: FileSystem | None = None,
        durability: str = "fsync",
        lock_timeout_s: float = 10.0,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        self._reader = LogReader(path, files=files, max_record_bytes=max_record_bytes, writable=True)
        self._files = self._reader.file.files
        self._durable, self._lock_timeout_s = durability == "fsync", lock_timeout_s
        self._writer = FileWriter(self._reader)
        self._identity: tuple[int, int] | None = None
        """The file that was appended to last."""
        self._opened = OpenedCheck(self._reader)
        self.checkpoint_writer = CheckpointWriter(self._reader)
        self.verified_bytes = self._reader.verified_bytes

    @property
    def path(self) -> str:
        """The file's absolute path."""
        return self._reader.path

    @property
    def index(self) -> Index:
        """The index of what is known; another object after the log was scanned anew."""
        return self._reader.scanner.builder.index

    @property
    def torn(self) -> TornTail | None:
        """What the next append will save aside and cut, as of the last `follow`."""
        return self._reader.torn

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
            self._opened.check()

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse records afresh from their bytes, in the given order."""
        return self._reader.read(ordinals)

    def lines(self, ordinals: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Read records' lines as they were written, without LF, in the given order."""
        return self._reader.lines(ordinals)

    def records(self) -> Iterator[bytes]:
        """Give the line of every record, oldest first, each with its LF."""
        return self._reader.records()

    def describe(self) -> LogDescription:
        """Describe the log as it was when last looked at."""
        return self._reader.describe()

    @property
    def wants_checkpoint(self) -> bool:
        """Whether so much was appended that a checkpoint is worth its writing."""
        return self.checkpoint_writer.is_due

    def write_checkpoint(self) -> None:
        """Write it if it is, where nobody waits for an append; whatever fails is only noted."""
        if not self._writer.failure:
            self.checkpoint_writer.write_if_due()

    def close(self) -> None:
        """Close the file; `follow` and `append` open it anew, also after a failure."""
        if not self._writer.failure:
            self.checkpoint_writer.close()
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
        known, is_refused = None, False
        if len(batch) == 1:
            try:
                known = self._append_as_known(batch[0])
            except BlockingIOError:
                if not wait:
                    raise
                is_refused = True
        if known is not None:
            outcomes = [known]
        else:
            outcomes = self._append_part(batch, wait=wait, is_refused=is_refused) if batch else []
        while len(outcomes) < len(batch):
            rest = batch[len(outcomes) :]
            try:
                outcomes += self._append_part(rest, wait=True)
            except LogError as error:
                outcomes += [error] * len(rest)  # what was acknowledged before stays acknowledged
        return outcomes

    def _append_as_known(self, prepare: Prepare) -> Outcome | None:
        """Append what one caller prepares to a log that is as this object left it; else None, and nothing is done.

        It is what `_append_part` does, without what such a log does not need: nearly every append comes here.

        Raises:
            BlockingIOError: another process holds the lock.
            LogError: as `append`.
        """
        reader, writer = self._reader, self._writer
        scanner, file = reader.scanner, reader.file
        index = scanner.builder.index
        if (
            writer.failure
            or not reader.is_as_known
            or file.identity is not self._identity
            or index.version > FORMAT_VERSION
        ):
            return None
        lock = try_lock(reader)
        try:
            if not file.is_still(reader.size, reader.end):
                return None
            first = len(index.offsets)
            try:
                bodies = prepare(index)
            except Exception as error:  # noqa: BLE001 - it belongs to the caller, who gets it
                return error
            if len(bodies) != 1 or len(body := bodies[0]) + SEAL_BYTES > reader.max_record_bytes:
                part = prepare_part([lambda _: bodies], index, reader.max_record_bytes)
                if part.bodies:
                    self._write_records(part.bodies)
                return part.outcomes(first)[0]
            line, crc = seal(body, scanner.seed)
            writer.write(line)
            if self._durable:
                writer.sync()
            reader.appended_one(body, line, crc)
            self.checkpoint_writer.has_appended = True
            return range(first, first + 1 - body.startswith(CONTROL_HEAD))
        finally:
            unlock_log(reader, lock)

    def _append_part(self, batch: Sequence[Prepare], *, wait: bool, is_refused: bool = False) -> list[Outcome]:
        reader = self._reader
        if failure := self._writer.failure:
            raise LogFailedError(errno.EIO, f"{failure}; close() and initialize() read the log anew", self.path)
        if not wait and reader.file.fd is None:
            raise BlockingIOError(errno.EWOULDBLOCK, "the log is to be opened first", self.path)
        reader.ensure_open()
        self._opened.check()
        if self._durable and self._writer.unsynced_directories is None:
            check_can_sync(self.path, exists=reader.file.fd is not None)
        if reader.file.fd is None:
            part = prepare_part(batch, self.index, reader.max_record_bytes)
            if not part.bodies:
                return part.outcomes(0)
            self._writer.create()
        lock = lock_log(reader, wait=wait, timeout_s=self._lock_timeout_s, is_refused=is_refused)
        try:
            index = self.index
            if reader.file.identity is not self._identity:
                self._notice_replacement()
            if index.version > FORMAT_VERSION:
                check_version(index, self.path)
            if torn := reader.torn:
                if not wait:
                    raise BlockingIOError(errno.EWOULDBLOCK, "the log is to be repaired first", self.path)
                self._writer.repair(torn)
            first = len(index)
            part = prepare_part(batch, index, reader.max_record_bytes)
            if part.bodies:
                self._write_records(part.bodies)
            return part.outcomes(first)
        finally:
            unlock_log(reader, lock)

    def repair(self) -> None:
        """Save a torn tail aside and cut it, or give a last line its LF; nothing where the tail is sound.

        Raises:
            LogError: as `append`; nothing was removed that is not saved.
        """
        reader = self._reader
        reader.follow()
        if reader.file.fd is None:
            raise LogUnreadableError(errno.ENOENT, "there is no log", self.path)
        lock = lock_log(reader, wait=True, timeout_s=self._lock_timeout_s)
        try:
            check_version(self.index, self.path)
            if torn := reader.torn:
                self._writer.repair(torn)
            elif reader.lacks_newline:
                self._writer.write(b"\n")
            else:
                return
            self._writer.sync()
            reader.take_in()
        finally:
            unlock_log(reader, lock)

    # -- under the lock ----------------------------------------------------------------------------------------------

    def _notice_replacement(self) -> None:
        """Sync the directory with the next append to another file: who put it there may have died before that."""
        self._opened.check()
        if self._identity not in (None, self._reader.file.identity) and self._writer.unsynced_directories == []:
            self._writer.unsynced_directories.append(os.path.dirname(self.path))
        self._identity = self._reader.file.identity

    def _write_records(self, bodies: Sequence[bytes]) -> None:
        reader, writer, seed = self._reader, self._writer, self._reader.scanner.seed
        records: list[Written] = []
        lines: list[bytes] = []
        for body in bodies:
            line, seed = seal(body, seed)
            records.append(Written(body, line, seed))
            lines.append(line)
        if reader.lacks_newline:
            lines[0] = b"\n" + lines[0]
        start = 0
        for stop in (*reset_parts(bodies), len(lines)) if self._durable else (len(lines),):
            writer.write(lines[start] if stop - start == 1 else b"".join(lines[start:stop]))
            if self._durable:
                writer.sync()
            start = stop
        reader.appended(records)
        self.checkpoint_writer.has_appended = True
