"""Searching a project's sessions with its index: which sessions and messages need not be read, and keeping it up.

The index only rules out. A session that it does not know as it is now is searched from its log; what it offers is
matched against the log's lines like anything else. Rules:

- A session is ruled out unread only if its file has the stamp that the index noted, and the index covers all of it.
- A file that grew is trusted as far as the index goes if the checksum there is the same and the whole chain holds: it
  stands for all bytes before it. Damaged logs, and logs without a chain that changed, are searched whole.
- The index is written after a search, from what that search found not to be in it; a part of
  very long logs at a time. Projects with less than `LEAST_BYTES` of logs have none: reading them takes no longer.
"""

from __future__ import annotations

import os
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path

from ..log.index import UNCHAINED
from ..log.reader import LogReader
from ..log.search_index import INDEX_NAME
from ..search.trigrams import Searched, asked_of
from .full_text import Covered, Stamp, open_index, write_index
from .index_blocks import BLOCK_BYTES, Blocks
from .sessions import SessionFile, projects_dir

LEAST_BYTES = 1 << 19
_MOST_DEAD = 4  # an index of whose blocks more than one in so many serves no session is made anew


class ProjectSearch:
    """A search of a project's sessions; close it, or use it in a `with` statement.

    Args:
        project: the host's name of the project.
        sessions: all its sessions.
        pattern: what is looked for.
    """

    def __init__(self, project: str, sessions: Iterable[SessionFile], pattern: Searched) -> None:
        self.path = projects_dir() / project / INDEX_NAME
        self._paths = {session.id: Path(session.path) for session in sessions}
        self._index = open_index(self.path)
        self._asked = asked_of(pattern)
        self._found: dict[str, list[tuple[int, int]]] = {}
        self._stale: dict[str, tuple[Path, int]] = {}  # sessions to add, and from which offset on
        self._lacking_bytes = 0
        self._forget = self._index.sessions.keys() - self._paths.keys() if self._index else set()
        if self._index is not None and self._asked:
            try:
                self._found = self._index.find(self._asked)
            except sqlite3.Error:
                self._drop_index()

    def __enter__(self) -> ProjectSearch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the index go."""
        if self._index is not None:
            self._index.close()

    def rules_out(self, session: SessionFile) -> bool:
        """Whether a session's log, as it is now, holds nothing that matches; it need not be opened."""
        known = self._known(session.id)
        if known is None or not self._asked or session.id in self._found or known.done != known.stamp.size:
            return False
        try:
            return Stamp.of(os.lstat(session.path)) == known.stamp
        except OSError:
            return False  # whoever opens it says why

    def positions(self, session: SessionFile, reader: LogReader) -> list[int] | None:
        """The positions of live messages that may match, in a log that was just opened; None means all.

        Notes what the index lacks of the session.
        """
        known = self._known(session.id)
        if reader.index.damage:
            self._forget |= {session.id} if known else set()
            return None
        done = known.done if known is not None and _covers(known, reader) else 0
        if known is not None and not done:
            self._forget.add(session.id)
        end, status = min(reader.scanner.offset, reader.size), reader.file.opened_status
        is_as_noted = known is not None and status is not None and known.stamp == Stamp.of(status)
        if (done < end or not is_as_noted) and _can_be_named(session.id):
            self._stale[session.id] = Path(session.path), done
            self._lacking_bytes += max(end - done, BLOCK_BYTES if is_as_noted else 0)  # the rest of a long log is due
        if not done or not self._asked:
            return None
        ranges = sorted(self._found.get(session.id, ()))
        starts = [first for first, _ in ranges]
        offsets = reader.index.offsets

        def may_match(offset: int) -> bool:
            at = bisect_right(starts, offset) - 1
            return offset >= done or (at >= 0 and offset <= ranges[at][1])

        return [position for position, ordinal in enumerate(reader.index.live) if may_match(offsets[ordinal])]

    @property
    def is_due(self) -> bool:
        """Whether the index lacks enough to be written anew."""
        return self._lacking_bytes >= BLOCK_BYTES and sum(map(_size_of, self._paths.values())) >= LEAST_BYTES

    def update(self) -> bool:
        """Write what the search found to be missing in the index; whether that was done."""
        base, stale = self._index, self._stale
        if base is not None and (base.blocks_made - base.blocks) * _MOST_DEAD > base.blocks_made:
            base, stale = None, {name: (path, 0) for name, path in self._paths.items()}
        return write_index(self.path, base, Blocks(stale), self._forget)

    def _known(self, name: str) -> Covered | None:
        return self._index.sessions.get(name) if self._index is not None else None

    def _drop_index(self) -> None:
        self.close()
        self._index, self._forget = None, set()


def _can_be_named(session_id: str) -> bool:
    """Whether SQLite can hold a session's id: the name of a directory need not be UTF-8."""
    try:
        session_id.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in session_id


def _size_of(path: Path) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _covers(known: Covered, reader: LogReader) -> bool:
    """Whether the bytes that the index covers are still those of a log without damage."""
    status = reader.file.status()
    if Stamp.of(status) == known.stamp:
        return True
    if not known.done or known.done > reader.scanner.offset or any(flag & UNCHAINED for flag in reader.index.flags):
        return False
    return reader.file.read(known.done - len(known.tail), len(known.tail)) == known.tail


class SessionsSearch:
    """A search of all sessions of one project or of several; close it, or use it in a `with` statement.

    Args:
        sessions: all sessions of these projects.
        pattern: what is looked for.
    """

    def __init__(self, sessions: Iterable[SessionFile], pattern: Searched) -> None:
        by_project: dict[str, list[SessionFile]] = {}
        for session in sessions:
            by_project.setdefault(session.project, []).append(session)
        self._projects = {name: ProjectSearch(name, found, pattern) for name, found in by_project.items()}

    def __enter__(self) -> SessionsSearch:
        return self

    def __exit__(self, *_: object) -> None:
        for project in self._projects.values():
            project.close()

    def rules_out(self, session: SessionFile) -> bool:
        """Whether a session need not be opened."""
        return self._projects[session.project].rules_out(session)

    def positions(self, session: SessionFile, reader: LogReader) -> list[int] | None:
        """The positions of messages that may match; None means all."""
        return self._projects[session.project].positions(session, reader)

    def update(self) -> None:
        """Write each index that lacks much."""
        for project in self._projects.values():
            if project.is_due:
                project.update()
