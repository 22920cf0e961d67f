"""Tool groups and the providers' rules, over entries written as short words (`tests/support/messages.py`)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.view.calls_and_results import (
    Group,
    LateResults,
    closed_calls,
    first_human,
    last_human,
    late_results,
    needs_user_before,
    tool_groups,
    unique_call_ids,
)
from tests.support.messages import entries, entry


def shown(groups: list[Group]) -> str:
    """Groups as the places of their messages, `-` for a missing result."""
    return " ".join(
        "".join("-" if e is None else str(e.ordinal) for e in (group.head, *group.results)) for group in groups
    )


@pytest.mark.parametrize(
    ("words", "groups"),
    [
        ("", ""),
        ("u a u", "0 1 2"),
        ("u c:x t:x a", "0 12 3"),
        ("u c:x+y t:x t:y", "0 123"),
        ("u c:x+y t:y t:x", "0 132"),
        ("u c:x+y t:y", "0 1-2"),
        ("u c:x", "0 1-"),
        ("u c:x u t:x", "0 13 2"),  # late
        ("u c:x+y t:x c:z t:y t:z", "0 124 35"),
        ("t:x u c:x", "1 2-"),  # early: a result answers a call before it
        ("u t:x", "0"),  # an orphan
        ("u c:x t:x t:x", "0 12"),  # a second answer
        ("u b c:x b t:x", "0 24"),
        ("u c:x t:x c:x t:x", "0 12 34"),  # an id that is used again
        ("u c:x c:x t:x", "0 1- 23"),  # it belongs to the last one
        ("u c:x c:x t:x t:x", "0 1- 23"),
        ("u c:x+y#x t:x t:y", "0 1-3"),  # nothing answers a closed call
    ],
)
def test_tool_groups(words: str, groups: str) -> None:
    """Each result stands right after its call, in call order; what answers nothing is left out."""
    assert shown(tool_groups(entries(words))) == groups


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


def test_the_first_and_the_last_human() -> None:
    """Reminders do not count."""
    groups = tool_groups(entries("r a u a u r"))
    assert (first_human(groups), last_human(groups)) == (2, 4)
    assert first_human([]) is last_human([]) is None


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (". u", False),
        (". s", False),
        (". a", True),
        (". c:x", True),
        ("u a", False),
        ("a a", False),
        ("a c:x", True),
        ("u c:x", False),
        ("r c:x", False),
        ("answered c:x", False),
        ("a s", False),
    ],
)
def test_where_a_user_must_speak(words: str, needed: bool) -> None:
    """Before the first message, and between an assistant's word and calls."""
    before, word = words.split()
    previous = None if before == "." else entry(0, "c:z" if before == "answered" else before)
    assert needs_user_before(previous, entry(1, word), answered=before == "answered") is needed


def test_call_ids_that_occurred_before_are_renamed() -> None:
    """The new ones depend on what stands before alone, and meet no other id."""
    groups = tool_groups(entries("u c:x t:x c:x t:x c:x_2+x"))
    seen: set[str] = set()
    assert unique_call_ids(groups, seen) == {(3, 0): "x_2", (5, 0): "x_2_2", (5, 1): "x_3"}
    assert {"x", "x_2", "x_2_2", "x_3"} <= seen
    assert unique_call_ids(groups[:2], set()) == {}
    first = next(group for group in groups if group.head.calls)
    assert unique_call_ids([first], {"x"}) == {(first.head.ordinal, 0): "x_2"}


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
