"""Find the best answers to a question in a session's own log.

`SessionIndex` is the ranked index of the log, kept between recalls. It consists of *segments*, each with the terms of
some adjacent messages; the *postings* of a term are the messages of a segment that have the term. The log's thread
reads missing messages, for a few milliseconds at a time, so that appends and views do not wait. Another thread indexes
the messages, writes to the catalogue and ranks. An append never touches the index. After `FILL_S` the answer uses the
messages indexed so far.
"""

from __future__ import annotations

import asyncio
import re
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import accumulate
from operator import itemgetter

from ..catalogue.catalogue_file import Catalogue, CatalogueError, catalogue_of
from ..catalogue.index_snapshots import LEAST_LOG_BYTES
from ..catalogue.log_coverage import Stamp, name_of
from ..catalogue.ranked_fill import Batch, FillTarget, RankedFill, batches, read_batch, still_known
from ..catalogue.ranked_words import KnownWords, StoredSegments, check_unchanged, known_words
from ..catalogue.ranked_words_in_postgres import ServerWords, counts_of, kept_in_database, segments_of
from ..clock import LOCAL_ZONE
from ..errors import LogUnreadableError
from ..log.contract import Log
from ..log.database_location import split_location
from ..log.index import ROLE_CODES, Index
from ..log.open_reader import file_reader
from ..log.postgres.ranked_rows import RankedLog, ranked_server
from ..log.reader import LogReader
from ..messages.message import Message, metadata_of
from ..messages.text import full_text
from ..search.index_terms import asked_words
from ..search.message_terms import VERSION
from ..search.question import Question, read_question
from ..search.ranked_segment import MessageColumns, Postings, key_of
from ..search.ranking import ANY_TIME, Ranked, Written, rank, worth_of
from ..search.recall_page import LEAST_WORDS, MOST_PLACES, Hit, RecallQuery, make_hit
from ..search.recall_scope import searched_tool
from ..search.snippet import best_window, marks_of
from .store import Session

FILL_S = 1.0
"""The longest time for indexing during a question. Together with reading the answers, a question takes at most two
seconds."""
STEP_S = 0.03
_PLAIN_WORDS = re.compile(r"[\w\s,.;:?!'\u2019-]+")
_SPARE, _NARROWED = 30, 1_000
"""Messages ranked beyond the wanted number, and the least number if a search is limited to a role or tool."""
_READ_TOGETHER = 16
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """The messages that answer a question best.

    Attributes:
        found: the offsets of the messages, best first, each with its ranking.
        may_match: the offsets of messages that may contain the question's exact text; None if unknown.
        indexed: the number of indexed messages.
        messages: the number of all messages.
        word_notes: sentences about words that no message has.
    """

    found: Sequence[tuple[int, Ranked]]
    may_match: frozenset[int] | None
    indexed: int
    messages: int
    word_notes: tuple[str, ...] = ()

    @property
    def what_is_lacking(self) -> str:
        """A sentence for people and models about messages that are not indexed yet, or "" if all are."""
        if self.indexed >= self.messages:
            return ""
        return f"{self.indexed:,} of {self.messages:,} messages are ranked so far; ask again for the rest"

    @property
    def notes(self) -> str:
        """The text shown beside the answers, or "" if there is nothing to say."""
        return "; ".join(filter(None, [*self.word_notes, self.what_is_lacking]))


class SessionIndex:
    """The ranked index of one session's log."""

    def __init__(self) -> None:
        self._index: Index | None = None
        self._fill = _fill_in_memory()
        self._path = ""
        self._next = 0
        """The ordinal of the first message that is not indexed."""
        self._messages = 0
        self._is_small = True
        """Whether the log is too small for the catalogue."""
        self._on_server: RankedLog | None = None
        """The part of the index that is stored in the log's database, or None."""
        self._may_ask_server = True
        self.is_busy = False

    def read(self, log: Log) -> list[Batch]:
        """Read messages that are not indexed yet, for a few milliseconds, on the log's thread.

        The list is empty if all messages were read.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        log.follow()
        reader = file_reader(log)
        has_grown = self._is_small and reader is not None and reader.size >= LEAST_LOG_BYTES
        if log.index is not self._index or has_grown:
            self._begin(log, reader)
        self._messages = len(log.index)
        end = time.monotonic() + STEP_S
        new_batches: list[Batch] = []
        for ordinals in batches(log, self._next):
            if reader is not None:
                new_batches.append(read_batch(reader, ordinals, Stamp.of(reader.file.status())))
            else:
                offsets = log.index.columns.offsets[ordinals.start : ordinals.stop]
                new_batches.append(Batch(list(zip(offsets, log.read(ordinals), strict=True)), None))
            self._next = ordinals.stop
            if time.monotonic() > end:
                break
        return new_batches

    def _begin(self, log: Log, reader: LogReader | None) -> None:
        """Start with the part of the index that is stored in the catalogue or in the log's database.

        Args:
            log: the open log of the session.
            reader: the log's reader if the log is a file, else None.
        """
        self._index = log.index
        self._on_server = None
        self._is_small = reader is None or reader.size < LEAST_LOG_BYTES
        self._fill = _fill_in_memory()
        self._next = 0
        if reader is None:
            self._begin_with_database(log)
        elif not self._is_small:
            self._begin_with_catalogue(log, reader)

    def _begin_with_catalogue(self, log: Log, reader: LogReader) -> None:
        self._path = reader.path
        target = FillTarget(Catalogue(catalogue_of(reader.path), 0), name_of(reader.path), reader.path)
        noted = _words_in(target)
        known = still_known(reader, noted)
        is_sound = not log.index.damage
        self._fill = RankedFill(target if is_sound else None, noted, known)  # damaged logs are indexed in memory only
        if known is not None:
            self._next = bisect_left(log.index.columns.offsets, self._fill.end_offset)

    def _begin_with_database(self, log: Log) -> None:
        if not self._may_ask_server:
            return
        self._path = log.describe().location
        indexed = kept_in_database(self._path)
        if indexed is not None and 0 < indexed.messages <= len(log.index):
            self._on_server = indexed
            self._next = indexed.messages

    def forget(self, *, without_server: bool = False) -> None:
        """Start again with the next `read`. `without_server` also stops using the log's database."""
        self._index = None
        self._may_ask_server = self._may_ask_server and not without_server

    def take(self, batches: Sequence[Batch]) -> None:
        """Index messages that were read. This may run on any thread."""
        for batch in batches:
            self._fill.take(batch)

    def answer(self, question: Question, *, most: int, written: Written = ANY_TIME) -> Answer:
        """Rank the indexed messages by a question. This may run on any thread.

        Raises:
            CatalogueError: the catalogue was changed or damaged; start again.
            LogUnreadableError: the database failed; start again without it.
        """
        self._fill.finish()
        with ExitStack() as open_ones:
            index = _OneLog(self._fill, self._on_server, self._path, open_ones)
            ranking = rank(question, index, most=most, written=written)
            offsets = [(index.offset(message.segment, message.number), message) for message in ranking.found]
            may_match = _may_match(question.text, index)
        self._next -= self._fill.drop_small()
        return Answer(offsets, may_match, sum(index.counts), self._messages, ranking.notes)


def _fill_in_memory() -> RankedFill:
    """Return an empty index that is written to no catalogue."""
    return RankedFill(target=None, noted=None, known=None)


def _words_in(target: FillTarget) -> KnownWords | None:
    """Return the words that the catalogue has of a log; None if the catalogue has none or cannot be used."""
    try:
        with target.catalogue.reading() as connection:
            return known_words(connection, target.name).get(target.name)
    except CatalogueError:
        return None


class _OneLog:
    """The segments of one log as an index. The place of a message is its ordinal."""

    def __init__(self, fill: RankedFill, on_server: RankedLog | None, path: str, open_ones: ExitStack) -> None:
        self._made = fill.memory_segments
        self._stored: StoredSegments | None = None
        self._server: ServerWords | None = None
        self.counts = [segment.messages for segment in fill.memory_segments]
        self._first_made = 0
        if fill.stored is not None:
            connection = open_ones.enter_context(Catalogue(catalogue_of(path), 0).reading())
            check_unchanged(connection, {name_of(path): fill.stored})
            self._stored = StoredSegments(connection, [(fill.stored, 0)])
            self.counts = [note.messages for note in fill.stored.segments] + self.counts
            self._first_made = len(fill.stored.segments)
        if on_server is not None:
            server = open_ones.enter_context(ranked_server(split_location(path)[0], VERSION))
            self._server = ServerWords(server, [(on_server, 0)])
            self.counts = counts_of(on_server) + self.counts
            self._first_made = segments_of(on_server.messages)
        self.places = list(accumulate(self.counts, initial=0))[:-1]
        self._known: dict[int, list[tuple[int, Postings]]] = {}
        self._columns: dict[int, MessageColumns] = {}

    def frequencies(self, keys: Sequence[int]) -> list[int]:
        """Return the number of messages with each term."""
        counts = list[int]()
        for key in keys:
            counts.append(sum(len(postings.weights) for _, postings in self._local(key)))
        if self._server is None:
            return counts
        counts_on_server = self._server.frequencies(keys)
        return [count + more for count, more in zip(counts, counts_on_server, strict=True)]

    def postings(self, key: int, among: Collection[int] | None = None) -> list[tuple[int, Postings]]:
        """Return the postings of a term, each with its segment's number. `among` limits the segments."""
        postings = self._local(key)
        if among is not None:
            postings = [(segment, found) for segment, found in postings if segment in among]
        if self._server is None:
            return postings
        return [*self._server.postings(key, among), *postings]

    def _local(self, key: int) -> list[tuple[int, Postings]]:
        """Return the postings of a term in the catalogue and in memory."""
        if key not in self._known:
            self._known[key] = sorted(self._read(key), key=itemgetter(0))
        return self._known[key]

    def _read(self, key: int) -> Iterator[tuple[int, Postings]]:
        if self._stored is not None:
            yield from self._stored.postings(key)
        for number, segment in enumerate(self._made, self._first_made):
            postings = segment.postings(key)
            if postings.weights:
                yield number, postings

    def seconds(self, segment: int, number: int) -> int:
        """Return the time of a found message in seconds since 1970, or 0 if the time is unknown."""
        return self._place(segment, number)[1]

    def offset(self, segment: int, number: int) -> int:
        """Return the offset of a found message in the log."""
        return self._place(segment, number)[0]

    def _place(self, segment: int, number: int) -> tuple[int, int]:
        if self._server is not None and segment in self._server:
            return self._server.place(segment, number)
        columns = self._columns_of(segment)
        return columns.offsets[number], columns.seconds[number]

    def _columns_of(self, segment: int) -> MessageColumns:
        if segment not in self._columns:
            if self._stored is not None and segment < self._first_made:
                self._columns[segment] = self._stored.columns(segment)
            else:
                self._columns[segment] = MessageColumns.unpacked(self._made[segment - self._first_made].columns)
        return self._columns[segment]


def _may_match(text: str, index: _OneLog) -> frozenset[int] | None:
    """Return the offsets of messages that may contain a text exactly, or None if the index cannot tell.

    A message that contains the text has at least the words between its first and its last word as whole words, so it
    has their terms.
    """
    words = text.split()
    if len(words) < LEAST_WORDS or _PLAIN_WORDS.fullmatch(text) is None:
        return None
    keys: set[int] = set()
    for _, terms in asked_words(" ".join(words[1:-1])):
        keys.update(map(key_of, terms))
    if not keys:
        return None
    listed = list(keys)
    rarest_first = sorted(zip(index.frequencies(listed), listed, strict=True))
    places: set[int] | None = None
    for _, key in rarest_first:
        with_key = _places_of(key, index)
        places = with_key if places is None else places & with_key
        if not places:
            return frozenset()
    return frozenset(_offset_of(place, index) for place in places or ())


def _places_of(key: int, index: _OneLog) -> set[int]:
    """Return the places of the messages that have a term."""
    places: set[int] = set()
    for segment, found in index.postings(key):
        first = index.places[segment]
        places.update(first + number for number in found.messages)
    return places


def _offset_of(place: int, index: _OneLog) -> int:
    segment = bisect_left(index.places, place + 1) - 1
    return index.offset(segment, place - index.places[segment])


async def _add_new(session: Session, index: SessionIndex, *, until: Callable[[], bool]) -> None:
    """Add the messages that an index lacks, until all are added or `until` returns True."""
    while batches := await session.queue.run(index.read):
        await asyncio.to_thread(index.take, batches)
        if until():
            return


async def best_answers(
    session: Session, session_index: SessionIndex, wanted: RecallQuery, *, most: int, clock: Callable[[], float]
) -> Answer:
    """Rank the messages of a session by a question.

    Args:
        session: the session whose messages are searched.
        session_index: the session's index. If another recall is using it, this recall makes a new one.
        wanted: the question.
        most: the number of answers needed. More are ranked, since some may not be live or match the narrowed search.
        clock: a clock in seconds.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    question = read_question(wanted.query, now=datetime.now(UTC).astimezone(LOCAL_ZONE))
    written = Written(_seconds(wanted.since), _seconds(wanted.until))
    most += _SPARE
    if wanted.role or wanted.tool:  # the search is narrowed
        most = max(most, _NARROWED)
    index = SessionIndex() if session_index.is_busy else session_index
    index.is_busy = True
    deadline = clock() + FILL_S
    try:
        for _ in range(_TRIES):
            await _add_new(session, index, until=lambda: clock() > deadline)
            try:
                return await asyncio.to_thread(index.answer, question, most=most, written=written)
            except CatalogueError:
                index.forget()
            except LogUnreadableError:
                index.forget(without_server=True)
        return Answer((), None, 0, len(session.log.index))
    finally:
        index.is_busy = False


async def hits_of(
    session: Session, answer: Answer, wanted: RecallQuery, known: Collection[str], *, most: int
) -> list[Hit]:
    """Make hits of the best answers that are live and match the narrowed search.

    Args:
        session: the session whose messages are searched.
        answer: the ranking.
        wanted: the question, and the role, tool or time that it is narrowed to.
        known: ids of messages that are hits already.
        most: the most hits to make.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    hits: list[Hit] = []
    left = list(answer.found)
    while left and len(hits) < most:
        batch = left[:_READ_TOGETHER]
        left = left[_READ_TOGETHER:]
        read = await session.queue.run(partial(_read_answers, found=batch, wanted=wanted))
        hits += await asyncio.to_thread(_make_hits, read)
        hits = [hit for hit in hits if hit.reference not in known]
    return hits[:most]


def _read_answers(
    log: Log, found: Sequence[tuple[int, Ranked]], wanted: RecallQuery
) -> list[tuple[Message, str, Ranked]]:
    """Read the messages that match the narrowed search, each with the tool whose result it is."""
    index = log.index
    known = log.index.columns.offsets
    read = []
    for offset, ranked in found:
        ordinal = bisect_left(known, offset)
        if ordinal == len(known) or known[ordinal] != offset or not index.is_live(ordinal):
            continue
        if wanted.role and index.columns.roles[ordinal] != ROLE_CODES[wanted.role]:
            continue
        (message,) = log.read([ordinal])
        tool = searched_tool(log, index.live, _position_of(index, ordinal), message, wanted)
        if tool is not None:
            read.append((message, tool, ranked))
    return read


def _seconds(time: datetime | None) -> float | None:
    return time.timestamp() if time is not None else None


def _position_of(index: Index, ordinal: int) -> int:
    """Return the position of a live message.

    Ordinals of the live history ascend, except for messages that a host inserted.
    """
    position = bisect_left(index.live, ordinal)
    is_found = position < len(index.live) and index.live[position] == ordinal
    return position if is_found else index.live.index(ordinal)


def _make_hits(read: Sequence[tuple[Message, str, Ranked]]) -> list[Hit]:
    return [_hit(message, tool, ranked) for message, tool, ranked in read]


def _hit(message: Message, tool: str, ranked: Ranked) -> Hit:
    text, searched = full_text(message)
    worth = worth_of(ranked)
    marks = marks_of(text[:searched], worth)
    window = best_window(marks, worth)
    main_place = (marks[window.start].start, marks[window.stop - 1].end) if window else (0, 0)
    others = [(mark.start, mark.end) for position, mark in enumerate(marks) if position not in window]
    reference = str(metadata_of(message).get("message_id", ""))
    return make_hit(message, reference, tool, text, [main_place, *others][:MOST_PLACES])
