"""Excerpts have the words of the question, wherever they are in a text, and tell their place."""

from __future__ import annotations

import pytest

from amplifier_module_context_persistent.search.index_terms import asked_words
from amplifier_module_context_persistent.toolbox.mcp.excerpt_of_answer import MOST_CHARS, best_excerpt
from tests.support.sweeps import proof

WORTH = {term: 1.0 for _, terms in asked_words("giraffe zebra") for term in terms}


@proof(quick=6)
@pytest.mark.parametrize(
    ("before", "after"), [(0, 60_000), (100, 60_000), (30_000, 30_000), (60_000, 100), (60_000, 0), (10, 10)]
)
@pytest.mark.parametrize("around", ["", "a line\n"])
def test_a_long_line_is_cut_around_the_word(before: int, after: int, around: str) -> None:
    """To as many characters as are allowed, within its line."""
    line = "x " * (before // 2) + "giraffe" + " y" * (after // 2)
    text = around + line + "\n" + around
    found = best_excerpt(text, WORTH)
    assert "giraffe" in found.text
    assert len(found.text) == min(MOST_CHARS, len(line))
    assert text[found.offset :].startswith(found.text)
    assert "\n" not in found.text


def test_whole_lines_are_given() -> None:
    """Those of the words that are near each other, with the lines between them."""
    text = "before\na giraffe here\nbetween\nand a zebra there\nafter\n" + "z " * 500 + "\na giraffe again"
    assert best_excerpt(text, WORTH).text == "a giraffe here\nbetween\nand a zebra there"
    assert best_excerpt(text, WORTH).offset == len("before\n")


def test_a_text_without_the_words_gives_its_first_line() -> None:
    """Blank lines before it are left out."""
    assert best_excerpt("\n \nfirst\nsecond", WORTH).text == "first"
    assert best_excerpt("first " * 1_000, WORTH).text == ("first " * 1_000)[:MOST_CHARS]
    assert best_excerpt("", WORTH).text == ""
