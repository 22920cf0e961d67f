"""Recall from a session's log, on the log's thread: one message by its id, or a search, newest first.

A search goes backwards through the live history in steps of about `STEP_S`, so that appends and views come in between;
where the history was replaced meanwhile it begins anew. A line that cannot match is not parsed. After `SEARCH_S` it
stops, and its page says where.

Messages that hold a text exactly as it was asked for come first, each part newest first. Where there are such, and the
text has a capital letter, those that differ in the case of letters are no hits: else one name would be lost among many
words.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from typing import Unpack

from ..errors import RecallError
from ..log.base import Log
from ..log.index import DAMAGED, ROLE_CODES, UNCHAINED, Index
from ..messages.message import Message, result_id_of
from ..messages.metadata import RECALL_TOOL, metadata_of, timestamp_of
from ..messages.text import full_text
from ..search.recall_page import (
    CHARS_PER_TOKEN,
    HITS,
    MOST_PLACES,
    Hit,
    Question,
    RecallPage,
    Wanted,
    check_wanted,
    cut_page,
    make_hit,
    page_tokens,
    tell_hits,
)
from ..search.tool_names import tools_of
from .session import Session

STEP_S = 0.05
SEARCH_S = 10.0
BATCH_MESSAGES = 256
_BATCH_BYTES = 1 << 20
_FOREIGN = DAMAGED | UNCHAINED  # lines that we may not have written: their JSON may write a text in many ways


class RecallSearch:
    """One recall.

    Args:
        wanted: what is asked for.
        count: counts the tokens of a message.
        budget_tokens: the session's budget; a page is a tenth of it.
        clock: seconds that pass.
    """

    def __init__(
        self, wanted: Wanted, *, count: Callable[[Message], int], budget_tokens: int, clock: Callable[[], float]
    ) -> None:
        self._wanted, self._count, self._clock = wanted, count, clock
        self._most_tokens = page_tokens(budget_tokens)
        self._deadline = clock() + SEARCH_S
        self._index: Index | None = None
        self._generation = 0
        self._live: array[int] = array("I")
        self._at = 0
        """How many of the oldest live messages are not searched yet."""
        self._hits: list[Hit] = []
        self._alike: list[Hit] = []
        """Those that differ from what was asked for in the case of letters."""

    def step(self, log: Log) -> RecallPage | None:
        """Go on; the page, or None where there is more to do.

        Raises:
            RecallError: there is no such message, or no such page.
            LogUnreadableError: the log cannot be read.
        """
        log.follow()
        if self._wanted.pattern is None:
            return self._page(log)
        if log.index is not self._index or log.index.generation != self._generation:
            self._index, self._generation = log.index, log.index.generation
            self._hits, self._alike = [], []
            self._live = log.index.live[:]
            self._at = len(self._live)
        step_end = self._clock() + STEP_S
        while self._at and len(self._hits) < self._enough:
            self._search(log, self._next_batch(log.index))
            now = self._clock()
            if now > self._deadline:
                (last,) = log.read([self._live[self._at]])
                return self._tell(stopped_at=timestamp_of(last))
            if now > step_end:
                return None
        return self._tell()

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
            fits=self._fits,
        )

    # -- one message -------------------------------------------------------------------------------------------------

    def _page(self, log: Log) -> RecallPage:
        place = find_live(log, self._wanted.reference)
        live = log.index.live
        before, behind = live[place - 1 : place] if place else (), live[place + 1 : place + 2]
        found = list(log.read([*before, live[place], *behind]))
        ids = [str(metadata_of(message).get("message_id", "")) for message in found]
        at = len(before)
        return cut_page(
            found[at],
            self._wanted,
            before=ids[0] if at else "",
            behind=ids[-1] if len(behind) else "",
            most_chars=CHARS_PER_TOKEN * self._most_tokens,
            fits=self._fits,
        )

    def _fits(self, output: str) -> bool:
        result = {"role": "tool", "name": RECALL_TOOL, "content": output}
        return self._count(result) <= self._most_tokens

    # -- a search ----------------------------------------------------------------------------------------------------

    def _next_batch(self, index: Index) -> range:
        """The positions of the next messages to search."""
        start, size = self._at, 0
        while start and self._at - start < BATCH_MESSAGES and size < _BATCH_BYTES:
            start -= 1
            size += index.lengths[self._live[start]]
        batch, self._at = range(start, self._at), start
        return batch

    def _search(self, log: Log, places: Sequence[int]) -> None:
        index, live, wanted = log.index, self._live, self._wanted
        if wanted.role:
            places = [place for place in places if index.roles[live[place]] == ROLE_CODES[wanted.role]]
        if wanted.pattern is not None and wanted.pattern.needle:
            lines = log.lines([live[place] for place in places])
            places = [
                place
                for place, (ordinal, line) in zip(places, lines, strict=True)
                if index.flags[ordinal] & _FOREIGN or wanted.pattern.may_match(line)
            ]
        messages = list(log.read([live[place] for place in places]))
        for place, message in zip(reversed(places), reversed(messages), strict=True):
            self._look(log, place, message)

    def _look(self, log: Log, place: int, message: Message) -> None:
        """Take in the hit in a message, if there is one."""
        wanted = self._wanted
        if wanted.pattern is None or not wanted.matches_time(message):
            return
        text, searched = full_text(message)
        spans: list[tuple[int, int]] = []
        for span in wanted.pattern.spans(text[:searched], expired=lambda: self._clock() > self._deadline):
            spans.append(span)
            if len(spans) == MOST_PLACES:
                break
        if not spans:
            return
        asked = wanted.pattern.text
        exact = text.find(asked, 0, searched) if asked else 0
        if asked and exact >= 0:  # what is written alike is what was meant
            same = (exact, exact + len(asked))
            spans = [same, *(span for span in spans if span != same)]
        tools = tools_of(log, self._live, place, message)
        tool = tools[0] if tools and result_id_of(message) is not None else ""
        if tool == RECALL_TOOL or (wanted.tool and wanted.tool not in tools):
            return
        hits = self._hits if exact >= 0 else self._alike
        if len(hits) < self._enough:
            hits.append(make_hit(message, str(metadata_of(message).get("message_id", "")), tool, text, spans))


async def recall(
    session: Session,
    reference: str | None,
    *,
    clock: Callable[[], float] = time.monotonic,
    **question: Unpack[Question],
) -> RecallPage:
    """Read back a piece of one message of a session's live history, or search it.

    A page has at most a tenth of the budget of the request before it, and `MOST_PAGE_TOKENS`.

    Args:
        session: the session.
        reference: the id of one message, or nothing.
        clock: seconds that pass.
        question: which part of that message, or what to search for.

    Raises:
        RecallError: there is no such message or page, or the question is wrong; says what can be asked.
        LogUnreadableError: the log cannot be read.
    """
    wanted = check_wanted(reference=reference, **question)
    lookup = RecallSearch(wanted, count=session.count, budget_tokens=session.requests.last_budget_tokens, clock=clock)
    while (page := await session.commit.run(lookup.step)) is None:
        pass
    return page


def find_live(log: Log, reference: str) -> int:
    """Find the position of a message in the live history by its id.

    Raises:
        RecallError: it is not there.
    """
    index, wanted = log.index, hash(reference.encode("utf-8", "surrogatepass"))
    places = [place for place, ordinal in enumerate(index.live) if index.id_hashes[ordinal] == wanted]
    if places:
        return places[-1]
    if index.find_all([reference]):
        raise RecallError(f"reference: {reference} is not part of this session any more: its history was replaced")
    raise RecallError(
        f"reference: no message of this session has the id {reference!r:.80}; take one from a view, or search"
    )
