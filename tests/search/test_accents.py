"""Accents are found whether they are characters of their own or not, in the query and in the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unicodedata import normalize

import pytest

from amplifier_module_context_persistent.search.accents import without_accents
from amplifier_module_context_persistent.search.pattern import regex_pattern, text_pattern
from amplifier_module_context_persistent.search.word_search import words_pattern
from tests.support.commands import run
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof


@pytest.mark.parametrize("make", [text_pattern, regex_pattern, words_pattern])
@pytest.mark.parametrize("query", ["café", "Ångström", "naïve"])
@pytest.mark.parametrize("of_query", ["NFC", "NFD"])
@pytest.mark.parametrize("of_text", ["NFC", "NFD"])
def test_both_forms_are_one(make: Callable[[str], Any], query: str, of_query: str, of_text: str) -> None:
    """The whole word is found, once; another word is not."""
    text = normalize(of_text, f"The {query} is open.")  # type: ignore[arg-type]  # a name of a form
    pattern = make(normalize(of_query, query))  # type: ignore[arg-type]  # likewise
    assert [text[first:last] for first, last in pattern.spans(text)] == [normalize(of_text, query)]  # type: ignore[arg-type]
    assert list(pattern.spans("The cafeteria of Angstrom, naively.")) == []


@proof
@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("options", [["-F"], [], ["-w"]], ids=" ".join)
def test_a_search_of_a_project_finds_both(options: list[str]) -> None:
    """With its catalogue, and without."""
    write(log_of("one"), [{"role": "user", "content": normalize("NFC", "Das Café ist zu. ") + "x" * 400_000}])
    write(log_of("two"), [{"role": "user", "content": normalize("NFD", "Das Café ist auf. ") + "y" * 400_000}])
    for query in (normalize("NFC", "Café"), normalize("NFD", "Café")):
        for more in ([], [], ["--no-catalogue"]):
            found = run("search", *options, query, "-l", *more).stdout.splitlines()
            assert sorted(line.split("\t")[0] for line in found) == ["one", "two"]


@pytest.mark.usefixtures("project")
def test_the_newest_come_first_on_wish() -> None:
    """Sessions by their last messages, and messages within each."""

    def said(day: int) -> list[dict[str, Any]]:
        return [
            {"role": "user", "content": f"total {day}-{n}", "metadata": {"timestamp": f"2026-01-{day:02}T0{n}:00:00Z"}}
            for n in range(2)
        ]

    for name, day in (("new", 9), ("old", 3)):
        write(log_of(name), said(day))
    shown = [line.split()[-1] for line in run("search", "total", "--newest").stdout.splitlines() if "total" in line]
    assert shown == ["9-1", "9-0", "3-1", "3-0"]


@pytest.mark.parametrize(
    ("text", "plain"),
    [("Straße", "strasse"), ("Œuvre", "oeuvre"), ("Łódź", "lodz"), ("Ærø", "aero"), ("Đak", "dak"), ("日本", "日本")],
)
def test_a_word_is_known_by_its_letters_without_accents(text: str, plain: str) -> None:
    """In both forms; letters that stand for two are these two, and other scripts stay."""
    assert [without_accents(normalize(form, text)) for form in ("NFC", "NFD")] == [plain, plain]
