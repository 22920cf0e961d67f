"""Reasoning in generated sessions, in which everything changes that may stand before it."""

from collections import Counter

from tests.support.reasoning_sessions import play


def test_views_with_all_reasoning_are_refused() -> None:
    """Where nothing is left out, the provider refuses requests and drops reasoning, and the checker finds the same."""
    totals, faulty = Counter[str](), 0
    for seed in range(1, 11):
        outcome = play(seed, everything=True)
        totals += outcome.counts
        faulty += bool(outcome.counts["refused"] and outcome.counts["invalid"])
    assert faulty >= 8
    assert totals["refused"] > 30
    assert totals["invalid"] > totals["refused"]
    assert totals["dropped"] > 10
