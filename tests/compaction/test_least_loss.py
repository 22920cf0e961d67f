"""Steps 1 and 3 as one choice: what loses least for the tokens that it frees goes first."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.compaction import least_loss as choice
from amplifier_module_context_persistent.compaction.draft import Draft
from amplifier_module_context_persistent.compaction.least_loss import lose_least
from amplifier_module_context_persistent.compaction.term_counts import shown_only_by
from amplifier_module_context_persistent.messages.elide import word_cut_for
from amplifier_module_context_persistent.messages.identifiers import terms_of
from tests.support.drafts import check_total, cut, draft, draft_of, kept, named


def test_a_draft_that_fits_is_left_alone():
    """Nothing goes where nothing has to."""
    made = draft("u:10 t:500 t:500 a:1", 2_000)
    lose_least(made)
    assert (kept(made), cut(made)) == ("0 1 2 3", "")


@pytest.mark.parametrize(
    ("words", "target", "places"),
    [
        ("u:10 a:100 a:100 u:10 a:100", 400, "0 1 2 3 4"),
        ("u:10 a:100 a:100 u:10 a:100", 230, "0 2 3 4"),  # oldest first, only as far as needed
        ("u:10 a:100 a:100 u:10 a:100", 50, "0 3 4"),  # people stay, and the newest
        ("s:10 a:100! r:100 s:9 u:10 a:1", 50, "0 1 3 4 5"),  # system text and pins, but no reminder
        ("u:10 a:100 a:60 a:5 a:5", 50, "0 3 4"),  # what is recent
    ],
)
def test_old_groups_that_say_nothing_special_go_oldest_first(words, target, places):
    """Among equals age decides; people, pins, system text, the newest and the recent ones stay."""
    made = draft(words, target)
    lose_least(made)
    assert kept(made) == places
    check_total(made)


def drafted(messages: list[dict[str, Any]], target: int, **config: Any) -> Draft:
    """A draft in which nothing is protected for being recent."""
    return draft_of(messages, target, protected_recent=0.0, **config)


def shows(made: Draft, messages: list[dict[str, Any]], term: str) -> bool:
    """Whether a kept message still shows a term."""
    return any(
        term in terms_of(messages[entry.ordinal]).shown(made.cuts.get(entry.id))
        for place in made.left()
        for entry in made.groups[place].results
        if entry is not None
    )


def test_what_only_one_message_says_outweighs_age():
    """An older result with names that stand nowhere else stays whole; newer ones that say nothing special go for it."""
    filler = "nothing of note here at all today\n"
    old = filler * 9 + "".join(f"see src/core/special_name_{n}.py\n" for n in range(9)) + filler * 9
    messages = named([old, filler * 20, filler * 20, "short"])
    made = drafted(messages, 400)
    lose_least(made)
    assert made.fits
    assert all(shows(made, messages, f"src/core/special_name_{n}.py") for n in range(9))
    check_total(made)


def test_a_name_that_stands_elsewhere_too_is_no_loss():
    """The same names in a newer message that stays: then the older one goes first."""
    names = "".join(f"see src/core/special_name_{n}.py\n" for n in range(9))
    messages = named([names * 3, names * 3, "short"])
    made = drafted(messages, 260)
    lose_least(made)
    assert made.fits
    assert shows(made, messages, "src/core/special_name_4.py")


def test_a_result_is_cut_where_its_ends_hold_what_matters():
    """A long result whose terms stand at its ends is cut; its group stays."""
    text = "config_loader failed\n" + "just a line of output\n" * 400 + "raised by load_settings\n"
    made = drafted(
        named([text, "x", "y"], arguments="grep config_loader load_settings"),
        600,
        protected_tool_results=1,
    )
    lose_least(made)
    assert kept(made) == "0 1 2 3 4"
    assert cut(made) == "m2"
    check_total(made)


def test_old_results_are_cut_before_groups_are_left_out():
    """Where shortening results is enough, every call and its result stay."""
    made = draft("u:10 t:500 t:500 t:500 t:500 a:1", 1_400)
    lose_least(made)
    assert kept(made) == "0 1 2 3 4 5"
    assert "m1" in cut(made)
    check_total(made)


def test_the_newest_results_are_not_cut():
    """As many results as are spared keep their length; their groups may go."""
    text = "config_loader failed\n" + "just a line of output\n" * 400 + "raised by load_settings\n"
    made = drafted(named([text, "x", "y"], arguments="config_loader load_settings"), 600, protected_tool_results=3)
    lose_least(made)
    assert cut(made) == ""


def test_the_choice_is_the_same_in_every_order_of_hashing():
    """All weights are whole numbers, so sums over sets do not depend on the process."""
    weights = (choice.NEEDED, *choice.CUT, choice.DROPPED, choice.AGE, choice.SEALED)
    assert all(isinstance(weight, int) for weight in weights)


def test_a_cut_that_saves_too_little_is_not_tried_for_ever(monkeypatch):
    """Where elision at lines leaves nearly everything, the choice goes on to something else, and ends."""
    real = choice.Candidates.estimate
    monkeypatch.setattr(
        choice.Candidates, "estimate", lambda self, *one: [(*option[:3], 999) for option in real(self, *one)]
    )
    made = drafted(named(["word " * 60] * 6), 1, protected_tool_results=0)
    lose_least(made)
    assert kept(made).startswith("0 ")
    check_total(made)


def test_markers_do_not_fill_the_view(monkeypatch):
    """Where so many messages are cut that markers come to much of the target, groups are left out instead."""
    text = "config_loader failed\n" + "just a line of output\n" * 60 + "raised by load_settings\n"
    messages = named([f"unit_{n:03}\n{text}" for n in range(60)], arguments="config_loader load_settings")
    made = drafted(messages, 4_000, protected_tool_results=0)
    lose_least(made)
    assert made.fits
    assert sum(entry.id in made.cuts for place in made.left() for entry in made.members[place]) <= choice.LEAST_MARKED
    monkeypatch.setattr(choice, "MARKERS_SHARE", 0.1)
    more = drafted(messages, 4_000, protected_tool_results=0)
    lose_least(more)
    assert sum(entry.id in more.cuts for place in more.left() for entry in more.members[place]) > choice.LEAST_MARKED


def test_what_the_provider_has_in_its_cache_goes_last():
    """The sealed beginning stays while something after it costs less than four times as much."""
    alike = ["nothing of note here at all today\n" * 20] * 8
    made = drafted(named(alike), 1_200)
    made.sealed = 5
    lose_least(made)
    assert made.fits
    assert made.left()[:5] == [0, 1, 2, 3, 4]
    assert not made.cuts.keys() & {"m2", "m4", "m6", "m8"}
    check_total(made)


def test_where_the_rest_costs_more_the_cached_beginning_goes_as_if_it_were_not():
    """From the first operation there on, the choice is what it is without a cache."""
    names = ["".join(f"see src/core/special_{part}_{n}.py\n" for n in range(20)) for part in range(4)]
    messages = named(["nothing of note here at all today\n" * 20] * 3 + names)
    plain, sealed = (drafted(messages, 700) for _ in range(2))
    sealed.sealed = 4
    for made in (plain, sealed):
        lose_least(made)
    assert (sealed.left(), sealed.cuts, sealed.sealed) == (plain.left(), plain.cuts, 0)


def test_a_cut_of_the_plan_before_counts():
    """A result that is cut already is cut further or left, never lengthened."""
    made = draft("u:10 t:900 t:900 t:900 a:1", 1_500, protected_tool_results=0)
    lose_least(made)
    before = dict(made.cuts)
    made.goal_tokens = 300
    lose_least(made)
    for key, known in before.items():
        now = made.cuts[key]
        assert now.head_chars + now.tail_chars <= known.head_chars + known.tail_chars


def test_only_messages_that_are_cut_are_read():
    """What the choice has to know stands with the entries, so planning reads no message that it does not shorten."""
    made = draft("u:10 t:5 t:900 t:5 a:100 t:900 t:5 a:1", 1_000, protected_tool_results=0)
    fetch, read = made.fetch, []
    made.fetch = lambda wanted: read.extend(entry.id for entry in wanted) or fetch(wanted)
    lose_least(made)
    assert made.fits
    assert set(read) == set(made.cuts) == {"m2", "m5"}


NAMES = st.lists(st.sampled_from([f"src/some_{name}.py" for name in "abcdefgh"]), max_size=4).map(" ".join)
CALLS = st.lists(st.tuples(NAMES, NAMES, st.integers(0, 12) | st.integers(0, 90), NAMES), min_size=1, max_size=12)


@given(CALLS, st.integers(0, 99), st.integers(0, 3), st.sampled_from([0, 40, 90]))
def test_what_the_choice_remembers_is_what_it_would_find_anew(
    calls: list[tuple[str, str, int, str]], percent: int, spared: int, exaggerated: int
) -> None:
    """At each step: the terms that only a group shows, how many groups show each, and the best operation."""

    class Checked(choice.Candidates):
        def best(self, position: int) -> tuple[float, Any]:
            assert_counted(self)
            found = super().best(position)
            self.known.pop(position)
            assert super().best(position) == found
            return found

        def estimate(self, *given: Any) -> list[Any]:
            """What saves less than it seems to is taken back."""
            return [(*length, saved + exaggerated) for *length, saved in super().estimate(*given)]

    def assert_counted(made: choice.Candidates) -> None:
        draft, some = made.draft, [position for position in made.shown if made.draft.kept[position]]
        shown = shown_only_by(some, draft.shown_terms(), draft.kept)
        assert {position: made.shown[position] for position in some} == shown
        counts = Counter(chain.from_iterable(shown.values()))
        assert {name: count for name, count in made.terms.counts.items() if count} == counts
        assert made.terms.once == {name for name, count in counts.items() if count == 1}

    line = "just a line of output\n"
    messages = named([line * (lines // 2) + f"{some}\n" + line * lines + more for _, some, lines, more in calls])
    for message, (asked, *_) in zip(messages[1::2], calls, strict=False):
        message["tool_calls"][0]["arguments"]["command"] = asked
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(choice, "Candidates", Checked)
        made = drafted(messages, 1, protected_tool_results=spared)
        made.goal_tokens = made.total_tokens * percent // 100
        lose_least(made)
    check_total(made)


def test_terms_of_a_cut_that_is_taken_back_are_shown_again(monkeypatch):
    """A cut that saves too little is as if it had not been."""

    class Caught(choice.Candidates):
        def best(self, position: int) -> tuple[float, Any]:
            caught.append(self)
            return super().best(position)

        def estimate(self, *given: Any) -> list[Any]:
            return [(1, 200, word_cut_for(200), 90)]

    caught: list[choice.Candidates] = []
    monkeypatch.setattr(choice, "Candidates", Caught)
    line = "just a line of output\n"
    made = drafted(named([line * 5 + "src/some_a.py\n" + line * 7, "x", "y"]), 1, protected_tool_results=0)
    result, terms = made.members[1][1], {"src/some_a.py", "some_a"}
    made.goal_tokens = made.total_tokens - 80
    made.held = {1, 2, 3}
    lose_least(made)
    candidates = caught[0]
    assert not made.cuts
    assert candidates.shown[1] == terms == candidates.terms.once
    assert (result.ordinal, 200) in candidates.tried
