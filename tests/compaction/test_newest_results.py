"""The newest tool results are shortened, never left out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.compaction.ladder import narrow_protections
from amplifier_module_context_persistent.compaction.last_words import hold_last_words
from amplifier_module_context_persistent.compaction.newest_results import (
    CALLS_SHARE,
    NEWEST_GROUP_SHARE,
    hold_newest_results,
    shorten_for_people,
    shorten_newest_group,
)
from amplifier_module_context_persistent.compaction.strategies import STRATEGIES
from amplifier_module_context_persistent.messages.elide import LEAST_SHOWN_CHARS
from tests.support.drafts import check_total, draft, draft_of, history
from tests.support.view_properties import examples


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


def test_of_calls_with_large_arguments_the_newest_is_held() -> None:
    """No cut makes them shorter, so people's messages would go for them; others are held while they take little."""
    messages = history("u:9 t:9 t:9 t:9 t:9 u:9")
    for at, tokens in ((1, 10), (3, 250), (5, 10), (7, 300)):
        messages[at]["content"] = "x" * 4 * tokens
    made = draft_of(messages, 1_200, protected_tool_results=4)
    hold_newest_results(made)
    assert made.held == {4}
    messages[7]["content"] = "x" * int(4 * CALLS_SHARE * 1_200)
    made = draft_of(messages, 1_500, protected_tool_results=4)
    hold_newest_results(made)
    assert made.held == {3, 4}


def test_results_that_are_held_are_shortened_before_people_go() -> None:
    """As far as that helps; and then those of the newest group, to their share of the room."""
    made = draft("u:9 a:90 u:9 t:900 u:9 t:700", 1_300)
    made.held = {3}
    shorten_for_people(made)
    assert made.fits
    assert made.sizes[3] < 600
    assert made.sizes[5] == 700
    made = draft("u:9 a:900 u:9 t:900 u:9 t:700", 1_000)
    made.held = {3}
    shorten_for_people(made)
    assert made.sizes[3] < 100
    assert 500 < made.sizes[5] < NEWEST_GROUP_SHARE * 1_000
    check_total(made)


@examples(60)
@given(
    st.lists(st.sampled_from(("u:30 a:300", "u:30 t:90 a:300", "u:30 t:600 a:9", "u:9")), min_size=9, max_size=30),
    st.lists(st.sampled_from((20, 300, 2_000, 9_000)), min_size=1, max_size=8),
    st.integers(500, 4_000),
)
def test_no_person_goes_while_a_held_result_could_be_shorter(turns: list[str], newest: list[int], target: int) -> None:
    """Whatever the session and the target: what people said cannot be had again by a shorter view."""
    words = " ".join([*turns, "u:9", *[f"t:{tokens}" for tokens in newest], "a:9"])
    made = draft(words, target, protected_tool_results=5)
    hold_last_words(made)
    for _, apply in STRATEGIES["truncate"]:
        if not made.fits:
            apply(made)
    if all(made.kept[position] for position, group in enumerate(made.groups) if group.head.human):
        return
    for position in made.left():
        if position not in made.fixed:
            for result in made.members[position][1:]:
                assert made.chars_of(result) <= LEAST_SHOWN_CHARS + 1
