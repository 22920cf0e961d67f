"""Excerpts: the part of a message's text that answers a question best, and its place in the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...search.snippet import WINDOW_CHARS, best_window, marks_of

MOST_CHARS = 3_000


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a text, and the offset of its first character in the text."""

    offset: int
    text: str


def best_excerpt(text: str, worth: Mapping[str, float], *, chars: int = MOST_CHARS) -> Excerpt:
    """Return the lines of a text that answer a question best; of long lines, the characters around its words.

    Args:
        text: the text of a message. If it has no word of the question, its first line is the excerpt.
        worth: the question's terms, each with its part of the score.
        chars: the largest number of characters.
    """
    marks = marks_of(text, worth)
    if marks:
        window = best_window(marks, worth, chars=min(chars, WINDOW_CHARS))
        first = marks[window.start].start
        end = marks[window.stop - 1].end
    else:
        first = end = len(text) - len(text.lstrip())
    line_start = text.rfind("\n", 0, first) + 1
    line_end = text.find("\n", end)
    if line_end < 0:
        line_end = len(text)
    centred = (first + end - chars) // 2  # the words are in the middle of the excerpt
    last_start = line_end - chars
    start = max(line_start, min(centred, last_start))
    return Excerpt(start, text[start : min(line_end, start + chars)])
