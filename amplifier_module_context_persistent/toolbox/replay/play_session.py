"""Play a session under a policy, with one request before each assistant message.

Under the policy `none` each view is a beginning of the view of the whole history. So the requests are computed from
sums, without making their views: the history is arranged, rendered and counted a few hundred messages at a time, and
only numbers are kept.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, NamedTuple

from ...config import Config
from ...messages.message import Message
from ...tokens.counter import TokenCounter, count_message
from ...view.arrangement import Arrangement, Arranger, Item, Presentation
from ...view.entry import Entry, classify
from ...view.receipts import canonical
from ...view.recipients import lacks_reasoning
from ...view.render import render
from ...view.tool_groups import newest_group, tool_groups
from .evidence import MessageParts, PlayedSession, Progress, said
from .measures import Measures, Played, breaks_cache
from .policies import ManagerPolicy, Open, Policy, WholeHistory
from .stand_in_summary import SummaryExchange

_NOTHING: Mapping[int, Message] = MappingProxyType({})


class _Known(NamedTuple):
    """The figures and the texts of a view's message."""

    tokens: int
    inserted_tokens: int
    parts: MessageParts


OnView = Callable[[int, Sequence[Message], Sequence[MessageParts], int], None]
"""A function that is called for each request.

Its arguments are the number of messages before the request, the view, the texts of the view's messages, and the number
of leading messages that the view shares with the view before (0 if the view does not continue it).
"""


LookAt = Callable[[Message, Mapping[int, Message]], tuple[int, int]]
"""A function that returns the tokens of a view's message, and how many of these were inserted.

Its arguments are the message, and messages of the session by their positions.
"""

_AT_ONCE = 256  # messages


@dataclass(slots=True)
class _Before:
    """The view of the last request, and the facts about its messages."""

    view: Sequence[Message] = ()
    known: list[_Known] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    """The hashes of the messages' canonical bytes."""


class Player:
    """Plays one session under policies, one policy after the other.

    Args:
        session: the session to play; its messages are read once for each policy, and looked up one by one.
        counter: counts tokens.
        progress: called with the number of messages counted for the policy `none`, before its first request.
    """

    def __init__(self, session: PlayedSession, counter: TokenCounter, *, progress: Progress = lambda _: None) -> None:
        self.session = session
        self._counter = counter
        self.positions: dict[str, int] = {}
        """The position of the first message with an id, by id."""
        for position, message in enumerate(session.messages):
            self.positions.setdefault(message["metadata"]["message_id"], position)
        self.on_view: OnView = lambda *_: None
        """Called with each view that is measured."""
        self._is_stopped = False
        self._progress = progress
        self._begin()

    def stop(self) -> None:
        """Stop playing with an `InterruptedError` before the next message; another thread may call this."""
        self._is_stopped = True

    def _check_stopped(self) -> None:
        if self._is_stopped:
            raise InterruptedError("it was interrupted")

    def _begin(self) -> None:
        """Forget the view of the last request, because another policy begins."""
        self._before = _Before()

    async def play(
        self,
        name: str,
        open_policy: Open,
        budget_tokens: int,
        options: Mapping[str, Any],
        on_request: Callable[[Played], None] | None = None,
    ) -> Measures:
        """Play the session under a policy and return its measures.

        `on_request` is called with each played request, without the request's view.

        Args:
            name: the name of the policy, for the measures.
            open_policy: opens the policy.
            budget_tokens: the budget of each request.
            options: the options of the policy.
            on_request: called with each played request; None if nobody needs them.
        """
        measures = Measures(self.session.name, budget_tokens, name, self.session.tokens)
        config = Config.load(options)
        measures.band = config.compact_threshold - config.target_usage
        tell = on_request or (lambda _: None)
        if open_policy is WholeHistory and (whole := self._whole_view()) is not None:
            for played in whole.play(self.session, measures):
                tell(played)
                self._check_stopped()
        else:
            async for played in self.requests(open_policy, budget_tokens, options, measures):
                tell(replace(played, view=None))
        return measures

    async def requests(
        self, open_policy: Open, budget_tokens: int, options: Mapping[str, Any], measures: Measures
    ) -> AsyncGenerator[Played, None]:
        """Play the session, yield each request, and add it to the measures.

        Args:
            open_policy: opens the policy.
            budget_tokens: the budget of each request.
            options: the options of the policy.
            measures: receives the figures of each request.
        """
        self._begin()
        policy = open_policy(budget_tokens, self._counter, options)
        keeps_all = open_policy is WholeHistory  # the policy `none`
        if isinstance(policy, WholeHistory) and not keeps_all:
            policy.read_from(self.session.messages)
        elif isinstance(policy, ManagerPolicy):
            policy.expect_recalls(set[str]().union(*self.session.evidence.values()))
        found: set[str] = set()
        try:
            for position, message in enumerate(self.session.messages):
                self._check_stopped()
                if message.get("role") == "assistant":
                    view = await _timed_view(policy, measures)
                    if view is None:
                        measures.refused += 1
                        measures.evidence.total += len(self.session.evidence.get(position, []))
                        yield Played(measures.requests, position, None)
                    else:
                        yield await self._measure(measures, policy, position, view, found)
                await policy.add(message)
        finally:
            await policy.close()

    async def _measure(
        self, measures: Measures, policy: Policy, position: int, view: list[Message], recalled: set[str]
    ) -> Played:
        """Add a request to the measures and return it; the next view is compared with this one."""
        before = self._before
        self._bill(measures, policy.asked(), before.view)
        shared = common_prefix(before.view, view)
        broke = breaks_cache(before.view, shared)
        new_lines = [blake2b(canonical(message), digest_size=16).digest() for message in view[shared:]]
        lines = before.lines[:shared] + new_lines
        known = before.known[:shared] + self._look(view, shared, lines)
        parts = [known_message.parts for known_message in known]
        tokens = sum([known_message.tokens for known_message in known])
        cached = sum([known_message.tokens for known_message in known[:shared]])
        unbound = sum(lacks_reasoning(message) for message in view)
        measures.breaks += broke
        measures.unbound += unbound > 0
        measures.request_tokens.append(tokens)
        measures.cached_tokens += cached
        measures.inserted_tokens += sum([known_message.inserted_tokens for known_message in known])
        self.on_view(position, view, parts, 0 if broke else shared)
        await self._look_for_evidence(measures, policy, position, parts, recalled)
        self._before = _Before(view, known, lines)
        return Played(
            measures.requests, position, view=view, tokens=tokens, cached_tokens=cached, broke=broke, unbound=unbound
        )

    def _look(self, view: Sequence[Message], start: int, lines: Sequence[bytes]) -> list[_Known]:
        """Return facts about a view's messages from `start` to the end. Facts about the view before are used again."""
        if start == len(self._before.view):
            return [self._look_at(message) for message in view[start:]]
        known_by_line = dict(zip(self._before.lines, self._before.known, strict=True))
        facts = []
        for line, message in zip(lines[start:], view[start:], strict=True):
            known = known_by_line.get(line)
            facts.append(self._look_at(message) if known is None else known)
        return facts

    async def _look_for_evidence(
        self, measures: Measures, policy: Policy, position: int, parts: Sequence[MessageParts], recalled: set[str]
    ) -> None:
        """Measure how much of an action's far evidence a view shows, and how much of the rest can be recalled.

        Far evidence: the names from far back in the history that the tool calls of the next answer use.

        Args:
            measures: the measures to add to.
            policy: the policy, which tells whether a recall finds a name.
            position: the position of the answer.
            parts: the texts of the view's messages.
            recalled: the names that earlier recalls found. Their results stay in the log. New ones are added.
        """
        names = self.session.evidence.get(position)
        if not names:
            return
        original = "\n".join([part.original for part in parts])
        altered = "\n".join([part.text for part in parts if part.text is not part.original])
        measures.evidence.total += len(names)
        for name in names:
            if name in original:
                measures.evidence.original += 1
                measures.evidence.shown += 1
                measures.evidence.recoverable += 1
                continue
            if name in altered:
                measures.evidence.shown += 1
            if name not in recalled:
                inserted = "\n".join(piece for part in parts for piece in part.inserted)
                if not await policy.recalls(name, inserted):
                    continue
                recalled.add(name)
            measures.evidence.recoverable += 1

    def _bill(self, measures: Measures, exchanges: Sequence[SummaryExchange], before: Sequence[Message]) -> None:
        """Add the policy's own requests for summaries to the measures."""
        for exchange in exchanges:
            sizes = [count_message(message, self._counter) for message in exchange.messages]
            shared = common_prefix(before, exchange.messages)
            measures.summaries.count += 1
            measures.summaries.tokens += sum(sizes)
            measures.summaries.cached_tokens += sum(sizes[:shared])
            measures.summaries.answer_tokens += self._counter.count_text(exchange.answer)

    def _whole_view(self) -> WholeView | None:
        """Return the view of the whole history, or None if a view of fewer messages is not its beginning."""

        def look_at(message: Message, known: Mapping[int, Message]) -> tuple[int, int]:
            facts = self._look_at(message, known)
            return facts.tokens, facts.inserted_tokens

        return WholeView.of(self.session.messages, self._counter, look_at, progress=self._progress)

    def _look_at(self, message: Message, known: Mapping[int, Message] = _NOTHING) -> _Known:
        """Return the facts about a view's message. `known` has messages of the session that need not be read."""
        self._check_stopped()
        position = self.positions.get(str((message.get("metadata") or {}).get("message_id")))
        original = None
        if position is not None:
            original = known.get(position) or self.session.messages[position]
        parts = said(message, original)
        tokens = count_message(message, self._counter)
        inserted_tokens = tokens
        if not parts.whole:
            inserted_tokens = sum(self._counter.count_text(piece) for piece in parts.inserted)
        return _Known(tokens, inserted_tokens, parts)


def common_prefix(before: Sequence[Any], after: Sequence[Any]) -> int:
    """Return the number of leading messages that two views have in common."""
    if list(after[: len(before)]) == list(before):
        return len(before)
    for position, (left, right) in enumerate(zip(before, after, strict=False)):
        # NaN does not equal itself, so messages with NaN are compared as JSON
        if left != right and (isinstance(left, bytes) or canonical(left) != canonical(right)):
            return position
    return min(len(before), len(after))


async def _timed_view(policy: Policy, measures: Measures) -> list[Message] | None:
    """Return the view of a policy, or None if the policy refuses; count the request, and measure its time."""
    start = time.perf_counter()
    view = await policy.view()
    elapsed_ms = (time.perf_counter() - start) * 1000
    measures.requests += 1
    measures.times.add(elapsed_ms)
    return view


@dataclass(slots=True)
class WholeView:
    """Sums of tokens over the view of a whole history.

    `before` has, for each message of the history, the number of the view's messages before it. `tokens` and `inserted`
    are the sums up to each message of the view.
    """

    before: array[int] = field(default_factory=lambda: array("I"))
    tokens: array[int] = field(default_factory=lambda: array("Q", [0]))
    inserted: array[int] = field(default_factory=lambda: array("Q", [0]))

    @classmethod
    def of(
        cls,
        messages: Sequence[Message],
        counter: TokenCounter,
        look_at: LookAt,
        *,
        progress: Progress = lambda _: None,
    ) -> WholeView | None:
        """Compute the sums of a history; return None if a view of fewer messages is not the view's beginning."""
        whole = cls()
        arranger = Arranger(lambda one: count_message(one, counter), Presentation())
        entries = list[Entry]()
        known = dict[int, Message]()
        for position, message in enumerate(messages):
            entries.append(classify(position, message, arranger.count))
            known[position] = message
            is_last = position + 1 == len(messages)
            if len(entries) % _AT_ONCE and not is_last:
                continue
            progress(position + 1)
            if not arranger.goes_on_in(entries, arranger.how):
                return None  # a result came late, so earlier views had a stand-in in its place
            groups = tool_groups(entries)
            if groups and groups[newest_group(groups)].unanswered and not is_last:
                continue
            if not whole._take(arranger.arrange(entries), known, look_at):
                return None
            arranger = replace(arranger, entries=[], items=[], tokens=0)
            entries = []
            known = {}
        whole.before.extend([len(whole.tokens) - 1] * (len(messages) - len(whole.before)))
        return whole

    def _take(self, arrangement: Arrangement, known: Mapping[int, Message], look_at: LookAt) -> bool:
        """Add the tokens of the next items to the running sums. Return False if an item is out of order."""
        messages_before = len(self.tokens) - 1
        for number, item in enumerate(arrangement.items):
            if item.entry is None:
                continue
            if item.entry.ordinal < len(self.before):
                return False
            count = messages_before + number
            if number > 0 and item.result is None and _leads(arrangement.items[number - 1]):
                count -= 1  # the inserted message before it is shown only together with it
            self.before.extend([count] * (item.entry.ordinal + 1 - len(self.before)))
        boundary = Config.load({}).truncate_boundary
        for message in render(
            arrangement, lambda wanted: (known[entry.ordinal] for entry in wanted), boundary=boundary
        ):
            tokens, inserted_tokens = look_at(message, known)
            self.tokens.append(self.tokens[-1] + tokens)
            self.inserted.append(self.inserted[-1] + inserted_tokens)
        return True

    def play(self, session: PlayedSession, measures: Measures) -> Iterator[Played]:
        """Play the session under the policy `none`: yield each request, and add it to the measures."""
        cached = 0
        for position, message in enumerate(session.messages):
            if message.get("role") != "assistant":
                continue
            shown_positions = self.before[position]
            tokens = self.tokens[shown_positions]
            measures.requests += 1
            measures.request_tokens.append(tokens)
            measures.cached_tokens += cached
            measures.inserted_tokens += self.inserted[shown_positions]
            wanted = len(session.evidence.get(position, ()))
            measures.evidence.total += wanted
            measures.evidence.original += wanted
            measures.evidence.shown += wanted
            measures.evidence.recoverable += wanted
            yield Played(measures.requests, position, None, tokens, cached)
            cached = tokens


def _leads(item: Item) -> bool:
    """Return whether an item is an inserted user message, which belongs to the next item."""
    return item.inserted is not None and item.inserted.get("role") == "user"
