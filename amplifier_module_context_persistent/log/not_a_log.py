"""Distinguish a file that is not a log from a damaged log.

In a damaged log some lines are not records; the others are read. If no line of a file is a record, it is foreign: it is
not read as an empty session, not repaired and not purged. The beginning of one record is enough to be a log, because a
crash during the first append may leave no more. An archive whose frames are damaged is a log too, but no record of it
can be read: the error names the damage.
"""

from __future__ import annotations

import errno

import orjson

from ..errors import DamagedArchiveError, LogUnreadableError, NotALogError
from .archive_format import is_cut_in_head
from .contract import ReadableLog
from .database_location import is_postgres
from .file_handle import beginning
from .reader import LogReader
from .record_limits import MAX_RECORD_BYTES

_BEGINNINGS = (b'{"_record":', b'{"role":')
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")  # gzip, zstd
FIRST_BYTES = 64  # if all of these are NUL bytes, a power cut left them, and it is not another kind of file


def check_is_log(reader: ReadableLog) -> None:
    """Check that a file that was scanned is a log, or empty.

    Raises:
        DamagedArchiveError: it is archived, and no record can be read because the archive is damaged.
        NotALogError: no line of it is a record, and it does not begin with the beginning of one.
    """
    if _may_be_strange(reader) and not begins_as_record(_first_bytes(reader)):
        raise _not_a_log(reader)


def check_may_be_written(log: ReadableLog) -> None:
    """Check that a session may append to a file: a log, or what a crash or a flipped bit left of a log.

    Raises:
        DamagedArchiveError, NotALogError: as `check_is_log`.
    """
    if not _may_be_strange(log):
        return
    first = _first_bytes(log)
    if begins_as_record(first) or nearly_begins_as_record(first) or not first.strip(b"\0 \t\r\n"):
        return
    if not _is_torn_record(log):
        raise _not_a_log(log)


def _may_be_strange(reader: ReadableLog) -> bool:
    index = reader.index
    described = reader.describe()
    if len(index) or index.control_counts or index.headers or not described.size_bytes:
        return False
    return bool(described.location) and not is_postgres(described.location)


def _not_a_log(reader: ReadableLog) -> LogUnreadableError:
    archive = reader.file.archive if isinstance(reader, LogReader) else None
    if archive is not None and archive.damaged:
        why = f"the archive is damaged: {archive.first_damage()}; put a backup in its place, or delete the session"
        return DamagedArchiveError(errno.EIO, why, reader.describe().location)
    first = _first_bytes(reader)
    why = "no line of it is a record; context-persistent import knows other formats"
    if is_cut_in_head(first):
        why = f"the archive is damaged: it is cut after {len(first)} bytes; put a backup in its place, or delete the "
        why += "session"
        return DamagedArchiveError(errno.EIO, why, reader.describe().location)
    if first.startswith(_COMPRESSED):
        why = "it is compressed; context-persistent import reads it"
    elif b"\0" in first:
        why = "it is a binary file"
    return NotALogError(errno.EINVAL, f"this is not a log: {why}", reader.describe().location)


def _first_bytes(reader: ReadableLog, size: int = FIRST_BYTES) -> bytes:
    try:
        return beginning(reader.describe().location, size)
    except FileNotFoundError:
        return b""


def begins_as_record(first: bytes) -> bool:
    """Return whether the bytes are the beginning of a record."""
    return first.startswith(_BEGINNINGS)


def nearly_begins_as_record(first: bytes) -> bool:
    """Return whether the bytes differ from the beginning of a record in at most one byte."""
    return any(_different_bytes(first, expected) <= 1 for expected in _BEGINNINGS)


def _different_bytes(first: bytes, expected: bytes) -> int:
    """Count the bytes of a beginning that are missing or different."""
    missing = max(0, len(expected) - len(first))
    return missing + sum(byte != other for byte, other in zip(first, expected, strict=False))


def _is_torn_record(reader: ReadableLog) -> bool:
    """Return whether a file is a torn first append: one line that begins a JSON object and does not end it.

    The keys of a message may be in any order, so the first bytes need not be those of a known record. A JSON file of
    another kind is complete.
    """
    described = reader.describe()
    if described.size_bytes > MAX_RECORD_BYTES:
        return False
    content = _first_bytes(reader, MAX_RECORD_BYTES)
    if b"\n" in content or not content.lstrip(b" \t\r").startswith(b"{"):
        return False
    try:
        orjson.loads(content)
    except orjson.JSONDecodeError:
        return True
    return False
