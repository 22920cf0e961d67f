"""Snippets: the places of a question's words in a text, and the part of the text to show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from .index_terms import placed_terms

MOST_CHARS = 1 << 20
"""The number of characters of a text that are searched for words."""
WINDOW_CHARS = 240


@dataclass(frozen=True, slots=True)
class Mark:
    """A word in a text that matches the question: its place, and the question's terms in it."""

    start: int
    end: int
    terms: tuple[str, ...]


def marks_of(text: str, worth: Mapping[str, float]) -> list[Mark]:
    """Find the words of a text that have terms of a question, in the text's order.

    Args:
        text: what is shown of a message.
        worth: the question's terms, each with its part of the score.
    """
    marks = []
    for start, end, terms in placed_terms(text[:MOST_CHARS]):
        known_terms = tuple(term for term in terms if term in worth)
        if known_terms:
            marks.append(Mark(start, end, known_terms))
    return marks


def best_window(marks: Sequence[Mark], worth: Mapping[str, float], *, chars: int = WINDOW_CHARS) -> range:
    """Return the range of adjacent marks, within `chars` characters, that match most of the question.

    Each term counts once, and of equal ranges the first one is chosen.
    """
    best = range(min(1, len(marks)))
    best_worth = 0.0
    end = 0
    for first, mark in enumerate(marks):
        end = max(end, first + 1)
        while end < len(marks) and marks[end].end - mark.start <= chars:
            end += 1
        worth_here = fsum(worth[term] for term in _terms(marks[first:end]))  # exact for any order of the set
        if worth_here > best_worth:
            best = range(first, end)
            best_worth = worth_here
    return best


def _terms(marks: Sequence[Mark]) -> Iterator[str]:
    return iter({term for mark in marks for term in mark.terms})
