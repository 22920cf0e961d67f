"""Watch another agent's sessions, and import them as they grow.

Only a person switches this on. Deleted and purged content stays erased, as with every import; a file that is left out
for that is told once. A changed file is imported when two checks in a row find it unchanged, or when it has kept
changing for `_MOST_WAIT_S` seconds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ....erasures.erasure_list import ErasureLists
from .import_directory import ImportedFile, import_all, session_paths

LOOK_S = 2.0
"""The seconds between two checks."""
_MOST_WAIT_S = 30.0

Stamp = tuple[int, int, int]
"""The values that show whether a file has changed: inode, size, and modification time in nanoseconds."""


@dataclass(slots=True)
class _Watched:
    """A watched file: its stamps at the last check and at the last import, and the time when it began to change."""

    seen: Stamp | None = None
    imported: Stamp | None = None
    changes_since_s: float = 0.0
    left_out_because: str = ""
    """The erasure for which the file was left out, if this was told already; else empty."""


class WatchedPlace:
    """A directory of another agent's sessions.

    Args:
        directory: the directory in which the agent writes its sessions.
        source_format: the format of its files.
        storage: the database that gets the sessions, instead of files.
    """

    def __init__(self, directory: str | Path, source_format: str, *, storage: str | None = None) -> None:
        self._directory = directory
        self._format = source_format
        self._storage = storage
        self._files: dict[str, _Watched] = {}
        self._erasure_lists = ErasureLists()

    def look(self, now_s: float) -> Iterator[ImportedFile]:
        """Import the files that have changed since the last call, and yield the results with news for a person.

        Args:
            now_s: the current time in seconds; it must not go back between calls.

        Raises:
            OSError: the directory cannot be read.
        """
        paths = session_paths(self._directory)
        self._files = {path: self._files.get(path, _Watched()) for path in paths}
        for path in paths:
            stamp = _stamp_of(path)
            if stamp is None or not self._is_due(self._files[path], stamp, now_s):
                continue
            self._files[path].imported = stamp
            imported = import_all(
                [path], storage=self._storage, source_format=self._format, erasure_lists=self._erasure_lists
            )
            for file in imported:
                if _has_news(file, self._files[path]):
                    yield file

    def _is_due(self, file: _Watched, stamp: Stamp, now_s: float) -> bool:
        """Return whether a file must be imported now, and remember its stamp."""
        is_first = file.seen is None
        is_still = file.seen == stamp
        file.seen = stamp
        if stamp == file.imported:
            file.changes_since_s = now_s
            return False
        return is_first or is_still or now_s - file.changes_since_s >= _MOST_WAIT_S


def _stamp_of(path: str) -> Stamp | None:
    try:
        status = os.stat(path)
    except OSError:
        return None  # the file was removed
    return status.st_ino, status.st_size, status.st_mtime_ns


def _has_news(file: ImportedFile, watched: _Watched) -> bool:
    """Return whether a result tells something new. That a file was left out as erased is told once."""
    if file.report is not None:
        watched.left_out_because = ""
        return bool(file.report.added or file.report.not_carried)
    if not file.is_erased:
        return file.is_session
    is_told = watched.left_out_because == file.error
    watched.left_out_because = file.error
    return not is_told
