"""Turns without last words: of two in succession something stays."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.compaction.interrupted_turns import SHARE, hold_interrupted_turns
from amplifier_module_context_persistent.compaction.last_words import answers_by_human, hold_last_words
from amplifier_module_context_persistent.compaction.planner import compact
from amplifier_module_context_persistent.view.entry import Entry
from amplifier_module_context_persistent.view.plan import Plan
from tests.support.drafts import draft, draft_of, history, request_of
from tests.support.messages import Message
from tests.support.view_properties import examples


def test_every_second_one_keeps_what_was_said_last() -> None:
    """With its calls, whose results may be cut to nothing."""
    made = draft("u:3 a:9 t:90 " + "u:3 t:90 a:9 t:90 " * 3 + "u:3 t:9 a:9 u:3", 1_000)
    hold_interrupted_turns(made, hold_last_words(made))
    assert made.held == {5, 13, 17}
    assert made.shorter == {}
    made = draft("u:3 a:9 t:90 " * 5 + "u:3", 1_000)
    hold_interrupted_turns(made, 0)
    assert made.held == {4, 10}
    made = draft_of(talk(4), 1_000)
    hold_interrupted_turns(made, 0)
    assert made.held == made.shorter.keys() == {5, 11}


def test_where_that_takes_much_it_is_what_takes_least() -> None:
    """A call may have arguments as long as a file."""
    made = draft("u:3 a:9 t:90 u:3 a:20 a:30 t:9 a:900 t:9 u:3", 4_000)
    hold_interrupted_turns(made, 0)
    assert made.held == {4}


def test_people_who_were_not_answered_yet_do_not_count() -> None:
    """Nothing was said between them that could be missing."""
    made = draft("u:3 a:9 t:90 u:3 u:3 a:9 t:90 u:3", 1_000)
    hold_interrupted_turns(made, 0)
    assert made.held == {5}


def test_very_many_take_no_more_than_their_share() -> None:
    """The newest are held; fewer where last words take the room."""
    made = draft("u:3 a:50 t:9 " * 20 + "u:3", 1_000)
    hold_interrupted_turns(made, 0)
    assert sorted(made.held)[0] > 30
    assert 0.8 * SHARE * 1_000 < 50 * len(made.held) <= SHARE * 1_000
    made = draft("u:3 a:50 t:9 " * 20 + "u:3", 1_000)
    hold_interrupted_turns(made, 440)
    assert len(made.held) == 1


@examples(60)
@given(st.lists(st.sampled_from(("u:3 a:40", "u:3 a:40 t:90", "u:3 t:90 a:9 t:9", "u:3", "u:3 h:9 t:9")), max_size=30))
def test_of_two_turns_in_succession_something_is_held(turns: list[str]) -> None:
    """Where they take no more than their share, whatever the turns are."""
    made = draft(" ".join(["u:3", *turns, "u:3"]), 20_000)
    hold_interrupted_turns(made, hold_last_words(made))
    ends = answers_by_human(made)
    people = [position for position, group in enumerate(made.groups) if group.head.human]
    spoken = [(start, end) for start, end in pairwise(people) if end > start + 1]
    shown = [bool(made.held.intersection(range(start, end))) for start, end in spoken]
    assert all(one or other for one, other in pairwise(shown))
    assert made.held >= set(ends.values())


def talk(turns: int) -> list[Message]:
    """People who break in after a result, each time; the assistant says with each call what it does."""
    messages = history("u:9 t:300 t:300 " * turns + "u:9 a:9")
    for number, message in enumerate(messages):
        if message.get("tool_calls"):
            message["content"] = f"I look at part {number}."
    return messages


@pytest.mark.parametrize("turns", [12, 40])
def test_no_three_people_stand_together_in_a_view(turns: int) -> None:
    """Plan after plan: the next one holds the same again."""
    messages = talk(turns)
    plan: Plan | None = None
    cut_tokens: dict[str, int] = {}
    shown: list[Entry] = []
    for entry in request_of(messages, 8_000).entries:
        shown.append(entry)
        if sum(one.tokens for one in shown) < 7_000:
            continue
        made = compact(request_of(messages, 8_000, entries=shown, previous=plan, cut_tokens=cut_tokens))
        plan, cut_tokens = made.plan, dict(made.cut_tokens)
        shown = [one for one in shown if one.id in made.plan.keep]
        roles = [one.role for one in shown if one.human or one.role == "assistant"]
        assert "user user user" not in " ".join(roles)
    assert plan is not None
