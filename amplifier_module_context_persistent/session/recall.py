"""Recall from a session's log: one message by its id, or a search.

A search has two parts: first the messages that contain the text, newest first; then the best answers to the text as a
question (`ranked_recall.py`). A regular expression has the first part only.

The first part goes backwards through the live history. The log's thread reads and parses for about `STEP_S` at a time.
Another thread matches, so that even a slow expression does not hold up appends and views. Lines that cannot match are
not parsed. If the history is replaced during a search, the search starts again. After `SEARCH_S` a search stops, and
its page says where. A message that alone takes `MESSAGE_S` is skipped, and counted in the page.

Messages with the exact text come before messages that differ in the case of letters. If the text has a capital letter
and was found exactly, other cases are not hits at all: a name would be lost among common words. For a question of three
words or more, the ranked index tells which messages may contain the text, and only these are searched.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ..log.contract import Log, finds_bytes
from ..log.index import DAMAGED, ROLE_CODES, UNCHAINED, Index
from ..messages.message import Message, metadata_of
from ..messages.message_times import timestamp_of
from ..messages.text import full_text
from ..search.accents import forms_of
from ..search.pattern import Pattern, SlowPatternError
from ..search.recall_page import (
    HITS,
    LEAST_WORDS,
    MOST_PLACES,
    Hit,
    RecallPage,
    RecallQuery,
    make_hit,
    page_tokens,
    recall_output,
    tell_hits,
)
from ..search.recall_scope import searched_tool
from .recall_message import recall_message
from .store import Session

if TYPE_CHECKING:
    from .ranked_recall import SessionIndex

STEP_S = 0.05
SEARCH_S = 10.0
MESSAGE_S = 1.0
BATCH_MESSAGES = 256
_BATCH_BYTES = 1 << 20
_STORED_BATCHES = 16


@dataclass(slots=True)
class RecallState:
    """The state that a session keeps between recalls. The state has a ranked index once a question was asked."""

    index: SessionIndex | None = None


class RecallSearch:
    """One search for a text. Call `step` on the log's thread and `match` on another one until `step` returns True.

    Args:
        wanted: the query.
        count: counts the tokens of a message.
        budget_tokens: the session's budget; a page is a tenth of it.
        clock: a clock in seconds.
    """

    def __init__(
        self, wanted: RecallQuery, *, count: Callable[[Message], int], budget_tokens: int, clock: Callable[[], float]
    ) -> None:
        self._wanted = wanted
        self._count = count
        self._clock = clock
        self._most_tokens = page_tokens(budget_tokens)
        self._deadline = clock() + SEARCH_S
        self._index: Index | None = None
        self._generation = 0
        self._live: Sequence[int] = ()
        self._at = 0
        """Number of live messages, counted from the oldest, that are not searched yet."""
        self._read: list[tuple[int, Message, str]] = []
        """Messages that were read and not matched yet, newest first: position, message, and the tool of a result."""
        self._given_up = 0
        """The number of messages that were skipped because matching took too long."""
        self._is_cancelled = False
        self._stopped_at: str | None = None
        self._among: frozenset[int] | None = None
        """The offsets of the messages that may match, or None for all messages."""
        self._hits: list[Hit] = []
        self._alike: list[Hit] = []
        """Hits that differ from the text in the case of letters."""

    def step(self, log: Log) -> bool:
        """Read the next messages. Return whether nothing is left to read or to match.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        log.follow()
        if log.index is not self._index or log.index.generation != self._generation:
            self._index = log.index
            self._generation = log.index.generation
            self._live = log.index.live[:]
            self._at = self._end_of_search()
            self._hits = []
            self._alike = []
            self._read = []
            self._given_up = 0
        if len(self._hits) >= self.enough:
            return True
        now = self._clock()
        if self._at and now > self._deadline:
            (last,) = log.read([self._live[min(self._at, len(self._live) - 1)]])
            self._stopped_at = timestamp_of(last)
            return True
        step_end = now + STEP_S
        while self._at and len(self._read) < BATCH_MESSAGES:
            self._read_batch(log, self._next_batch(log))
            if self._clock() > step_end:
                return False
        return not self._read and not self._at

    def _end_of_search(self) -> int:
        """Return the position after the last live message that may match."""
        if self._among is None or self._index is None:
            return len(self._live)
        if not self._among:
            return 0  # the usual case: an answer seldom has the words of the question
        last_offset = max(self._among)
        offsets = self._index.columns.offsets
        end = 0
        for position, ordinal in enumerate(self._live):
            if offsets[ordinal] <= last_offset:
                end = position + 1
        return end

    def search_only(self, offsets: frozenset[int] | None) -> None:
        """Search only the messages at these offsets of the log, or all messages if `offsets` is None."""
        self._among = offsets

    def match(self) -> None:
        """Match the messages that were read. This may take long, so call it on a thread of its own."""
        read = self._read
        self._read = []
        for position, message, tool in read:
            begin = self._clock()
            if begin > self._deadline or self._is_cancelled:
                self._at = position + 1
                return
            self._match(message, tool, min(self._deadline, begin + MESSAGE_S))

    def cancel(self) -> None:
        """End a running `match` soon, because no caller waits for this search any more."""
        self._is_cancelled = True

    @property
    def enough(self) -> int:
        """The number of hits that fill the page and show that there are more."""
        on_page = self._wanted.limit or HITS
        return self._wanted.offset + on_page + 1

    def hits(self) -> list[Hit]:
        """Return the hits, exact ones first.

        If the text has a capital letter and was found exactly, return only the exact ones.
        """
        return self._hits if self.is_as_meant else self._hits + self._alike

    @property
    def is_as_meant(self) -> bool:
        """Whether the text has a capital letter and was found exactly."""
        return bool(self._hits) and self._wanted.pattern is not None and self._wanted.pattern.has_capitals

    def tell(self, answers: Sequence[Hit] = (), *, unranked: str = "") -> RecallPage:
        """Make the page with the hits, followed by the best answers to the question."""
        first = self._wanted.offset
        end = self.enough - 1  # one more hit only shows that there are more
        literal_hits = self.hits()
        alike = len(literal_hits) - len(self._hits)
        hits = [*literal_hits, *answers]
        return tell_hits(
            hits[first:end],
            self._wanted,
            order=_order(as_it_is=len(self._hits), alike=alike, ranked=len(answers)),
            more=len(hits) > end,
            stopped_at=self._stopped_at,
            given_up=self._given_up,
            unranked=unranked,
            fits=self._fits,
        )

    # -- a search ----------------------------------------------------------------------------------------------------

    def _fits(self, output: str) -> bool:
        return self._count(recall_output(output)) <= self._most_tokens

    def _next_batch(self, log: Log) -> range:
        """Return the positions of the next messages to search. Batches are larger if the storage itself can search."""
        pattern = self._wanted.pattern
        storage_searches = finds_bytes(log) and pattern is not None and pattern.needle
        batches = _STORED_BATCHES if storage_searches else 1
        stop = self._at
        first = max(0, stop - batches * BATCH_MESSAGES)
        read_bytes = 0
        while self._at > first and read_bytes < batches * _BATCH_BYTES:
            self._at -= 1
            read_bytes += log.index.columns.lengths[self._live[self._at]]
        return range(self._at, stop)

    def _read_batch(self, log: Log, batch: range) -> None:
        """Read the messages of a batch that may match. Pages that `recall` returned are not searched."""
        positions = self._positions_to_read(log, batch)
        live = self._live
        messages = list(log.read([live[position] for position in positions]))
        for position, message in zip(reversed(positions), reversed(messages), strict=True):
            tool = searched_tool(log, live, position, message, self._wanted)
            if tool is not None:
                self._read.append((position, message, tool))

    def _positions_to_read(self, log: Log, batch: range) -> Sequence[int]:
        """Return the positions of a batch whose messages may match, as far as the index and the bytes tell."""
        columns = log.index.columns
        live = self._live
        wanted = self._wanted
        positions: Sequence[int] = batch
        if wanted.role:
            role = ROLE_CODES[wanted.role]
            positions = [position for position in positions if columns.roles[live[position]] == role]
        among = self._among
        if among is not None:
            positions = [position for position in positions if columns.offsets[live[position]] in among]
        if wanted.pattern is not None and wanted.pattern.needle:
            ordinals = [live[position] for position in positions]
            may_match = lines_that_may_match(log, ordinals, wanted.pattern)
            positions = [position for position in positions if live[position] in may_match]
        return positions

    def _match(self, message: Message, tool: str, deadline: float) -> None:
        pattern = self._wanted.pattern
        if pattern is None:
            return
        text, searched = full_text(message)
        text_to_search = text[:searched]
        spans: list[tuple[int, int]] = []
        try:
            for span in pattern.spans(text_to_search, expired=lambda: self._is_expired(deadline)):
                spans.append(span)
                if len(spans) == MOST_PLACES:
                    break
        except SlowPatternError:
            self._given_up += 1
        if not spans:
            return
        exact, form = _exact_place(text_to_search, pattern.text)
        if exact >= 0 and form:  # an exact match is the wanted place
            exact_span = (exact, exact + len(form))
            spans = [exact_span, *(span for span in spans if span != exact_span)]
        hits = self._hits if exact >= 0 else self._alike
        if len(hits) < self.enough:
            reference = str(metadata_of(message).get("message_id", ""))
            hits.append(make_hit(message, reference, tool, text, spans))

    def _is_expired(self, deadline: float) -> bool:
        return self._is_cancelled or self._clock() > deadline


def _order(*, as_it_is: int, alike: int, ranked: int) -> str:
    """Return the sentence that tells a page's reader the order of its hits."""
    is_mixed = as_it_is and alike
    order = "first as it is written, then in other case, newest first" if is_mixed else "newest first"
    if not ranked:
        return order
    if as_it_is or alike:
        return f"first those that hold it, {order}; then the best answers"
    return "best answers first"


async def recall(
    session: Session, wanted: RecallQuery, *, kept: RecallState, clock: Callable[[], float] = time.monotonic
) -> RecallPage:
    """Read back a piece of one message of a session's live history, or search it.

    A page has at most `MOST_PAGE_TOKENS`, and at most a tenth of the last request's budget.

    Args:
        session: the session whose messages are read or searched.
        wanted: the message and the part of it to read, or what to search for.
        kept: the session's state from the last recall.
        clock: a clock in seconds.

    Raises:
        RecallError: there is no such message or page; the text says what can be asked.
        LogUnreadableError: the log cannot be read.
    """
    budget_tokens = session.views.last_budget_tokens
    if wanted.pattern is None:
        read = partial(recall_message, wanted=wanted, count=session.count, budget_tokens=budget_tokens)
        return await session.queue.run(read)
    search = RecallSearch(wanted, count=session.count, budget_tokens=budget_tokens, clock=clock)
    if not wanted.query_words:
        await _run(session, search)
        return await session.queue.run(lambda _: search.tell())
    from .ranked_recall import SessionIndex, best_answers, hits_of  # most sessions do not need these

    if kept.index is None:
        kept.index = SessionIndex()
    is_short = wanted.query_words < LEAST_WORDS
    if is_short:
        await _run(session, search)
        if len(search.hits()) >= search.enough or search.is_as_meant:
            return await session.queue.run(lambda _: search.tell())
    most = search.enough + len(search.hits())
    answers = await best_answers(session, kept.index, wanted, most=most, clock=clock)
    if not is_short:
        search.search_only(answers.may_match)
        await _run(session, search)
    references = {hit.reference for hit in search.hits()}
    best = await hits_of(session, answers, wanted, references, most=search.enough - len(references))
    return await session.queue.run(lambda _: search.tell(best, unranked=answers.notes))


async def _run(session: Session, search: RecallSearch) -> None:
    """Run a search to its end.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    try:
        while not await session.queue.run(search.step):
            await asyncio.to_thread(search.match)
    finally:
        search.cancel()


def _exact_place(text: str, wanted: str) -> tuple[int, str]:
    """Return the first place of the exact text, composed or decomposed, and the form found, or -1 and the text."""
    if not wanted:
        return 0, ""
    for form in forms_of(wanted):
        place = text.find(form)
        if place >= 0:
            return place, form
    return -1, wanted


_FOREIGN = DAMAGED | UNCHAINED  # other programs' lines: their JSON may write a text in many ways


def lines_that_may_match(log: Log, ordinals: Sequence[int], pattern: Pattern) -> set[int]:
    """Return the ordinals of the records that may match, without parsing them. No matching record is missing.

    Args:
        log: the session's log.
        ordinals: the records to search.
        pattern: the pattern; it must have a needle.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    flags = log.index.columns.flags
    foreign = {ordinal for ordinal in ordinals if flags[ordinal] & _FOREIGN}  # they may have any escapes
    if foreign:
        ordinals = [ordinal for ordinal in ordinals if ordinal not in foreign]
    if finds_bytes(log):
        return foreign | log.find_bytes(ordinals, pattern.needle, ignores_case=pattern.ignores_case)
    return foreign | {ordinal for ordinal, line in log.lines(ordinals) if pattern.may_match(line)}
