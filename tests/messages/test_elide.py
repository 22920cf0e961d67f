"""Texts shortened to head and tail."""

import copy
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.messages.elide import Cut, cut_for, elide_message, elide_text
from amplifier_module_context_persistent.messages.message import texts_of
from tests.support.messages import Message

LINES = "".join(f"line {n:03}\n" for n in range(100))


def word_cut_for(keep_chars: int) -> Cut:
    """The cut that plans had before there were excerpts."""
    return replace(cut_for(keep_chars), whole_words=True, whole_characters=True)


@pytest.mark.parametrize(("chars", "cut"), [(0, Cut(0, 0)), (1, Cut(1, 0)), (7, Cut(4, 3)), (8, Cut(4, 4))])
def test_a_cut_keeps_as_much_of_the_end_as_of_the_beginning(chars: int, cut: Cut) -> None:
    """The odd character goes to the head."""
    assert cut_for(chars) == cut


def test_lines_stay_whole() -> None:
    """Cut at line ends, an elided text keeps no half of a line, and at most what the cut says."""
    lines = elide_text(LINES, Cut(95, 95), reference="m7").splitlines()
    assert lines[:10] == LINES.splitlines()[:10]
    assert lines[10] == "[… 720 of 900 characters elided; recall m7 …]"
    assert lines[11:] == LINES.splitlines()[-10:]


def test_a_brief_cut_says_only_how_the_rest_is_had() -> None:
    """And a plan's record keeps that it is brief."""
    cut = Cut(90, 0, whole_words=True, brief=True)
    assert elide_text(LINES, cut, reference="m7").splitlines() == [*LINES.splitlines()[:10], "[… recall m7]"]
    assert Cut.from_record(cut.to_record()) == cut


def test_a_line_that_ends_far_away_is_cut_within() -> None:
    """For the sake of whole lines no more than 200 characters, nor half of what should stay, are given up."""
    text = "first\n" + "a" * 5_000 + "\nlast"
    head, _, tail = elide_text(text, Cut(1_000, 1_000), reference="m7").split("\n", 1)[1].split("\n", 2)
    assert len(head) == 1_000 - len("first\n")
    assert len(tail) == 1_000


def test_characters_are_cut_where_they_are_asked_to_be() -> None:
    """With `char` exactly the head and the tail stay."""
    shorter = elide_text("a" * 300 + "z" * 300, Cut(5, 3), reference="m7", boundary="char")
    assert shorter == "aaaaa\n[… 592 of 600 characters elided; recall m7 …]\nzzz"


@pytest.mark.parametrize("cut", [Cut(0, 0), Cut(0, 3), Cut(3, 0)])
def test_nothing_of_one_end_may_stay(cut: Cut) -> None:
    """An empty head or tail leaves no empty line."""
    shorter = elide_text("x" * 900, cut, reference="m7")
    assert shorter.strip("x\n").startswith("[…")
    assert not shorter.startswith("\n")
    assert not shorter.endswith("\n")
    assert shorter.count("x") == cut.head_chars + cut.tail_chars


@pytest.mark.parametrize("text", ["", "short", "x" * 100])
def test_a_text_that_would_not_get_shorter_is_left_alone(text: str) -> None:
    """The marker has its length too."""
    assert elide_text(text, Cut(40, 40), reference="m7") == text


@given(st.text(max_size=400), st.integers(0, 60), st.integers(0, 60), st.sampled_from(["line", "char"]))
def test_what_stays_is_the_texts_own(text: str, head: int, tail: int, boundary: str) -> None:
    """Before the marker stands the beginning, after it the end, and no more of either than the cut allows."""
    shorter = elide_text(text, Cut(head, tail), reference="m7", boundary=boundary)
    if shorter == text:
        return
    assert len(shorter) < len(text)
    before, _, after = shorter.partition("[… ")
    before, after = before.removesuffix("\n"), after.partition("recall m7 …]")[2].removeprefix("\n")
    assert text.startswith(before)
    assert text.endswith(after)
    assert len(before) <= head
    assert len(after) <= tail


def test_all_text_blocks_of_a_message_are_cut() -> None:
    """Images, calls and short texts stay; the message that was given is not changed."""
    image = {"type": "image", "source": {"type": "base64", "data": "A" * 5_000}}
    message: Message = {
        "role": "tool",
        "content": [
            {"type": "text", "text": "a" * 900, "key": 1},
            image,
            {"type": "tool_result", "tool_call_id": "c", "output": "b" * 900},
            {"type": "tool_result", "tool_call_id": "c", "output": {"b": "b" * 900}},
            {"type": "text", "text": "short"},
        ],
        "metadata": {"message_id": "m7"},
    }
    before = copy.deepcopy(message)
    shorter = elide_message(message, Cut(10, 10), reference="m7")
    assert message == before
    first, kept, second, third, last = shorter["content"]
    assert first["key"] == 1
    assert len(first["text"]) < 100 > len(second["output"])
    assert [kept, third, last] == [image, message["content"][3], message["content"][4]]
    assert shorter["metadata"] == message["metadata"]
    assert texts_of(message) == ["a" * 900, "b" * 900, "short"]


@pytest.mark.parametrize(
    ("content", "texts"), [("abc", ["abc"]), (None, []), ([], []), ([{"type": "image"}], []), ({}, [])]
)
def test_what_can_be_elided(content: Any, texts: list[str]) -> None:
    """A message without a text cannot be shortened, and stays as it is."""
    message = {"role": "user", "content": content}
    assert texts_of(message) == texts
    assert elide_message(message, Cut(0, 0), reference="m7") == message


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\ufe0f"


@pytest.mark.parametrize(
    "character",
    [FAMILY, "\U0001f44d\U0001f3fd", "\U0001f1eb\U0001f1f7", "e\u0301", "\u0915\u093f", "\r\n"],
    ids=["family", "tone", "flag", "accent", "vowel sign", "CR LF"],
)
@pytest.mark.parametrize("before", range(8))
def test_no_character_is_cut_in_two(character: str, before: int) -> None:
    """Wherever the cut falls, both what stays and what goes are whole ones."""
    text = "x" * before + (character + "y") * 400
    head, marker, rest = elide_text(text, word_cut_for(300), reference="m1").partition("\n[… ")
    assert marker
    for piece in (head, rest.partition("]\n")[2]):
        assert re.fullmatch(f"x*(?:y|{character})*", piece)


def test_text_without_spaces_ends_at_its_punctuation() -> None:
    text = "先看一下调用方再决定要不要改接口。" * 60
    head = elide_text(text, word_cut_for(300), reference="m1").partition("\n[…")[0]
    assert head.endswith("。")


def test_a_cut_of_an_earlier_version_is_shown_as_it_was() -> None:
    """Its record says nothing of characters."""
    text = FAMILY * 400
    assert elide_text(text, Cut.from_record([150, 150, {"whole_words": True}]), reference="m1").startswith(
        text[:150] + "\n["
    )
    assert Cut.from_record(word_cut_for(300).to_record()) == word_cut_for(300)
