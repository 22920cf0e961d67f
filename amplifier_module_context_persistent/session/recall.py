"""Recall from a session's log: one message by its id, or a search, newest first.

A search goes backwards through the live history. The log's thread reads and parses for about `STEP_S` at a time; what
it read is matched on another thread, so that appends and views come in between whatever the expression. A history that
was replaced meanwhile is searched anew. A line that cannot match is not parsed. After `SEARCH_S` a search stops, and
its page says where; a message that alone takes `MESSAGE_S` is given up, and counted in the page.

Messages that hold a text exactly as it was asked for come first, each part newest first. Where there are such, and the
text has a capital letter, those that differ in the case of letters are no hits: else one name would be lost among many
words.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from ..errors import RecallError
from ..log.base import Log, finds_bytes
from ..log.index import DAMAGED, ROLE_CODES, UNCHAINED, Index
from ..messages.message import Message, result_id_of
from ..messages.metadata import RECALL_TOOL, is_ephemeral, is_kept_from_models, metadata_of, timestamp_of
from ..messages.text import full_text
from ..search.pattern import Pattern, SlowPatternError
from ..search.recall_media import with_media
from ..search.recall_page import (
    CHARS_PER_TOKEN,
    HITS,
    MOST_PLACES,
    Hit,
    RecallPage,
    RecallQuery,
    cut_page,
    make_hit,
    page_tokens,
    tell_hits,
)
from ..search.tool_names import tools_of
from .store import Session

STEP_S = 0.05
SEARCH_S = 10.0
MESSAGE_S = 1.0
BATCH_MESSAGES = 256
_BATCH_BYTES = 1 << 20
_STORED_BATCHES = 16


class RecallSearch:
    """One recall: call `step` on the log's thread, and `match` on another one while it gives None.

    Args:
        wanted: what is asked for.
        count: counts the tokens of a message.
        budget_tokens: the session's budget; a page is a tenth of it.
        clock: seconds that pass.
    """

    def __init__(
        self, wanted: RecallQuery, *, count: Callable[[Message], int], budget_tokens: int, clock: Callable[[], float]
    ) -> None:
        self._wanted, self._count, self._clock = wanted, count, clock
        self._most_tokens = page_tokens(budget_tokens)
        self._deadline = clock() + SEARCH_S
        self._index: Index | None = None
        self._generation = 0
        self._live: Sequence[int] = ()
        self._at = 0
        """How many of the oldest live messages are not searched yet."""
        self._read: list[tuple[int, Message, str]] = []
        """Messages that were read and not matched yet, newest first: positions, and the tools of results."""
        self._given_up = 0
        """Messages that took too long."""
        self._is_cancelled = False
        self._hits: list[Hit] = []
        self._alike: list[Hit] = []
        """Those that differ from what was asked for in the case of letters."""

    def step(self, log: Log) -> RecallPage | None:
        """Take in what was matched and read on; the page, or None where there is something to match or to read.

        Raises:
            RecallError: there is no such message, or no such page.
            LogUnreadableError: the log cannot be read.
        """
        log.follow()
        if self._wanted.pattern is None:
            return self._page(log)
        if log.index is not self._index or log.index.generation != self._generation:
            self._index, self._generation = log.index, log.index.generation
            self._live = log.index.live[:]
            self._at = len(self._live)
            self._hits, self._alike, self._read, self._given_up = [], [], [], 0
        if len(self._hits) >= self._enough:
            return self._tell()
        now = self._clock()
        if self._at and now > self._deadline:
            (last,) = log.read([self._live[min(self._at, len(self._live) - 1)]])
            return self._tell(stopped_at=timestamp_of(last))
        step_end = now + STEP_S
        while self._at and len(self._read) < BATCH_MESSAGES:
            self._read_batch(log, self._next_batch(log))
            if self._clock() > step_end:
                return None
        return None if self._read or self._at else self._tell()

    def match(self) -> None:
        """Search the messages that were read; call it on a thread that may be kept busy."""
        read, self._read = self._read, []
        for position, message, tool in read:
            begin = self._clock()
            if begin > self._deadline or self._is_cancelled:
                self._at = position + 1
                return
            self._match(message, tool, min(self._deadline, begin + MESSAGE_S))

    def cancel(self) -> None:
        """Nobody waits for this search any more: `match` ends soon."""
        self._is_cancelled = True

    @property
    def _enough(self) -> int:
        """How many hits fill the page and show that there are more."""
        return self._wanted.offset + (self._wanted.limit or HITS) + 1

    def _tell(self, *, stopped_at: str | None = None) -> RecallPage:
        pattern, first, end = self._wanted.pattern, self._wanted.offset, self._enough - 1
        alike = [] if self._hits and pattern is not None and pattern.has_capitals else self._alike
        hits = self._hits + alike
        return tell_hits(
            hits[first:end],
            self._wanted,
            mixed=bool(self._hits and alike),
            more=len(hits) > end,
            stopped_at=stopped_at,
            given_up=self._given_up,
            fits=self._fits,
        )

    # -- one message -------------------------------------------------------------------------------------------------

    def _page(self, log: Log) -> RecallPage:
        position = find_live(log, self._wanted.reference)
        live = log.index.live
        before, after = live[position - 1 : position] if position else (), live[position + 1 : position + 2]
        found = list(log.read([*before, live[position], *after]))
        ids = [str(metadata_of(message).get("message_id", "")) for message in found]
        at = len(before)
        page = cut_page(
            found[at],
            self._wanted,
            before=ids[0] if at else "",
            after=ids[-1] if len(after) else "",
            most_chars=CHARS_PER_TOKEN * self._most_tokens,
            fits=self._fits,
        )
        return with_media(page, found[at], self._wanted)

    def _fits(self, output: str) -> bool:
        result = {"role": "tool", "name": RECALL_TOOL, "content": output}
        return self._count(result) <= self._most_tokens

    # -- a search ----------------------------------------------------------------------------------------------------

    def _next_batch(self, log: Log) -> range:
        """The positions of the next messages to search; more where the storage looks through them."""
        pattern, stop, size = self._wanted.pattern, self._at, 0
        is_stored_search = finds_bytes(log) and pattern is not None and pattern.needle
        times = _STORED_BATCHES if is_stored_search else 1
        while stop - self._at < min(stop, times * BATCH_MESSAGES) and size < times * _BATCH_BYTES:
            self._at -= 1
            size += log.index.lengths[self._live[self._at]]
        return range(self._at, stop)

    def _read_batch(self, log: Log, batch: range) -> None:
        """Read the messages that may match; what `recall` gave is not searched."""
        index, live, wanted = log.index, self._live, self._wanted
        positions: Sequence[int] = batch
        if wanted.role:
            positions = [at for at in batch if index.roles[live[at]] == ROLE_CODES[wanted.role]]
        if wanted.pattern is not None and wanted.pattern.needle:
            ordinals = live[batch.start : batch.stop] if positions is batch else [live[at] for at in positions]
            may_match = lines_that_may_match(log, ordinals, wanted.pattern)
            positions = [at for at in positions if live[at] in may_match] if may_match else []
        messages = list(log.read([live[at] for at in positions]))
        for at, message in zip(reversed(positions), reversed(messages), strict=True):
            if is_ephemeral(message) or is_kept_from_models(message) or not wanted.matches_time(message):
                continue
            tools = tools_of(log, live, at, message)
            tool = tools[0] if tools and result_id_of(message) is not None else ""
            if tool != RECALL_TOOL and (not wanted.tool or wanted.tool in tools):
                self._read.append((at, message, tool))

    def _match(self, message: Message, tool: str, deadline: float) -> None:
        pattern = self._wanted.pattern
        if pattern is None:
            return
        text, searched = full_text(message)
        spans: list[tuple[int, int]] = []
        try:
            for span in pattern.spans(text[:searched], expired=lambda: self._is_cancelled or self._clock() > deadline):
                spans.append(span)
                if len(spans) == MOST_PLACES:
                    break
        except SlowPatternError:
            self._given_up += 1
        if not spans:
            return
        asked = pattern.text
        exact = text.find(asked, 0, searched) if asked else 0
        if asked and exact >= 0:  # what is written alike is what was meant
            same = (exact, exact + len(asked))
            spans = [same, *(span for span in spans if span != same)]
        hits = self._hits if exact >= 0 else self._alike
        if len(hits) < self._enough:
            hits.append(make_hit(message, str(metadata_of(message).get("message_id", "")), tool, text, spans))


async def recall(session: Session, wanted: RecallQuery, *, clock: Callable[[], float] = time.monotonic) -> RecallPage:
    """Read back a piece of one message of a session's live history, or search it.

    A page has at most a tenth of the budget of the request before it, and `MOST_PAGE_TOKENS`.

    Args:
        session: the session.
        wanted: which part of which message, or what to search for.
        clock: seconds that pass.

    Raises:
        RecallError: there is no such message or page; says what can be asked.
        LogUnreadableError: the log cannot be read.
    """
    search = RecallSearch(wanted, count=session.count, budget_tokens=session.requests.last_budget_tokens, clock=clock)
    try:
        while (page := await session.commit.run(search.step)) is None:
            await asyncio.to_thread(search.match)
    finally:
        search.cancel()
    return page


def find_live(log: Log, reference: str) -> int:
    """Find the position of a message in the live history by its id.

    Raises:
        RecallError: it is not there.
    """
    index = log.index
    ordinal = index.find_live(reference, index.live)
    if ordinal is not None and index.is_live(ordinal):
        (message,) = log.read([ordinal])
        if is_kept_from_models(message):
            raise RecallError(f"reference: {reference} is kept for readers of the history and is not shown to a model")
        if metadata_of(message).get("message_id") == reference:
            return len(index.live) - 1 - index.live[::-1].index(ordinal)
    if index.find_all([reference]):
        raise RecallError(f"reference: {reference} is not part of this session any more: its history was replaced")
    raise RecallError(
        f"reference: no message of this session has the id {reference!r:.80}; take one from a view, or search"
    )


_FOREIGN = DAMAGED | UNCHAINED  # lines that we may not have written: their JSON may write a text in many ways


def lines_that_may_match(log: Log, ordinals: Sequence[int], pattern: Pattern) -> set[int]:
    """Choose the records that may match, without parsing them; none that matches is left out.

    Args:
        log: the session's log.
        ordinals: which records are searched.
        pattern: what is looked for; it has a needle.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    flags = log.index.flags
    foreign = {ordinal for ordinal in ordinals if flags[ordinal] & _FOREIGN}
    own = [ordinal for ordinal in ordinals if ordinal not in foreign] if foreign else ordinals
    if finds_bytes(log):
        return foreign | log.find_bytes(own, pattern.needle, ignores_case=pattern.ignores_case)
    return foreign | {ordinal for ordinal, line in log.lines(own) if pattern.may_match(line)}
