"""Room is used: what a plan left out comes back where it fits."""

import pytest

from amplifier_module_context_persistent.compaction.room import LEAST_USED, use_room
from amplifier_module_context_persistent.messages.elide import LEAST_SHOWN_CHARS, word_cut_for
from tests.support.drafts import check_total, draft, kept


def test_the_newest_groups_that_fit_come_back() -> None:
    """One that is too large is passed over, older ones that still fit are taken."""
    made = draft("u:9 t:60 t:200 t:900 t:300 u:9 a:9", 400)
    for position in (1, 2, 3, 4):
        made.drop(position)
    assert use_room(made)
    assert kept(made) == "0 1 4 5 6"
    check_total(made)


@pytest.mark.parametrize("tokens", [49, 50])
def test_a_view_that_is_full_enough_is_left_alone(tokens: int) -> None:
    """At `LEAST_USED` of the target nothing is done, below it everything that can be."""
    full = int(LEAST_USED * 1_000)
    made = draft(f"u:{full - 50} t:60 u:{tokens}", 1_000)
    made.drop(1)
    assert use_room(made) == (tokens < 50)
    assert made.kept[1] == (tokens < 50)


def test_a_view_of_so_many_messages_is_not_filled() -> None:
    """Where `max_messages` says how many there are, room in tokens means nothing."""
    made = draft("u:9 t:60 u:9", 1_000, max_messages=4)
    made.drop(1)
    assert not use_room(made)
    assert not made.kept[1]


def test_held_results_are_shown_longer_each_by_its_share() -> None:
    """Up to the target, and never beyond it."""
    made = draft("u:9 t:2000 t:2000 u:9 a:9", 1_000)
    made.held = {1, 2}
    for position in (1, 2):
        made.cut(position, made.members[position][1], word_cut_for(LEAST_SHOWN_CHARS))
    before = made.total_tokens
    assert use_room(made)
    assert before < 400
    assert 900 <= made.total_tokens <= 1_000
    check_total(made)


def test_what_is_not_held_stays_as_short_as_it_was_made() -> None:
    """It was cut for what it shows, not for room."""
    made = draft("u:9 t:2000 u:9 a:9", 1_000)
    made.cut(1, made.members[1][1], word_cut_for(LEAST_SHOWN_CHARS))
    cuts = dict(made.cuts)
    assert use_room(made)
    assert made.cuts == cuts


def test_an_older_held_result_stays_as_short_as_it_was_made() -> None:
    """It may show lines that a change replaced which an earlier plan left out."""
    made = draft("u:9 t:2000 t:300 u:9 a:9", 1_000)
    made.held = {1, 2}
    for position in (1, 2):
        made.cut(position, made.members[position][1], word_cut_for(LEAST_SHOWN_CHARS))
    old, new = (made.members[position][1].id for position in (1, 2))
    cuts = dict(made.cuts)
    assert use_room(made)
    assert made.cuts[old] == cuts[old]
    assert made.cuts[new] != cuts[new]
