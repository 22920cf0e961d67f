"""Purge a log, the only way to erase history: replace the log by a new file with a new chain of checksums.

Rules:
- The messages to remove are chosen when the purge begins. The other records are written to a new file beside the log
  (mode 0600), synced and read back, while others continue to append. Then the log is locked, the records that were
  appended since then are added, and the new file is synced and renamed over the log. A crash leaves the old log or the
  new one.
- The new file is locked until the end, so that nobody appends to a file whose name could still be lost.
- If another purge finishes first, this one fails.
- The project's catalogue (data computed from its logs, which could reveal removed content) is deleted before and after
  the log is replaced, because a search may write it in between.
- Remaining records keep their order and bytes, except for checksums and the records of resets. Unreadable bytes stay,
  unless `everything` is purged. Saved torn tails are removed only with `torn`.
- The `purge` record in the new log has counts, and no trace of the removed content: not even the pattern.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from ...errors import PurgeError
from ...log.append_lock import AppendLock
from ...log.contract import ReadableLog, leftover_lines
from ...log.database_location import stored_name
from ...log.filesystem import FileSystem, open_regular
from ...log.open_reader import file_reader, open_reader
from ...log.reader import LogReader
from ...log.record_line import encode_control
from ...log.save_torn_tail import saved_tails
from ...log.scanner import Scanner
from ...messages.replace_in_message import Replace
from ...sessions.raw_records import StoredLog, read_log
from ...sessions.transcript import header_session_id, log_id_in
from .chained_lines import ChainedLines, NoLines
from .plan_redaction import LookingScanner
from .purge_options import Purge, PurgeCounts
from .purge_rewrite import SCANNER, Rewrite, check_written
from .redact_raw_bytes import holds_match
from .reused_scan import KnownScan
from .swap_in_new_file import NewLogFile, remove_tails

if TYPE_CHECKING:
    from .swap_in_new_rows import NewLogRows


@dataclass(frozen=True, slots=True)
class PurgePlan:
    """The counts of what a purge would remove from a log, and the log's scan for the purge to reuse."""

    counts: PurgeCounts
    known: KnownScan | None
    """The scan of the log's file; None for a log in a database, and if there is nothing to remove."""
    session_id: str | None = None
    """The id of the session in the log's header, or None if the header has no id."""
    log_id: str = ""
    """The id of the log in its header; empty if the header has none."""


def plan_purge(path: str, purge: Purge, *, files: FileSystem | None = None) -> PurgePlan:
    """Count the records that a purge would remove. Nothing is written.

    Raises:
        PurgeError: this log cannot be purged in this way.
        LogUnreadableError: the log does not exist or cannot be read.
    """
    with closing(_open_to_plan(path, purge, files)) as reader:
        _follow(reader)
        session_id, log_id = header_session_id(reader.index.headers), log_id_in(reader.index.headers)
        if purge.is_torn_only:
            _count_beside(reader, purge, counts := PurgeCounts())
            return PurgePlan(counts, None, session_id, log_id)
        scanner = reader.scanner
        rewrite = scanner.finished_pass if isinstance(scanner, LookingScanner) else None
        if rewrite is None:
            rewrite = Rewrite(reader, purge, PurgeCounts(), NoLines(), time="")
            rewrite.run()
        counts = rewrite.counts
        _count_beside(reader, purge, counts)
        counts.messages_kept = len(reader.index) - counts.messages_removed
        file = file_reader(reader)
        if counts.is_nothing or file is None:
            return PurgePlan(counts, None, session_id, log_id)
        return PurgePlan(counts, KnownScan(file, purge, rewrite.unaltered), session_id, log_id)


def _open_to_plan(path: str, purge: Purge, files: FileSystem | None) -> StoredLog:
    """Open the reader for a plan. For a redaction of a file, the reader also searches each line."""
    if stored_name(path) is not None:
        return cast("StoredLog", open_reader(path, files=files, trusting=False))
    if purge.redact is None:
        return LogReader(path, files=files, new_scanner=SCANNER)

    def begin(scanner: Scanner) -> Rewrite:
        return Rewrite(reader, purge, PurgeCounts(), NoLines(), time="", scanner=scanner)

    reader = LogReader(path, files=files, new_scanner=partial(LookingScanner, begin=begin))
    return reader


def purge_log(
    path: str,
    purge: Purge,
    *,
    now: Callable[[], str],
    known: KnownScan | None = None,
    note: Callable[[ReadableLog], str] = lambda _: "",
    files: FileSystem | None = None,
    lock_timeout_s: float = 10.0,
) -> PurgeCounts:
    """Remove records or texts from a log, and return the counts. Write nothing if there is nothing to remove.

    Args:
        path: the log's file, or its location in a database.
        purge: what to remove.
        now: gives ISO 8601 timestamps.
        known: the scan of the log's file that the plan made.
        note: is called with the log after it was read, before anything changes; returns the salt of the erasure's line
            in the lists of erasures, or an empty text. If it raises, the purge ends.
        files: the system calls; tests replace them, and they report the progress of reading.
        lock_timeout_s: the longest wait for another process that holds the lock.

    Raises:
        PurgeError: this log cannot be purged in this way, or another purge came first; nothing was changed.
        AppendError: the system or the server refused; the log is unchanged.
        LogFailedError: the log was purged, but the system refused to make that durable or to remove the saved tails; or
            a server did not say whether it was purged.
        LockTimeoutError: another process holds the lock.
        LogUnreadableError: there is no log, or it cannot be read.
    """
    if stored_name(path) is not None:
        from .swap_in_new_rows import NewLogRows, open_rows  # its driver is an extra

        with closing(open_rows(path, lock_timeout_s, files)) as stored:
            _follow(stored)
            counts = PurgeCounts()
            _count_beside(stored, purge, counts)
            if not purge.is_torn_only:
                salt = note(stored)
                rows = NewLogRows(stored, path, lock_timeout_s)
                _rewrite(stored, purge, counts, rows, time=now(), salt=salt)
            return counts
    with closing(LogReader(path, files=files, writable=True, snapshots=known, new_scanner=SCANNER)) as reader:
        _follow(reader)
        counts = PurgeCounts()
        with AppendLock(reader, timeout_s=lock_timeout_s):  # under the lock no append is half written
            _count_beside(reader, purge, counts)
            if purge.is_torn_only:
                remove_tails(reader)
                return counts
        salt = note(reader)
        file = NewLogFile(reader, purge, lock_timeout_s)
        _rewrite(reader, purge, counts, file, time=now(), salt=salt, known=known)
        return counts


def _rewrite(
    log: StoredLog,
    purge: Purge,
    counts: PurgeCounts,
    new: NewLogFile | NewLogRows,
    time: str,
    salt: str,
    known: KnownScan | None = None,
) -> None:
    """Write the remaining records to a new log, and replace the old log. Do nothing if there is nothing to remove.

    Raises:
        PurgeError: another process purged or replaced the log, or the log was damaged; nothing was changed.
    """
    index = log.index
    unaltered = known.unaltered_in(index, purge) if known is not None else {}
    with new, new.refusing():
        lines = ChainedLines(new.write)
        rewrite = Rewrite(log, purge, counts, lines, time=time, unaltered=unaltered)
        end = log.scanner.offset
        rewrite.run()
        if counts.is_nothing:
            return
        new.read_back()
        with new.holding():
            if log.index is not index:
                raise PurgeError(
                    "the log was purged or replaced by another process, or damaged; nothing was changed; try again"
                )
            rewrite.take_appended(log.whole_lines(end))
            erasure = {"erasure": salt} if salt else {}
            lines.put(encode_control("purge", time=time, mode=purge.mode, **erasure, **counts.to_record()))
            check_written(new.read_back(), rewrite.expected())
            new.take_place()


def _follow(reader: ReadableLog) -> None:
    """Read the whole log before its purge.

    Raises:
        PurgeError: the log's format version is unknown.
        LogUnreadableError: there is no log, or it cannot be read.
    """
    read_log(reader)
    version = reader.index.unknown_version
    if version:
        raise PurgeError(f"the log has format version {version}; use the version that wrote it")


def _count_beside(reader: ReadableLog, purge: Purge, counts: PurgeCounts) -> None:
    """Count the log's bytes, the torn tails that the purge affects, and rows that an earlier log of this name left."""
    counts.bytes_before = reader.describe().size_bytes
    file = file_reader(reader)
    if file is None:
        counts.leftover_lines = 0 if purge.is_torn_only else leftover_lines(reader)
        return
    tails = saved_tails(file.path)
    if purge.torn:
        counts.saved_tails = len(tails)
        counts.torn_bytes = 0
        if file.torn and not purge.is_torn_only:
            counts.torn_bytes = file.torn.torn_bytes
    elif purge.redact is not None:
        counts.tails_matching = len(matching_tails(file.path, purge.redact))
        if file.torn is not None:  # the purge saves this tail aside
            tail = file.file.read(file.torn.offset, file.torn.torn_bytes)
            counts.tails_matching += holds_match(tail, purge.redact)


def matching_tails(log: str, replace: Replace) -> list[str]:
    """Return the paths of the torn tails saved beside a log that contain text to be redacted."""
    return [tail for tail in saved_tails(log) if _matches(tail, replace)]


def _matches(name: str, replace: Replace) -> bool:
    """Return whether a saved tail contains text to be redacted; False if the file cannot be read."""
    try:
        with open_regular(name) as file:
            content = file.read()
    except OSError:
        return False
    return holds_match(content, replace)
