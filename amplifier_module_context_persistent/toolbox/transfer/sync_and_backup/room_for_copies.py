"""Compute the room that copies of sessions need on a disk, before anything is written.

The figures are upper bounds. They count everything that is written: the log, the plain log of an archived copy that
grows, the new file of a log that is replaced, and the host's transcript, which is written anew beside the old one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from ....log.database_location import stored_name
from ....log.file_handle import size_of_log
from ....log.open_reader import open_reader
from ..archive_session import is_archived_session
from ..host_files.files_beside_log import TRANSCRIPT_NAME
from ..host_files.host_transcript_lines import most_transcript_bytes
from ..host_files.write_host_files import has_own_metadata_only, is_unfinished


@dataclass(frozen=True, slots=True)
class Room:
    """The room that one change of a session's files needs."""

    lasting_bytes: int = 0
    """The bytes that the session takes more after the change."""
    passing_bytes: int = 0
    """The further bytes that are free again after the change."""


def room_of_all(rooms: Iterable[Room]) -> int:
    """Return the bytes that changes need if they are made one after the other."""
    lasting = passing = 0
    for room in rooms:
        lasting += room.lasting_bytes
        passing = max(passing, room.passing_bytes)
    return lasting + passing


def room_of_new_copy(source: str, copy_bytes: int, *, is_home: bool) -> Room:
    """Return the room for a new copy of a log.

    Args:
        source: the log's file, or its location in a database.
        copy_bytes: the size of the copy.
        is_home: whether the copy is in a home, so that a host's transcript comes beside it.
    """
    if is_archived_session(source):
        is_packed_after = stored_name(source) is not None  # it is written plain first
        return Room(copy_bytes, copy_bytes if is_packed_after else 0)
    if is_home:
        return Room(copy_bytes + most_transcript_bytes(copy_bytes))
    return Room(copy_bytes)


def room_of_more(source: str, copy: str, new_bytes: int, *, is_home: bool) -> Room:
    """Return the room for new records of a log at the end of its copy in a file.

    Args:
        source: the log's file, or its location in a database.
        copy: the copy's file.
        new_bytes: the size of the new records.
        is_home: whether the copy is in a home.
    """
    log_bytes = size_of_log(copy) + new_bytes
    host_files = _room_of_transcript(source, copy, log_bytes, new_bytes) if is_home else Room()
    if not is_archived_session(copy):
        return Room(new_bytes + host_files.lasting_bytes, host_files.passing_bytes)
    if is_archived_session(source):  # the plain log is there only until it is archived again
        return Room(new_bytes + host_files.lasting_bytes, log_bytes + host_files.passing_bytes)
    archive_bytes = os.stat(copy).st_size
    return room_of_bringing_back(log_bytes, archive_bytes, host_files.lasting_bytes)


def room_of_bringing_back(log_bytes: int, archive_bytes: int, host_bytes: int) -> Room:
    """Return the room for the plain log of an archive, and for the host's files that come with it."""
    return Room(log_bytes - archive_bytes + host_bytes, archive_bytes)


def room_of_replacement(source: str, copy: str, *, is_home: bool) -> Room:
    """Return the room for a log that takes the place of a copy in a file; for the arguments see `room_of_more`."""
    log_bytes = log_bytes_of(source)
    host_files = _room_of_transcript(source, copy, log_bytes, log_bytes) if is_home else Room()
    grows_by = max(0, log_bytes - size_of_log(copy))
    return Room(grows_by + host_files.lasting_bytes, log_bytes - grows_by + host_files.passing_bytes)


def room_of_purge(log: str, *, is_home: bool) -> Room:
    """Return the room for a purge of a log in a file, which writes the log and the host's transcript anew."""
    log_bytes = size_of_log(log)
    host_files = _room_of_transcript(log, log, log_bytes, 0) if is_home else Room()
    return Room(0, log_bytes + host_files.passing_bytes)


def log_bytes_of(log: str) -> int:
    """Return the size of a log in a file, archived or not, or in a database.

    Raises:
        LogUnreadableError, OSError: the log cannot be read.
    """
    if stored_name(log) is None:
        return size_of_log(log)
    with closing(open_reader(log)) as reader:
        reader.follow()
        return reader.describe().size_bytes


def _room_of_transcript(source: str, copy: str, log_bytes: int, new_bytes: int) -> Room:
    """Return the room for the host's transcript beside a copy, which is written anew (`sync_host_files`)."""
    if is_unfinished(copy) or has_own_metadata_only(copy):
        return Room(0 if is_archived_session(source) else most_transcript_bytes(log_bytes))
    present_bytes = 0
    with suppress(OSError):
        present_bytes = Path(copy).with_name(TRANSCRIPT_NAME).stat().st_size
    return Room(most_transcript_bytes(new_bytes), present_bytes) if present_bytes else Room()
