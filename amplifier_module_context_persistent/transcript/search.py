"""Searching a transcript: which messages match, and the lines that do. No output.

What is searched is a message's text: what it says, its thinking, its calls with their arguments. A line of the log that
cannot match is not parsed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise

from ..messages.text import full_text
from ..search.pattern import Pattern
from .transcript import Placed, Transcript

MOST_SPANS = 1_000
"""Of more matches in one line, these are told: a line may have millions of characters."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a message's text, its number from 1, and where in it the matches are; none in a line of context."""

    number: int
    text: str
    spans: tuple[tuple[int, int], ...] = ()


def search(
    transcript: Transcript, pattern: Pattern, *, role: str | None = None, tool: str | None = None, context: int = 0
) -> Iterator[tuple[Placed, list[Line]]]:
    """Search the live messages in their order, and give each that matches with its lines.

    Args:
        transcript: the session.
        pattern: what to look for.
        role: only messages of this role.
        tool: only calls and results of this tool.
        context: so many lines before and behind one that matches.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    may_match = pattern.may_match if pattern.needle else None
    for placed in transcript.placed(role=role, tool=tool, may_match=may_match):
        text, _ = full_text(placed.message)
        if lines := list(matching_lines(text, pattern, context=context)):
            yield placed, lines


def matching_lines(text: str, pattern: Pattern, *, context: int = 0) -> Iterator[Line]:
    """The lines of a text in which something matches, and so many lines around each, in order and once."""
    spans = pattern.spans(text)
    if (span := next(spans, None)) is None:
        return
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    marked: dict[int, list[tuple[int, int]]] = {}
    for start, end in chain((span,), spans):
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
        for at in range(first, last + 1):
            if len(inside := marked.setdefault(at, [])) < MOST_SPANS:
                inside.append((max(0, start - starts[at]), min(len(lines[at]), end - starts[at])))
    given = 0
    for at, following in pairwise([*sorted(marked), len(lines)]):
        begin, given = max(given, at - context), min(at + context + 1, following)
        for near in range(begin, given):
            yield Line(near + 1, lines[near], tuple(marked.get(near, ())))
