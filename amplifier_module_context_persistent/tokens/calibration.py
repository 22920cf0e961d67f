"""Calibration: what a provider's own counts say about ours, for one provider and model. Pure.

The true size of a view is modelled as `overhead + ratio * counted`: a constant for what is not counted here (the
provider's framing of messages and tools), and the ratio between its tokenizer and ours. Two ratios are kept, as means
of increments weighted by their tokens: a fast one, which follows what the session is doing now, predicts what was
appended to the last answered view; a slow one and the overhead predict a view as a whole, after a compaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PRIOR_RATIO = 1.0
PRIOR_TOKENS = 2_000
"""The prior ratio weighs as much as an increment of so many tokens."""
RATIO_BOUNDS = (0.5, 3.0)
_FAST, _SLOW = 0.9, 0.98  # what an increment still weighs when the next one comes


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was learned; a value, replaced by each observation."""

    fast_counted: float = 0.0
    fast_actual: float = 0.0
    slow_counted: float = 0.0
    slow_actual: float = 0.0
    last_counted: int = 0
    last_actual: int = 0
    observations: int = 0

    @property
    def ratio(self) -> float:
        """The provider's tokens for one of ours, over the session."""
        return _ratio(self.slow_counted, self.slow_actual)

    @property
    def overhead_tokens(self) -> int:
        """What a request has beside what is counted; never negative, 0 before the first observation."""
        return max(0, round(self.last_actual - self.ratio * self.last_counted))

    def predict(self, counted: int, *, continues: bool) -> int:
        """Predict the true size of a view of `counted` tokens.

        Args:
            counted: our count.
            continues: whether it is the last answered view with messages appended.
        """
        if continues and self.observations:
            return round(self.last_actual + _ratio(self.fast_counted, self.fast_actual) * (counted - self.last_counted))
        return round(self.overhead_tokens + self.ratio * counted)

    def observe(self, counted: int, actual: int, *, continues: bool) -> Calibration:
        """Learn from a view that was answered.

        Args:
            counted: our count of it.
            actual: the provider's.
            continues: as for `predict`.
        """
        fast_counted, fast_actual = self.fast_counted, self.fast_actual
        slow_counted, slow_actual = self.slow_counted, self.slow_actual
        if self.observations:
            by_counted, by_actual = counted - self.last_counted, actual - self.last_actual
            if by_counted < 0:  # a compaction tells as much as an increment
                by_counted, by_actual = -by_counted, -by_actual
            if by_counted > 0 and by_actual > 0:
                slow_counted, slow_actual = slow_counted * _SLOW + by_counted, slow_actual * _SLOW + by_actual
                if continues:
                    fast_counted, fast_actual = fast_counted * _FAST + by_counted, fast_actual * _FAST + by_actual
        return Calibration(fast_counted, fast_actual, slow_counted, slow_actual, counted, actual, self.observations + 1)

    def counted_budget(self, budget_tokens: int) -> int:
        """How many of our tokens fit into a true budget; at least a tenth of it, whatever was learned."""
        room = (budget_tokens - self.overhead_tokens) / self.ratio
        return max(int(room), budget_tokens // 10)

    def to_record(self) -> list[float]:
        """The fields, as they are kept in the log."""
        fast = _in_tenths(self.fast_counted), _in_tenths(self.fast_actual)
        slow = _in_tenths(self.slow_counted), _in_tenths(self.slow_actual)
        return [*fast, *slow, self.last_counted, self.last_actual, self.observations]

    @classmethod
    def from_record(cls, fields: Sequence[float]) -> Calibration:
        """Read it back.

        Raises:
            ValueError: not such a list.
        """
        try:
            *sums, last_counted, last_actual, observations = fields
            first, second, third, fourth = map(float, sums)
            return cls(first, second, third, fourth, int(last_counted), int(last_actual), int(observations))
        except (TypeError, ValueError) as error:
            raise ValueError(f"not a calibration: {fields!r}") from error


def actual_tokens(usage: Mapping[str, Any]) -> int | None:
    """What a model read, from the usage that its provider reports; None if it does not say.

    `input_tokens + cache_write_tokens`; where more was read from the cache than `input_tokens` says, the provider does
    not count that in it, and it is added.
    """
    read, written, total = (reported(usage, key) for key in ("cache_read_tokens", "cache_write_tokens", "input_tokens"))
    if total is None:
        return None
    actual = total + (written or 0)
    return actual + read if read is not None and read > total else actual


def cached_tokens(usage: Mapping[str, Any]) -> int:
    """How much of it the provider read from its prompt cache, as far as it says."""
    return reported(usage, "cache_read_tokens") or 0


def reported(usage: Mapping[str, Any], key: str) -> int | None:
    """One number of a provider's report; None if it does not say, or says no number of tokens."""
    value = usage.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _in_tenths(value: float) -> float:
    return int(value * 10 + 0.5) / 10  # `round` takes ten times as long, and an import writes very many


def _ratio(counted: float, actual: float) -> float:
    ratio = (actual + PRIOR_RATIO * PRIOR_TOKENS) / (counted + PRIOR_TOKENS)
    return min(max(ratio, RATIO_BOUNDS[0]), RATIO_BOUNDS[1])
