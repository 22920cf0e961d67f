"""Playing a session through a policy, request by request: one before each assistant message."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..config import Config
from ..messages.message import Message
from ..messages.metadata import metadata_of
from ..tokens.counter import TokenCounter, count_message
from ..view.readers import lacks_reasoning
from ..view.receipts import canonical
from .evidence import PlayedSession, Said, said
from .measures import Measures, Played
from .policies import Asked, Open, Policy

_Known = tuple[int, int, Said]
"""A message of a view: its tokens, the inserted ones of them, and what it says."""

OnView = Callable[[int, Sequence[Message], Sequence[Said], int], None]
"""Is given how many messages came before a request, its view, what the view's messages say, and how many of the first
are those of the view before."""


class Player:
    """Plays one session.

    Args:
        session: what is played.
        counter: counts tokens.
    """

    def __init__(self, session: PlayedSession, counter: TokenCounter) -> None:
        self.session, self._counter = session, counter
        self.positions: dict[str, int] = {}
        """By a message's id, the position of the first message that has it."""
        for position, message in enumerate(session.messages):
            self.positions.setdefault(message["metadata"]["message_id"], position)
        self.on_view: OnView = lambda *_: None
        """Is told each view that is measured."""
        self._view: Sequence[Message] = ()
        """The view before."""
        self._known: list[_Known] = []
        """What is known of its messages."""

    def play(
        self,
        name: str,
        open_policy: Open,
        budget_tokens: int,
        options: Mapping[str, Any],
        on_request: Callable[[Played], None] = lambda _: None,
    ) -> Measures:
        """Play the session through a policy; `on_request` is told each request as it is played, without its view."""
        measures = Measures(self.session.name, budget_tokens, name, self.session.tokens)
        config = Config.load(options)
        measures.band = config.compact_threshold - config.target_usage
        for played in self.requests(open_policy, budget_tokens, options, measures):
            on_request(replace(played, view=None))
        return measures

    def requests(
        self, open_policy: Open, budget_tokens: int, options: Mapping[str, Any], measures: Measures
    ) -> Iterator[Played]:
        """Play the session request by request, adding each to the measures."""
        self._view, self._known = (), []
        policy = open_policy(budget_tokens, self._counter, options)
        found: set[str] = set()
        try:
            for position, message in enumerate(self.session.messages):
                if message.get("role") == "assistant":
                    start = time.perf_counter()
                    view = policy.view()
                    elapsed = (time.perf_counter() - start) * 1000
                    measures.requests += 1
                    measures.total_ms += elapsed
                    measures.max_ms = max(measures.max_ms, elapsed)
                    if view is None:
                        measures.refused += 1
                        measures.evidence += len(self.session.evidence.get(position, []))
                        yield Played(measures.requests, position, None)
                    else:
                        yield self._measure(measures, policy, position, view, found)
                policy.add(message)
        finally:
            policy.close()

    def _measure(
        self, measures: Measures, policy: Policy, position: int, view: list[Message], found: set[str]
    ) -> Played:
        """Add a request to the measures; its view is what the next one is compared with."""
        self._bill(measures, policy.asked())
        shared = common_prefix(self._view, view)
        broke = shared < len(self._view)
        known = self._known[:shared] + [self._look_at(message) for message in view[shared:]]
        parts = [part for _, _, part in known]
        sizes = [size for size, _, _ in known]
        tokens, cached = sum(sizes), sum(sizes[:shared])
        measures.breaks += broke
        unbound = sum(map(lacks_reasoning, view))
        measures.unbound += bool(unbound)
        measures.request_tokens.append(tokens)
        measures.cached_tokens += cached
        measures.inserted_tokens += sum([inserted for _, inserted, _ in known])
        self.on_view(position, view, parts, 0 if broke else shared)
        self._look_for_evidence(measures, policy, position, parts, found)
        self._view, self._known = view, known
        return Played(measures.requests, position, view, tokens, cached, broke, unbound)

    def _look_for_evidence(
        self, measures: Measures, policy: Policy, position: int, parts: Sequence[Said], found: set[str]
    ) -> None:
        """Count which far evidence of the next action a view shows; `found` was recalled before."""
        if not (wanted := self.session.evidence.get(position)):
            return
        original = "\n".join([part.original for part in parts])
        altered = "\n".join([part.text for part in parts if part.text is not part.original])
        measures.evidence += len(wanted)
        for term in wanted:
            is_original = term in original
            measures.evidence_original += is_original
            measures.evidence_shown += is_original or term in altered
            if not is_original and term not in found:
                inserted = "\n".join(piece for part in parts for piece in part.inserted)
                if not policy.recalls(term, inserted):
                    continue
                found.add(term)  # the log keeps it
            measures.evidence_recoverable += 1

    def _bill(self, measures: Measures, asked: Sequence[Asked]) -> None:
        """Add what a provider was asked to sum up."""
        for one in asked:
            sizes = [count_message(message, self._counter) for message in one.messages]
            shared = common_prefix(self._view, one.messages)
            measures.summaries += 1
            measures.summary_tokens += sum(sizes)
            measures.summary_cached_tokens += sum(sizes[:shared])
            measures.answer_tokens += self._counter.count_text(one.answer)

    def _look_at(self, message: Message) -> _Known:
        """Take in a message of a view."""
        position = self.positions.get(str(metadata_of(message).get("message_id")))
        part = said(message, None if position is None else self.session.messages[position])
        size = count_message(message, self._counter)
        return size, size if part.whole else sum(map(self._counter.count_text, part.inserted)), part


def common_prefix(before: Sequence[Any], after: Sequence[Any]) -> int:
    """How many leading messages two views have in common."""
    if list(after[: len(before)]) == list(before):
        return len(before)
    for position, (left, right) in enumerate(zip(before, after, strict=False)):
        # what equals nothing, not even itself, is compared as it is written
        if left != right and (isinstance(left, bytes) or canonical(left) != canonical(right)):
            return position
    return min(len(before), len(after))
