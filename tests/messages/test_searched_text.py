"""What is known of a text that is searched, and the looks at it that this spares."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent.messages.secrets.searched_text import Beginnings, SearchedText

LABEL = re.compile(r"\b(?:cargo login|exp|sshpass\w*|密码)[ :]")
LABELS = Beginnings(("cargo login", "exp ", "sshpass", "密码"))


@pytest.mark.parametrize(
    "text",
    [
        "cargo login x",
        "then: cargo  login, or cargo login y",
        "recargo login x",
        "exp system/x and regexp y",
        "7exp x _exp y -exp z",
        "sshpassword: x sshpass x",
        "数据库密码: x exp y",
        "İ exp x \u212aexp y",
        "",
    ],
)
def test_matches_are_those_of_a_search(text: str) -> None:
    """Whatever stands before the word, as long as it is no letter."""
    found = LABELS.matches(LABEL, SearchedText(text), is_folded=False)
    assert [match.span() for match in found] == [match.span() for match in LABEL.finditer(text)]


def test_texts_are_looked_for_only_if_a_word_begins_alike() -> None:
    """A whole word, or four letters where the text ends within one, in any case; else the first character counts."""
    assert set(LABELS.possible_in(SearchedText("CARGO builds 密 things"))) == {"cargo login", "密码"}
    assert LABELS.possible_in(SearchedText("sshd")) == []
    assert LABELS.possible_in(SearchedText("sshd cargos")) == []
    assert LABELS.possible_in(SearchedText("SSHPass")) == ["sshpass"]
    assert LABELS.possible_in(SearchedText("a text of expressions, massh and recargo")) == []


@given(st.text(st.characters() | st.sampled_from("aZ \u212a\u0130ß\ud800")))
def test_words_are_runs_of_letters_in_lower_case(text: str) -> None:
    """Whatever characters are between them."""
    searched = SearchedText(text)
    assert searched.words == set(re.findall("[a-z]+", searched.folded))


def test_the_folded_text_has_the_length_of_the_text() -> None:
    """Positions in one are positions in the other."""
    text = "İSTANBUL \u017fecret ß K"
    assert len(SearchedText(text).folded) == len(text)
