"""The part of a session's log that the catalogue covers, and whether the log is unchanged since.

Each part of the catalogue (words, figures, the line of `list`) has its own coverage: the stamp of the log's file, the
covered offset, and the bytes before that. In a chained log these bytes contain a checksum of everything before them.
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
    """The state of a file by its status. A program cannot set the change time."""

    device: int
    inode: int
    size_bytes: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        """Make the stamp of a file from the status that a `FileHandle` gives."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    def is_of(self, path: str | Path) -> bool:
        """Return whether this is the present stamp of a log. An archived log is opened to get the log's size.

        Raises:
            OSError: the file's status cannot be read.
        """
        now = Stamp.of(os.lstat(path))
        if now == self:
            return True
        is_perhaps_archived = now.size_bytes < self.size_bytes and replace(now, size_bytes=self.size_bytes) == self
        return is_perhaps_archived and size_of_log(path) == self.size_bytes


@dataclass(frozen=True, slots=True)
class LogCoverage:
    """The stamp of a log's file, the offset up to which it is covered, and the last bytes before this offset."""

    stamp: Stamp
    end_offset: int
    tail: bytes

    @classmethod
    def up_to(cls, reader: LogReader, end_offset: int, stamp: Stamp) -> LogCoverage:
        """Return the coverage of an open log up to an offset.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        start = max(0, end_offset - _TAIL_BYTES)
        return cls(stamp, end_offset, reader.file.read(start, end_offset - start))

    def is_whole_of(self, path: str | Path) -> bool:
        """Return whether the whole log is covered and its file is unchanged. The log is not opened."""
        try:
            return self.end_offset == self.stamp.size_bytes and self.stamp.is_of(path)
        except OSError:
            return False  # opening it will raise the error

    def still_holds(self, reader: LogReader) -> bool:
        """Return whether a log still begins with the covered bytes.

        If the file's stamp changed, only the covered part's last bytes are compared: each checksum of a log continues
        the checksum before, so the last bytes prove all. This proves nothing for a log with damage, or with records
        without checksums: the file of such a log must be unchanged.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        if Stamp.of(reader.file.status()) == self.stamp:
            return True
        if self.end_offset <= 0 or self.end_offset > reader.scanner.offset:
            return False  # nothing is covered, or the log is shorter now
        if not _vouches_for_its_beginning(reader):
            return False
        return LogCoverage.up_to(reader, self.end_offset, self.stamp).tail == self.tail


def _vouches_for_its_beginning(reader: LogReader) -> bool:
    """Return whether a log has no damage and a checksum in every record, so that its last bytes vouch for the rest."""
    from ..log.index import UNCHAINED

    index = reader.index
    if index.damage:
        return False
    return not any(flag & UNCHAINED for flag in index.columns.flags)


def name_of(log: str | Path, catalogue: Path | None = None) -> str:
    """Return the name of a log in its catalogue: its path relative to the catalogue, made valid UTF-8.

    Args:
        log: the path of the log's file.
        catalogue: the path of its catalogue, if the caller knows it.
    """
    beginning = os.path.dirname(catalogue or catalogue_of(log))  # of the log's path
    below = os.path.abspath(log)[len(beginning) :].lstrip(os.sep)
    return below.encode("utf-8", "backslashreplace").decode()


def is_same_file(log: str | Path, stamp: Stamp) -> bool:
    """Return whether a log is still the same file, so that no purge replaced it."""
    try:
        status = os.lstat(log)
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == (stamp.device, stamp.inode)


def session_id(connection: sqlite3.Connection, name: str) -> int:
    """Return the id of a session in the catalogue. A new session is added.

    Raises:
        DamagedError: the added session is not found.
    """
    connection.execute("INSERT OR IGNORE INTO sessions(path) VALUES (?)", (name,))
    row = connection.execute("SELECT id FROM sessions WHERE path = ?", (name,)).fetchone()
    if row is None:
        raise DamagedError("the index of its sessions does not fit the table")
    return int(row[0])


def covered_of(connection: sqlite3.Connection, name: str, part: str) -> LogCoverage | None:
    """Return how far a part of the catalogue covers a session, or None if that part does not cover it."""
    return covered_by_path(connection, part, name).get(name)


def covered_by_path(connection: sqlite3.Connection, part: str, name: str | None = None) -> dict[str, LogCoverage]:
    """Return how far a part of the catalogue covers each session, by the log's name.

    With `name`, only for this session.
    """
    rows = connection.execute(
        "SELECT path, device, inode, size_bytes, mtime_ns, ctime_ns, end_offset, tail"
        " FROM covered JOIN sessions ON id = session WHERE part = ? AND path = ifnull(?, path)",
        (part, name),
    )
    return {path: LogCoverage(Stamp(*stamp), end_offset, tail) for path, *stamp, end_offset, tail in rows}


def follow_file(connection: sqlite3.Connection, name: str, before: Stamp, after: Stamp) -> None:
    """Make the coverage of a log valid for a new file with the same bytes. Coverage of other stamps is not changed.

    Args:
        connection: a connection in a transaction that writes.
        name: the name of the log in the catalogue.
        before: the stamp of the old file.
        after: the stamp of the new file.
    """
    connection.execute(
        "UPDATE covered SET (device, inode, size_bytes, mtime_ns, ctime_ns) = (?, ?, ?, ?, ?)"
        " WHERE session = (SELECT id FROM sessions WHERE path = ?)"
        " AND (device, inode, size_bytes, mtime_ns, ctime_ns) = (?, ?, ?, ?, ?)",
        (*astuple(after), name, *astuple(before)),
    )


def cover(connection: sqlite3.Connection, session: int, part: str, now: LogCoverage) -> None:
    """Store the coverage of a session.

    Args:
        connection: a connection in a transaction that writes.
        session: the session's number in the catalogue.
        part: the part of the catalogue that is covered, such as `GLANCE`.
        now: the stamp of the log's file, and the bytes that are covered.
    """
    row = (session, part, *astuple(now.stamp), now.end_offset, now.tail)
    connection.execute("INSERT OR REPLACE INTO covered VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
