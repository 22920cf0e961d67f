"""When a view is to be compacted, when a plan frees enough to be followed, and when not to try again.

A request that finds nothing in the provider's cache pays for all that it sends, so it is the cheapest moment to plan:
one table says how long providers keep what they cached.
"""

from __future__ import annotations

from dataclasses import replace

from ..compaction.planner import Compaction
from ..config import Config

COLD_TARGET = 0.86  # of `target_usage`, for a request that pays for every token: docs/experiments.md, "Pauses"


def for_cold_cache(config: Config) -> Config:
    """The policy of a plan for a request that finds nothing in the provider's cache."""
    return replace(config, target_usage=COLD_TARGET * config.target_usage)


def needs_plan(
    config: Config,
    *,
    tokens: int,
    messages: int,
    budget_tokens: int,
    unmovable_tokens: int = 0,
    begins_turn: bool = False,
    is_cold: bool = False,
) -> bool:
    """Whether a view of this size is to be compacted.

    A plan in the middle of a tool loop ends the reasoning of the loop so far. So where a turn begins, half of the way
    from the target to the threshold is enough (docs/views.md has what that was measured to bring). Where every
    token is paid for, it is enough that a plan frees what makes it worth it.

    Args:
        config: the policy.
        tokens: of the view.
        messages: of the view.
        budget_tokens: the most that it may have.
        unmovable_tokens: of those tokens that no plan can take away; the threshold is a share of the rest.
        begins_turn: whether a turn begins, in a session with reasoning.
        is_cold: whether the provider has nothing cached, and no reasoning would be lost.
    """
    many = config.max_messages is not None and messages > config.max_messages
    threshold = (config.compact_threshold + config.target_usage) / 2 if begins_turn else config.compact_threshold
    if is_cold:
        threshold = min(threshold, for_cold_cache(config).target_usage + config.compact_min_gain)
    room_tokens = max(0, budget_tokens - unmovable_tokens)
    return many or tokens - unmovable_tokens >= threshold * room_tokens


def worth_it(config: Config, made: Compaction, *, budget_tokens: int, tokens: int, messages: int) -> bool:
    """Whether a plan frees enough to be followed, or the view of `tokens` and `messages` does not fit without it."""
    fewer = {"tokens": tokens - made.plan.tokens_after, "messages": messages - len(made.arrangement.items)}
    return tokens > budget_tokens or matters(config, budget_tokens=budget_tokens, **fewer)


def matters(config: Config, *, tokens: int, messages: int, budget_tokens: int) -> bool:
    """Whether a difference of so many tokens, or messages, is at least `compact_min_gain` of what is allowed."""
    share, most = config.compact_min_gain, config.max_messages
    return tokens >= max(1, share * budget_tokens) or (most is not None and messages >= max(1, share * most))
