"""Whether a plan frees enough to be followed: at least the share `compact_min_gain`."""

from __future__ import annotations

from ..compaction.planner import Compaction
from ..config import Config


def frees_enough(config: Config, compaction: Compaction, *, budget_tokens: int, tokens: int, messages: int) -> bool:
    """Return whether to follow a plan. It must free enough, or the view must not fit without it.

    Args:
        config: gives `compact_min_gain` and `max_messages`.
        compaction: the plan, and its view.
        budget_tokens: the budget of the request.
        tokens: the tokens of the view without the plan.
        messages: the messages of the view without the plan.
    """
    if tokens > budget_tokens:
        return True
    freed_tokens = tokens - compaction.plan.making.tokens_after
    freed_messages = messages - len(compaction.arrangement.items)
    return reaches_min_gain(config, tokens=freed_tokens, messages=freed_messages, budget_tokens=budget_tokens)


def reaches_min_gain(config: Config, *, tokens: int, messages: int, budget_tokens: int) -> bool:
    """Return whether freed tokens or messages are at least the share `compact_min_gain` of the limit."""
    share = config.compact_min_gain
    most_messages = config.max_messages
    if tokens >= max(1, share * budget_tokens):
        return True
    return most_messages is not None and messages >= max(1, share * most_messages)
