"""Terms are found in texts wherever they stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.replay import evidence as term_finder
from amplifier_module_context_persistent.replay.evidence import TermFinder

TERMS = ("a.py", "src/round_parcel.py", "round_parcel", "parcel", "größe", "0a1b2c3", "x-y", "xy", "x" * 70)
TEXTS = st.lists(st.sampled_from([*TERMS, "x", "y", "_", " ", "/", ".", "\n", "round"]), max_size=12).map("".join)


@given(st.lists(TEXTS, max_size=6), st.sets(st.sampled_from(TERMS)))
def test_each_term_is_found_that_a_text_contains(texts: list[str], terms: set[str]) -> None:
    """Whatever stands around it, and whatever was looked at before."""
    finder = TermFinder(terms)
    for text in texts:
        found = finder.terms_in(text)
        assert len(found) == len({*found})
        assert {*found} == {term for term in terms if term in text}


def test_it_holds_few_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of words is let go of when there are many of them."""
    monkeypatch.setattr(term_finder, "_MOST_WORDS", 3)
    finder = TermFinder(["parcel"])
    for number in range(20):
        assert finder.terms_in(f"parcel{number} word{number}") == ["parcel"]
        assert len(finder._of_word) <= 3
