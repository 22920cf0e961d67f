"""Playing a session through a policy, request by request: one before each assistant message."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from ..config import Config
from ..tokens.counter import TokenCounter, count_message
from ..view.arrangement import Item
from ..view.receipts import canonical
from .baselines import Whole
from .evidence import Said, Session, said
from .excerpt_summarizer import Asked
from .measures import Measures
from .policies import Message, Open, Policy
from .reader_measures import Reader

Check = Callable[[Sequence[Message], Sequence[Message], Sequence[int]], list[str]]
"""Says what is wrong with a view, a sentence a violation.

It is given the view, the history that it was made from, and the positions of those messages in the view that no valid
view held before.
"""


@dataclass(frozen=True, slots=True)
class Played:
    """One request that was played: how many messages came before it, and the view, or None if it was refused."""

    number: int
    place: int
    view: Sequence[Message] | None
    tokens: int = 0
    cached_tokens: int = 0
    broke: bool = False
    """Whether the view is not the one before it with what was appended."""


class Player:
    """Plays one session; what it learns about a message of a view is kept for every policy and budget."""

    def __init__(self, session: Session, counter: TokenCounter, *, check: Check | None = None) -> None:
        self.session, self._counter, self._check = session, counter, check
        self._originals = {message["metadata"]["message_id"]: message for message in session.messages}
        self._reader = Reader(session.messages)
        self._known: dict[bytes, tuple[int, int, Said]] = {}
        self._fine: set[bytes] = set()
        """Messages that were in a view without violations."""

    async def play(
        self,
        name: str,
        open_policy: Open,
        budget_tokens: int,
        options: Mapping[str, Any],
        on_request: Callable[[Played], None] | None = None,
    ) -> Measures:
        """Play the session through a policy; `on_request` is told each request as it is played."""
        measures = Measures(self.session.name, budget_tokens, name, self.session.tokens)
        config = Config.load(options)
        measures.band = config.compact_threshold - config.target_usage
        async for played in self.requests(open_policy, budget_tokens, options, measures):
            if on_request is not None:
                on_request(played)
        return measures

    async def requests(
        self, open_policy: Open, budget_tokens: int, options: Mapping[str, Any], measures: Measures
    ) -> AsyncGenerator[Played, None]:
        """Play the session request by request, adding each to the measures."""
        if open_policy is Whole and (whole := self._whole_view()) is not None:
            for played in self._play_whole(*whole, measures):
                yield played
            return
        policy = open_policy(budget_tokens, self._counter, options)
        before: list[bytes] = []
        found: set[str] = set()
        try:
            for position, message in enumerate(self.session.messages):
                if message.get("role") == "assistant":
                    start = time.perf_counter()
                    view = await policy.view()
                    elapsed = (time.perf_counter() - start) * 1000
                    measures.requests += 1
                    measures.total_ms += elapsed
                    measures.max_ms = max(measures.max_ms, elapsed)
                    if view is None:
                        measures.refused += 1
                        measures.evidence += len(self.session.evidence.get(position, []))
                        yield Played(measures.requests, position, None)
                    else:
                        before, played = await self._measure(measures, policy, position, view, before, found)
                        yield played
                await policy.add(message)
        finally:
            await policy.close()

    async def _measure(
        self,
        measures: Measures,
        policy: Policy,
        position: int,
        view: list[Message],
        before: list[bytes],
        found: set[str],
    ) -> tuple[list[bytes], Played]:
        """Add a request to the measures; its messages as bytes are what the next one is compared with."""
        self._bill(measures, policy.asked(), before)
        lines = [canonical(message) for message in view]
        known = [self._look(line, message) for line, message in zip(lines, view, strict=True)]
        sizes = [size for size, _, _ in known]
        shared = common_prefix(before, lines)
        tokens, cached, broke = sum(sizes), sum(sizes[:shared]), shared < len(before)
        measures.breaks += broke
        measures.request_tokens.append(tokens)
        measures.cached_tokens += cached
        measures.inserted_tokens += sum(inserted for _, inserted, _ in known)
        measures.owed.take(self._reader.look(position, view, [part for _, _, part in known]))
        if wanted := self.session.evidence.get(position):
            original = "\n".join(part.original for _, _, part in known)
            text = "\n".join(part.text for _, _, part in known)
            measures.evidence += len(wanted)
            measures.evidence_original += sum(term in original for term in wanted)
            measures.evidence_shown += sum(term in text for term in wanted)
            for term in wanted:
                if term not in original and term not in found:
                    inserted = "\n".join(piece for _, _, part in known for piece in part.inserted)
                    if not await policy.recalls(term, inserted):
                        continue
                    found.add(term)  # the log keeps it
                measures.evidence_recoverable += 1
        if self._check is not None:
            fresh = [at for at, line in enumerate(lines) if line not in self._fine]
            violations = self._check(view, self.session.messages[:position], fresh)
            if not violations:
                self._fine.update(lines)
            measures.invalid += bool(violations)
            measures.violations += violations[: max(0, 5 - len(measures.violations))]
        return lines, Played(measures.requests, position, view, tokens, cached, broke)

    def _bill(self, measures: Measures, asked: Sequence[Asked], before: Sequence[bytes]) -> None:
        """Add what a provider was asked to sum up."""
        for one in asked:
            sizes = [count_message(message, self._counter) for message in one.messages]
            shared = common_prefix(before, [canonical(message) for message in one.messages])
            measures.summaries += 1
            measures.summary_tokens += sum(sizes)
            measures.summary_cached_tokens += sum(sizes[:shared])
            measures.answer_tokens += self._counter.count_text(one.answer)

    def _whole_view(self) -> tuple[list[Message], list[int]] | None:
        """The view of the whole history, and for each message how much of the view comes before it.

        None if a view of fewer messages is not its beginning (a result came late), or if it is not valid.
        """
        whole = Whole(0, self._counter, {})
        for message in self.session.messages:
            whole.take(message)
        arrangement = whole.arrange()
        before: list[int] = []
        for at, item in enumerate(arrangement.items):
            if item.entry is None:
                continue
            if item.entry.ordinal < len(before):
                return None
            led = at > 0 and item.result is None and _leads(arrangement.items[at - 1])
            before += [at - led] * (item.entry.ordinal + 1 - len(before))
        before += [len(arrangement.items)] * (len(self.session.messages) - len(before))
        view = whole.render(arrangement)
        valid = self._check is None or not self._check(view, self.session.messages, range(len(view)))
        return (view, before) if valid else None

    def _play_whole(self, view: list[Message], before: list[int], measures: Measures) -> Iterator[Played]:
        known = [self._look(canonical(message), message) for message in view]
        sums = [0, *accumulate(size for size, _, _ in known)]
        inserted = [0, *accumulate(inserted for _, inserted, _ in known)]
        cached = 0
        for position, message in enumerate(self.session.messages):
            if message.get("role") != "assistant":
                continue
            measures.requests += 1
            tokens = sums[before[position]]
            measures.request_tokens.append(tokens)
            measures.cached_tokens += cached
            measures.inserted_tokens += inserted[before[position]]
            measures.owed.take(self._reader.look_at_all(position))
            wanted = len(self.session.evidence.get(position, ()))
            measures.evidence += wanted
            measures.evidence_original += wanted
            measures.evidence_shown += wanted
            measures.evidence_recoverable += wanted
            yield Played(measures.requests, position, view[: before[position]], tokens, cached)
            cached = tokens

    def _look(self, line: bytes, message: Message) -> tuple[int, int, Said]:
        """A message of a view: its tokens, the inserted ones of them, and what it says."""
        known = self._known.get(line)
        if known is None:
            original = self._originals.get((message.get("metadata") or {}).get("message_id"))
            size = count_message(message, self._counter)
            part = said(message, original)
            inserted = size if part.whole else sum(map(self._counter.count_text, part.inserted))
            known = self._known[line] = size, inserted, part
        return known


def _leads(item: Item) -> bool:
    """Whether it is a user message that was inserted before the next one."""
    return item.inserted is not None and item.inserted.get("role") == "user"


def common_prefix(before: Sequence[bytes], after: Sequence[bytes]) -> int:
    """How many leading messages two views have in common, byte by byte."""
    for position, (left, right) in enumerate(zip(before, after, strict=False)):
        if left != right:
            return position
    return min(len(before), len(after))
