"""The token budget of one request: how large a view may be, system text and tool definitions included."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..config import Config

logger = logging.getLogger(__name__)

SAFETY_MARGIN_TOKENS = 1_000


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What a provider says of its model: tokens that fit, and the most that it may answer with (0: unknown)."""

    context_tokens: int
    max_output_tokens: int = 0


def budget_tokens(config: Config, explicit_tokens: int | None, window: ModelLimits | None) -> int:
    """Compute the budget: explicit, else the provider's window less output and margin, else `max_tokens`.

    A configured `max_tokens` caps all of them.

    Raises:
        ValueError: an explicit budget that is no number of tokens.
    """
    if explicit_tokens is not None:
        if not isinstance(explicit_tokens, int) or isinstance(explicit_tokens, bool) or explicit_tokens < 0:
            raise ValueError(f"token_budget is {explicit_tokens!r}; it must be a number of tokens, 0 or more")
        budget = explicit_tokens
    else:
        budget = _window_budget(config, window) if window else 0
        if budget <= 0:
            budget = config.max_tokens
    return min(budget, config.max_tokens) if "max_tokens" in config.configured else budget


def room_besides(config: Config, explicit_tokens: int | None, window: ModelLimits | None) -> int:
    """How many tokens the provider's window holds besides the budget, for an answer; 0 if the window is unknown."""
    if window is None:
        return 0
    return max(0, window.context_tokens - budget_tokens(config, explicit_tokens, window))


def _window_budget(config: Config, window: ModelLimits) -> int:
    reserve = min(int(window.max_output_tokens * config.output_reserve_fraction), window.context_tokens // 2)
    budget = window.context_tokens - reserve - SAFETY_MARGIN_TOKENS
    if budget <= 0:
        logger.warning("the provider's window of %d tokens leaves no room; it is ignored", window.context_tokens)
    return budget


def read_window(published: Any) -> ModelLimits | None:
    """Read a window from what a provider publishes (attributes or keys); nonsense is ignored with a warning."""
    context = _number(published, "context_window")
    if context is None:
        return None
    return ModelLimits(context, _number(published, "max_output_tokens") or 0)


def _number(published: Any, name: str) -> int | None:
    value = published.get(name) if isinstance(published, Mapping) else getattr(published, name, None)
    if value is None or value == 0:  # unknown
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        logger.warning("the provider publishes %s as %r, which is ignored", name, value)
        return None
    return value
