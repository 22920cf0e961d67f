"""A search for words: all of them, phrases, and the beginnings of words."""

from __future__ import annotations

import pytest

from amplifier_module_context_persistent.errors import RecallError
from amplifier_module_context_persistent.search.words import words_pattern

TEXT = "The Connection was reset\nby peer; retrying os.path.join() in 30 s. このAPI検索は速い"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("connection", ["Connection"]),
        ("connect", []),
        ("connect*", ["Connect"]),
        ("peer connection", ["Connection", "peer"]),
        ("peer absent", []),
        ('"reset by peer"', ["reset\nby peer"]),
        ('"reset peer"', []),
        ('"reset by pee"*', ["reset\nby pee"]),
        ('"by peer', ["by peer"]),
        ("os.path", ["os.path"]),
        ("path os", ["os", "path"]),
        ("S", ["s"]),
        ("API", ["API"]),
        ("検索", ["検索"]),
        ("索は速", ["索は速"]),
        ("-- peer !!", ["peer"]),
        ("(peer)", ["peer"]),
    ],
)
def test_words_are_found(query: str, found: list[str]) -> None:
    """Whatever their case and order; a word is a whole one unless it ends in a star."""
    pattern = words_pattern(query)
    assert [TEXT[first:last] for first, last in pattern.spans(TEXT)] == found
    assert pattern.may_match(TEXT.encode()) or not found


def test_a_phrase_is_found_in_a_long_text() -> None:
    """Also where a line break stands between its words."""
    text = f"{'filler ' * 5_000}reset\nby peer {'filler ' * 5_000}"
    assert [text[first:last] for first, last in words_pattern('"reset by peer"').spans(text)] == ["reset\nby peer"]


def test_letters_with_several_forms_are_not_ruled_out() -> None:
    """The Kelvin sign is a K."""
    pattern = words_pattern("kelvin")
    assert pattern.may_match("\u212aelvin".encode())
    assert list(pattern.spans("\u212aelvin")) == [(0, 6)]


@pytest.mark.parametrize("query", ["", '"', "*** --", "x" * 2_000, "a " * 40])
def test_what_holds_no_words_is_refused(query: str) -> None:
    """And so is what is too long."""
    with pytest.raises(RecallError):
        words_pattern(query)
