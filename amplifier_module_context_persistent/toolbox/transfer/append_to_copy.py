"""Bringing a copy of a log up to the log: what is new is appended, record by record, with the bytes that it has there.

Rules:
- Each record has to continue the copy's chain of checksums, which is looked at under the copy's lock. The first record
  that does not ends it.
- A kill leaves a copy that ends earlier, and the next run goes on from there.
- A session that is open is not written to, and no session opens it meanwhile (`open_mark.keep_closed`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import cast

from ...errors import ContextPersistentError
from ...log.base import Log, Prepare, ReadableLog
from ...log.database_location import stored_name
from ...log.index import Index
from ...log.open_log import open_log
from ...log.open_mark import keep_closed
from ...log.open_reader import file_reader, open_reader
from ...log.record_line import CRC_TAIL_BYTES, has_crc, seal, stored_crc
from ...sessions.open_files import is_held
from ...sessions.raw_records import StoredLog

_BATCH_BYTES = 4 << 20
_END_BYTES = 32
OPEN = "the session is open there; close it, and sync again"
MEANWHILE = "it was written to meanwhile; sync again"


class SyncError(ContextPersistentError, ValueError):
    """A session cannot be brought in step now; nothing of it is lost on either side."""


def append_to_copy(source: str, target: str) -> int:
    """Append to a copy what a log has beyond it; how many bytes.

    Args:
        source: the log, which may be open; only whole records are read.
        target: the copy that is the beginning of it.

    Raises:
        SyncError: a session has the copy open, or it is no beginning any more; or a record of the log is damaged.
        LogError: one of them cannot be read or written.
    """
    with kept_closed(target), closing(open_reader(source)) as reader, closing(open_log(target)) as log:
        reader.follow()
        log.follow()
        return _append(log, _beyond(reader, log))


@contextmanager
def kept_closed(log: str) -> Iterator[None]:
    """Keep sessions from opening a log while a block lasts; one in a database is not kept.

    Raises:
        SyncError: a session has it open.
    """
    with ExitStack() as stack:
        if stored_name(log) is None:
            is_closed = stack.enter_context(keep_closed(log))
            if is_closed is False or is_held(log):
                raise SyncError(OPEN)
        yield


def whole_lines(reader: ReadableLog) -> Iterator[bytes]:
    """The lines of a log's records without LF; no torn tail is among them."""
    return (line.removesuffix(b"\n") for line in reader.records())


def _beyond(reader: ReadableLog, log: ReadableLog) -> Iterator[bytes]:
    """The lines that a log has beyond its copy.

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
    """Append lines that continue a log's chain of checksums; how many bytes.

    Raises:
        SyncError: one does not, or somebody else wrote to the log.
        LogError: the log cannot be written.
    """
    before, appended = _seed_of(log), 0
    batch, size = list[tuple[bytes, int]](), 0
    for line in lines:
        if not has_crc(line) or seal(line[:-CRC_TAIL_BYTES], before)[0] != line + b"\n":
            _append_batch(log, batch)
            raise SyncError("the longer copy is damaged from here on; `context-persistent verify` says where")
        batch.append((line[:-CRC_TAIL_BYTES], before))
        before = stored_crc(line) or 0
        size += len(line) + 1
        if size > _BATCH_BYTES:
            _append_batch(log, batch)
            appended, size = appended + size, 0
            batch.clear()
    _append_batch(log, batch)
    return appended + size


def _append_batch(log: Log, batch: Sequence[tuple[bytes, int]]) -> None:
    """Append records, each with the checksum of the one before it; no frame gets around several.

    Raises:
        SyncError: somebody else wrote to the log.
        LogError: the log cannot be written.
    """
    for outcome in log.append([_prepared(log, batch, at) for at in range(len(batch))]):
        if isinstance(outcome, Exception):
            raise outcome


def _prepared(log: Log, batch: Sequence[tuple[bytes, int]], at: int) -> Prepare:
    """Makes the function that appends one record of a batch, if the log ends with an earlier record of the batch."""
    body = batch[at][0]

    def prepare(_: Index) -> list[bytes]:
        if _seed_of(log) not in {before for _, before in batch[: at + 1]}:
            raise SyncError(MEANWHILE)
        return [body]

    return prepare


def _seed_of(log: Log) -> int:
    """The checksum that the next record of a log continues."""
    return cast("StoredLog", log).scanner.seed  # every stored log is scanned
