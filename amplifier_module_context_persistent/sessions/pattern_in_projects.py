"""Search the sessions of projects with their catalogues: skip logs without a match, and update the catalogues.

A catalogue is a database file beside the logs of a project. It stores the words of each log in blocks, one block for a
number of adjacent messages. The catalogue only excludes places: every block with the searched words is matched against
the lines of the log. If the catalogue does not have a session in its current state, the whole log is searched. Rules:

- If data of a session in the catalogue was altered, nothing of that session is excluded, and the catalogue is made anew
  after the search.
- A session is excluded without reading its log only if the catalogue covers the whole log, and the file's stamp (its
  identity, size and time) is the stored one.
- If a file grew, the covered part is trusted if the last covered bytes are unchanged and the checksums of the log form
  a valid chain, because each checksum of a chain covers all bytes before it. Damaged logs, and changed logs without a
  chain, are searched as a whole.
- Missing blocks are added after a search, one in each transaction, and only if the log is still the file that was read.
  So nothing that a purge removed is written back. After one search, at most about `RUN_BYTES` of a project are added,
  in no more time than the search took, or `FILL_S` if the search was shorter. If a log is still being written, its end
  is added when it fills a block.
- Projects with less than `LEAST_BYTES` of logs are not added, because reading them is as fast.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from math import inf
from pathlib import Path

from ..catalogue.blocks_that_may_match import BLOCK_BYTES, Block, asked_of, find_blocks, forget_session, take_in
from ..catalogue.catalogue_file import Catalogue, CatalogueError, catalogue_of
from ..catalogue.index_snapshots import CatalogueSnapshots
from ..catalogue.log_coverage import WORDS, LogCoverage, Stamp, covered_by_path, is_same_file, name_of
from ..errors import LogError
from ..log.database_location import stored_name
from ..log.reader import LogReader
from ..search.pattern import Pattern
from ..search.word_search import AllWords
from .pattern_in_session import ESCAPED, searched_text, word_of_matches
from .session_files import SessionFile

LEAST_BYTES = 1 << 19
RUN_BYTES = 1 << 25
FILL_S = 1.0
"""The seconds of processor time that an update may always take, even after a shorter search."""
SETTLED_S = 600
"""The seconds without writes after which a log's last block is added although it is not full."""
_BATCH = 64


class ProjectSearch:
    """A search of the sessions of one project, with its catalogue.

    Args:
        sessions: all sessions of the project.
        pattern: the pattern to search for.
    """

    def __init__(self, sessions: Iterable[SessionFile], pattern: Pattern | AllWords) -> None:
        self._paths = {name_of(session.path): str(session.path) for session in sessions}
        self._catalogue = Catalogue(catalogue_of(next(iter(self._paths.values()))))
        self._covered: dict[str, LogCoverage] = {}
        self._found: dict[str, list[tuple[int, int]]] | None = None
        self._stale: dict[str, int] = {}  # the logs to add, each with the offset to begin at
        self._is_damaged = False
        try:
            self._ask(asked_of(pattern))
        except CatalogueError:
            self._covered = {}
        self._gone = self._covered.keys() - self._paths.keys()

    def _ask(self, asked: list[list[str]]) -> None:
        """Ask the catalogue where messages may match. A session with altered words is treated as unknown.

        Raises:
            CatalogueError: the catalogue cannot be used, or was truncated; earlier results are then invalid.
        """
        with self._catalogue.reading() as connection:
            self._covered = covered_by_path(connection, WORDS)
            if not asked:
                return
            blocks = find_blocks(connection, asked, self._covered)
        self._found = blocks.ranges
        self._is_damaged = bool(blocks.damaged)
        for name in blocks.damaged:
            del self._covered[name]

    def rules_out(self, session: SessionFile) -> bool:
        """Return whether a session's log, in its current state, has no match, so that it need not be opened."""
        name = name_of(session.path)
        known = self._covered.get(name)
        if known is None or self._found is None or name in self._found:
            return False
        return known.is_whole_of(session.path)

    def positions(self, session: SessionFile, reader: LogReader) -> list[int] | None:
        """Return the positions of live messages that may match, in a log that was just opened; None if all may match.

        Also remember, for `update`, how much of the log the catalogue lacks.
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
        status = reader.file.status()
        lacking_bytes = reader.size - covered_bytes
        is_up_to_date = lacking_bytes == 0 and known is not None and known.stamp == Stamp.of(status)
        is_worth_it = lacking_bytes >= BLOCK_BYTES or _is_settled(status)
        if is_worth_it and not is_up_to_date:
            self._stale[name] = covered_bytes
        if not covered_bytes or self._found is None:
            return None
        ranges = self._found.get(name, [])
        starts = [first for first, _ in ranges]
        offsets = reader.index.columns.offsets

        def may_match(offset: int) -> bool:
            if offset >= covered_bytes:
                return True
            number = bisect_right(starts, offset) - 1
            if number < 0:
                return False
            _, last = ranges[number]
            return offset <= last

        return [position for position, ordinal in enumerate(reader.index.live) if may_match(offsets[ordinal])]

    def update(self, until_s: float = inf) -> None:
        """Add to the catalogue the blocks that it lacked in the search.

        If this fails, the next search reads these logs again. If data in the catalogue was altered, the whole catalogue
        is removed first.

        Args:
            until_s: the processor time of this process (`time.process_time`) after which no further block is added.
        """
        if self._is_damaged:
            self._begin_anew()
        log_bytes = sum(_size_of(path) for path in self._paths.values())
        if log_bytes < LEAST_BYTES:
            return
        left_bytes = RUN_BYTES
        try:
            self._forget_gone()
            for name, covered in self._stale.items():
                if left_bytes > 0 and time.process_time() < until_s:
                    left_bytes -= self._add(name, covered, left_bytes, until_s)
        except CatalogueError:
            return

    def _begin_anew(self) -> None:
        """Remove the catalogue, and have all logs added from their beginning."""
        with suppress(CatalogueError):  # if another process uses it, the next search tries again
            self._catalogue.remove(wait_s=0)
        self._covered = {}
        self._gone = set()
        self._stale = dict.fromkeys(self._stale, 0)

    def _forget_gone(self) -> None:
        """Remove the sessions whose logs no longer exist from the catalogue.

        Raises:
            CatalogueError: the catalogue cannot be written.
        """
        if not self._gone:
            return
        with self._catalogue.writing() as connection:
            for name in self._gone:
                forget_session(connection, name)

    def _add(self, name: str, covered: int, most_bytes: int, until_s: float) -> int:
        """Add the blocks of a log from an offset on, and return the number of bytes that were added.

        Raises:
            CatalogueError: the catalogue cannot be written.
        """
        begin = covered
        seen = self._covered.get(name)
        try:
            with closing(LogReader(self._paths[name], snapshots=CatalogueSnapshots())) as reader:
                reader.follow()
                if reader.file.opened_status is None or reader.index.damage:
                    return 0
                stamp = Stamp.of(reader.file.opened_status)
                for block, end in _blocks(reader, covered, most_bytes):
                    now = LogCoverage.up_to(reader, end, stamp)
                    with self._catalogue.writing() as connection:
                        is_taken = is_same_file(reader.path, stamp) and take_in(
                            connection, name, block, seen=seen, begins=covered == 0, now=now
                        )
                    if not is_taken:
                        break
                    covered = end
                    seen = now
                    if time.process_time() >= until_s:
                        break
        except (LogError, OSError, ValueError, RecursionError):
            pass  # the search reported it
        return covered - begin


def _blocks(reader: LogReader, start: int, most_bytes: int) -> Iterator[tuple[Block | None, int]]:
    """Yield the messages of a log from an offset on, in blocks, each with its end offset.

    The last block is None if there are no more messages, but the end offset is a later one.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    offsets, lengths = reader.index.columns.offsets, reader.index.columns.lengths
    texts = list[str]()  # of the next block
    size_bytes = 0
    first_offset = 0
    done = start
    for batch_start in range(bisect_left(offsets, start), len(offsets), _BATCH):
        batch = range(batch_start, min(batch_start + _BATCH, len(offsets)))
        for ordinal, message in zip(batch, reader.read(batch), strict=True):
            if not texts:
                first_offset = offsets[ordinal]
            text = searched_text(message)
            texts.append(text)
            size_bytes += _encoded_bytes(text)
            if size_bytes >= BLOCK_BYTES:
                done = offsets[ordinal] + lengths[ordinal]
                yield Block("\n".join(texts), first_offset, offsets[ordinal]), done
                texts = []
                size_bytes = 0
        if done - start >= most_bytes:
            return
    status = reader.file.opened_status
    if status is not None and _is_settled(status):
        last_block = Block("\n".join(texts), first_offset, offsets[-1]) if texts else None
        yield last_block, min(reader.scanner.offset, reader.size)


def _encoded_bytes(text: str) -> int:
    """Return the length of a text in UTF-8, in bytes."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-8", "surrogatepass"))


def _is_settled(status: os.stat_result) -> bool:
    return time.time() - status.st_mtime > SETTLED_S


def _size_of(path: str | Path) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def may_match_there(sessions: Sequence[SessionFile], storage: str, pattern: Pattern | AllWords) -> list[SessionFile]:
    """Return those sessions of a database that may match, with one query to the server.

    Raises:
        LogUnreadableError: the server cannot be queried.
    """
    from ..log.postgres.list_logs import logs_with_word  # its driver is an extra

    word, ignores_case = word_of_matches(pattern)
    if not word:
        return list(sessions)
    names = logs_with_word(storage, word, ESCAPED, ignores_case=ignores_case)
    return [session for session in sessions if stored_name(str(session.path)) in names]


class SessionsSearch:
    """A search of all sessions of one project or of several.

    Args:
        sessions: all sessions of these projects.
        pattern: the pattern to search for.
    """

    def __init__(self, sessions: Iterable[SessionFile], pattern: Pattern | AllWords) -> None:
        self._began_s = time.process_time()
        by_project: dict[str, list[SessionFile]] = {}
        for session in sessions:
            by_project.setdefault(session.project, []).append(session)
        self._projects = {name: ProjectSearch(found, pattern) for name, found in by_project.items()}

    def rules_out(self, session: SessionFile) -> bool:
        """Return whether a session has no match, so that its log need not be opened."""
        return self._projects[session.project].rules_out(session)

    def positions(self, session: SessionFile, reader: LogReader) -> list[int] | None:
        """Return the positions of live messages that may match, in a log that was just opened; None for all."""
        return self._projects[session.project].positions(session, reader)

    def update(self) -> None:
        """Update the catalogues, in at most the processor time of the search, or `FILL_S` if that is more.

        The next search continues.
        """
        now_s = time.process_time()
        until_s = now_s + max(FILL_S, now_s - self._began_s)
        for project in self._projects.values():
            project.update(until_s)
