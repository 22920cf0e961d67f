"""Bringing the largest pieces of a view down to one level."""

from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.compaction.draft import Draft
from amplifier_module_context_persistent.compaction.level import bring_down
from amplifier_module_context_persistent.messages.elide import LEAST_SHOWN_CHARS
from amplifier_module_context_persistent.view.entry import Entry
from tests.support.drafts import check_total, draft
from tests.support.view_properties import examples


def results(made: Draft) -> list[tuple[int, Entry]]:
    """The results of a draft, each with the position of its group."""
    return [(at, entry) for at, members in enumerate(made.members) for entry in members[1:]]


def sizes(made: Draft) -> list[int]:
    return [made.tokens_of(entry) for _, entry in results(made)]


def test_only_the_largest_are_shortened_and_to_one_level() -> None:
    """What is below the level stays as it is; those above it come to about the same, as high as the goal allows."""
    made = draft("u:9 t:100 t:900 t:300 t:2000 t:700 u:9", 5_000)
    for goal, level in ((2_218, 600), (1_318, 300)):
        bring_down(made, results(made), goal)
        small, one, other, another, third = sizes(made)
        assert (small, other == 300) == (100, level == 600)
        large = (one, another, third)
        assert max(large) - min(large) <= 30
        assert min(large) >= level - 100
        assert made.total_tokens <= goal
        check_total(made)


def test_nothing_is_shortened_where_it_fits() -> None:
    """Not even by one token."""
    made = draft("u:9 t:100 t:900 u:9", 5_000)
    bring_down(made, results(made), made.total_tokens)
    assert not made.cuts


def test_texts_go_altogether_only_where_that_is_asked_for() -> None:
    """Else all of them keep the least that is worth reading; then the oldest go first."""
    for to_nothing in (False, True):
        made = draft("u:9 t:400 t:400 t:400 u:9", 5_000)
        bring_down(made, results(made), 200, to_nothing=to_nothing)
        empty = [cut.head_chars + cut.tail_chars == 0 for cut in made.cuts.values()]
        assert any(empty) == to_nothing
        assert empty == sorted(empty, reverse=True)
        assert (made.total_tokens <= 200) == to_nothing
        assert all(
            cut.head_chars + cut.tail_chars >= LEAST_SHOWN_CHARS
            for cut, gone in zip(made.cuts.values(), empty, strict=True)
            if not gone
        )


@examples(60)
@given(st.lists(st.integers(1, 2_000), min_size=1, max_size=12), st.floats(0.3, 1.0))
def test_the_goal_is_reached_by_the_largest_alone(tokens: list[int], share: float) -> None:
    """Where every piece may keep its least, the goal is reached, and the order of sizes stays nearly what it was."""
    made = draft("u:9 " + " ".join(f"t:{size}" for size in tokens) + " u:9", 50_000)
    before = sizes(made)
    goal = max(int(made.total_tokens * share), 18 + 150 * len(tokens))
    bring_down(made, results(made), goal)
    assert made.total_tokens <= goal or made.total_tokens == 18 + sum(before)
    after = sizes(made)
    cut = [one for one, was in zip(after, before, strict=True) if one < was]
    whole = [was for one, was in zip(after, before, strict=True) if one == was]
    assert not cut or not whole or max(whole) <= max(cut) + 60
    check_total(made)
