"""The pages of the documentation are found from its first page, and its words are explained."""

from __future__ import annotations

import re

import pytest

from tests.support.places import DOCS, ROOT

INDEX = (DOCS / "index.md").read_text(encoding="utf-8")
WORDS = re.findall(r"\*\*([a-z ]+)\*\*", (DOCS / "glossary.md").read_text(encoding="utf-8"))


def test_the_first_page_names_each_page_once() -> None:
    """In one of its parts."""
    assert re.findall(r"^## (.*)$", INDEX, re.MULTILINE) == [
        "Start",
        "Use",
        "Keep and erase",
        "PostgreSQL",
        "Trust",
        "Build on it",
    ]
    listed = re.findall(r"^\| \[[^]]+\]\(([\w.]+)\) \|", INDEX, re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in DOCS.glob("*.md") if path.name != "index.md")


@pytest.mark.parametrize(
    "word",
    [
        "bundle",
        "mount plan",
        "orchestrator",
        "view",
        "plan",
        "receipt",
        "torn tail",
        "elided",
        "replay",
        "policy",
        "kit",
    ],
)
def test_a_word_of_the_first_pages_is_explained(word: str) -> None:
    """In the glossary, to which the README leads."""
    assert word in WORDS
    assert "docs/glossary.md" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_word_is_explained_once() -> None:
    """Each word has one meaning."""
    assert len(WORDS) == len(set(WORDS))
