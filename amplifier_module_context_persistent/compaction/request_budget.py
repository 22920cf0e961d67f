"""The budget of one request in tokens: from the model's window, what the caller asks for, and the configuration."""

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
    """A provider's figures for its model: the tokens of its window, and the largest answer (0: unknown)."""

    context_tokens: int
    max_output_tokens: int = 0


def budget_tokens(
    config: Config, explicit_tokens: int | None, window: ModelLimits | None, *, step_tokens: float = math.inf
) -> int:
    """Compute the budget: explicit, else the provider's window less output and margin, else `max_tokens`.

    A configured `max_tokens` caps all of them. Where none is configured, what is not explicit stays below
    `step_tokens`, above which the model's requests have higher prices.

    Raises:
        ValueError: an explicit budget that is no number of tokens.
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
    """The room of a window besides an answer and the margin; at least 0."""
    reserve = min(int(window.max_output_tokens * config.output_reserve_fraction), window.context_tokens // 2)
    budget = window.context_tokens - reserve - SAFETY_MARGIN_TOKENS
    if budget <= 0:
        logger.warning("the provider's window of %d tokens leaves no room; it is ignored", window.context_tokens)
    return max(0, budget)


def read_window(published: Any) -> ModelLimits | None:
    """Read a window from what a provider publishes (attributes or keys); nonsense is ignored with a warning."""
    context, most_output = (_number(published, name) for name in ("context_window", "max_output_tokens"))
    return ModelLimits(context, most_output) if context else None


def _number(published: Any, name: str) -> int:
    """A number of tokens that a provider publishes; 0 if it does not."""
    value = said_by(published, name) or 0
    if type(value) is int and value >= 0:
        return value
    logger.warning("the provider publishes %s as %r, which is ignored", name, value)
    return 0
