"""Archive a log: its file is replaced by the compressed form in one step.

Rules:
- The new file is written beside the log, synced and read back; it must give the log's bytes. Only then it is renamed to
  the log's path, under the log's lock. A crash at any moment leaves either the old file or the new one.
- If another process appended since the log was read, the log stays unchanged.
- No session may have the log open while it is archived (`open_mark`). A session that opens it later reads the archive
  directly, and brings the log back before its first append (`bring_back_log`).
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

from ..errors import ArchiveError, LogUnreadableError
from .append_lock import AppendLock
from .archive_format import (
    FRAME_BYTES,
    HEAD,
    LEAST_FRAME_BYTES,
    MOST_FRAME_BYTES,
    Frame,
    frame_of_part,
    index_bytes,
    skippable,
)
from .archived_bytes import archived_bytes
from .atomic_file import NewFile, other_names, remove_other_name
from .contract import Snapshots
from .file_handle import CHUNK_BYTES, FileHandle
from .file_trust import is_own
from .filesystem import FileSystem
from .open_mark import SESSION_IS_OPEN, keep_closed
from .reader import LogReader

LEAST_LOG_BYTES = 16 << 10
"""A smaller log is archived only if the user names it, because it takes a few disk blocks in either form."""
_TORN = "the log's end is torn; `context-persistent repair` saves it aside, then archive it"
_UNKNOWN = "whether the session is open is not known here, since the system gives no locks"


@dataclass(frozen=True, slots=True)
class Archived:
    """The sizes of a log's file before and after it was archived or brought back."""

    bytes_before: int
    bytes_after: int


def archive_log(
    path: str,
    *,
    files: FileSystem | None = None,
    watched: FileSystem | None = None,
    snapshots: Snapshots | None = None,
    lock_timeout_s: float = 10.0,
) -> Archived:
    """Archive a log, and return the sizes of its file before and after.

    Args:
        path: the log's file.
        files: the system calls; tests replace them.
        watched: the system calls for reading the log, which report progress; by default `files`.
        snapshots: keeps the results of scans.
        lock_timeout_s: how long to wait for another process that holds the lock.

    Raises:
        ArchiveError: this log cannot be archived now; the text says why.
        LogError: the log cannot be read or locked.
        OSError: the archive cannot be written. In each case the log is unchanged.
    """
    with (
        keep_closed(path) as is_closed,
        closing(LogReader(path, files=watched or files, writable=True, snapshots=snapshots)) as log,
    ):
        if is_closed is None:
            raise ArchiveError(_UNKNOWN)
        if not is_closed:
            raise ArchiveError(SESSION_IS_OPEN)
        log.follow()
        _check_may_be_archived(log)
        before = log.file.open_status()
        with NewFile(log.path, replace=True, files=files) as new:
            archive_bytes, sha256 = _write_archive(log, new)
            _check_written(new.settle(), archive_bytes, sha256)
            with AppendLock(log, timeout_s=lock_timeout_s):
                if _content_version(log.file.open_status()) != _content_version(before) or log.file.archive is not None:
                    raise ArchiveError("the log was written to by another process; nothing was changed; try again")
                new.finish()
    keep_times_and_snapshots(log.path, before, files, snapshots)  # the snapshot of the scan is written by now
    return Archived(before.st_size, archive_bytes)


def _content_version(status: os.stat_result) -> tuple[int, ...]:
    """Return the parts of a file's status that a write or another name changes. The time of the last read is none."""
    return status.st_dev, status.st_ino, status.st_nlink, status.st_size, status.st_mtime_ns


def _write_archive(log: LogReader, new: NewFile) -> tuple[int, str]:
    """Write the archive of a log to a new file; return the archive's size and the SHA-256 of the log."""
    digest = hashlib.sha256()
    frames = list[Frame]()
    last: Frame | None = None
    new.write(HEAD)
    archive_bytes = len(HEAD)
    for content in _parts(_blocks(log.file, log.size)):
        digest.update(content)
        frame, packed = _frame(content, last, archive_bytes, log.size)
        written = skippable(frame.entry()) + packed
        new.write(written)
        archive_bytes += len(written)
        frames.append(frame)
        last = frame
    index = index_bytes(frames, digest.hexdigest(), archive_bytes)
    new.write(index)
    return archive_bytes + len(index), digest.hexdigest()


def _check_may_be_archived(log: LogReader) -> None:
    if log.file.fd is None:
        raise LogUnreadableError(errno.ENOENT, "there is no such file; check the path", log.path)
    if log.file.archive is not None:
        raise ArchiveError("the log is archived already")
    if log.index.unknown_version:
        raise ArchiveError(f"the log has format version {log.index.unknown_version}; use the version that wrote it")
    if log.torn is not None:
        raise ArchiveError(_TORN)
    status = log.file.open_status()
    if status.st_nlink > 1:
        remove_other_name(log.path, log.file.files)
        status = log.file.open_status()
    refusal = _refusal_of(status)
    if refusal:
        raise ArchiveError(refusal)


def refusal_before_reading(path: str) -> str:
    """Return the reason why a plain log would not be archived, as far as its file's status and end tell; else "".

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        left_by_kill = len(other_names(path, FileSystem()))
        refusal = _refusal_of(os.fstat(file.fileno()), left_by_kill)
        if not refusal and file.seek(0, os.SEEK_END) > 0:
            file.seek(-1, os.SEEK_END)
            refusal = "" if file.read() == b"\n" else _TORN
    return refusal


def _refusal_of(status: os.stat_result, left_by_kill: int = 0) -> str:
    """Return why a file is not archived, or ""; `left_by_kill` of its names are ours, and will be removed."""
    names = status.st_nlink - left_by_kill
    if names > 1:
        return f"the log has {names} names (hard links), so archiving would free nothing"
    if not is_own(status):
        return f"the log belongs to the user with the id {status.st_uid}; archive it as that user"
    return ""


def _blocks(file: FileHandle, size: int) -> Iterator[bytes]:
    return (file.read(offset, min(CHUNK_BYTES, size - offset)) for offset in range(0, size, CHUNK_BYTES))


def _parts(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Split a log into the parts that become frames.

    A part has whole lines, except if a line is longer than a frame.
    """
    waiting = bytearray()
    for block in blocks:
        waiting += block
        while len(waiting) >= FRAME_BYTES:
            cut = waiting.rfind(b"\n", 0, FRAME_BYTES) + 1
            if cut < LEAST_FRAME_BYTES:
                cut = waiting.find(b"\n", FRAME_BYTES) + 1
            if not cut and len(waiting) < MOST_FRAME_BYTES:
                break
            yield bytes(waiting[: cut or MOST_FRAME_BYTES])
            del waiting[: cut or MOST_FRAME_BYTES]
    if waiting:
        yield bytes(waiting)


def _frame(content: bytes, last: Frame | None, offset: int, log_bytes: int) -> tuple[Frame, bytes]:
    """Compress a part of a log; return its frame, and the compressed bytes to write at `offset` of the archive."""
    frame, packed = frame_of_part(content, last, log_bytes)
    return replace(frame, at=offset + len(skippable(frame.entry()))), packed


def _check_written(path: str, file_bytes: int, sha256: str) -> None:
    """Check that a written archive gives back the log's bytes.

    Raises:
        OSError: the archive gives other bytes, or the system refuses.
    """
    with open(path, "rb") as written:

        def read(size: int, offset: int) -> bytes:
            written.seek(offset)
            return written.read(size)

        archive = archived_bytes(read, file_bytes, path)
        if archive is None:
            raise OSError(errno.EIO, "the archive does not hold what was written; it was removed")
        digest = hashlib.sha256()
        for content in archive.contents():
            digest.update(content)
        if archive.index_damage or archive.damaged or archive.put_right or digest.hexdigest() != sha256:
            raise OSError(errno.EIO, "the archive does not give the log back; it was removed")


def keep_times_and_snapshots(
    path: str, before: os.stat_result, files: FileSystem | None, snapshots: Snapshots | None
) -> None:
    """Give the new file the old file's times, by which lists are sorted, and keep snapshots of the log valid.

    Args:
        path: the log's path, with the new file.
        before: the status of the old file.
        files: the system calls; None for the usual ones.
        snapshots: the snapshots of indexes; None if there are none.
    """
    log = FileHandle(path, files)
    try:
        with contextlib.suppress(OSError, NotImplementedError):
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns), follow_symlinks=False)
        if snapshots is not None and log.open(create=False):
            snapshots.follow_file(log.path, before, log.open_status())
    except OSError:
        return  # the snapshot of the log is then no longer valid
    finally:
        log.close()
