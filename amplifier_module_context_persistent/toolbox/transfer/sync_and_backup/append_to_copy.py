"""Append a log's new records to a copy of the log, with the same bytes.

Rules:
- Each new record must continue the copy's chain of checksums; this is checked while the copy is locked. The first
  record that does not continue it ends the append.
- If the command is killed, the copy ends earlier, and the next run continues from there.
- A copy that a session has open is not changed, and no session can open it during the append (`open_mark.keep_closed`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import cast

from ....errors import ContextPersistentError
from ....log.checksum import CRC_TAIL_BYTES, has_crc, seal, stored_crc
from ....log.contract import Log, Prepare, ReadableLog
from ....log.database_location import stored_name
from ....log.index import Index
from ....log.open_log import open_log
from ....log.open_mark import keep_closed
from ....log.open_reader import file_reader, open_reader
from ....sessions.raw_records import StoredLog
from ....sessions.session_is_open import is_held

_BATCH_BYTES = 4 << 20
_END_BYTES = 32
OPEN = "the session is open there; close it, and sync again"
MEANWHILE = "it was written to by another process; sync again"


class SyncError(ContextPersistentError, ValueError):
    """The two copies of a session cannot be synchronized now; both are unharmed."""


def append_to_copy(source: str, target: str, *, in_this_home: bool) -> int:
    """Append the records that a log has beyond its copy to the copy, and return the number of appended bytes.

    Args:
        source: the log, which may be open; only whole records are read.
        target: the copy, which has the first records of the log.
        in_this_home: whether the copy is in this user's home; otherwise it is in a place that the user trusts, also if
            its disk keeps no permissions (`log/file_trust.py`).

    Raises:
        SyncError: a session has the copy open, the copy is not the beginning of the log any more, or a record of the
            log is damaged.
        LogError: the log cannot be read, or the copy cannot be written.
    """
    copy = open_log(target, is_carried_copy=not in_this_home)
    with kept_closed(target), closing(open_reader(source)) as reader, closing(copy) as log:
        reader.follow()
        log.follow()
        return _append(log, _beyond(reader, log))


@contextmanager
def kept_closed(log: str) -> Iterator[None]:
    """Prevent sessions from opening a log in a file while a `with` block lasts. A log in a database is not protected.

    Raises:
        SyncError: a session has the log open.
    """
    with ExitStack() as stack:
        if stored_name(log) is None:
            is_closed = stack.enter_context(keep_closed(log))
            if is_closed is False or is_held(log):
                raise SyncError(OPEN)
        yield


def whole_lines(reader: ReadableLog) -> Iterator[bytes]:
    """Yield the line of each record of a log, without the LF. A torn tail is left out."""
    return (line.removesuffix(b"\n") for line in reader.records())


def _beyond(reader: ReadableLog, log: ReadableLog) -> Iterator[bytes]:
    """Return an iterator over the lines that a log has beyond its copy.

    Args:
        reader: the log.
        log: the copy.

    Raises:
        SyncError: the copy is not the beginning of the log.
    """
    source, target = file_reader(reader), file_reader(log)
    if source is not None and target is not None:
        end = target.scanner.offset - target.lacks_newline
        known = target.file.before(end, _END_BYTES)
        if not end or source.file.before(end, _END_BYTES) != known:
            raise SyncError(MEANWHILE)
        return (line.content for line in source.whole_lines(target.scanner.offset))
    lines = whole_lines(reader)
    for line in whole_lines(log):
        if next(lines, None) != line:
            raise SyncError(MEANWHILE)
    return lines


def _append(log: Log, lines: Iterator[bytes]) -> int:
    """Append lines that continue a log's chain of checksums, and return the number of appended bytes.

    Raises:
        SyncError: a line does not continue the chain, or another process wrote to the log.
        LogError: the log cannot be written.
    """
    before = _seed_of(log)
    appended = 0
    batch = list[tuple[bytes, int]]()
    size = 0
    for line in lines:
        if not has_crc(line) or seal(line[:-CRC_TAIL_BYTES], before)[0] != line + b"\n":
            _append_batch(log, batch)
            raise SyncError("the longer copy is damaged from here on; `context-persistent verify` says where")
        batch.append((line[:-CRC_TAIL_BYTES], before))
        before = stored_crc(line) or 0
        size += len(line) + 1
        if size > _BATCH_BYTES:
            _append_batch(log, batch)
            appended = appended + size
            size = 0
            batch.clear()
    _append_batch(log, batch)
    return appended + size


def _append_batch(log: Log, batch: Sequence[tuple[bytes, int]]) -> None:
    """Append records, each paired with the checksum of the record before it.

    Each record is appended by a caller of its own (`Prepare`), so that no bundle is made of several messages.

    Raises:
        SyncError: another process wrote to the log.
        LogError: the log cannot be written.
    """
    for outcome in log.append([_prepared(log, batch, at) for at in range(len(batch))]):
        if isinstance(outcome, Exception):
            raise outcome


def _prepared(log: Log, batch: Sequence[tuple[bytes, int]], at: int) -> Prepare:
    """Return a function that prepares one record of a batch for appending.

    The function raises SyncError if another process wrote to the log: the log must end right before the batch, or with
    an earlier record of the batch.
    """
    body = batch[at][0]

    def prepare(_: Index) -> list[bytes]:
        if _seed_of(log) not in {before for _, before in batch[: at + 1]}:
            raise SyncError(MEANWHILE)
        return [body]

    return prepare


def _seed_of(log: Log) -> int:
    """Return the checksum that the next record of a log must continue."""
    return cast("StoredLog", log).scanner.seed  # every stored log is scanned
