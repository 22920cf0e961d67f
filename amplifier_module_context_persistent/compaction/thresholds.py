"""When a view is to be compacted, and when a plan frees enough to be followed."""

from __future__ import annotations

from ..config import Config
from .planner import Compaction


def needs_plan(config: Config, *, tokens: int, messages: int, budget_tokens: int, begins_turn: bool = False) -> bool:
    """Whether a view of this size is to be compacted.

    A plan in the middle of a tool loop ends the reasoning of the loop so far. So where a turn begins, half of the way
    from the target to the threshold is enough (docs/compaction.md has what that was measured to bring).

    Args:
        config: the policy.
        tokens: of the view.
        messages: of the view.
        budget_tokens: what it may come to.
        begins_turn: whether a turn begins, in a session with reasoning.
    """
    many = config.max_messages is not None and messages > config.max_messages
    threshold = (config.compact_threshold + config.target_usage) / 2 if begins_turn else config.compact_threshold
    return many or tokens >= threshold * budget_tokens


def worth_it(config: Config, made: Compaction, *, budget_tokens: int, tokens: int, messages: int) -> bool:
    """Whether a plan frees enough to be followed, or the view of `tokens` and `messages` does not fit without it."""
    fewer = {"tokens": tokens - made.plan.tokens_after, "messages": messages - len(made.arrangement.items)}
    return tokens > budget_tokens or matters(config, budget_tokens=budget_tokens, **fewer)


def matters(config: Config, *, tokens: int, messages: int, budget_tokens: int) -> bool:
    """Whether a difference of so many tokens, or messages, is at least `compact_min_gain` of what is allowed."""
    share, most = config.compact_min_gain, config.max_messages
    return tokens >= max(1, share * budget_tokens) or (most is not None and messages >= max(1, share * most))
