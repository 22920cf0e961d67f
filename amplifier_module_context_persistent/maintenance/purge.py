"""Purging: the one way to remove history from a log for good. A new file takes the log's place, chained anew.

Rules:
- What goes is fixed by what the log holds when the purge begins. What stays is written to a new file beside the log
  (mode 0600), synced and read back, while others go on appending. Only then the log is locked: what was appended
  meanwhile is added, and the new file is synced and renamed over the log. A crash leaves the old log or the new one.
- The new file is locked too until all that is done, so nobody appends to a file whose name could still be lost.
- Another purge that comes first ends this one.
- The project's catalogue goes with it, before and after the log is replaced: a search may write it in between.
- What stays keeps its order and its bytes, but for its checksum and what belongs to resets. Bytes that cannot be read
  stay where everything but `everything` is purged. Saved torn tails go when that is asked for.
- The `purge` record that is left holds counts, and nothing of what was removed: not even the pattern.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from ..catalogue.database import CatalogueError, remove_catalogue
from ..errors import LogFailedError, LogUnreadableError, PurgeError
from ..log.atomic_file import remove_other_name
from ..log.filesystem import WINDOWS, FileSystem, unreadable
from ..log.index import Index
from ..log.location import stored_name
from ..log.lock import LogLock
from ..log.not_a_log import check_is_log
from ..log.reader import LogReader
from ..log.record import encode_control
from ..log.torn_tail import save_torn_tail, saved_tails
from .purge_file import PurgeFile
from .purge_options import Purge, PurgeCounts
from .purge_rewrite import Rewrite

_SMALL_BYTES = 1 << 20  # so much of what was appended meanwhile is left for the time under the lock
_MOST_ROUNDS = 20


def plan_purge(path: str, purge: Purge, *, files: FileSystem | None = None) -> PurgeCounts:
    """Count what a purge would remove; writes nothing.

    Raises:
        PurgeError: this log cannot be purged so.
        LogUnreadableError: there is no log, or it cannot be read.
    """
    if stored_name(path) is not None:
        from .purge_stored import plan_stored_purge  # its driver is an extra

        return plan_stored_purge(path, purge)
    reader = _open(path, files, writable=False)
    try:
        counts = _begin(reader, purge)
        if not purge.is_torn_only:
            Rewrite(reader, purge, counts, lambda _body: None, lambda _line: None, time="").run()
        return counts
    finally:
        reader.close()


def purge_log(
    path: str, purge: Purge, *, now: Callable[[], str], files: FileSystem | None = None, lock_timeout_s: float = 10.0
) -> PurgeCounts:
    """Remove history for good; what was removed. Where nothing goes, nothing is written.

    Args:
        path: the log's file, or its location in a database.
        purge: what goes.
        now: gives ISO 8601 timestamps.
        files: the system calls, for tests to replace.
        lock_timeout_s: how long to wait for another process that holds the lock.

    Raises:
        PurgeError: this log cannot be purged so, or another purge came first; nothing was changed.
        AppendError: the system refused; the log is what it was.
        LogFailedError: the log was purged, and the system refused what makes that durable or removes the saved tails.
        LockTimeoutError: another process holds the lock.
        LogUnreadableError: there is no log, or it cannot be read.
    """
    if stored_name(path) is not None:
        from .purge_stored import purge_stored

        return purge_stored(path, purge, now=now, lock_timeout_s=lock_timeout_s)
    reader = _open(path, files, writable=True)
    try:
        with LogLock(reader, timeout_s=lock_timeout_s):  # no append is half written then
            index, counts = reader.index, _begin(reader, purge)
            if purge.is_torn_only:
                _remove_tails(reader)
                return counts
        _check_file(reader)
        time = now()
        with PurgeFile(reader) as new:
            rewrite = Rewrite(reader, purge, counts, new.lines.put, new.lines.put_raw, time=time)
            end = reader.scanner.offset
            with new.refusing():
                rewrite.run()
                if counts.is_nothing:
                    return counts
                new.sync()
                new.follow()
                for _ in range(_MOST_ROUNDS):
                    reader.follow()
                    _check_same(reader, index)
                    if reader.scanner.offset - end < _SMALL_BYTES:
                        break
                    rewrite.take_appended(reader.whole_lines(end))
                    end = reader.scanner.offset
                    new.sync()
                    new.follow()
            with LogLock(reader, timeout_s=lock_timeout_s):
                _check_same(reader, index)
                with new.refusing():
                    _finish(reader, new, rewrite, purge, counts, end, time)
                _settle(reader, purge)
        return counts
    finally:
        reader.close()


def _open(path: str, files: FileSystem | None, *, writable: bool) -> LogReader:
    reader = LogReader(path, files=files, writable=writable)
    reader.follow()
    if reader.file.fd is None:
        raise LogUnreadableError(errno.ENOENT, "there is no such file; check the path", reader.path)
    try:
        check_is_log(reader)
    except LogUnreadableError:
        reader.close()
        raise
    return reader


def _begin(reader: LogReader, purge: Purge) -> PurgeCounts:
    """Count what lies beside the log's records, and refuse a log that this version does not know."""
    if reader.index.unknown_version:
        raise PurgeError(f"the log has format version {reader.index.unknown_version}; use the version that wrote it")
    tails = saved_tails(reader.path)
    counts = PurgeCounts(bytes_before=reader.size)
    if purge.torn:
        counts.saved_tails = len(tails)
        counts.torn_bytes = reader.torn.torn_bytes if reader.torn and not purge.is_torn_only else 0
    elif purge.redact is not None:
        counts.tails_matching = sum(_matches(reader.file.files, name, purge) for name in tails)
    return counts


def _matches(files: FileSystem, name: str, purge: Purge) -> bool:
    """Whether a saved tail holds what is to be redacted."""
    try:
        fd = files.open_readonly(name)
    except OSError:
        return False
    try:
        content = files.read(fd, files.fstat(fd).st_size, 0).decode("utf-8", "surrogateescape")
    finally:
        files.close(fd)
    return purge.redact is not None and purge.redact(content) != content


def _check_file(reader: LogReader) -> None:
    """Refuse a file whose content would stay elsewhere, or get into other hands, when its name gets a new one."""
    files = reader.file.files
    try:
        status = files.fstat(reader.file.descriptor)
        if status.st_nlink > 1:
            remove_other_name(reader.path, files)
            status = files.fstat(reader.file.descriptor)
    except OSError as error:
        raise unreadable(error, reader.path) from error
    if status.st_nlink > 1:
        raise PurgeError(f"the log has {status.st_nlink} names (hard links); remove the others first, then purge")
    if not WINDOWS and status.st_uid != os.geteuid():
        raise PurgeError(f"the log belongs to the user with the id {status.st_uid}; purge it as that user")


def _check_same(reader: LogReader, index: Index) -> None:
    if reader.index is not index:
        raise PurgeError("the log was purged, replaced or damaged meanwhile; nothing was changed; try again")


def _finish(
    reader: LogReader, new: PurgeFile, rewrite: Rewrite, purge: Purge, counts: PurgeCounts, end: int, time: str
) -> None:
    """Under the lock: add what was appended, and put the new file in the log's place."""
    rewrite.take_appended(reader.whole_lines(end))
    new.lines.put(encode_control("purge", time=time, mode=purge.mode, **counts.to_record()))
    new.sync()
    new.check(rewrite.expected())
    if (torn := reader.torn) and not purge.torn:
        save_torn_tail(reader.file.files, reader.file.descriptor, reader.path, torn)
    try:
        remove_catalogue(reader.path)
    except CatalogueError as error:
        raise PurgeError(f"the catalogue cannot be removed ({error}); nothing was changed; try again") from error
    new.take_place()


def _settle(reader: LogReader, purge: Purge) -> None:
    """Make the new file's name durable, then remove the saved tails if that was asked for."""
    try:
        reader.file.files.sync_directory(os.path.dirname(reader.path))
    except OSError as error:
        reason = f"the log was purged, but that may not survive a power cut ({error}); run the purge again"
        raise LogFailedError(error.errno or errno.EIO, reason, reader.path) from error
    try:
        remove_catalogue(reader.path)
    except (CatalogueError, OSError) as error:
        reason = f"the log was purged, but the catalogue may still hold traces of it ({error}); run the purge again"
        raise LogFailedError(errno.EIO, reason, reader.path) from error
    if purge.torn:
        _remove_tails(reader)


def _remove_tails(reader: LogReader) -> None:
    files = reader.file.files
    try:
        for name in saved_tails(reader.path):
            files.remove(name)
        files.sync_directory(os.path.dirname(reader.path))
    except OSError as error:
        reason = f"the saved torn tails could not all be removed ({error}); run the purge again"
        raise LogFailedError(error.errno or errno.EIO, reason, reader.path) from error
