"""Search many sessions with a question: bring their ranked index up to date, then ask it.

The index of a log consists of segments, each of a number of adjacent messages. A catalogue is the database file beside
the logs of a project that stores these segments. Missing segments are made from the logs and stored for the next
search. Without a catalogue, or with a damaged one, the answer is the same but takes longer. Sessions are numbered in
the order of their projects, ids and paths, so that messages with equal scores are found in the same order everywhere.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path

from ..catalogue.catalogue_file import BrokenCatalogueError, Catalogue, CatalogueError, is_usable
from ..catalogue.ranked_words import KnownWords, RankedWords, StoredSegments, check_unchanged, known_words
from ..catalogue.ranked_words_in_postgres import ServerWords, counts_of, kept_in_databases
from ..errors import LogError, LogUnreadableError
from ..log.database_location import split_location
from ..log.postgres.ranked_rows import RankedLog, ranked_server
from ..search.message_terms import VERSION
from ..search.question import Question
from ..search.ranked_segment import MessageColumns, Postings, Segment
from ..search.ranking import ANY_TIME, GAP, Ranked, Written, rank
from ..search.typing_slips import Slip
from .index_fill import FillOptions, IndexFill, Progress
from .indexed_log import Fills, IndexedLog, share_of
from .session_files import SessionFile

_PAUSES_S = (0.02, 0.05, 0.1)
"""The pauses between attempts to use a catalogue that another process may be writing."""


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
    """A search with questions in the given sessions, of one project or of several.

    Args:
        sessions: the sessions to search.
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
        fills: Fills | None = None,
        failed: dict[str, LogError] | None = None,
    ) -> None:
        self._sessions = sorted(sessions, key=lambda one: (one.project, one.id, str(one.path)))
        self._options = FillOptions(progress, may_go_on, fills, failed if failed is not None else {})
        self._advice = ""

    def ask(self, question: Question, *, most: int, written: Written = ANY_TIME) -> RankedAnswer:
        """Find the messages that answer a question best.

        Args:
            question: the question in words.
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
        logs = [IndexedLog(session) for session in self._sessions]
        self._fill(logs, in_memory=True)
        return self._answer(logs, question, most, written)

    def update_index(self) -> None:
        """Bring the index up to date without a question."""
        self._fill(self._logs())

    def _logs(self) -> list[IndexedLog]:
        """Return the sessions' logs, each with its entry in the catalogue or in the database."""
        logs = [IndexedLog(session) for session in self._sessions]
        catalogues = {log.catalogue for log in logs if log.catalogue is not None}
        words_by_catalogue = {path: _known_in(path) for path in catalogues}
        locations = [log.path for log in logs if log.catalogue is None]
        entries_by_location: dict[str, RankedLog] = {}
        self._advice = ""
        if locations:
            entries_by_location, self._advice = kept_in_databases(locations)
        for log in logs:
            if log.catalogue is not None:
                log.known = words_by_catalogue[log.catalogue].get(log.name)
            else:
                log.on_server = entries_by_location.get(log.path)
        return logs

    def _fill(self, logs: Iterable[IndexedLog], *, in_memory: bool = False) -> None:
        """Bring the index up to date."""
        stale = list[IndexedLog]()
        for log in logs:
            if log.is_fully_indexed:
                log.use_stored()
            elif in_memory or not log.take_from_memory(self._options.fills):
                stale.append(log)
        IndexFill(stale, self._options, in_memory=in_memory).run()

    def _answer(self, logs: Sequence[IndexedLog], question: Question, most: int, written: Written) -> RankedAnswer:
        with ExitStack() as open_ones:
            index = _ManyLogs(logs, open_ones)
            ranking = rank(question, index, most=most, written=written)
            found = tuple(index.message(ranked) for ranked in ranking.found)
        errors = {log.path: log.error for log in logs if log.error is not None}
        indexed = sum(not log.is_partial and log.error is None for log in logs)
        share = share_of(logs) if indexed < len(logs) else 1.0
        return RankedAnswer(
            found,
            ranking.common,
            indexed=indexed,
            sessions=len(logs),
            errors=errors,
            advice=self._advice,
            notes=ranking.notes,
            share=share,
            unmatched=ranking.unmatched,
            slips=ranking.slips,
        )


def _known_in(path: Path) -> dict[str, KnownWords]:
    """Return the ranked words of a catalogue by log; empty if the catalogue does not exist or cannot be used.

    A process that fills the catalogue locks the catalogue for short moments. So a locked catalogue is tried again a few
    times: otherwise an answer with little time would use no session of it.
    """
    for pause_s in (*_PAUSES_S, None):
        try:
            with Catalogue(path).reading() as connection:
                return known_words(connection)
        except BrokenCatalogueError:
            break
        except CatalogueError:
            may_be_locked = is_usable() and path.exists()
            if pause_s is None or not may_be_locked:
                break
            time.sleep(pause_s)
    return {}


class _ManyLogs:
    """The segments of the given logs as one index. A log's segments are the parts of its ranked index.

    Args:
        logs: the logs, each with its segments.
        open_ones: receives the transactions that read the catalogues, so that the caller can close them.
    """

    def __init__(self, logs: Sequence[IndexedLog], open_ones: ExitStack) -> None:
        self._logs = logs
        self._first = list[int]()
        """For each log, the number of its first segment."""
        self.places = list[int]()
        self.counts = list[int]()
        self._made: dict[int, Segment] = {}
        self._by_catalogue: dict[Path, dict[str, tuple[RankedWords, int]]] = {}
        """The logs with stored segments by catalogue and name; with each, the number of its first stored segment."""
        self._by_storage: dict[str, list[tuple[RankedLog, int]]] = {}
        """The logs in each database; with each, the number of its first segment there."""
        place = 0
        for log in logs:
            place = self._add_log(log, place) + GAP
        self._postings: dict[int, list[tuple[int, Postings]]] = {}
        self._columns: dict[int, MessageColumns] = {}
        self._stored = list[StoredSegments]()
        for path, words in self._by_catalogue.items():
            connection = open_ones.enter_context(Catalogue(path).reading())
            check_unchanged(connection, {name: stored for name, (stored, _) in words.items()})
            self._stored.append(StoredSegments(connection, list(words.values())))
        self._on_servers = list[ServerWords]()
        for storage, indexed in self._by_storage.items():
            server = open_ones.enter_context(ranked_server(storage, VERSION))
            self._on_servers.append(ServerWords(server, indexed))

    def _add_log(self, log: IndexedLog, place: int) -> int:
        """Number the segments of a log: first the stored ones, then those on a server, then those in memory.

        Args:
            log: a log with its segments.
            place: the place of its first message.

        Returns:
            The place after its last message.
        """
        self._first.append(len(self.places))
        if log.stored is not None and log.catalogue is not None:
            stored = self._by_catalogue.setdefault(log.catalogue, {})
            stored[log.name] = (log.stored, len(self.places))
            place = self._add((note.messages for note in log.stored.segments), place)
        if log.on_server is not None:
            storage, _ = split_location(log.path)
            self._by_storage.setdefault(storage, []).append((log.on_server, len(self.places)))
            place = self._add(counts_of(log.on_server), place)
        self._made.update(enumerate(log.memory_segments, len(self.places)))
        return self._add((segment.messages for segment in log.memory_segments), place)

    def _add(self, counts: Iterable[int], place: int) -> int:
        for count in counts:
            self.places.append(place)
            self.counts.append(count)
            place += count
        return place

    def frequencies(self, keys: Sequence[int]) -> list[int]:
        """Return the number of messages with each term."""
        counts = [sum([len(postings.weights) for _, postings in self._local(key)]) for key in keys]
        for server in self._on_servers:
            for number, count in enumerate(server.frequencies(keys)):
                counts[number] += count
        return counts

    def postings(self, key: int, among: Collection[int] | None = None) -> list[tuple[int, Postings]]:
        """Return the postings of a term (the messages that contain it), each with the number of its segment.

        Args:
            key: the term's key.
            among: the numbers of the segments to look in; None for all.
        """
        postings = self._local(key)
        if among is not None:
            postings = [(segment, found) for segment, found in postings if segment in among]
        if self._on_servers:
            on_servers = chain.from_iterable(server.postings(key, among) for server in self._on_servers)
            postings = sorted(chain(postings, on_servers), key=itemgetter(0))
        return postings

    def _local(self, key: int) -> list[tuple[int, Postings]]:
        """Return the postings of a term in catalogues and in memory, but not in databases."""
        if key not in self._postings:
            self._postings[key] = sorted(self._read(key), key=itemgetter(0))
        return self._postings[key]

    def _read(self, key: int) -> Iterator[tuple[int, Postings]]:
        for stored in self._stored:
            yield from stored.postings(key)
        for number, segment in self._made.items():
            found = segment.postings(key)
            if found.weights:
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
            if segment in self._made:
                self._columns[segment] = MessageColumns.unpacked(self._made[segment].columns)
            else:
                stored = next(stored for stored in self._stored if segment in stored)
                self._columns[segment] = stored.columns(segment)
        return self._columns[segment]

    def message(self, ranked: Ranked) -> RankedMessage:
        """Return the session and the offset of a ranked message."""
        log = self._logs[bisect_right(self._first, ranked.segment) - 1]
        return RankedMessage(log.session, self._place(ranked.segment, ranked.number)[0], ranked)
