"""What of a host's list is the history unchanged, and whether it is all of the history."""

from typing import Any

import pytest

from amplifier_module_context_persistent.session.unchanged_host_list import is_whole, known_beginning


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


RULES, ASKED, LATE, ANSWER, NOTE = (
    said("system", "rules"),
    said("user", "a question"),
    said("system", "late"),
    said("assistant", "an answer"),
    said("system", "a note"),
)
LIVE = [RULES, ASKED, LATE, ANSWER, NOTE]


@pytest.mark.parametrize(
    ("given", "places", "whole"),
    [
        (LIVE, [0, 1, 2, 3, 4], True),
        ([ASKED, ANSWER], [1, 3], True),
        ([RULES, ASKED, ANSWER], [0, 1, 3], True),
        ([ASKED], [1], False),
        ([], [], False),
        ([ANSWER], [], False),
        ([ASKED, said("user", "another")], [1], False),
    ],
)
def test_only_system_messages_may_be_missing(given: list[dict[str, Any]], places: list[int], whole: bool) -> None:
    known = known_beginning(LIVE, given)
    assert known == places
    assert is_whole(LIVE, given, known) is whole


def test_what_follows_the_last_known_message_counts_from_there() -> None:
    """A last message of a person is missing, whatever stands before it."""
    live = [ASKED, ANSWER, said("user", "more")]
    assert not is_whole(live, live[:2], known_beginning(live, live[:2]))
    assert is_whole([ASKED, ANSWER], [ASKED, ANSWER], [0, 1])
    assert is_whole([], [], [])
