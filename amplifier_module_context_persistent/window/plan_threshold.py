"""When a view is to be compacted.

If the provider's cache no longer has the prefix, a request pays for all its tokens. So this is the cheapest moment to
make a plan. `view/cache_life.py` says how long providers keep a prefix.
"""

from __future__ import annotations

from dataclasses import replace

from ..config import Config

COLD_TARGET = 0.86  # share of `target_usage` for a request with a cold cache: docs/experiments.md, "Pauses"


def for_cold_cache(config: Config) -> Config:
    """Return the policy of a plan for a request with a cold cache: a lower target."""
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
    """Return whether a view of this size is to be compacted.

    A plan in the middle of a tool loop ends the reasoning of that loop. So at the beginning of a turn a lower threshold
    applies: half way between target and threshold (docs/provider_rules.md has the measurement). With a cold cache, a
    plan is made as soon as it frees `compact_min_gain`.

    Args:
        config: the policy.
        tokens: the tokens of the view.
        messages: the messages of the view.
        budget_tokens: the budget.
        unmovable_tokens: the tokens of the view that no plan can free; the threshold is a share of the rest.
        begins_turn: whether a turn begins, in a session with reasoning.
        is_cold: whether the provider's cache is cold and no reasoning would be lost.
    """
    if config.max_messages is not None and messages > config.max_messages:
        return True
    threshold = config.compact_threshold
    if begins_turn:
        threshold = (config.compact_threshold + config.target_usage) / 2
    if is_cold:
        threshold = min(threshold, for_cold_cache(config).target_usage + config.compact_min_gain)
    room_tokens = max(0, budget_tokens - unmovable_tokens)
    return tokens - unmovable_tokens >= threshold * room_tokens
