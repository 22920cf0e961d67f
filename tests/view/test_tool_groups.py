"""Tool groups and the providers' rules, over entries written as short words (`tests/support/messages.py`)."""

import pytest

from amplifier_module_context_persistent.view.tool_groups import (
    Group,
    first_human,
    last_human,
    needs_user_before,
    tool_groups,
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
