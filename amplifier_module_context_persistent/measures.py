"""What playing a session through a policy comes to: requests, breaks, the bill, what is still known of far back.

- *breaks*: views that are not their predecessor plus appended messages;
- *cached*: tokens in the longest common prefix of whole messages with the request before;
- *billed equivalents*: uncached tokens x 1.25 + cached ones x 0.1;
- *far evidence*: as `evidence` defines it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from .config import Config
from .evidence import Said, Session, said
from .policies import Message, Open
from .tokens import TokenCounter, count_message

UNCACHED_PRICE, CACHED_PRICE = 1.25, 0.1

Check = Callable[[Sequence[Message], Sequence[Message]], list[str]]
"""Says what is wrong with a view, a sentence a violation, given the view and the history that it was made from."""


@dataclass(slots=True)
class Measures:
    """What one policy came to on one session with one budget; a field a column, and the sums they are made of."""

    session: str
    budget_tokens: int
    policy: str
    session_tokens: int
    requests: int = 0
    refused: int = 0
    invalid: int = 0
    breaks: int = 0
    band: float = 0.0
    """Between the watermarks, as a share of the budget."""
    request_tokens: list[int] = field(default_factory=list)
    cached_tokens: int = 0
    inserted_tokens: int = 0
    evidence: int = 0
    evidence_original: int = 0
    evidence_shown: int = 0
    total_ms: float = 0.0
    max_ms: float = 0.0
    billed_ratio: float | None = None
    violations: list[str] = field(default_factory=list)

    # `recoverable` (found by `recall`'s first page) gets its two sums above and its share below, beside `far_shown`.

    @property
    def breaks_allowed(self) -> int:
        """The most breaks of a policy with two watermarks."""
        return int(1 + self.session_tokens / (self.band * self.budget_tokens))

    @property
    def over(self) -> int:
        """Views over the budget."""
        return sum(tokens > self.budget_tokens for tokens in self.request_tokens)

    @property
    def sent_tokens(self) -> int:
        """What all requests come to."""
        return sum(self.request_tokens)

    @property
    def cached_share(self) -> float:
        """The share of what was sent that the request before had at its beginning."""
        return self.cached_tokens / max(1, self.sent_tokens)

    @property
    def billed(self) -> float:
        """Billed equivalents in tokens."""
        return (self.sent_tokens - self.cached_tokens) * UNCACHED_PRICE + self.cached_tokens * CACHED_PRICE

    @property
    def far(self) -> float:
        """The share of far evidence in original text; 1 where there is none to be had."""
        return self.evidence_original / self.evidence if self.evidence else 1.0

    @property
    def far_gain(self) -> float:
        """What inserted text adds to it."""
        return (self.evidence_shown - self.evidence_original) / self.evidence if self.evidence else 0.0

    @property
    def inserted_share(self) -> float:
        """The share of inserted text in what was sent."""
        return self.inserted_tokens / max(1, self.sent_tokens)

    @property
    def mean_ms(self) -> float:
        """Milliseconds a request."""
        return self.total_ms / max(1, self.requests)

    def as_json(self) -> dict[str, Any]:
        """Every field and every share."""
        names = (
            "over",
            "breaks_allowed",
            "sent_tokens",
            "cached_share",
            "billed",
            "far",
            "far_gain",
            "inserted_share",
            "mean_ms",
        )
        return {**asdict(self), **{name: round(getattr(self, name), 4) for name in names}}


class Player:
    """Plays one session; what it finds out about a message of a view holds for every policy and budget."""

    def __init__(self, session: Session, counter: TokenCounter, *, check: Check | None = None) -> None:
        self.session, self._counter, self._check = session, counter, check
        self._originals = {message["metadata"]["message_id"]: message for message in session.messages}
        self._known: dict[bytes, tuple[int, int, Said]] = {}

    async def play(self, name: str, open_policy: Open, budget_tokens: int, options: Mapping[str, Any]) -> Measures:
        """Play the session through a policy."""
        session = self.session
        measures = Measures(session.name, budget_tokens, name, session.tokens)
        config = Config.load(options)
        measures.band = config.compact_threshold - config.target_usage
        policy = open_policy(budget_tokens, self._counter, options)
        before: list[bytes] = []
        for place, message in enumerate(session.messages):
            if message["role"] == "assistant":
                start = time.perf_counter()
                view = await policy.view()
                elapsed = (time.perf_counter() - start) * 1000
                measures.requests += 1
                measures.total_ms += elapsed
                measures.max_ms = max(measures.max_ms, elapsed)
                before = self._measure(measures, place, view, before)
            await policy.add(message)
        await policy.close()
        return measures

    def _measure(self, measures: Measures, place: int, view: list[Message] | None, before: list[bytes]) -> list[bytes]:
        """Add a request to the measures; its messages as bytes are what the next one is compared with."""
        wanted = self.session.evidence.get(place, [])
        measures.evidence += len(wanted)
        if view is None:
            measures.refused += 1
            return before
        lines = [orjson.dumps(message) for message in view]
        known = [self._look(line, message) for line, message in zip(lines, view, strict=True)]
        sizes = [size for size, _, _ in known]
        shared = common_prefix(before, lines)
        measures.breaks += shared < len(before)
        measures.request_tokens.append(sum(sizes))
        measures.cached_tokens += sum(sizes[:shared])
        measures.inserted_tokens += sum(inserted for _, inserted, _ in known)
        if wanted:
            original = "\n".join(part.original for _, _, part in known)
            text = "\n".join(part.text for _, _, part in known)
            measures.evidence_original += sum(term in original for term in wanted)
            measures.evidence_shown += sum(term in text for term in wanted)
        if self._check is not None:
            violations = self._check(view, self.session.messages[:place])
            measures.invalid += bool(violations)
            measures.violations += violations[: max(0, 5 - len(measures.violations))]
        return lines

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


def common_prefix(before: Sequence[bytes], after: Sequence[bytes]) -> int:
    """How many leading messages two views have in common, byte by byte."""
    for place, (left, right) in enumerate(zip(before, after, strict=False)):
        if left != right:
            return place
    return min(len(before), len(after))
