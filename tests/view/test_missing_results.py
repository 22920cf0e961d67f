"""Calls without a result, over entries written as short words (`tests/support/messages.py`)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.view.inserted_messages import inserted_message
from amplifier_module_context_persistent.view.missing_results import (
    INTERRUPTED,
    LateResults,
    closed_calls,
    is_stand_in,
    late_results,
    stand_in,
)
from amplifier_module_context_persistent.view.tool_groups import tool_groups
from tests.support.messages import entries


@pytest.mark.parametrize(
    ("words", "kept", "closed"),
    [
        ("c:x a", "yn", ""),
        ("c:x c:x a", "yyn", ""),  # what comes is the second's
        ("c:x c:x a", "yny", "m0x"),
        ("c:x c:x t:x", "yn", "m0x"),  # a second answer would be no answer to the first call either
        ("c:x t:x c:x a", "yny", ""),
        ("c:x c:x c:x", "yny", ""),
        ("c:y+x c:x a", "yny", "m0x"),
        ("c:x c:x a", "nnn", ""),
        ("c:x#x c:y", "yy", "m0x"),
    ],
)
def test_calls_that_nothing_after_a_plan_can_answer(words: str, kept: str, closed: str) -> None:
    """Those of kept groups whose id a later call took that is left out; once closed they remain so."""
    groups = tool_groups(entries(words))
    found = closed_calls(groups, [letter == "y" for letter in kept])
    assert " ".join(f"{message_id}{'+'.join(sorted(ids))}" for message_id, ids in found.items()) == closed


def test_every_open_call_is_closed_where_the_end_is_not_known() -> None:
    """A call whose id any later one may have taken."""
    groups = tool_groups(entries("c:x+y t:x a"))
    assert closed_calls(groups, [True, True], to_the_end=False) == {"m0": {"y"}}


def test_a_result_after_an_answer_without_it_is_late() -> None:
    """Answers in a row are one, and nothing answers a closed call."""
    assert [one.ordinal for one in late_results(entries("u c:x a t:x c:y t:y"))] == []
    assert [one.ordinal for one in late_results(entries("u c:x u a t:x c:y#y u a t:y"))] == [4]


WORDS = st.lists(st.sampled_from(["u", "a", "c:x", "c:x+y", "c:y#y", "t:x", "t:y"]), max_size=12)


@given(WORDS, st.lists(st.tuples(st.integers(0, 12), st.booleans()), max_size=8))
def test_late_results_go_on_from_the_list_before(words: list[str], asked: list[tuple[int, bool]]) -> None:
    """Lists that grow, shrink or are others between: the same as of each alone, although the caller's list grows."""
    known, growing = LateResults(), entries(" ".join(words))[:0]
    lists = {False: entries(" ".join(words)), True: entries(" ".join(reversed(words)))}
    for length, is_other in asked:
        growing[:] = lists[is_other][:length]
        assert list(known.of(growing)) == list(late_results(growing))


def test_a_stand_in_answers_its_call() -> None:
    """It names the call and the tool, and tells what happened."""
    message = stand_in("c1", "bash")
    assert (message["role"], message["tool_call_id"], message["name"]) == ("tool", "c1", "bash")
    assert message["content"] == INTERRUPTED
    assert is_stand_in(message)
    assert not is_stand_in(inserted_message("user", "left out"))
    assert not is_stand_in(None)
