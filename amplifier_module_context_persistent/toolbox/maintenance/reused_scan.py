"""Reuse the scan of a purge's plan, so that the purge need not scan the log a second time.

The scan comes with the ids of the messages that contain nothing to redact. The purge copies these messages without
parsing them.

The purge uses the scan only if the path still names the same file, and if the last bytes that the plan read are still
there. These bytes contain a checksum of everything before them. While it writes, the purge reads every line again, and
fails if a line has changed since the plan.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from ...log.file_handle import FileHandle
from ...log.index import Index
from ...log.reader import LogReader
from ...log.scanner import Scanner
from .purge_options import Purge


class KnownScan:
    """A scan of a log's file in memory, from whose end the next reader of the file continues.

    Args:
        reader: the reader that scanned the file; it must not be used afterwards.
        purge: the planned purge.
        unaltered: the ids of messages that the purge does not change, by ordinal.
    """

    def __init__(self, reader: LogReader, purge: Purge, unaltered: Mapping[int, str]) -> None:
        self._scanner: Scanner | None = reader.scanner
        self._index = reader.index
        self._purge = purge
        self._unaltered = unaltered
        self._identity = reader.file.identity
        self._end = reader.known_end

    def load(self, log: FileHandle, max_record_bytes: int) -> Scanner | None:
        """Return the scan, or None if the file or its scanned bytes, or the size limit, are not those of the scan.

        Only the first call returns the scan, because the reader that gets the scan continues it.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        scanner = self._scanner
        self._scanner = None
        if scanner is None or scanner.max_record_bytes != max_record_bytes or log.identity != self._identity:
            return None
        if scanner.offset > log.size() or log.before(scanner.offset, len(self._end)) != self._end:
            return None
        return scanner

    def unaltered_in(self, index: Index, purge: Purge) -> Mapping[int, str]:
        """Return the ids of the messages that a purge does not change, by ordinal.

        The mapping is empty if the purge is not the planned one.

        Args:
            index: the index of the purge's reader.
            purge: the purge that is about to be carried out.
        """
        is_planned = index is self._index and purge is self._purge
        return self._unaltered if is_planned else {}

    def take(self, log: FileHandle, scanner: Scanner, known_end: bytes) -> Callable[[], None] | None:
        """Return None and keep nothing, because a purge reads the log only once."""
        return None

    def discard(self, path: str) -> None:
        """Forget the scan, which did not match the file."""
        self._scanner = None

    def follow_file(self, path: str, before: os.stat_result, after: os.stat_result) -> None:
        """Do nothing: the scan is valid only for the file that was scanned."""


def are_same_lines(found: Index, known: Index) -> bool:
    """Return whether two scans of a log found the same messages at the same offsets, and the same damage."""
    mine, theirs = found.columns, known.columns
    if (mine.offsets, mine.checks, mine.flags) != (theirs.offsets, theirs.checks, theirs.flags):
        return False
    return [(finding.kind, finding.offset) for finding in found.damage] == [
        (finding.kind, finding.offset) for finding in known.damage
    ]
