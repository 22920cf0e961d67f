"""The terms of a text and of a message, and which of them a cut leaves."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.messages.elide import Cut, cut_for, elide_text
from amplifier_module_context_persistent.messages.paths_and_ids import argument_terms, is_figure, spans, terms_of
from tests.support.growth import assert_grows_with_the_text


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("just some plain words, nothing else", set()),
        ("open src/app/main.py now", {"src/app/main.py"}),
        ("open main.py.", {"main.py"}),
        ("call parse_header and HttpClient", {"parse_header", "HttpClient"}),
        ("in lib/read_config.py", {"lib/read_config.py", "read_config"}),
        ("commit 3f2a9bc1 fixed it", {"3f2a9bc1"}),
        ("deadbeef 1234567 cafe", set()),
        ("a.b c/d x_y a-b", set()),
        ("w.Checkout(fmt.Sprintf)", {"w.Checkout", "fmt.Sprintf"}),
        ("class phx-update on --dry-run, 2026-11-23 and -5-6-7-8", {"phx-update", "dry-run"}),
        ("version 1.2.3 and 10.5", set()),
    ],
)
def test_what_a_term_is(text, terms):
    """Paths, names with a dot, compound names and ids are terms; plain words and numbers are none."""
    assert set(spans(text)) == terms


def test_a_word_has_the_same_terms_each_time():
    """Also after thousands of other words, and with other signs around it."""
    many = " ".join(f"other_name_{number}" for number in range(3_000))
    found = [
        spans(text).keys() for text in ("(lib/read_config.py)", many, "lib/read_config.py.", "-lib/read_config.py")
    ]
    assert [found[at] for at in (0, 2, 3)] == [{"lib/read_config.py", "read_config"}] * 3


def test_a_cut_shows_the_terms_of_head_and_tail():
    """A term counts as shown where one of its places lies wholly in what stays."""
    text = "first_name " + "x " * 500 + "middle_name " + "y " * 500 + "last_name first_name"
    terms = terms_of({"role": "tool", "content": text})
    assert set(terms.shown(None)) == {"first_name", "middle_name", "last_name"}
    assert set(terms.shown(Cut(50, 50))) == {"first_name", "last_name"}
    assert terms.shown(Cut(12, 11)) == ("first_name",)
    assert terms.shown(Cut(5, 0)) == ()
    some = frozenset({"middle_name", "last_name", "of_another"})
    assert terms.lost(Cut(50, 50), some) == {"middle_name"}
    assert terms.lost(Cut(12, 11), some) == {"middle_name", "last_name"}


def test_lines_that_a_cut_keeps_show_their_terms():
    """What stands in a kept line stays, and goes when that line does."""
    text = "\n".join(["x = first_name", "plain words " * 40, "y = second_name", "z = third_name"])
    terms = terms_of({"role": "tool", "content": text})
    first, second = (terms.places[name] for name in ("first_name", "second_name"))
    assert text[second[1] : second[2]] == "y = second_name"
    both, one = Cut(0, 0, (first, second)), Cut(0, 0, (second,))
    assert set(terms.shown(both)) == {"first_name", "second_name"}
    assert terms.lost(both, frozenset({"first_name", "third_name", "of_another"})) == {"third_name"}
    assert terms.lost(one, frozenset({"first_name", "second_name"})) == {"first_name"}
    assert terms.lost(both, frozenset({"first_name"})) == frozenset()


@given(st.lists(st.sampled_from(["plain", "some_name", "lib/other_name.py", "x" * 300, "\n", "é😀"]), max_size=80))
def test_a_place_has_its_term(words):
    """Lines, and the pieces of long ones, hold the terms that are found there, and never overlap."""
    text = " ".join(words)
    places = terms_of({"role": "tool", "content": text}).places
    assert all(term in text[first:last] for term, (_, first, last) in places.items())
    spans_ = sorted({(first, last) for _, first, last in places.values()})
    assert all(before[1] <= after[0] for before, after in pairwise(spans_))


def test_arguments_stay_and_thoughts_are_not_counted():
    """What cannot be cut is shown whatever the cut, except that a thought goes with its turn."""
    message = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "look at the_thought"},
            {"type": "text", "text": "z " * 300 + "in_the_text"},
            {"type": "tool_call", "id": "c", "name": "read", "input": {"path": "src/in_args.py"}},
        ],
        "tool_calls": [{"id": "c", "tool": "read", "arguments": {"path": "src/in_args.py"}}],
    }
    terms = terms_of(message)
    assert argument_terms(message).used == terms.used == {"src/in_args.py", "in_args"}
    assert set(terms.shown(Cut(0, 0))) == {"src/in_args.py", "in_args"}
    assert set(terms.shown(None)) == {"src/in_args.py", "in_args", "in_the_text"}
    assert terms.text_chars == (611,)


def test_a_term_in_two_texts_is_shown_by_the_one_that_needs_less():
    """Every text of a message is cut alike, so the nearest place to an end counts."""
    blocks = [{"type": "text", "text": text} for text in ("x " * 90 + "the_name" + " y" * 90, "the_name")]
    terms = terms_of({"role": "user", "content": blocks})
    assert terms.needs == (8,)
    assert terms.shown(Cut(4, 4)) == ("the_name",)
    assert terms.shown(Cut(4, 3)) == ()


@pytest.mark.parametrize(
    "call",
    [
        {"id": "c", "tool": "t", "arguments": {"p": "my_name"}},
        {"id": "c", "type": "function", "function": {"name": "t", "arguments": '{"p": "\\nmy_name"}'}},
    ],
)
def test_both_shapes_of_calls_have_arguments(call):
    """Arguments are found as an object and as JSON text."""
    assert argument_terms({"role": "assistant", "content": "", "tool_calls": [call]}).names == {"my_name"}


def test_the_body_of_a_file_is_not_what_somebody_needed():
    """A call that writes one shows its names; only its short arguments say what it is about."""
    body = "".join(f"def function_{number}(): ...\n" for number in range(20))
    call = {"id": "c", "tool": "write", "arguments": {"path": "src/new_file.py", "content": body}}
    terms = terms_of({"role": "assistant", "content": "", "tool_calls": [call]})
    assert terms.used == {"src/new_file.py", "new_file"}
    assert {"function_0", "function_19"} <= set(terms.shown(Cut(0, 0)))


@given(
    st.lists(st.sampled_from(["one_name", "a/b/c.py", "plain", "\n", "x" * 30, "TwoWords"]), max_size=80),
    st.integers(0, 400),
)
def test_shown_terms_stand_in_the_elided_text(words, keep):
    """Whatever a cut is said to show stands in the text that is cut so, character by character."""
    text = " ".join(words)
    shown = terms_of({"role": "tool", "content": text}).shown(cut_for(keep))
    cut = elide_text(text, cut_for(keep), reference="m1", boundary="char")
    assert [term for term in shown if term not in cut] == []


@pytest.mark.parametrize("text", ["." * 100_000, "/a~" * 40_000, "-_" * 50_000])
def test_a_long_row_of_signs_is_looked_through_once(text: str) -> None:
    """Not again from each of them."""
    assert_grows_with_the_text(lambda of: terms_of({"role": "user", "content": of}), text)


def test_figures_at_the_ends_of_a_text_are_terms() -> None:
    """A sentence with them is often all that a result says; numbers of lines and parts of names are none."""
    text = (
        "the queue held 4,711 jobs for 17 minutes\n"
        + "nothing of note\n" * 90
        + "load 0.93\n     1→\t20: 007 part_12 v3.41"
    )
    terms = terms_of({"role": "tool", "content": text})
    assert {name for name in terms.names if is_figure(name)} == {"4,711", "17", "0.93"}
