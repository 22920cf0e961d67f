"""Snippets: the window of a text that tells most of a question."""

from __future__ import annotations

from amplifier_module_context_persistent.search.snippet import Mark, best_window

WORDS = 21


def test_of_windows_that_tell_the_same_the_first_is_chosen() -> None:
    """A sum of fractions depends on their order, and the order of a set of texts on the run."""
    worth, marks = dict[str, float](), list[Mark]()
    for copy in range(50):
        for number in range(WORDS):
            word, place = f"word-{copy}-{number}", 1_000 * copy + number
            worth[word] = (number + 1) / 7
            marks.append(Mark(place, place + 1, (word,)))
    assert best_window(marks, worth) == range(WORDS)
