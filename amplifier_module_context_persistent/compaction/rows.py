"""Rows: a line of a result that a cut keeps brings the row, the record or the entry that it belongs to.

A line alone can mislead: a name without its values, or a value that a reader takes for the one of the name above it. So
a kept line of JSON brings the object around it, and a line of `key: value` its block, if they are short enough; else
the marks of the gaps on both sides say that something is missing. A line of anything else is whole in itself.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

from ..messages.elide import LEAST_SHOWN_CHARS, Cut
from ..messages.excerpt import Span, joined, shown_spans
from ..messages.message import Message, texts_of

# Measured: docs/experiments.md ("Constants of the choice").
MOST_ROW_CHARS = 600  # of a record that a line brings: an object of a dozen members with a sentence in it
MOST_TITLE_CHARS = 160  # of the first line, which names the columns or the file

_NUMBER = re.compile(r"\s*\d+(?:\t|→|\s*[|:]\s?)")
"""The prefix that tools put before the lines of a file."""
_MEMBER = re.compile(r"""["'][^"'\n]{1,80}["']\s*:\s""")
_PAIR = re.compile(r"-?\s*[^\W\d][\w .()/-]{0,40}:(?:\s|$)")
_OPENS, _CLOSES = ("{", "[", "("), ("}", "]", ")")


def with_whole_rows(message: Message, cut: Cut) -> Cut:
    """A cut whose lines, head and tail are grown to whole rows, and that shows at least the least that a cut shows."""
    if cut.instead or not cut.excerpt or cut.brief:
        return cut
    texts = texts_of(message)
    if len(texts) == 1 and not cut.lines:
        spans = shown_spans(texts[0], cut.head_chars, cut.tail_chars)
        return _with_edges(texts[0], cut, spans) if len(spans) == 2 else cut
    lines = list[tuple[int, int, int]]()
    for number, text in enumerate(texts):
        of_text = cut.lines if len(texts) == 1 else [line for line in cut.lines if line[0] == number]
        lines += [(number, start, end) for start, end in _grown(text, [(start, end) for _, start, end in of_text])]
    return replace(cut, lines=tuple(lines))


def _with_edges(text: str, cut: Cut, spans: Sequence[Span]) -> Cut:
    """A cut whose head and tail end and begin between rows."""
    (_, head), (tail, _) = spans
    lines = _Lines(text)
    first, last = lines.row(*lines.line_at(max(0, head - 1))), lines.row(*lines.line_at(min(tail, len(text) - 1)))
    end, start = max(head, first[1]), min(tail, last[0])
    return replace(cut, head_chars=end, tail_chars=len(text) - start) if end < start else cut


def _grown(text: str, spans: Iterable[Span]) -> list[Span]:
    """Spans grown to whole rows, with the first line, and as many lines around them as the least asks for."""
    lines = _Lines(text)
    rows = sorted({lines.row(*span) for span in spans})
    if not rows:
        return []
    title = lines.line_at(0)
    found = joined(text, [title, *rows] if title[1] <= MOST_TITLE_CHARS else rows)
    while sum(end - start for start, end in found) < LEAST_SHOWN_CHARS and found != [(0, len(text))]:
        start, end = found[-1]
        if end < len(text):
            found[-1] = start, lines.after(end)
        else:
            found[-1] = lines.before(start), end
        found = joined(text, found)
    return found


class _Lines:
    """The lines of a text, and the rows that they belong to."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = list(accumulate([len(line) + 1 for line in text.split("\n")[:-1]], initial=0))
        self.is_json = self._body(0).lstrip().startswith(("{", "["))
        self._rows: dict[int, Span] = {}

    def line_at(self, index: int) -> Span:
        """The line that an index is in, without its end."""
        return self._span(bisect_right(self.starts, index) - 1)

    def after(self, index: int) -> int:
        """The end of the row after an index; of a long line that it is in, the end of a piece."""
        end = self.line_at(index)[1]
        if index < end:
            return min(end, index + LEAST_SHOWN_CHARS)
        return min(len(self.text), max(end + 1, self.row(end + 1, end + 1)[1]))

    def before(self, index: int) -> int:
        """The start of the row before an index; inside a long line, the start of the piece before it."""
        start = self.line_at(index)[0]
        if start < index:
            return max(start, index - LEAST_SHOWN_CHARS)
        return min(start - 1, self.row(start - 1, start - 1)[0])

    def row(self, first: int, last: int) -> Span:
        """The row, record or entry around a span; the span itself if it is in none that is short enough."""
        number = bisect_right(self.starts, first) - 1
        start, end = self._span(number)
        if end - start > MOST_ROW_CHARS:
            return self._object(first, last, start, end)
        if number not in self._rows:
            self._rows[number] = self._row_of(number)
        found = self._rows[number]
        return min(first, found[0]), max(last, found[1])

    def _row_of(self, number: int) -> Span:
        line = self._body(number).strip()
        if self.is_json or _MEMBER.match(line):
            return self._braced(number)
        return self._block(number) if _PAIR.match(line) else self._span(number)

    def _span(self, number: int) -> Span:
        end = self.starts[number + 1] - 1 if number + 1 < len(self.starts) else len(self.text)
        return self.starts[number], end

    def _body(self, number: int) -> str:
        """A line without the number that a tool put before it."""
        start, end = self._span(number)
        prefix = _NUMBER.match(self.text, start, end)
        return self.text[prefix.end() if prefix else start : end]

    def _braced(self, number: int) -> Span:
        """The largest object around a line of JSON that is printed over several lines and short enough."""
        line, best = self._body(number).strip(), self._span(number)
        opens, closes = line.endswith(_OPENS), line.startswith(_CLOSES)
        within = _indent(self._body(number))
        if opens or closes:  # the line is itself an end of its object, so it may be found
            within += 1
        first = self._less_indented(number - 1 if closes else number, -1, within)
        last = self._less_indented(number + 1 if opens else number, 1, within)
        while first is not None and last is not None:
            around = self._span(first)[0], self._span(last)[1]
            if around[1] - around[0] > MOST_ROW_CHARS:
                return best
            if self._body(first).rstrip().endswith("{"):
                best = around
            within = _indent(self._body(first))
            first, last = self._less_indented(first, -1, within), self._less_indented(last, 1, within)
        return best

    def _less_indented(self, number: int, step: int, within: int) -> int | None:
        """The nearest line from one on in a direction that is indented less; None if there is none near by."""
        at = number
        while 0 <= at < len(self.starts) and abs(self.starts[at] - self.starts[number]) <= MOST_ROW_CHARS:
            body = self._body(at)
            if body.strip() and _indent(body) < within:
                return at
            at += step
        return None

    def _block(self, number: int) -> Span:
        """The lines of `key: value` around one, up to a blank line or the next entry of a list."""
        first, last = number, number
        while first > 0 and self._is_of_block(first - 1) and not self._body(first).lstrip().startswith("- "):
            first -= 1
        while last + 1 < len(self.starts) and self._is_of_block(last + 1):
            if self._body(last + 1).lstrip().startswith("- "):
                break
            last += 1
        block = self._span(first)[0], self._span(last)[1]
        return block if block[1] - block[0] <= MOST_ROW_CHARS else self._span(number)

    def _is_of_block(self, number: int) -> bool:
        return _PAIR.match(self._body(number).strip()) is not None

    def _object(self, first: int, last: int, start: int, end: int) -> Span:
        """The object around a piece of one long line; the piece itself if there is none that is short enough."""
        low, high = max(start, first - MOST_ROW_CHARS), min(end, last + MOST_ROW_CHARS)
        opening = self._opening_before(first, low)
        if opening < 0:
            return first, last
        closing = self._closing_of(opening, high)
        if closing < last or closing - opening > MOST_ROW_CHARS:
            return first, last
        return opening, closing

    def _opening_before(self, first: int, low: int) -> int:
        """The place of the brace that opens the object around a place; -1 if it is before `low`."""
        closed = 0
        for at in range(first, low - 1, -1):
            if self.text[at] == "}":
                closed += 1
            elif self.text[at] == "{":
                closed -= 1
            if closed < 0:
                return at
        return -1

    def _closing_of(self, opening: int, high: int) -> int:
        """The place behind the brace that closes an object; -1 if it is not before `high`."""
        opened = 0
        for at in range(opening, high):
            if self.text[at] == "{":
                opened += 1
            elif self.text[at] == "}":
                opened -= 1
            if opened == 0:
                return at + 1
        return -1


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
