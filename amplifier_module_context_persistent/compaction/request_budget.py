"""The budget of one request in tokens, computed from the model's window, the caller's budget and the configuration.

The budget is the largest size of a view, system text and tool definitions included.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import Any

from ..config import Config
from .provider_limits import said_by

logger = logging.getLogger(__name__)

SAFETY_MARGIN_TOKENS = 1_000


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """A provider's limits for its model: the tokens of its window, and of its largest answer (0 if unknown)."""

    context_tokens: int
    max_output_tokens: int = 0


def budget_tokens(
    config: Config, explicit_tokens: int | None, window: ModelLimits | None, *, step_tokens: float = math.inf
) -> int:
    """Compute the budget of a request, in tokens.

    This is the explicit budget if there is one, else the provider's window minus room for the answer and a margin, else
    the default of `max_tokens`. If `max_tokens` is configured, no budget exceeds it. Otherwise, a budget that is not
    explicit stays below `step_tokens`.

    Args:
        config: the configuration.
        explicit_tokens: the budget that the caller asks for; None if it asks for none.
        window: the limits of the provider's model; None if they are not known.
        step_tokens: the size above which the model's requests have higher prices.

    Raises:
        ValueError: the explicit budget is not a whole number of tokens, 0 or more.
    """
    capped = "max_tokens" in config.configured
    if explicit_tokens is not None:
        if type(explicit_tokens) is not int or explicit_tokens < 0:
            raise ValueError(f"token_budget is {explicit_tokens!r}; it must be a number of tokens, 0 or more")
        budget = explicit_tokens
    else:
        budget = (_window_budget(config, window) if window else 0) or config.max_tokens
        if not capped and budget > step_tokens - SAFETY_MARGIN_TOKENS > 0:
            budget = int(step_tokens) - SAFETY_MARGIN_TOKENS
    return min(budget, config.max_tokens) if capped else budget


def _window_budget(config: Config, window: ModelLimits) -> int:
    """Return the tokens of a window minus room for the answer and a margin; 0 if nothing is left."""
    reserve = min(int(window.max_output_tokens * config.output_reserve_fraction), window.context_tokens // 2)
    budget = window.context_tokens - reserve - SAFETY_MARGIN_TOKENS
    if budget <= 0:
        logger.warning("the provider's window of %d tokens leaves no room; it is ignored", window.context_tokens)
    return max(0, budget)


def read_window(published: Any) -> ModelLimits | None:
    """Return the limits that a provider publishes (as attributes or keys); None if the provider publishes no window.

    Values that are not numbers of tokens are ignored with a warning.
    """
    context, most_output = (_number(published, name) for name in ("context_window", "max_output_tokens"))
    return ModelLimits(context, most_output) if context else None


def _number(published: Any, name: str) -> int:
    """Return a number of tokens that a provider publishes; 0 if there is none."""
    value = said_by(published, name) or 0
    if type(value) is int and value >= 0:
        return value
    logger.warning("the provider publishes %s as %r, which is ignored", name, value)
    return 0
