"""Search many sessions with a question: bring their ranked index up to date, then ask it.

The index of a log consists of segments, each of a number of adjacent messages. A catalogue is the database file beside
the logs of a project that stores these segments. Missing segments are made from the logs and stored for the next
search. Without a catalogue, or with a damaged one, the answer is the same but takes longer. Sessions are numbered in
the order of their projects, ids and paths, so that messages with equal scores are found in the same order everywhere.
"""

from __future__ import annotations

import logging
import os
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from pathlib import Path

from ..catalogue.catalogue_file import BrokenCatalogueError, Catalogue, CatalogueError, catalogue_of, is_usable
from ..catalogue.index_snapshots import CatalogueSnapshots
from ..catalogue.log_coverage import Stamp, name_of
from ..catalogue.ranked_fill import Batch, FillTarget, RankedFill, batches, lacking, still_known
from ..catalogue.ranked_words import KnownWords, RankedWords, StoredSegments, check_unchanged, known_words
from ..catalogue.server_words import ServerFill, ServerWords, counts_of, ends_of, kept_in_databases
from ..errors import LogError, LogUnreadableError
from ..log.base import ReadableLog
from ..log.database_location import split_location
from ..log.open_reader import file_reader, open_reader
from ..log.postgres.ranked_rows import RankedLog, ranked_server
from ..log.reader import LogReader
from ..search.message_terms import VERSION
from ..search.question import Question
from ..search.ranked_segment import MessageColumns, Postings, Segment
from ..search.ranking import ANY_TIME, GAP, Ranked, Written, rank
from ..search.typing_slips import Slip
from .find_session import SessionFile

logger = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""A function that is called with the number of bytes indexed so far and the number of bytes to index."""


_PAUSES_S = (0.02, 0.05, 0.1)
"""The pauses between attempts to use a catalogue that another process may be writing."""


@dataclass(slots=True)
class _Log:
    """A session's log and its segments: older ones from the catalogue, then newer ones in memory."""

    session: SessionFile
    known: KnownWords | None
    stored: RankedWords | None = None
    on_server: RankedLog | None = None
    """The log's entry in the index of its database; None for a log in a file."""
    made: list[Segment] = field(default_factory=list)
    end_offset: int = 0
    """The offset up to which the log is indexed, if `is_partial`."""
    is_partial: bool = False
    """Whether a part of the log is not indexed."""
    error: LogError | None = None

    @property
    def path(self) -> str:
        return str(self.session.path)

    @property
    def is_fully_indexed(self) -> bool:
        """Whether the stored index covers the whole log, so that the log need not be opened."""
        if self.on_server is not None:
            return self.on_server.end_offset == self.on_server.size
        return self.known is not None and self.known.covered.is_whole_of(self.path)


@dataclass(frozen=True, slots=True)
class RankedMessage:
    """A message that was found.

    Attributes:
        session: the session that contains the message.
        offset: the offset of the message's record in the log.
        ranked: the score of the message and the reasons for it.
    """

    session: SessionFile
    offset: int
    ranked: Ranked


@dataclass(frozen=True, slots=True)
class RankedAnswer:
    """The messages that answer a question best, best first.

    Attributes:
        found: the messages; some may have been hidden since, for instance by a clear.
        common: frequent words of the question, which counted only in messages with a rarer word.
        indexed, sessions: the number of completely searched sessions, and the number of all sessions.
        share: the indexed share of the sessions' bytes, from 0 to 1.
        unmatched: words of the question that no message contains, without the slips.
        slips: words of the question in which a typing error is assumed, each with the word searched for instead.
        errors: the errors of logs that could not be read, by path.
        advice: why a database keeps no index of its sessions; "" if it keeps one.
        notes: remarks for the user about the question, such as about words that no message contains.
    """

    found: tuple[RankedMessage, ...]
    common: tuple[str, ...]
    indexed: int
    sessions: int
    errors: dict[str, LogError]
    advice: str = ""
    notes: tuple[str, ...] = ()
    share: float = 1.0
    unmatched: tuple[str, ...] = ()
    slips: tuple[Slip, ...] = ()


class RankedSearch:
    """A search with questions in some sessions, of one project or of several.

    Args:
        sessions: the sessions.
        progress: called while the index is filled.
        may_go_on: returns whether to continue indexing. If it returns False, the answer uses the existing index.
        fills: the index parts of earlier questions of this process, by log path. The search adds to it.
        failed: the errors of logs that could not be read at the last attempt, by path. The search updates it.
    """

    def __init__(
        self,
        sessions: Iterable[SessionFile],
        *,
        progress: Progress = lambda done, total: None,
        may_go_on: Callable[[], bool] = lambda: True,
        fills: dict[str, RankedFill] | None = None,
        failed: dict[str, LogError] | None = None,
    ) -> None:
        self._sessions = sorted(sessions, key=lambda one: (one.project, one.id, str(one.path)))
        self._progress, self._may_go_on, self._fills = progress, may_go_on, fills
        self._failed = failed if failed is not None else {}
        self._advice = ""

    def ask(self, question: Question, *, most: int, written: Written = ANY_TIME) -> RankedAnswer:
        """Find the messages that answer a question best.

        Args:
            question: the question.
            most: the largest number of messages to return.
            written: the time in which the messages were written.
        """
        for pause_s in _PAUSES_S:  # a damaged catalogue is removed and rebuilt; another process may be writing
            logs = self._logs()
            self._fill(logs)
            try:
                return self._answer(logs, question, most, written)
            except (CatalogueError, LogUnreadableError):
                time.sleep(pause_s)
        logs = [_Log(session, None) for session in self._sessions]
        self._fill(logs, in_memory=True)
        return self._answer(logs, question, most, written)

    def update_index(self) -> None:
        """Bring the index up to date without a question."""
        self._fill(self._logs())

    def _logs(self) -> list[_Log]:
        """Return the sessions' logs, each with its entry in the catalogue or in the database."""
        catalogues = {catalogue_of(one.path) for one in self._sessions if isinstance(one.path, Path)}
        words_by_catalogue = {path: _known_in(path) for path in catalogues}
        locations = [one.path for one in self._sessions if isinstance(one.path, str)]
        on_server, self._advice = kept_in_databases(locations) if locations else ({}, "")
        logs = []
        for session in self._sessions:
            kept = None
            if isinstance(session.path, Path):
                words = words_by_catalogue[catalogue_of(session.path)]
                kept = words.get(name_of(session.path))
            logs.append(_Log(session, kept, on_server=on_server.get(str(session.path))))
        return logs

    def _fill(self, logs: Sequence[_Log], *, in_memory: bool = False) -> None:
        stale = []
        for log in logs:
            if not log.is_fully_indexed:
                if in_memory or not self._take_from_memory(log):
                    stale.append(log)
            elif log.known is not None:
                log.stored = log.known.words
        stale.sort(key=lambda log: -log.session.modified_s)  # if there is no time for all, index the newest ones
        total = sum(_size_of(log.path) for log in stale)
        done = 0
        for log in stale:
            if not self._may_go_on():
                log.is_partial, log.error = True, self._failed.get(log.path)
                continue
            self._failed.pop(log.path, None)
            self._progress(done, total)
            begin = done

            def tell(offset: int, begin: int = begin) -> None:
                self._progress(begin + offset, total)

            try:
                _fill_one(log, self._fills, in_memory=in_memory, tell=tell, may_go_on=self._may_go_on)
            except Exception as error:  # noqa: BLE001 - whatever it is: the other sessions can be asked
                log.error = self._failed[log.path] = error_of_session(error)
            done += _size_of(log.path)
        if stale:
            self._progress(total, total)

    def _take_from_memory(self, log: _Log) -> bool:
        """Use the index parts that this process made of a log before; return whether they cover the whole log."""
        fill = (self._fills or {}).get(log.path)
        if fill is None or fill.begun_with != log.known or not fill.is_of(log.path):
            return False
        log.stored, log.made, log.end_offset = fill.stored, list(fill.made), fill.end_offset
        return fill.is_whole_of(log.path)

    def _answer(self, logs: Sequence[_Log], question: Question, most: int, written: Written) -> RankedAnswer:
        with ExitStack() as open_ones:
            index = _ManyLogs(logs, open_ones)
            ranking = rank(question, index, most=most, written=written)
            found = tuple(index.message(ranked) for ranked in ranking.found)
        errors = {log.path: log.error for log in logs if log.error is not None}
        indexed = sum(not log.is_partial and log.error is None for log in logs)
        share = _share_of(logs) if indexed < len(logs) else 1.0
        return RankedAnswer(
            found,
            ranking.common,
            indexed,
            len(logs),
            errors,
            self._advice,
            ranking.notes,
            share,
            ranking.unmatched,
            ranking.slips,
        )


def _share_of(logs: Iterable[_Log]) -> float:
    """Return the indexed share of the bytes of logs, from 0 to 1."""
    lacking_bytes = all_bytes = 0
    for log in logs:
        size = _size_of(log.path)
        all_bytes += size
        lacking_bytes += max(0, size - log.end_offset) if log.is_partial else 0
    return 1 - lacking_bytes / all_bytes if all_bytes else 1.0


def error_of_session(error: Exception) -> LogError:
    """Return an error of one session as a `LogError`, so that it can be reported beside the results of other sessions.

    An error of another type is wrapped in a `LogUnreadableError`.
    """
    if isinstance(error, LogError):
        return error
    logger.debug("a session cannot be searched", exc_info=error)
    unexpected = LogUnreadableError(f"it cannot be searched: {type(error).__name__}: {error}")
    unexpected.__cause__ = error
    return unexpected


def _known_in(path: Path) -> dict[str, KnownWords]:
    """Return the ranked words of a catalogue by log; empty if the catalogue does not exist or cannot be used.

    A process that fills the catalogue locks it for short moments. So a locked catalogue is tried again a few times:
    else an answer with little time would use none of its sessions.
    """
    for pause_s in (*_PAUSES_S, None):
        try:
            with Catalogue(path).reading() as connection:
                return known_words(connection)
        except CatalogueError as error:
            if pause_s is None or isinstance(error, BrokenCatalogueError) or not (is_usable() and path.exists()):
                break
            time.sleep(pause_s)
    return {}


def _fill_one(
    log: _Log,
    fills: dict[str, RankedFill] | None,
    *,
    in_memory: bool,
    tell: Callable[[int], None],
    may_go_on: Callable[[], bool],
) -> None:
    """Bring the index of a log up to date; stop early if `may_go_on` returns False.

    Raises:
        LogError: the log cannot be read.
    """
    with closing(open_reader(log.path, snapshots=CatalogueSnapshots())) as reader:
        reader.follow()
        file = file_reader(reader)
        if log.on_server is not None:
            _fill_on_server(log, reader, log.on_server, tell=tell, may_go_on=may_go_on)
            return
        if file is not None:
            fill = _begun(log, file, fills, in_memory=in_memory)
            if fills is not None:
                fills[log.path] = fill
            read = lacking(file, fill.end_offset, Stamp.of(file.file.status()))
        else:
            fill = RankedFill(None, None, None)
            read = _all_of(reader)
        for batch in read:
            fill.take(batch)
            tell(fill.end_offset)
            if not may_go_on():
                break
        fill.finish()
        log.stored, log.made, log.end_offset = fill.stored, fill.made, fill.end_offset
        log.is_partial = next(iter(read), None) is not None


def _fill_on_server(
    log: _Log, reader: ReadableLog, kept: RankedLog, *, tell: Callable[[int], None], may_go_on: Callable[[], bool]
) -> None:
    """Bring the index of a log in a database up to date; stop early if `may_go_on` returns False.

    If the database refuses messages, their index is kept in memory.

    Raises:
        LogError: the log cannot be read.
    """
    on_server, in_memory = ServerFill(log.path, kept), RankedFill(None, None, None)
    is_kept = True
    lacking_ones = list(batches(reader, kept.messages)) or [range(len(reader.index), len(reader.index))]
    for ordinals in lacking_ones:
        batch = _batch_of(reader, ordinals)
        is_kept = is_kept and on_server.take(batch, ends_of(reader, ordinals))
        if not is_kept:
            in_memory.take(batch)
        tell(ends_of(reader, ordinals))
        if not may_go_on() and ordinals.stop < len(reader.index):
            log.is_partial = True
            break
    in_memory.finish()
    log.on_server, log.made = on_server.kept, in_memory.made


def _begun(log: _Log, reader: LogReader, fills: dict[str, RankedFill] | None, *, in_memory: bool) -> RankedFill:
    """Return a fill that continues what this process indexed of the log's file, or what the catalogue has of it."""
    kept = (fills or {}).get(log.path)
    if kept is not None and kept.begun_with == log.known and kept.still_holds(reader):
        return kept
    known = still_known(reader, log.known)
    is_written = not in_memory and not reader.index.damage
    target = FillTarget(Catalogue(catalogue_of(log.path)), name_of(log.path), log.path)
    return RankedFill(target if is_written else None, log.known, known)


def _all_of(reader: ReadableLog) -> Iterator[Batch]:
    """Return an iterator over all messages of a log without a file, in batches."""
    return (_batch_of(reader, ordinals) for ordinals in batches(reader, 0))


def _batch_of(reader: ReadableLog, ordinals: range) -> Batch:
    offsets = reader.index.columns.offsets[ordinals.start : ordinals.stop]
    return Batch(list(zip(offsets, reader.read(ordinals), strict=True)), None)


def _size_of(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


class _ManyLogs:
    """The segments of some logs as one index.

    Args:
        logs: the logs.
        open_ones: receives the transactions that read the catalogues, so that the caller can close them.
    """

    def __init__(self, logs: Sequence[_Log], open_ones: ExitStack) -> None:
        self._logs = logs
        self._first = list[int]()
        """For each log, the number of its first segment."""
        self.places = list[int]()
        self.counts = list[int]()
        self._made: list[tuple[int, Segment]] = []
        by_catalogue: dict[Path, dict[str, tuple[RankedWords, int]]] = {}
        by_storage: dict[str, list[tuple[RankedLog, int]]] = {}
        place = 0
        for log in logs:
            self._first.append(len(self.places))
            if log.stored is not None:
                stored = by_catalogue.setdefault(catalogue_of(log.path), {})
                stored[name_of(log.path)] = (log.stored, len(self.places))
                place = self._add((note.messages for note in log.stored.segments), place)
            if log.on_server is not None:
                by_storage.setdefault(split_location(log.path)[0], []).append((log.on_server, len(self.places)))
                place = self._add(counts_of(log.on_server), place)
            self._made += enumerate(log.made, len(self.places))
            place = self._add((segment.messages for segment in log.made), place) + GAP
        self._postings: dict[int, list[tuple[int, Postings]]] = {}
        self._columns: dict[int, MessageColumns] = {}
        self._stored = []
        for path, words in by_catalogue.items():
            connection = open_ones.enter_context(Catalogue(path).reading())
            check_unchanged(connection, {name: stored for name, (stored, _) in words.items()})
            self._stored.append(StoredSegments(connection, list(words.values())))
        self._on_servers = [
            ServerWords(open_ones.enter_context(ranked_server(storage, VERSION)), kept)
            for storage, kept in by_storage.items()
        ]

    def _add(self, counts: Iterable[int], place: int) -> int:
        for count in counts:
            self.places.append(place)
            self.counts.append(count)
            place += count
        return place

    def frequencies(self, keys: Sequence[int]) -> list[int]:
        """Return the number of messages with each term."""
        counts = [sum(len(found.weights) for _, found in self._local(key)) for key in keys]
        for server in self._on_servers:
            counts = [count + more for count, more in zip(counts, server.frequencies(keys), strict=True)]
        return counts

    def postings(self, key: int, among: Collection[int] | None = None) -> list[tuple[int, Postings]]:
        """Return the postings of a term (the messages that contain it), each with the number of its segment.

        Args:
            key: the term's key.
            among: the numbers of the segments to look in; None for all.
        """
        found = self._local(key)
        if among is not None:
            found = [one for one in found if one[0] in among]
        if self._on_servers:
            more = chain.from_iterable(server.postings(key, among) for server in self._on_servers)
            found = sorted(chain(found, more), key=itemgetter(0))
        return found

    def _local(self, key: int) -> list[tuple[int, Postings]]:
        """Return the postings of a term in catalogues and in memory, but not in databases."""
        if key not in self._postings:
            self._postings[key] = sorted(self._read(key), key=itemgetter(0))
        return self._postings[key]

    def _read(self, key: int) -> Iterator[tuple[int, Postings]]:
        for stored in self._stored:
            yield from stored.postings(key)
        for number, segment in self._made:
            if (found := segment.postings(key)).weights:
                yield number, found

    def seconds(self, segment: int, number: int) -> int:
        """Return when a found message was written, in seconds since 1970; 0 if this is unknown."""
        return self._place(segment, number)[1]

    def _place(self, segment: int, number: int) -> tuple[int, int]:
        """Return the offset of a found message, and when it was written (in seconds since 1970, or 0)."""
        for server in self._on_servers:
            if segment in server:
                return server.place(segment, number)
        columns = self._columns_of(segment)
        return columns.offsets[number], columns.seconds[number]

    def _columns_of(self, segment: int) -> MessageColumns:
        if segment not in self._columns:
            made = next((made.columns for number, made in self._made if number == segment), None)
            if made is not None:
                self._columns[segment] = MessageColumns.unpacked(made)
            else:
                stored = next(stored for stored in self._stored if segment in stored)
                self._columns[segment] = stored.columns(segment)
        return self._columns[segment]

    def message(self, ranked: Ranked) -> RankedMessage:
        """Return the session and the offset of a ranked message."""
        log = self._logs[bisect_right(self._first, ranked.segment) - 1]
        return RankedMessage(log.session, self._place(ranked.segment, ranked.number)[0], ranked)
