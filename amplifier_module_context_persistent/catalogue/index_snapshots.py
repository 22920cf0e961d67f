"""Snapshots of scans, stored in the catalogues of their logs. Implements `log.contract.Snapshots`.

A *scan* reads a whole log to make its index; with a snapshot, only the part after it is read. Each chunk of the index's
columns is a row, named by its checksum. So only changed chunks are written, and the old snapshot stays valid until the
last chunk is there. Rules:
- A snapshot is valid if the log is still the same file and has the same bytes before the snapshot's end.
- A process that read a log before a purge does not write its snapshot, because the log is another file then.
- A failure is only logged; the log is scanned instead.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING
from zlib import crc32

import orjson

from ..log.file_handle import FileHandle, size_of_log
from ..log.scanner import Scanner
from .catalogue_file import Catalogue, CatalogueError, catalogue_of, may_be_written, old_files
from .lock_wait import COMMAND_WAIT_S
from .log_coverage import (
    SNAPSHOT,
    LogCoverage,
    Stamp,
    cover,
    covered_of,
    follow_file,
    is_same_file,
    name_of,
    session_id,
)
from .snapshot_data import Snapshot, SnapshotError, restore

if TYPE_CHECKING:
    import sqlite3

logger = logging.getLogger(__name__)

LEAST_LOG_BYTES = 64 << 10
"""The least size of a log that gets a snapshot. A scan of a smaller log takes a millisecond."""
_DESCRIPTION = -1
"""The number of the row with everything but the columns."""


class CatalogueSnapshots:
    """The snapshots of logs in the logs' catalogues.

    Args:
        wait_s: the most seconds to wait for another process's transaction.
    """

    def __init__(self, wait_s: float = COMMAND_WAIT_S) -> None:
        self._wait_s = wait_s

    def load(self, log: FileHandle, max_record_bytes: int) -> Scanner | None:
        """Return the scanner that continues at the end of a log's snapshot, or None without a valid snapshot."""
        if log.opened_status is None or log.opened_status.st_size < LEAST_LOG_BYTES:
            return None
        now = Stamp.of(log.opened_status)
        try:
            with Catalogue(catalogue_of(log.path), self._wait_s).reading() as connection:
                name = name_of(log.path)
                known = covered_of(connection, name, SNAPSHOT)
                if known is None or not _is_beginning(known, log, now):
                    return None
                description = orjson.loads(_content(connection, name, _DESCRIPTION))
                chunks = (
                    _content(connection, name, number, check) for number, check in enumerate(description["chunks"])
                )
                return restore(description, chunks, known.end_offset, max_record_bytes, log.read)
        except CatalogueError as error:
            logger.info("%s: no snapshot is used: %s", log.path, error)
        except (SnapshotError, ValueError, KeyError, TypeError) as error:
            logger.info("%s: the snapshot is not used: %s", log.path, error)
            self.discard(log.path)
        return None

    def take(self, log: FileHandle, scanner: Scanner, known_end: bytes) -> Callable[[], None] | None:
        """Take a snapshot, and return a function that writes it on any thread.

        Return None if no snapshot can be taken.
        """
        if scanner.offset < LEAST_LOG_BYTES or not len(scanner.index) or not may_be_written():
            return None
        with contextlib.suppress(OSError):
            stamp = Stamp.of(log.open_status())
            if scanner.offset <= stamp.size_bytes and (snapshot := Snapshot.of(scanner)) is not None:
                return partial(self._write, log.path, snapshot, LogCoverage(stamp, scanner.offset, known_end))
        return None

    def discard(self, path: str) -> None:
        """Remove a wrong snapshot of a log, if the catalogue may be written."""
        with contextlib.suppress(CatalogueError), Catalogue(catalogue_of(path), self._wait_s).writing() as connection:
            query = "DELETE FROM {} WHERE session = (SELECT id FROM sessions WHERE path = ?) {}"
            connection.execute(query.format("snapshots", ""), (name_of(path),))
            connection.execute(query.format("covered", "AND part = ?"), (name_of(path), SNAPSHOT))

    def follow_file(self, path: str, before: os.stat_result, after: os.stat_result) -> None:
        """Make the catalogue's data of a log valid for another file with the same bytes."""
        if after.st_size != before.st_size or not os.path.exists(catalogue_of(path)):  # another process was faster
            return
        with contextlib.suppress(CatalogueError), Catalogue(catalogue_of(path), self._wait_s).writing() as connection:
            follow_file(connection, name_of(path), Stamp.of(before), Stamp.of(after))

    def _write(self, path: str, snapshot: Snapshot, now: LogCoverage) -> None:
        """Write missing chunks, each in its own transaction; then the row that makes them valid."""
        catalogue = Catalogue(catalogue_of(path), self._wait_s)
        checks = list[int]()
        try:
            for number, content in enumerate(snapshot.chunks()):
                checks.append(crc32(content))
                with catalogue.writing() as connection:
                    if not _is_news(connection, path, now):
                        return
                    row = (session_id(connection, name_of(path)), number, checks[-1], content)
                    connection.execute("INSERT OR IGNORE INTO snapshots VALUES (?, ?, ?, ?)", row)
            described = orjson.dumps({**snapshot.described(), "chunks": checks})
            with catalogue.writing() as connection:
                if _is_news(connection, path, now):
                    _finish(connection, session_id(connection, name_of(path)), checks, described, now)
            for old in old_files(path):
                os.remove(old)
        except (CatalogueError, OSError, TypeError) as error:  # orjson: a lone surrogate, a number beyond 64 bits
            logger.info("%s: no snapshot is written: %s", path, error)


def _is_beginning(covered: LogCoverage, log: FileHandle, stamp: Stamp) -> bool:
    """Return whether a snapshot covers the start of a log: the log's file is unchanged, or has only grown.

    Args:
        covered: the part of the log that the snapshot covers.
        log: the log's file, open for reading.
        stamp: the stamp of the log's file.
    """
    if covered.stamp != stamp:
        is_same_file = (covered.stamp.device, covered.stamp.inode) == (stamp.device, stamp.inode)
        has_same_size = covered.stamp.size_bytes == stamp.size_bytes
        if not is_same_file or has_same_size:
            return False
    end = covered.end_offset
    return 0 < end <= stamp.size_bytes and log.before(end, len(covered.tail)) == covered.tail


def _content(connection: sqlite3.Connection, name: str, number: int, check: int | None = None) -> bytes:
    """Return the content of a row.

    The content is read as a blob, which takes less than half the time of a column: SQLite copies a column once more.

    Raises:
        ValueError: the row is missing or was altered.
    """
    row = connection.execute(
        "SELECT snapshots.rowid, snapshots.crc32 FROM snapshots JOIN sessions ON id = session"
        " WHERE path = ? AND chunk = ? AND crc32 = ifnull(?, crc32) AND typeof(content) = 'blob'",
        (name, number, check),
    ).fetchone()
    if row is not None:
        with connection.blobopen("snapshots", "content", row[0], readonly=True) as blob:
            content = blob.read()
        if crc32(content) == row[1]:
            return content
    raise ValueError(f"its part {number} is missing or damaged")


def _is_news(connection: sqlite3.Connection, path: str, now: LogCoverage) -> bool:
    """Return whether to write a snapshot of a log.

    The snapshot is not written if another file has replaced the log, or if the stored snapshot of this file covers more
    of it.
    """
    if not is_same_file(path, now.stamp):
        return False
    other = covered_of(connection, name_of(path), SNAPSHOT)
    if other is None or other.stamp.inode != now.stamp.inode:
        return True
    return not now.end_offset < other.end_offset <= size_of_log(path)


def _finish(
    connection: sqlite3.Connection, session: int, checks: list[int], described: bytes, now: LogCoverage
) -> None:
    """Make the written chunks valid and remove the old ones. Do nothing if another process removed a written chunk."""
    rows = connection.execute("SELECT chunk, crc32 FROM snapshots WHERE session = ?", (session,)).fetchall()
    wanted = set(enumerate(checks))
    if wanted <= set(rows):
        old = [(session, *row) for row in rows if row not in wanted]
        connection.executemany("DELETE FROM snapshots WHERE (session, chunk, crc32) = (?, ?, ?)", old)
        row = (session, _DESCRIPTION, crc32(described), described)
        connection.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?)", row)
        cover(connection, session, SNAPSHOT, now)
