"""The words of the index: a text that holds another one has its words, whatever the script and the case."""

from __future__ import annotations

import sys

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.errors import RecallError
from amplifier_module_context_persistent.search.pattern import regex_pattern, text_pattern
from amplifier_module_context_persistent.search.trigrams import Runs, asked_of, fold
from amplifier_module_context_persistent.search.words import words_pattern


def words_of(*texts: str) -> set[str]:
    """The words of some texts."""
    runs = Runs()
    for text in texts:
        runs.add(text)
    return runs.words()


LETTERS = 'abAB \n"\\_.ßẞ\u017fsKk\u0131İiI\u03a3\u03c2\u03c3検索語한국어\U00020000\ud800é'
TEXTS = st.text(st.sampled_from(LETTERS), max_size=30)


@given(TEXTS, TEXTS, TEXTS)
def test_a_text_has_the_words_of_what_it_holds(before: str, held: str, after: str) -> None:
    """In any case, at any place."""
    assert words_of(held) <= words_of(before + held + after)
    assert words_of(held.upper()) <= words_of((before + held + after).upper())


def test_texts_that_expressions_take_for_the_same_are_folded_alike() -> None:
    """Every letter that `regex` matches without regard to case."""
    cased = [
        char
        for char in map(chr, range(sys.maxunicode + 1))
        if char != char.lower() or char != char.upper() or char != char.casefold()
    ]
    assert len(cased) > 2_000
    text = "".join(cased)
    for char in cased:
        found = regex.findall(regex.escape(char), text, regex.IGNORECASE)
        assert {fold(one) for one in found} == {fold(char)}


def test_a_very_long_text_is_taken_piece_by_piece() -> None:
    """And nothing is lost between two pieces."""
    text = "x" * ((1 << 19) - 1) + "needle" + "検索語" * 3
    assert words_of("needle検索") <= words_of(text)


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ("connection reset", ["connection reset"]),
        ("retr(y|ies) later", ["retr", " later"]),
        ("TODO|FIXME", None),
        (r"def \w+\(self", ["def ", "(self"]),
        ("colou?r", ["colo"]),
        ('"path": "src', ['"path": "src']),
        (".*", []),
        ("ab", []),
        ("[abc]def|x", []),
        ("(?i)Straße", ["straße"]),
        ("(?x) a b c d", []),
        (r"\x41bcdef", []),
        ("検索", ["検索"]),
        ("検", []),
    ],
)
def test_what_an_expression_asks_for(query: str, texts: list[str] | None) -> None:
    """What stands in every match; of alternatives, what stands in one of them."""
    asked = asked_of(regex_pattern(query))
    if texts is None:
        assert asked == [sorted(words_of("TODO")), sorted(words_of("FIXME"))]
    else:
        assert asked == ([sorted(words_of(*texts))] if texts else [])


def test_the_parts_of_a_message_may_be_joined_otherwise() -> None:
    """A search by tool joins fewer of them: what stands across a line break is not asked for."""
    assert asked_of(text_pattern("first\nsecond")) == [sorted(words_of("first", "second"))]
    assert asked_of(words_pattern('retry "reset by peer"')) == [sorted(words_of("retry", "reset", "peer"))]


@given(st.text(st.sampled_from('abcAK.|()[]*+?\\^$ "é検索'), max_size=12), TEXTS)
def test_no_match_is_ruled_out(query: str, text: str) -> None:
    """For any expression, in any text that it matches."""
    try:
        pattern = regex_pattern(query, ignore_case=True)
    except RecallError:  # not an expression
        return
    if any(True for _ in pattern.spans(text)):
        asked = asked_of(pattern)
        assert not asked or any(set(words) <= words_of(text) for words in asked)
