"""Recall without a log: what is asked, how pages are cut, how hits are told."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.errors import RecallError
from amplifier_module_context_persistent.messages.elide import Cut
from amplifier_module_context_persistent.search.recall_page import (
    RecallPage,
    check_wanted,
    cut_page,
    make_hit,
    page_tokens,
    tell_hits,
)
from amplifier_module_context_persistent.view.entry import classify
from amplifier_module_context_persistent.view.render import shorten

HEAD = re.compile(r"\[recall of m1, characters (\d+)-(\d+) of (\d+)\]\n")
TIME = "2026-03-01T00:00:00.000Z"


def message(text: str, **more: Any) -> dict[str, Any]:
    return {
        "role": "tool",
        "name": "bash",
        "tool_call_id": "c",
        "content": text,
        "metadata": {"timestamp": TIME},
        **more,
    }


def page(text: str, *, most: int = 10**9, **wanted: Any) -> RecallPage:
    asked = check_wanted(reference="m1", **wanted)
    fits = {"most_chars": 40_000, "fits": lambda output: len(output) <= most}
    return cut_page(message(text), asked, before="m0", after="", **fits)


# -- pages -------------------------------------------------------------------------------------------------------------


def test_a_page_says_where_it_is_from_and_how_to_go_on() -> None:
    """The first line names message and characters, the second what it is, the last the next page."""
    first = page("abcdefgh", limit=3)
    assert first.output.splitlines() == [
        "[recall of m1, characters 0-3 of 8]",
        f"[result of bash, {TIME}; before it m0]",
        "abc",
        "[5 characters follow: recall reference=m1 offset=3]",
    ]
    last = page("abcdefgh", offset=3)
    assert last.output.splitlines()[2:] == ["defgh"]
    assert (first.next_offset, last.next_offset, last.chars) == (3, None, 8)


@given(
    text=st.text(st.characters(exclude_categories=()), max_size=600) | st.text("ab\n", max_size=3_000),
    limit=st.none() | st.integers(1, 400),
    most=st.integers(170, 900),  # the frame alone is up to 152 characters here
)
def test_pages_put_together_are_the_text(text: str, limit: int | None, most: int) -> None:
    """Whatever the text, the limit and the room, nothing is lost or twice, and every page fits and says what it is."""
    pieces, offset = [], 0
    while True:
        made = page(text, most=most, offset=offset, limit=limit)
        head = HEAD.match(made.output)
        assert head
        assert tuple(map(int, head.groups())) == (offset, offset + len(made.text), len(text))
        assert len(made.output) <= most
        assert limit is None or len(made.text) <= limit
        assert made.text in made.output
        pieces.append(made.text)
        if made.next_offset is None:
            break
        assert made.next_offset == offset + len(made.text) > offset
        offset = made.next_offset
    assert "".join(pieces) == text


def test_a_page_uses_the_room_that_there_is() -> None:
    """It is at most about a sixty-fourth shorter than what would fit."""
    made = page("x" * 100_000, most=5_000)
    assert 4_850 < len(made.output) <= 5_000


def test_a_page_that_does_not_end_the_text_ends_at_a_line() -> None:
    """Where one ends in its last characters."""
    assert page("a line of text\n" * 500, most=1_000).text.endswith("\n")


def test_a_page_has_no_more_characters_than_need_be_counted() -> None:
    """Even where all would fit."""
    assert len(page(" " * 90_000).text) == 40_000


@pytest.mark.parametrize(("budget", "tokens"), [(0, 0), (1_000, 100), (40_000, 4_000), (200_000, 4_000)])
def test_the_tokens_of_a_page(budget: int, tokens: int) -> None:
    """A tenth of the budget, 4,000 at most."""
    assert page_tokens(budget) == tokens


def test_a_page_behind_the_end_is_an_error() -> None:
    """It says how long the text is; an empty text has one empty page."""
    with pytest.raises(RecallError, match=r"^offset: 8 is past the end; m1 has 8 characters"):
        page("abcdefgh", offset=8)
    assert page("").text == ""


def test_a_budget_without_room_is_an_error() -> None:
    """Not an endless row of empty pages."""
    with pytest.raises(RecallError, match="too small"):
        page("abcdefgh", most=20)


# -- a page that is elided ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["recall", None])
def test_an_elided_page_refers_to_the_original(name: str | None) -> None:
    """The elision of what recall gave names the message that it was taken from, also where the result has no name."""
    result = message(page("x" * 5_000).output, name=name, metadata={"message_id": "m9"})
    entry = classify(9, result, lambda _: 1)
    assert entry.origin.refers_to == "m1"
    assert "elided; recall m1 …]" in shorten(entry, result, Cut(100, 100))["content"]


@pytest.mark.parametrize(
    "result",
    [
        message("[recall of m1, characters 0-3 of 8]\nabc", name="bash"),
        message("[recall of m1, characters 0-3 of 8]\nabc", role="user"),
        message("text\n[recall of m1, characters 0-3 of 8]\nabc", name="recall"),
        message("[search for 'x': no hits]", name="recall"),
    ],
)
def test_what_is_no_page_refers_to_itself(result: dict[str, Any]) -> None:
    """Another tool's result may quote one, and a search is of no one message."""
    result = {**result, "content": result["content"] + "\n" + "x" * 999, "metadata": {"message_id": "m9"}}
    entry = classify(9, result, lambda _: 1)
    assert entry.origin.refers_to == ""
    assert "elided; recall m9 …]" in shorten(entry, result, Cut(100, 100))["content"]


# -- questions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "error"),
    [
        ({}, "give a reference"),
        ({"query": " \n"}, "give a reference"),
        ({"reference": "", "query": ""}, "give a reference"),
        ({"role": "user"}, "give a reference"),
        ({"reference": "m1", "query": "x"}, "not both"),
        ({"reference": 3}, "reference: must be a text, not int"),
        ({"query": ["x"]}, "query: must be a text, not list"),
        ({"reference": "m1", "offset": -1}, "offset: must be a whole number from 0 on"),
        ({"reference": "m1", "offset": "3"}, "offset: must be"),
        ({"reference": "m1", "offset": True}, "offset: must be"),
        ({"reference": "m1", "limit": 0}, "limit: must be a whole number from 1 on"),
        ({"reference": "m1", "limit": 2.5}, "limit: must be"),
        ({"query": "x", "regex": "yes"}, "regex: must be true or false"),
        ({"query": "(", "regex": True}, "query: not a regular expression"),
        ({"query": "x", "role": "human"}, "role: 'human' is none; allowed: system, "),
        ({"query": "x", "since": "yesterday"}, "since: 'yesterday' is no ISO 8601 time"),
        ({"query": "x", "until": "2026-13-01"}, "until: "),
    ],
)
def test_wrong_questions(question: dict[str, Any], error: str) -> None:
    """Each is an error that names the parameter and what is allowed."""
    with pytest.raises(RecallError, match=re.escape(error)):
        check_wanted(**question)


def test_parameters_that_say_nothing_are_as_if_not_given() -> None:
    """Some models fill in all of them."""
    nothing = {"query": "", "role": "", "tool": "", "since": "", "until": None, "limit": None, "regex": False}
    assert check_wanted(reference="m1", **nothing) == check_wanted(reference="m1")


@pytest.mark.parametrize(
    ("question", "inside"),
    [
        ({}, True),
        ({"since": "2026-03-01"}, True),
        ({"since": TIME, "until": TIME}, True),
        ({"since": "2026-03-01T00:00:01Z"}, False),
        ({"until": "2026-03-01T00:30:00+01:00"}, False),
        ({"until": "2026-03-01T01:00:00+01:00"}, True),
    ],
)
def test_times(question: dict[str, Any], inside: bool) -> None:
    """Both ends belong to the time asked for; without a zone it is UTC."""
    assert check_wanted(query="x", **question).matches_time(message("x")) is inside


def test_what_has_no_time_is_in_no_time() -> None:
    """A message that does not say when it was written is found only without a time."""
    assert check_wanted(query="x").matches_time({"role": "user"})
    assert not check_wanted(query="x", since="2000-01-01").matches_time({"role": "user"})


# -- hits --------------------------------------------------------------------------------------------------------------


def hits(count: int) -> list[Any]:
    text = f"{'a' * 300}\nneedle {'b' * 300} needle"
    return [make_hit(message(text), f"m{n}", "bash", text, [(301, 307), (609, 615)]) for n in range(count)]


def tell(
    found: list[Any], most: int = 10**9, *, more: bool = False, stopped_at: str | None = None, **wanted: Any
) -> RecallPage:
    asked = check_wanted(query="needle", **wanted)
    return tell_hits(found, asked, more=more, stopped_at=stopped_at, fits=lambda output: len(output) <= most)


def test_a_hit_says_where_it_is_and_shows_what_is_around_it() -> None:
    """Message, tool, time, places and a short excerpt."""
    assert tell(hits(1)).output.splitlines() == [
        "[search for 'needle': hits 1-1, newest first]",
        f"m0: result of bash, {TIME}, at 301 of 615; also at 609",
        f"  …{'a' * 99} needle {'b' * 99}…",
        "[to read on: recall reference=ID offset=CHARACTER]",
    ]


def test_hits_that_do_not_fit_are_on_the_next_page() -> None:
    """As many are told as fit, and how to get the others."""
    told = tell(hits(10), 1_500, offset=20)
    assert len(told.output) <= 1_500
    assert 0 < len(told.hits) < 10
    assert told.next_offset == 20 + len(told.hits)
    assert f"recall the same query with offset={told.next_offset}]" in told.output


def test_no_hits_are_no_error() -> None:
    """The answer says so, and whether there were any before."""
    assert tell([]).output == "[search for 'needle': no hits]"
    assert tell([], offset=3).output == "[search for 'needle': no more hits]"


def test_a_search_that_ran_out_of_time_says_where_it_stopped() -> None:
    """And how to go on from there."""
    assert f"go on with until={TIME}]" in tell(hits(1), stopped_at=TIME).output
    assert "time ran out: what is older was not searched; narrow" in tell([], stopped_at="").output


def test_no_room_for_a_hit_is_an_error() -> None:
    """A budget can be too small."""
    with pytest.raises(RecallError, match="too small"):
        tell(hits(1), 50)
