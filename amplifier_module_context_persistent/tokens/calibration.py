"""The calibration: how a provider's tokens relate to ours.

The true size of a view is modelled as `overhead + ratio * counted` (`Calibration`). The overhead is a constant for
tokens that are not counted here (the provider's framing of messages and tools). The ratio relates the provider's
tokenizer to ours. There are two ratios, both means of increments weighted by their tokens. The fast one follows the
latest content and predicts the messages that are appended to the last answered view. The slow one, with the overhead,
predicts a whole view, as after a compaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

PRIOR_RATIO = 1.0
PRIOR_TOKENS = 2_000
"""The weight of `PRIOR_RATIO`, as the size of an increment in tokens."""
RATIO_BOUNDS = (0.5, 3.0)
_FAST, _SLOW = 0.9, 0.98  # the factor by which the weight of earlier increments shrinks with each new one


@dataclass(frozen=True, slots=True)
class Calibration:
    """The learned ratio and overhead of one provider and model; each observation makes a new one."""

    fast_counted: float = 0.0
    fast_actual: float = 0.0
    slow_counted: float = 0.0
    slow_actual: float = 0.0
    last_counted: int = 0
    last_actual: int = 0
    observations: int = 0

    @property
    def ratio(self) -> float:
        """The provider's tokens for each of our tokens, over the whole session."""
        return _ratio(self.slow_counted, self.slow_actual)

    @property
    def overhead_tokens(self) -> int:
        """The tokens of a request that are not counted here; never negative, and 0 before the first observation."""
        return max(0, round(self.last_actual - self.ratio * self.last_counted))

    def predict(self, counted: int, *, continues: bool) -> int:
        """Return the predicted size of a view in the provider's tokens.

        Args:
            counted: the size in our tokens.
            continues: whether the view is the last answered one with messages appended.
        """
        if continues and self.observations:
            return round(self.last_actual + _ratio(self.fast_counted, self.fast_actual) * (counted - self.last_counted))
        return round(self.overhead_tokens + self.ratio * counted)

    def observe(self, counted: int, actual: int, *, continues: bool) -> Calibration:
        """Return the calibration after a view that was answered.

        Args:
            counted: the view's size in our tokens.
            actual: the view's size in the provider's tokens.
            continues: as for `predict`.
        """
        after = replace(self, last_counted=counted, last_actual=actual, observations=self.observations + 1)
        if not self.observations:
            return after
        more_counted = counted - self.last_counted
        more_actual = actual - self.last_actual
        if more_counted < 0:  # a compaction is as informative as an increment
            more_counted = -more_counted
            more_actual = -more_actual
        if more_counted <= 0 or more_actual <= 0:
            return after
        after = replace(
            after,
            slow_counted=self.slow_counted * _SLOW + more_counted,
            slow_actual=self.slow_actual * _SLOW + more_actual,
        )
        if not continues:
            return after
        return replace(
            after,
            fast_counted=self.fast_counted * _FAST + more_counted,
            fast_actual=self.fast_actual * _FAST + more_actual,
        )

    def counted_budget(self, budget_tokens: int) -> int:
        """Return how many of our tokens fit into a provider's budget; at least a tenth of the budget."""
        room = (budget_tokens - self.overhead_tokens) / self.ratio
        return max(int(room), budget_tokens // 10)

    def to_record(self) -> list[float]:
        """Return the fields in the form in which the log stores a calibration."""
        sums = self.fast_counted, self.fast_actual, self.slow_counted, self.slow_actual
        return [*(round(value, 1) for value in sums), self.last_counted, self.last_actual, self.observations]

    @classmethod
    def from_record(cls, fields: Sequence[float]) -> Calibration:
        """Return the calibration that a log stores.

        Raises:
            ValueError: the list does not have the form that `to_record` returns.
        """
        try:
            *sums, last_counted, last_actual, observations = fields
            first, second, third, fourth = map(float, sums)
            return cls(
                first,
                second,
                slow_counted=third,
                slow_actual=fourth,
                last_counted=int(last_counted),
                last_actual=int(last_actual),
                observations=int(observations),
            )
        except (TypeError, ValueError) as error:
            raise ValueError(f"not a calibration: {fields!r}") from error


def _ratio(counted: float, actual: float) -> float:
    ratio = (actual + PRIOR_RATIO * PRIOR_TOKENS) / (counted + PRIOR_TOKENS)
    return min(max(ratio, RATIO_BOUNDS[0]), RATIO_BOUNDS[1])
