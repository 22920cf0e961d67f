"""Telling a file that is no log from a log that is damaged.

A log is damaged if some of its lines are no records; what can be read of it is read. A file of which no line is a
record is a stranger's: it is neither read as an empty session nor repaired nor purged. The beginning of one record is
enough, as a crash during the first append leaves it.

No export, report or chart takes the place of a log, whoever asks for it (`check_replaceable`).
"""

from __future__ import annotations

import errno
import os

import orjson

from ..errors import NotALogError, ReplaceError
from .archive_format import is_archive
from .base import ReadableLog
from .database_location import is_postgres
from .file_handle import beginning
from .record_line import CONTROL_HEAD, MAX_RECORD_BYTES, has_crc
from .salvage import is_record

_BEGINNINGS = (b'{"_record":', b'{"role":')
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")  # gzip, zstd
_FIRST_BYTES = 64  # as many NUL bytes are what a power cut leaves, not the beginning of some other file
_LOG, _MESSAGES = "the log of a session", "a file of a session's messages"


def check_is_log(reader: ReadableLog) -> None:
    """Check that a file that was scanned is a log, or empty.

    Raises:
        NotALogError: no line of it is a record, and it does not begin with the beginning of one.
    """
    if _may_be_strange(reader) and not _begins_as_record(_first_bytes(reader)):
        raise _not_a_log(reader)


def check_may_be_written(log: ReadableLog) -> None:
    """Check that a session may append to a file: it is a log, or what a crash or one flipped bit left of one.

    Raises:
        NotALogError: as `check_is_log`.
    """
    if not _may_be_strange(log):
        return
    first = _first_bytes(log)
    if _begins_as_record(first) or _nearly_begins_as_record(first) or not first.strip(b"\0 \t\r\n"):
        return
    if not _is_torn_record(log):
        raise _not_a_log(log)


def check_replaceable(path: str | os.PathLike[str], *, own: str = "", by_messages: bool = False) -> None:
    """Check that a new file would not take the place of a log, also through a link.

    Args:
        path: the new file's place; other files that are there are the caller's to ask about.
        own: the location of the session's log, which is refused by any name.
        by_messages: the new file holds messages alone, so it may replace another such file.

    Raises:
        ReplaceError: a log is there.
        OSError: what is there cannot be read.
    """
    place = os.path.realpath(os.path.expanduser(path))
    if not os.path.isfile(place):
        return
    if own and os.path.exists(own) and os.path.samefile(place, own):
        what = "the session's log itself"
    else:
        what = _what_of_a_session(place)
        if by_messages and what == _MESSAGES:
            return
    if what:
        why = f"this is {what}, which is not replaced; name another file, or move this one away first"
        raise ReplaceError(errno.EEXIST, why, os.fspath(path))


def _what_of_a_session(path: str) -> str:
    """What a file is: a log, messages without checksums, or empty for any other.

    It is one of them if it begins as a record does, or if most of its lines are records.
    """
    lines = records = sealed = 0
    with open(path, "rb") as file:
        first = file.read(_FIRST_BYTES)
        if is_archive(first, path):
            return _LOG
        begins = _begins_as_record(first) or _nearly_begins_as_record(first)
        file.seek(0)
        while line := file.readline(MAX_RECORD_BYTES):
            line = line.rstrip(b"\n")
            if is_record(line):
                records += 1
                sealed += line.startswith(CONTROL_HEAD) or has_crc(line)
            lines += bool(line)
            if begins and sealed:
                break
    if not begins and 2 * records <= lines:
        return ""
    return _LOG if sealed or first.startswith(CONTROL_HEAD) else _MESSAGES


def _may_be_strange(reader: ReadableLog) -> bool:
    index, described = reader.index, reader.describe()
    if len(index) or index.control_counts or index.headers or not described.size_bytes:
        return False
    return bool(described.location) and not is_postgres(described.location)


def _not_a_log(reader: ReadableLog) -> NotALogError:
    first = _first_bytes(reader)
    why = "no line of it is a record; context-persistent import knows other formats"
    if first.startswith(_COMPRESSED):
        why = "it is compressed; context-persistent import reads it"
    elif b"\0" in first:
        why = "it is a binary file"
    return NotALogError(errno.EINVAL, f"this is not a log: {why}", reader.describe().location)


def _first_bytes(reader: ReadableLog, size: int = _FIRST_BYTES) -> bytes:
    try:
        return beginning(reader.describe().location, size)
    except FileNotFoundError:
        return b""


def _begins_as_record(first: bytes) -> bool:
    return first.startswith(_BEGINNINGS)


def _nearly_begins_as_record(first: bytes) -> bool:
    """Whether all bytes but one are those of a record's beginning."""
    return any(
        sum(a != b for a, b in zip(first, beginning, strict=False)) + max(0, len(beginning) - len(first)) <= 1
        for beginning in _BEGINNINGS
    )


def _is_torn_record(reader: ReadableLog) -> bool:
    """Whether all of a file is one line that begins as a JSON object and does not end as one: a torn first append.

    The keys of a bare message may come in any order. A JSON file of another kind ends with its object.
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
