"""Generated sessions of other kinds than coding: valid, the same each time, and compacted no worse than by a window."""

from collections import Counter
from statistics import fmean

import pytest

from amplifier_module_context_persistent.replay.evidence import PlayedSession
from amplifier_module_context_persistent.replay.policies import CachedCounter
from amplifier_module_context_persistent.tokens.counter import count_message, open_counter
from benchmarks.compaction import play_all
from fixtures.kinds import KINDS, generate_kind

MESSAGES = 300
SEEDS = {"service": 6}
"""How many sessions of a kind are played, if not two: few of their actions need what is far back."""


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_session(kind: str) -> None:
    """With a result for every call."""
    messages = generate_kind(kind, 1, MESSAGES)
    assert messages == generate_kind(kind, 1, MESSAGES) != generate_kind(kind, 2, MESSAGES)
    calls = Counter(call["id"] for message in messages for call in message.get("tool_calls", ()))
    assert calls == Counter(message["tool_call_id"] for message in messages if message["role"] == "tool")
    assert MESSAGES <= len(messages) < MESSAGES + 10


@pytest.mark.parametrize("kind", KINDS)
def test_a_view_knows_more_of_far_back_than_a_sliding_window(kind: str) -> None:
    """In the mean of some sessions and of two budgets, for about the same bill; every view is valid."""
    counter = CachedCounter(open_counter("estimate"))
    far: dict[str, list[float]] = {"sliding": [], "truncate": []}
    billed: dict[str, list[float]] = {"sliding": [], "truncate": []}
    for seed in range(1, 1 + SEEDS.get(kind, 2)):
        messages = generate_kind(kind, seed, MESSAGES)
        session = PlayedSession.of(kind, messages, lambda message: count_message(message, counter))
        budgets = [session.tokens // 8, session.tokens // 4]
        for row in play_all([session], counter, list(far), budgets, {"tokenizer": "estimate"}):
            assert row.invalid == 0, row.violations
            far[row.policy].append(row.far)
            billed[row.policy].append(row.billed_ratio or 0.0)
    assert fmean(far["truncate"]) >= fmean(far["sliding"])
    assert fmean(billed["truncate"]) <= 1.05 * fmean(billed["sliding"])
