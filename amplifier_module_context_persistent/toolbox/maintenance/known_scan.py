"""The scan that a plan made, passed on to the purge, which need not scan the log a second time.

It also names the messages without anything to redact: the purge copies these without parsing them.

The purge uses it only if the path still names the same file, and if the last bytes that the plan read are still there.
They contain a checksum of everything before them. While it writes, the purge reads every line again, and fails if a
line has changed since the plan.
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
    """The scan of a log's file, kept in memory; the next reader of the file continues from its end (`Snapshots`).

    Args:
        reader: a reader of the file, which must not be used after this.
        purge: the planned purge.
        unaltered: the ids of messages that the purge does not change, by ordinal.
    """

    def __init__(self, reader: LogReader, purge: Purge, unaltered: Mapping[int, str]) -> None:
        self._scanner: Scanner | None = reader.scanner
        self._index, self._purge, self._unaltered = reader.index, purge, unaltered
        self._identity, self._end = reader.file.identity, reader.known_end

    def load(self, log: FileHandle, max_record_bytes: int) -> Scanner | None:
        """The scan, if the file still goes on from it; it is given once, because its reader goes on with it.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        scanner, self._scanner = self._scanner, None
        if scanner is None or scanner.max_record_bytes != max_record_bytes or log.identity != self._identity:
            return None
        if scanner.offset > log.size() or log.before(scanner.offset, len(self._end)) != self._end:
            return None
        return scanner

    def unaltered_in(self, index: Index, purge: Purge) -> Mapping[int, str]:
        """The ids of messages that a purge does not change, by ordinal; empty if the purge is not the planned one.

        Args:
            index: the index of the purge's reader.
            purge: the purge.
        """
        return self._unaltered if index is self._index and purge is self._purge else {}

    def take(self, log: FileHandle, scanner: Scanner, known_end: bytes) -> Callable[[], None] | None:
        """Keep nothing: a purge reads the log once."""
        return None

    def discard(self, path: str) -> None:
        """Forget the scan, because it proved wrong."""
        self._scanner = None

    def follow_file(self, path: str, before: os.stat_result, after: os.stat_result) -> None:
        """Keep nothing: only the file that was scanned counts."""
