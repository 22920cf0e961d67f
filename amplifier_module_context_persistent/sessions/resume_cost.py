"""What the next request of a session costs now: its last one's input again, from the prompt cache or anew.

How long a provider keeps what it cached is in `view/cache_life.py`. The answer, and what is said next, come on top.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..view.cache_life import cache_lives_s
from ..view.recipients import ANTHROPIC, family_of
from .prices import PriceList
from .totals import GatheredFigures

LAST_REQUESTS = """
SELECT path, provider, model, max(time_us),
       uncached_tokens + cached_tokens + written_tokens, cached_tokens + written_tokens
FROM requests JOIN logs USING (session)
WHERE uncached_tokens IS NOT NULL AND NOT is_input_unknown AND requests = 1 AND time_us IS NOT NULL GROUP BY path
"""


@dataclass(frozen=True, slots=True)
class ResumeCost:
    """What the input of a next request costs.

    Attributes:
        cost: in US dollars, by list prices.
        tokens: of the input of the last request.
        is_cold: whether the provider's cache has expired, or held nothing.
    """

    cost: float
    tokens: int
    is_cold: bool

    def to_json(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {"cost": round(self.cost, 6), "tokens": self.tokens, "is_cold": self.is_cold}


def resume_cost(
    prices: PriceList, *, provider: str, model: str, tokens: int, cacheable: int, asked_s: float, now_s: float
) -> ResumeCost | None:
    """What resuming costs; None if the model has no price.

    Args:
        prices: prices of models.
        provider: who answered the last request.
        model: its model.
        tokens: of the last request's input.
        cacheable: how many of them were read from the cache or written to it.
        asked_s: when it was asked, in seconds since 1970.
        now_s: what time it is.
    """
    price = prices.of(model)
    if price is None:
        return None
    family = family_of(provider, model)
    is_cold = not cacheable or now_s - asked_s > cache_lives_s(provider, model)
    if not is_cold:
        return ResumeCost(price.cost(tokens - cacheable, cacheable, 0, 0, 0), tokens, is_cold=False)
    written = cacheable if family == ANTHROPIC else 0
    return ResumeCost(price.cost(tokens - written, 0, written, 0, 0), tokens, is_cold=True)


def resume_costs(found: GatheredFigures, prices: PriceList, now_s: float | None = None) -> Mapping[str, ResumeCost]:
    """What resuming each session costs now, by its log's path, if that is known."""
    costs = {}
    for path, provider, model, time_us, tokens, cacheable in found.connection.execute(LAST_REQUESTS):
        told = resume_cost(
            prices,
            provider=provider or "",
            model=model or "",
            tokens=tokens,
            cacheable=cacheable,
            asked_s=time_us / 1e6,
            now_s=time.time() if now_s is None else now_s,
        )
        if told is not None:
            costs[path] = told
    return costs
