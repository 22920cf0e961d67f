"""Copy a log in its form: the file of an archived log as that file, and any other log plain.

So the copy of an archived log never needs the room of the plain log.
"""

from __future__ import annotations

from contextlib import closing, suppress

from ....errors import DamagedArchiveError
from ....log.atomic_file import NewFile
from ....log.contract import ReadableLog
from ....log.database_location import stored_name
from ....log.file_handle import FileHandle, is_archived
from ....log.open_reader import file_reader
from ....log.reader import LogReader
from ....sessions.raw_records import read_log
from ..archive_session import archive_like
from ..copy_log import copy_log
from ..damaged_log import check_sound

_BLOCK_BYTES = 1 << 20


def copy_in_form(source: str, target: str, *, only_sound: bool = False) -> int:
    """Copy a log in its form, and return the size of the copy in bytes.

    Args:
        source: the log's file, or its location in a database.
        target: the copy's file or location, which must be free.
        only_sound: refuse a damaged log.

    Raises:
        DamagedLogError: the log is damaged, and `only_sound` is set.
        LogUnreadableError, FileExistsError, OSError: the errors of `copy_log`; nothing is left of the copy.
    """
    are_files = stored_name(source) is None and stored_name(target) is None
    if are_files and is_archived(source):
        with closing(LogReader(source)) as reader:
            with suppress(DamagedArchiveError):  # it is copied unchanged, like any damaged log
                read_log(reader)
            if only_sound:
                check_sound(reader)
            if reader.file.archive is not None:  # else the session has gone on since it was archived
                return _copy_file(reader.file, reader.file.archive.file_bytes, target)
    size = copy_log(source, target, only_sound=only_sound).size_bytes
    archive_like(source, target)
    return size


def size_in_form(reader: ReadableLog, target: str) -> int:
    """Return the size in bytes that the copy of a log would have at `target`. The log was read already."""
    file = file_reader(reader)
    if file is not None and file.file.archive is not None and stored_name(target) is None:
        return file.file.archive.file_bytes
    described = reader.describe()
    return described.size_bytes - described.torn_bytes


def _copy_file(file: FileHandle, size: int, target: str) -> int:
    """Copy the file of an archived log byte for byte, and return its size. The copy appears whole or not at all."""
    with NewFile(target, with_directories=True, reads_back=True, needed_bytes=size) as new:
        for offset in range(0, size, _BLOCK_BYTES):
            new.write(file.read_file(offset, min(_BLOCK_BYTES, size - offset)))
        new.finish()
    return size
