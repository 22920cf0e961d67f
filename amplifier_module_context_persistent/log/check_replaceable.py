"""Check that a new file does not take the place of a log: no export, report or chart may replace one."""

from __future__ import annotations

import errno
import os

from ..errors import ReplaceError
from .checksum import has_crc
from .file_handle import is_open_archive
from .not_a_log import FIRST_BYTES, begins_as_record, nearly_begins_as_record
from .record_limits import MAX_RECORD_BYTES
from .record_line import CONTROL_HEAD
from .salvage import is_record

_LOG, _MESSAGES = "the log of a session", "a file of a session's messages"


def check_replaceable(path: str | os.PathLike[str], *, own: str = "", by_messages: bool = False) -> None:
    """Check that a new file would not take the place of a log, also through a link.

    Args:
        path: the path of the new file. The caller asks about existing files that are not logs.
        own: the location of the session's log, which is refused under any name.
        by_messages: whether the new file has only messages, so that it may replace another such file.

    Raises:
        ReplaceError: the existing file is a log.
        OSError: the existing file cannot be read.
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
    """Return the kind of a file: `_LOG`, `_MESSAGES` (messages without checksums), or "" for any other file.

    A file is of one of the first two kinds if it begins like a record, or if most of its lines are records.
    """
    lines = 0
    records = 0
    has_own_record = False  # a control record, or a record with a checksum
    with open(path, "rb") as file:
        if is_open_archive(file, path):
            return _LOG
        file.seek(0)
        first = file.read(FIRST_BYTES)
        has_its_head = begins_as_record(first) or nearly_begins_as_record(first)
        file.seek(0)
        while line := file.readline(MAX_RECORD_BYTES):
            line = line.rstrip(b"\n")
            if line:
                lines += 1
            if is_record(line):
                records += 1
                has_own_record = has_own_record or line.startswith(CONTROL_HEAD) or has_crc(line)
            if has_its_head and has_own_record:
                break
    if not has_its_head and 2 * records <= lines:
        return ""
    if has_own_record or first.startswith(CONTROL_HEAD):
        return _LOG
    return _MESSAGES
