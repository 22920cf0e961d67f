"""The ladder's steps, each on its own: oldest first, only as far as needed, whole groups, nothing fixed."""

import pytest

from amplifier_module_context_persistent.compaction.draft import Draft
from amplifier_module_context_persistent.compaction.ladder import (
    narrow_protections,
    shorten_humans,
    shorten_largest,
    supersede_results,
)
from amplifier_module_context_persistent.compaction.least_loss import lose_least
from amplifier_module_context_persistent.messages.elide import word_cut_for
from amplifier_module_context_persistent.view.entry import classify
from tests.support.drafts import check_total, count, cut, draft, history, kept


@pytest.mark.parametrize(
    ("words", "target", "same", "ids"),
    [
        ("u:10 t:90 t:90 t:90 u:1", 100, {}, ""),  # nothing is asked for twice
        ("u:10 t:90 t:90 t:90 u:1", 100, {1: 3}, "m1"),
        ("u:10 t:90 t:90 t:90 u:1", 100, {1: 3, 2: 3}, "m1 m2"),
        ("u:10 t:90 t:90 t:90 u:1", 240, {1: 3, 2: 3}, "m1"),  # only as far as needed
        ("u:10 t:90! t:90 t:90 u:1", 100, {1: 3, 2: 3}, "m2"),  # no pins
        ("u:10 t:9 t:90 t:90 u:1", 100, {1: 3}, ""),  # a marker would be longer
    ],
)
def test_step_0_leaves_out_superseded_results(words: str, target: int, same: dict[int, int], ids: str) -> None:
    """Of results of one tool with the same arguments the newest stays; of the older ones, nothing but the reference."""
    made = draft(words, target, same=same)
    supersede_results(made)
    assert cut(made) == ids
    assert all(made.cuts[one] == word_cut_for(0) for one in ids.split())
    check_total(made)


def test_a_call_without_a_result_supersedes_nothing() -> None:
    """What has not been answered anew is kept."""
    messages = history("u:10 t:90 t:90 a:1", {1: 2})
    entries = [classify(key, message, count) for key, message in enumerate(messages) if key != 4]
    made = draft("u:1", 10)
    made = Draft.of(
        entries,
        config=made.config,
        count=count,
        fetch=made.fetch,
        fixed_tokens=0,
        target_tokens=10,
        cuts={},
        cut_tokens={},
    )
    supersede_results(made)
    assert cut(made) == ""


@pytest.mark.parametrize(
    ("words", "target", "ids"),
    [
        ("u:900 u:900 u:900 u:900 a:1", 3_000, "m1"),  # the first one last
        ("u:900 u:900 u:900 u:900 a:1", 100, "m0 m1 m2"),  # never the last one
        ("u:900 b:900 u:10 a:1", 1_100, "m1"),  # block lists too
        ("u:900! u:40 r:900 u:10 a:900", 10, ""),
    ],
)
def test_step_4_shortens_long_human_messages(words: str, target: int, ids: str) -> None:
    """Oldest first, the very first one last, the last one never."""
    made = draft(words, target)
    shorten_humans(made)
    assert cut(made) == ids
    check_total(made)


@pytest.mark.parametrize(
    ("words", "target", "places"),
    [
        ("u:10 a:30 a:30 u:10 a:30", 80, "0 2 3 4"),
        ("u:10 u:20 u:30 u:10 a:30", 80, "0 2 3 4"),  # the oldest but the first one
        ("u:10 u:20 u:30 u:10 a:30", 51, "0 3 4"),
        ("u:10 u:20 u:30 u:10 a:30", 20, "3 4"),
        ("s:10 u:10 u:10! u:10 a:30", 20, "0 2 3 4"),
    ],
)
def test_step_5_narrows_the_protections(words: str, target: int, places: str) -> None:
    """What is recent goes too, then human messages, the first one last."""
    made = draft(words, target, protected_recent=1.0)
    narrow_protections(made)
    assert kept(made) == places
    check_total(made)


def test_step_5_elides_before_it_drops() -> None:
    """A result that was spared is shortened before anything is left out."""
    made = draft("u:10 t:500 u:10 a:1", 200)
    narrow_protections(made)
    assert (cut(made), kept(made)) == ("m1", "0 1 2 3")


@pytest.mark.parametrize(
    ("words", "target", "ids"),
    [
        ("u:10 t:900", 1_000, ""),
        ("u:10 t:900", 500, "m1"),
        ("u:900 t:900", 500, "m1"),  # never the last human message
        ("s:900 u:1 u:900! t:900! a:900 u:1 a:9", 100, "m4"),  # nor system text, nor pins
        ("u:10 t:900 t:300 t:100 a:1", 900, "m1"),  # the largest one, down to a level
        ("u:10 t:900 t:900 t:100 a:1", 900, "m1 m2"),
    ],
)
def test_step_6_shortens_the_largest_pieces(words: str, target: int, ids: str) -> None:
    """The largest come down to one level, as high as the goal allows; the newest group is not spared."""
    made = draft(words, target)
    shorten_largest(made)
    assert cut(made) == ids
    check_total(made)
    if ids != "" and "900!" not in words and "u:900 t" not in words:
        assert target * 0.7 < made.total_tokens <= target


def test_step_6_leaves_a_little_of_everything_or_nothing() -> None:
    """No text is cut below 240 characters, but for those that have to go altogether, the oldest first."""
    made = draft("u:1 t:900 t:900", 150)
    shorten_largest(made)
    assert sorted(c.head_chars + c.tail_chars for c in made.cuts.values()) == [240, 240]
    made = draft("u:1 t:900 t:900", 100)
    shorten_largest(made)
    assert made.cuts["m1"] == word_cut_for(0)
    assert made.cuts["m2"].head_chars == 120


def test_messages_count_as_tokens_do() -> None:
    """With `max_messages` groups go until the view has few enough."""
    made = draft("u:1 " + "a:1 " * 20, 10_000, max_messages=12, protected_recent=0.0)
    assert not made.fits
    lose_least(made)
    assert made.total_messages == made.goal_messages == 6
    assert made.fits


@pytest.mark.parametrize(("people_goal", "places"), [(0, "0 6"), (120, "0 4 6"), (200, "0 2 4 6")])
def test_people_stay_up_to_a_higher_goal(people_goal: int, places: str) -> None:
    """What no person said goes down to the goal all the same."""
    made = draft("u:10 a:30 u:60 a:30 u:60 a:30 u:1", 60)
    made.people_goal_tokens = people_goal
    narrow_protections(made)
    assert kept(made) == places
    check_total(made)
