"""Measures of a session played under a policy: requests, breaks, the bill, and the far evidence in the views.

- *breaks*: views that are not the view before plus appended messages;
- *cached*: tokens in the longest common prefix of whole messages with the request before;
- *billed equivalents*: uncached tokens x 1.25 + cached tokens x 0.1, requests for summaries included, and the answers
  to these x 5;
- *far evidence*: as `evidence` defines it; *recoverable* is the part of the far evidence that is in the view's
  original text or on the first page of a recall.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

_MILLION = 1_000_000


def breaks_cache(view_before: Sequence[Any], shared: int) -> bool:
    """Return whether a view breaks the provider's cache, because it changes a message of the view before.

    Args:
        view_before: the view of the request before.
        shared: the number of messages at the beginning of both views that are the same.
    """
    return shared < len(view_before)


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a million input tokens, in any currency: tokens read from the provider's cache, and all others.

    A provider that caches writes to its cache every token that it has not read from there. So `write` is the price of
    all the other tokens.
    """

    cached: float
    write: float

    @classmethod
    def of(cls, *, base: float | None, cached: float | None = None, write: float | None = None) -> Prices | None:
        """Derive missing prices from the plain input price; return None if no price is given.

        Raises:
            ValueError: other prices are given, and the plain input price is missing.
        """
        if base is None and cached is None and write is None:
            return None
        if base is None and (cached is None or write is None):
            raise ValueError("give the plain input price, or both that of cached tokens and that of written ones")
        plain = base or 0.0
        if cached is None:
            cached = CACHED_PRICE * plain
        if write is None:
            write = UNCACHED_PRICE * plain
        return cls(cached, write)

    def cost(self, measures: Measures) -> float:
        """Return the cost of a policy's requests, and of summaries with their answers.

        Other answers of the model cost the same under every policy and are left out.
        """
        return measures.bill(self.write, self.cached, ANSWER_PRICE / UNCACHED_PRICE * self.write) / _MILLION


@dataclass(frozen=True, slots=True)
class Played:
    """One request that was played; `place` is the number of messages before it, `view` is None if it was refused.

    `view` is None also if only measures are wanted.
    """

    number: int
    place: int
    view: Sequence[dict[str, Any]] | None
    tokens: int = 0
    cached_tokens: int = 0
    broke: bool = False
    """Whether the view is not the view before with messages appended."""
    unbound: int = 0
    """The number of answers shown without their reasoning, because something before the reasoning had changed."""


UNCACHED_PRICE, CACHED_PRICE, ANSWER_PRICE = 1.25, 0.1, 5.0


@dataclass(slots=True)
class SummaryCosts:
    """The requests for summaries, and their answers."""

    count: int = 0
    tokens: int = 0
    """The number of tokens in all requests for summaries."""
    cached_tokens: int = 0
    answer_tokens: int = 0


@dataclass(slots=True)
class EvidenceCounts:
    """How much far evidence there is, and how much of it views show."""

    total: int = 0
    original: int = 0
    """The part in the original text of a view."""
    shown: int = 0
    """The part in a view, also in inserted text."""
    recoverable: int = 0


@dataclass(slots=True)
class ViewTimes:
    """The times of making views, in milliseconds."""

    total_ms: float = 0.0
    max_ms: float = 0.0

    def add(self, elapsed_ms: float) -> None:
        """Add the time of one view."""
        self.total_ms += elapsed_ms
        self.max_ms = max(self.max_ms, elapsed_ms)


_JSON_NAMES = {
    "summaries": {
        "count": "summaries",
        "tokens": "summary_tokens",
        "cached_tokens": "summary_cached_tokens",
        "answer_tokens": "answer_tokens",
    },
    "evidence": {
        "total": "evidence",
        "original": "evidence_original",
        "shown": "evidence_shown",
        "recoverable": "evidence_recoverable",
    },
    "times": {"total_ms": "total_ms", "max_ms": "max_ms"},
}
"""The names in JSON of the values of each group."""


@dataclass(slots=True)
class Measures:
    """The result of one policy on one session with one budget."""

    session: str
    budget_tokens: int
    policy: str
    session_tokens: int
    requests: int = 0
    refused: int = 0
    breaks: int = 0
    unbound: int = 0
    """The number of requests whose views leave out reasoning, because something before the reasoning had changed."""
    band: float = 0.0
    """The distance between the two watermarks (see `policies`), as a share of the budget."""
    request_tokens: list[int] = field(default_factory=list)
    cached_tokens: int = 0
    inserted_tokens: int = 0
    summaries: SummaryCosts = field(default_factory=SummaryCosts)
    evidence: EvidenceCounts = field(default_factory=EvidenceCounts)
    times: ViewTimes = field(default_factory=ViewTimes)
    billed_ratio: float | None = None

    @property
    def breaks_allowed(self) -> int:
        """The largest expected number of breaks of a policy with two watermarks."""
        return int(1 + self.session_tokens / (self.band * self.budget_tokens))

    @property
    def over(self) -> int:
        """The number of views larger than the budget."""
        return sum(tokens > self.budget_tokens for tokens in self.request_tokens)

    @property
    def sent_tokens(self) -> int:
        """The number of tokens in all requests."""
        return sum(self.request_tokens)

    @property
    def cached_share(self) -> float:
        """The share of the sent tokens that repeat the beginning of the request before."""
        return self.cached_tokens / max(1, self.sent_tokens)

    @property
    def billed(self) -> float:
        """The billed equivalents (see above) of all requests, in tokens."""
        return self.bill(UNCACHED_PRICE, CACHED_PRICE, ANSWER_PRICE)

    def bill(self, uncached: float, cached: float, answer: float) -> float:
        """Return the cost at these prices of a single token of each kind.

        Only answers that are summaries are billed.
        """
        read = self.cached_tokens + self.summaries.cached_tokens
        written = self.sent_tokens + self.summaries.tokens - read
        return written * uncached + read * cached + self.summaries.answer_tokens * answer

    @property
    def far(self) -> float:
        """The share of far evidence in original text; 1 if there is no far evidence."""
        found = self.evidence
        return found.original / found.total if found.total else 1.0

    @property
    def far_gain(self) -> float:
        """The share of far evidence that only inserted text shows."""
        found = self.evidence
        return (found.shown - found.original) / found.total if found.total else 0.0

    @property
    def recoverable(self) -> float:
        """The share of far evidence in original text or on a recall's first page; 1 if there is no far evidence."""
        found = self.evidence
        return found.recoverable / found.total if found.total else 1.0

    @property
    def inserted_share(self) -> float:
        """The share of inserted text in the sent tokens."""
        return self.inserted_tokens / max(1, self.sent_tokens)

    @property
    def mean_ms(self) -> float:
        """The mean time of making a view, in milliseconds."""
        return self.times.total_ms / max(1, self.requests)

    def as_json(self) -> dict[str, Any]:
        """Return every field and every share by name, in plain JSON types."""
        names = (
            "over",
            "breaks_allowed",
            "sent_tokens",
            "cached_share",
            "billed",
            "far",
            "far_gain",
            "recoverable",
            "inserted_share",
            "mean_ms",
        )
        shares = {name: getattr(self, name) for name in names}
        flat: dict[str, Any] = {}
        for name, value in asdict(self).items():
            if name in _JSON_NAMES:
                flat |= {_JSON_NAMES[name][key]: number for key, number in value.items()}
            else:
                flat[name] = value
        return flat | {name: round(share, 4) for name, share in shares.items()}
