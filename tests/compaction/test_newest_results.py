"""The newest tool results are shortened, never left out."""

import pytest

from amplifier_module_context_persistent.compaction.newest_results import hold_newest_results
from tests.support.drafts import check_total, draft


def test_the_newest_results_are_held() -> None:
    """As many as are protected, and never the newest group of all, which nothing touches anyway."""
    made = draft("u:9 t:9 t:9 t:9 t:9 u:9", 1_000, protected_tool_results=2)
    hold_newest_results(made)
    assert made.held == {3, 4}
    assert not made.cuts


@pytest.mark.parametrize("results", ["t:800", "t:700 t:500", "t:5000 t:10"])
def test_they_take_half_the_room_at_most(results: str) -> None:
    """The largest are brought down to one level, so that older messages have the rest."""
    target = 1_000
    made = draft(f"u:9 {'t:300 ' * 6}{results} u:9 a:9", target, protected_tool_results=2)
    hold_newest_results(made)
    newest = sum(made.sizes[position] for position in made.held)
    fixed = sum(made.sizes[position] for position in made.fixed)
    assert newest <= (target - fixed) / 2 + 1
    assert newest >= 0.8 * (target - fixed) / 2
    assert all(made.kept)
    check_total(made)


def test_nothing_is_shortened_where_all_fits() -> None:
    """However large a share the newest take."""
    made = draft("u:9 t:900 u:9 a:9", 1_000)
    hold_newest_results(made)
    assert not made.cuts
    assert made.held == {1}


def test_a_pinned_result_is_left_alone() -> None:
    """It stays as it is, and does not count as one of the newest."""
    made = draft("u:9 t:900 t:900! u:9 a:9", 1_000)
    hold_newest_results(made)
    assert made.held == {1}
    assert made.sizes[2] == 900
