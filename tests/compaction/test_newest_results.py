"""The newest tool results are shortened, never left out."""

import pytest

from amplifier_module_context_persistent.compaction.ladder import narrow_protections
from amplifier_module_context_persistent.compaction.last_words import hold_last_words
from amplifier_module_context_persistent.compaction.newest_results import (
    NEWEST_GROUP_SHARE,
    hold_newest_results,
    shorten_newest_group,
)
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


def test_a_newest_group_that_does_not_fit_alone_is_shortened_before_all_else_goes() -> None:
    """It has to be cut in any case; people's messages and last words are not to go for it before that."""
    made = draft("u:9 " + "u:9 t:50 a:40 " * 4 + "u:9 t:5000", 1_000)
    hold_last_words(made)
    narrow_protections(made)
    assert made.fits
    assert all(made.kept[position] for position, group in enumerate(made.groups) if group.head.human)
    assert all(made.kept[position] for position in made.held)
    assert made.sizes[-1] <= NEWEST_GROUP_SHARE * 1_000 + 1
    check_total(made)


@pytest.mark.parametrize("newest", ["t:400", "t:5000!"])
def test_a_newest_group_that_fits_or_is_pinned_is_left_alone(newest: str) -> None:
    """Only step 6 may shorten one that fits, and nothing shortens a pin."""
    made = draft(f"u:9 t:900 u:9 {newest}", 1_000)
    shorten_newest_group(made)
    assert not made.cuts
