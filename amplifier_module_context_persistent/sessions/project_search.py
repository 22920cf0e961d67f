"""Searching the sessions of projects with their catalogues: which logs need not be read, and updates of the catalogues.

The catalogue only rules out places. If it does not know a session in its current state, the whole log is searched; and
every place that it offers is matched against the log's lines. Rules:

- A catalogue with altered data rules nothing out for that session, and is made anew after the search.
- A session is ruled out unread only if its file has the noted stamp, and all of it is covered.
- If a file grew, its covered part is trusted if the last covered bytes are the same and the whole chain holds: their
  checksum covers everything before. Damaged logs, and changed logs without a chain, are searched whole.
- Missing blocks are added after a search, one in each transaction, and only if the log is still the file that was read:
  so nothing that a purge removed is written back. After one search at most `RUN_BYTES` of a project are added, and that
  takes no longer than the search, or `FILL_S`. The end of a log that is still written to is added once it fills a
  block.
- Projects with less than `LEAST_BYTES` of logs are not added: reading them takes no longer.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from math import inf
from pathlib import Path

from ..catalogue.catalogue_file import Catalogue, CatalogueError, catalogue_of
from ..catalogue.covered import WORDS, LogCoverage, Stamp, covered_by_path, is_same_file, name_of
from ..catalogue.index_snapshots import CatalogueSnapshots
from ..catalogue.word_blocks import BLOCK_BYTES, Block, asked_of, find_blocks, forget_session, take_in
from ..errors import LogError
from ..log.database_location import stored_name
from ..log.reader import LogReader
from ..search.pattern import Pattern
from ..search.word_search import AllWords
from .find_session import SessionFile
from .search_session import ESCAPED, searched_text, word_of_matches

LEAST_BYTES = 1 << 19
RUN_BYTES = 1 << 25
FILL_S = 1.0
"""So many seconds of processor time may always be spent on adding."""
SETTLED_S = 600
"""A log without writes for this time is added to its end."""
_BATCH = 64


class ProjectSearch:
    """A search of the sessions of one project, with its catalogue.

    Args:
        sessions: all its sessions.
        pattern: what is looked for.
    """

    def __init__(self, sessions: Iterable[SessionFile], pattern: Pattern | AllWords) -> None:
        self._paths = {name_of(session.path): str(session.path) for session in sessions}
        self._catalogue = Catalogue(catalogue_of(next(iter(self._paths.values()))))
        self._covered: dict[str, LogCoverage] = {}
        self._found: dict[str, list[tuple[int, int]]] | None = None
        self._stale: dict[str, int] = {}  # what is to be added, and from which offset on
        self._is_damaged = False
        try:
            self._ask(asked_of(pattern))
        except CatalogueError:
            self._covered = {}
        self._gone = self._covered.keys() - self._paths.keys()

    def _ask(self, asked: list[list[str]]) -> None:
        """Ask the catalogue where messages may match; sessions whose words were altered count as unknown.

        Raises:
            CatalogueError: the catalogue cannot be used, or was cut; earlier results are then void.
        """
        with self._catalogue.reading() as connection:
            self._covered = covered_by_path(connection, WORDS)
            if not asked:
                return
            found = find_blocks(connection, asked, self._covered)
        self._found = found.ranges
        self._is_damaged = bool(found.damaged)
        for name in found.damaged:
            del self._covered[name]

    def rules_out(self, session: SessionFile) -> bool:
        """Whether a session's log, in its current state, has no match, so that it need not be opened."""
        name = name_of(session.path)
        known = self._covered.get(name)
        if known is None or self._found is None or name in self._found:
            return False
        return known.is_whole_of(session.path)

    def positions(self, session: SessionFile, reader: LogReader) -> list[int] | None:
        """The positions of live messages that may match, in a log that was just opened; None means all.

        Notes what the catalogue lacks of the session.
        """
        name = name_of(session.path)
        known = self._covered.get(name)
        if reader.index.damage:
            if known:
                self._gone.add(name)
            return None
        covered_bytes = 0
        if known is not None and known.still_holds(reader):
            covered_bytes = known.end_offset
        status, lacking_bytes = reader.file.status(), reader.size - covered_bytes
        is_up_to_date = not lacking_bytes and known is not None and known.stamp == Stamp.of(status)
        if lacking_bytes >= BLOCK_BYTES or (_is_settled(status) and not is_up_to_date):
            self._stale[name] = covered_bytes
        if not covered_bytes or self._found is None:
            return None
        ranges = self._found.get(name, [])
        starts = [first for first, _ in ranges]
        offsets = reader.index.columns.offsets

        def may_match(offset: int) -> bool:
            if offset >= covered_bytes:
                return True
            at = bisect_right(starts, offset) - 1
            return at >= 0 and offset <= ranges[at][1]

        return [position for position, ordinal in enumerate(reader.index.live) if may_match(offsets[ordinal])]

    def update(self, until_s: float = inf) -> None:
        """Add what the search found to be missing; if that cannot be done, the next search reads it again.

        A catalogue in which something was altered is removed before.

        Args:
            until_s: the processor time of this process (`time.process_time`) at which nothing more is begun.
        """
        if self._is_damaged:
            with suppress(CatalogueError):  # else somebody uses it: then the next search tries again
                self._catalogue.remove(wait_s=0)
            self._covered, self._gone, self._stale = {}, set(), dict.fromkeys(self._stale, 0)
        if sum(map(_size_of, self._paths.values())) < LEAST_BYTES:
            return
        left_bytes = RUN_BYTES
        try:
            if self._gone:
                with self._catalogue.writing() as connection:
                    for name in self._gone:
                        forget_session(connection, name)
            for name, covered in self._stale.items():
                if left_bytes > 0 and time.process_time() < until_s:
                    left_bytes -= self._add(name, covered, left_bytes, until_s)
        except CatalogueError:
            return

    def _add(self, name: str, covered: int, most_bytes: int, until_s: float) -> int:
        """Add the blocks of a log from an offset on; how many bytes of it were read.

        Raises:
            CatalogueError: the catalogue cannot be written.
        """
        seen, begin = self._covered.get(name), covered
        try:
            with closing(LogReader(self._paths[name], snapshots=CatalogueSnapshots())) as reader:
                reader.follow()
                if reader.file.opened_status is None or reader.index.damage:
                    return 0
                stamp = Stamp.of(reader.file.opened_status)
                for block, end in _blocks(reader, covered, most_bytes):
                    now = LogCoverage.up_to(reader, end, stamp)
                    with self._catalogue.writing() as connection:
                        if not is_same_file(reader.path, stamp):
                            break
                        if not take_in(connection, name, block, seen=seen, begins=covered == 0, now=now):
                            break
                    covered, seen = end, now
                    if time.process_time() >= until_s:
                        break
        except (LogError, OSError, ValueError, RecursionError):
            pass  # the search reported it
        return covered - begin


def _blocks(reader: LogReader, start: int, most_bytes: int) -> Iterator[tuple[Block | None, int]]:
    """The messages of a log from an offset on, in blocks, each with its end offset.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    offsets, lengths = reader.index.columns.offsets, reader.index.columns.lengths
    texts, size, first, done = list[str](), 0, 0, start
    for at in range(bisect_left(offsets, start), len(offsets), _BATCH):
        batch = range(at, min(at + _BATCH, len(offsets)))
        for ordinal, message in zip(batch, reader.read(batch), strict=True):
            if not texts:
                first = offsets[ordinal]
            text = searched_text(message)
            texts.append(text)
            size += _encoded_bytes(text)
            if size >= BLOCK_BYTES:
                done = offsets[ordinal] + lengths[ordinal]
                yield Block("\n".join(texts), first, offsets[ordinal]), done
                texts, size = [], 0
        if done - start >= most_bytes:
            return
    status = reader.file.opened_status
    if status is not None and _is_settled(status):
        last_block = Block("\n".join(texts), first, offsets[-1]) if texts else None
        yield last_block, min(reader.scanner.offset, reader.size)


def _encoded_bytes(text: str) -> int:
    """The length of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _is_settled(status: os.stat_result) -> bool:
    return time.time() - status.st_mtime > SETTLED_S


def _size_of(path: str | Path) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def may_match_there(sessions: Sequence[SessionFile], storage: str, pattern: Pattern | AllWords) -> list[SessionFile]:
    """Of the sessions in a database those that may match, by one question to the server.

    Raises:
        LogUnreadableError: the server cannot be asked.
    """
    from ..log.postgres.names import logs_with_word  # its driver is an extra

    word, ignores_case = word_of_matches(pattern)
    if not word:
        return list(sessions)
    names = logs_with_word(storage, word, ESCAPED, ignores_case=ignores_case)
    return [session for session in sessions if stored_name(str(session.path)) in names]


class SessionsSearch:
    """A search of all sessions of one project or of several.

    Args:
        sessions: all sessions of these projects.
        pattern: what is looked for.
    """

    def __init__(self, sessions: Iterable[SessionFile], pattern: Pattern | AllWords) -> None:
        self._began_s = time.process_time()
        by_project: dict[str, list[SessionFile]] = {}
        for session in sessions:
            by_project.setdefault(session.project, []).append(session)
        self._projects = {name: ProjectSearch(found, pattern) for name, found in by_project.items()}

    def rules_out(self, session: SessionFile) -> bool:
        """Whether a session need not be opened."""
        return self._projects[session.project].rules_out(session)

    def positions(self, session: SessionFile, reader: LogReader) -> list[int] | None:
        """The positions of messages that may match; None means all."""
        return self._projects[session.project].positions(session, reader)

    def update(self) -> None:
        """Fill the catalogues, at most for as long as the search took, or `FILL_S`; the next search continues."""
        now_s = time.process_time()
        until_s = now_s + max(FILL_S, now_s - self._began_s)
        for project in self._projects.values():
            project.update(until_s)
