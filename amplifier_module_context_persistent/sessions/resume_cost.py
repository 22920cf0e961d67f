"""Estimate the cost of a session's next request: the input of the last request, from the prompt cache or in full.

`view/cache_life.py` contains how long providers keep a prompt cache. The cost of the next message and of its answer is
not included.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from ..catalogue.glance import LastRequest
from ..messages.message_times import instant_of
from ..view.cache_life import cache_lives_s
from ..view.recipients import ANTHROPIC, family_of
from .prices import PriceList

_HOUR_S = 3_600.0


@dataclass(frozen=True, slots=True)
class ResumeCost:
    """The cost of the next request's input.

    Attributes:
        cost: the cost in US dollars.
        tokens: the input tokens of the last request.
        is_cold: whether the provider's cache has expired, or was empty.
    """

    cost: float
    tokens: int
    is_cold: bool

    def to_json(self) -> dict[str, Any]:
        """Return the cost as plain JSON types."""
        return {"cost": round(self.cost, 6), "tokens": self.tokens, "is_cold": self.is_cold}


def resume_cost(prices: PriceList, last: LastRequest, now_s: float | None = None) -> ResumeCost | None:
    """Estimate the cost of resuming a session; None if the model has no price or no last request is known.

    Args:
        prices: the prices of models.
        last: the session's last request.
        now_s: the current time in seconds since 1970; by default the time of the clock.
    """
    answered = instant_of(last.time)
    if not last.tokens or answered is None:
        return None
    price = prices.of(last.model)
    if price is None:
        return None
    lives_s = _HOUR_S if last.is_kept_for_an_hour else cache_lives_s(last.provider, last.model)
    if now_s is None:
        now_s = time.time()
    passed_s = now_s - answered.timestamp()
    if last.cacheable and passed_s <= lives_s:
        cost = price.cost(last.tokens - last.cacheable, last.cacheable, 0, 0, 0)
        return ResumeCost(cost, last.tokens, is_cold=False)
    written = last.cacheable if family_of(last.provider, last.model) == ANTHROPIC else 0
    written_1h = written if last.is_kept_for_an_hour else 0
    cost = price.cost(last.tokens - written, 0, written, written_1h, 0)
    return ResumeCost(cost, last.tokens, is_cold=True)
