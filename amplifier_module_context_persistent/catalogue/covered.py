"""How far the catalogue knows a session's log, and whether the log is still what was taken in.

Each part of the catalogue (words, figures, the line of `list`) notes it for itself: the log's file as it was, and the
offset up to which it was taken in, with the bytes before that. In a chained log these hold a checksum that stands for
all before it.
"""

from __future__ import annotations

import os
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..log.file_handle import size_of_log
from .catalogue_file import DamagedError, catalogue_of

if TYPE_CHECKING:
    import sqlite3

    from ..log.reader import LogReader

WORDS, FIGURES, GLANCE, SNAPSHOT = "words", "figures", "glance", "snapshot"
_TAIL_BYTES = 32


@dataclass(frozen=True, slots=True)
class Stamp:
    """By what it is seen that a file is as it was: nobody can set the time of the last change."""

    device: int
    inode: int
    size_bytes: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        """The stamp of a file, by the status that a `FileHandle` gives of it."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    def is_of(self, path: str | Path) -> bool:
        """Whether it is the stamp of a log as it is now; an archived one is opened to learn the log's size.

        Raises:
            OSError: the file cannot be looked at.
        """
        now = Stamp.of(os.lstat(path))
        if now == self:
            return True
        is_perhaps_archived = now.size_bytes < self.size_bytes and replace(now, size_bytes=self.size_bytes) == self
        return is_perhaps_archived and size_of_log(path) == self.size_bytes


@dataclass(frozen=True, slots=True)
class LogCoverage:
    """The log's file as it was, the offset up to which it was taken in, and the bytes before that."""

    stamp: Stamp
    end_offset: int
    tail: bytes

    @classmethod
    def up_to(cls, reader: LogReader, end_offset: int, stamp: Stamp) -> LogCoverage:
        """What is noted of an open log.

        Raises:
            LogUnreadableError: it cannot be read.
        """
        start = max(0, end_offset - _TAIL_BYTES)
        return cls(stamp, end_offset, reader.file.read(start, end_offset - start))

    def is_whole_of(self, path: str | Path) -> bool:
        """Whether all of a log was taken in, and its file is as it was; the log need not be opened."""
        try:
            return self.end_offset == self.stamp.size_bytes and self.stamp.is_of(path)
        except OSError:
            return False  # whoever opens it says why

    def still_holds(self, reader: LogReader) -> bool:
        """Whether the bytes that were taken in are still those of a log; of a damaged one, if nothing changed.

        Raises:
            LogUnreadableError: it cannot be read.
        """
        if Stamp.of(reader.file.status()) == self.stamp:
            return True
        index = reader.index
        if index.damage or not 0 < self.end_offset <= reader.scanner.offset:
            return False
        from ..log.index import UNCHAINED

        if any(flag & UNCHAINED for flag in index.columns.flags):
            return False
        return LogCoverage.up_to(reader, self.end_offset, self.stamp).tail == self.tail


def name_of(log: str | Path) -> str:
    """Under which name a log stands in its catalogue: its path from there, in UTF-8, which paths need not be in."""
    beginning = os.path.dirname(catalogue_of(log))  # of the log's path
    below = os.path.abspath(log)[len(beginning) :].lstrip(os.sep)
    return below.encode("utf-8", "backslashreplace").decode()


def is_same_file(log: str | Path, stamp: Stamp) -> bool:
    """Whether a log is still the file that was read, and not one that a purge put in its place."""
    try:
        status = os.lstat(log)
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == (stamp.device, stamp.inode)


def session_id(connection: sqlite3.Connection, name: str) -> int:
    """The id of a session, which is added if it is not known.

    Raises:
        DamagedError: it was added and is not found.
    """
    connection.execute("INSERT OR IGNORE INTO sessions(path) VALUES (?)", (name,))
    row = connection.execute("SELECT id FROM sessions WHERE path = ?", (name,)).fetchone()
    if row is None:
        raise DamagedError("the index of its sessions does not fit the table")
    return int(row[0])


def covered_of(connection: sqlite3.Connection, name: str, part: str) -> LogCoverage | None:
    """How far a session is known; None if it is not."""
    return covered_by_path(connection, part, name).get(name)


def covered_by_path(connection: sqlite3.Connection, part: str, name: str | None = None) -> dict[str, LogCoverage]:
    """How far each session is known, or one alone, by its log's name."""
    rows = connection.execute(
        "SELECT path, device, inode, size_bytes, mtime_ns, ctime_ns, end_offset, tail"
        " FROM covered JOIN sessions ON id = session WHERE part = ? AND path = ifnull(?, path)",
        (part, name),
    )
    return {path: LogCoverage(Stamp(*stamp), end_offset, tail) for path, *stamp, end_offset, tail in rows}


def follow_file(connection: sqlite3.Connection, name: str, before: Stamp, after: Stamp) -> None:
    """Let what is known of a log count for another file with the same bytes; what is older than both stays as it is."""
    connection.execute(
        "UPDATE covered SET (device, inode, size_bytes, mtime_ns, ctime_ns) = (?, ?, ?, ?, ?)"
        " WHERE session = (SELECT id FROM sessions WHERE path = ?)"
        " AND (device, inode, size_bytes, mtime_ns, ctime_ns) = (?, ?, ?, ?, ?)",
        (*astuple(after), name, *astuple(before)),
    )


def cover(connection: sqlite3.Connection, session: int, part: str, now: LogCoverage) -> None:
    """Note how far a session is known."""
    row = (session, part, *astuple(now.stamp), now.end_offset, now.tail)
    connection.execute("INSERT OR REPLACE INTO covered VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
