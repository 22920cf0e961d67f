"""Rows: if a cut keeps a line of a result, it also keeps the row, the record or the entry around the line.

A cut says which parts of a result's text a view shows. A line alone can mislead: it may have a name without its values,
or a value that seems to belong to the name above it. So the cut keeps the object around a line of JSON, and the block
around a line of `key: value`, if they are short enough. If they are too long, the marks on both sides of the line say
that something is missing. Any other line is a row by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..messages.elide import LEAST_SHOWN_CHARS, Cut
from ..messages.excerpt import Span, joined, shown_spans
from ..messages.message import Message, texts_of

# Measured: docs/experiments.md ("Constants of the choice").
MOST_ROW_CHARS = 600  # of a row that is kept with a line: an object of a dozen members, one of them a sentence
MOST_TITLE_CHARS = 160  # of the first line of a text, which names the columns or the file

_NUMBER = re.compile(r"\s*\d+(?:\t|→|\s*[|:]\s?)")
"""The prefix that tools put before the lines of a file."""
_MEMBER = re.compile(r"""["'][^"'\n]{1,80}["']\s*:\s""")
_PAIR = re.compile(r"-?\s*[^\W\d][\w .()/-]{0,40}:(?:\s|$)")
_BRACE = re.compile(r"[{}]")
_OPENS, _CLOSES = ("{", "[", "("), ("}", "]", ")")


def with_whole_rows(message: Message, cut: Cut) -> Cut:
    """Return the cut of a message, extended to whole rows.

    If the cut keeps lines, these are extended, to at least `LEAST_SHOWN_CHARS` characters. If the cut keeps no lines,
    the head and the tail are extended if the message has one text. A cut of prose, or without an excerpt, is not
    changed.
    """
    if cut.instead or not cut.excerpt or cut.brief:
        return cut
    texts = texts_of(message)
    is_one_text = len(texts) == 1
    if is_one_text and not cut.lines:
        spans = shown_spans(texts[0], cut.head_chars, cut.tail_chars)
        has_head_and_tail = len(spans) == 2
        return _with_edges(texts[0], cut, spans) if has_head_and_tail else cut
    lines = list[tuple[int, int, int]]()
    for number, text in enumerate(texts):
        spans = [(start, end) for of_text, start, end in cut.lines if is_one_text or of_text == number]
        lines += [(number, start, end) for start, end in _grown(text, spans)]
    return replace(cut, lines=tuple(lines))


def _with_edges(text: str, cut: Cut, spans: Sequence[Span]) -> Cut:
    """Return the cut, with a longer head and tail if the head ended or the tail began inside a row.

    The cut is returned unchanged if nothing would be left between the head and the tail.
    """
    (_, head), (tail, _) = spans
    lines = _Lines(text)
    last_of_head = lines.line_at(max(0, head - 1))
    first_of_tail = lines.line_at(min(tail, len(text) - 1))
    _, end_of_row = lines.row(*last_of_head)
    start_of_row, _ = lines.row(*first_of_tail)
    end = max(head, end_of_row)
    start = min(tail, start_of_row)
    if end >= start:
        return cut
    return replace(cut, head_chars=end, tail_chars=len(text) - start)


def _grown(text: str, spans: Iterable[Span]) -> list[Span]:
    """Return spans extended to whole rows, with the first line of the text if it is short enough.

    More rows after the last span, or before it at the end of the text, are added until the spans have at least
    `LEAST_SHOWN_CHARS` characters. The list is empty if there are no spans.
    """
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
    """The lines of a text, and the rows to which these lines belong.

    A line is a span without its line feed. Only the lines around an index are looked for: a cut of a long text asks for
    a few of them.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_json = self._body(self.line_at(0)).lstrip().startswith(("{", "["))
        self._rows: dict[Span, Span] = {}

    def line_at(self, index: int) -> Span:
        """Return the line that contains an index."""
        end = self.text.find("\n", index)
        return self.text.rfind("\n", 0, index) + 1, end if end >= 0 else len(self.text)

    def _neighbour(self, line: Span, step: int) -> Span | None:
        """Return the line after a line (`step` is 1) or before it (`step` is -1); None if there is none."""
        start, end = line
        if step > 0:
            return self.line_at(end + 1) if end < len(self.text) else None
        return self.line_at(start - 1) if start > 0 else None

    def after(self, index: int) -> int:
        """Return the end of the row that follows an index.

        If the index is inside a line, return an index at most `LEAST_SHOWN_CHARS` characters later in this line.
        """
        end = self.line_at(index)[1]
        if index < end:
            return min(end, index + LEAST_SHOWN_CHARS)
        return min(len(self.text), max(end + 1, self.row(end + 1, end + 1)[1]))

    def before(self, index: int) -> int:
        """Return the start of the row that ends before an index.

        If the index is inside a line, return an index at most `LEAST_SHOWN_CHARS` characters earlier in this line.
        """
        start = self.line_at(index)[0]
        if start < index:
            return max(start, index - LEAST_SHOWN_CHARS)
        return min(start - 1, self.row(start - 1, start - 1)[0])

    def row(self, first: int, last: int) -> Span:
        """Return a span extended to the row, record or entry around its first line.

        If this is too long, the span is extended to the line only. If the line itself is too long, the span is extended
        to the object around it, if the object is short enough; else the span is returned unchanged.
        """
        line = self.line_at(first)
        start, end = line
        if end - start > MOST_ROW_CHARS:
            return self._object(first, last, start, end)
        if line not in self._rows:
            self._rows[line] = self._row_of(line)
        found = self._rows[line]
        return min(first, found[0]), max(last, found[1])

    def _row_of(self, line: Span) -> Span:
        text = self._body(line).strip()
        if self.is_json or _MEMBER.match(text):
            return self._braced(line)
        return self._key_value_block(line) if _PAIR.match(text) else line

    def _body(self, line: Span) -> str:
        """Return the text of a line without the line number that a tool put before it."""
        start, end = line
        prefix = _NUMBER.match(self.text, start, end)
        return self.text[prefix.end() if prefix else start : end]

    def _braced(self, line: Span) -> Span:
        """Return the span of the largest object around a line of JSON that has at most `MOST_ROW_CHARS` characters.

        The JSON is printed over several lines. Return the line itself if there is no such object.
        """
        body = self._body(line)
        best = line
        bare = body.strip()
        opens = bare.endswith(_OPENS)
        closes = bare.startswith(_CLOSES)
        within = _indent(body)
        if opens or closes:  # the line opens or closes an object, so the search has to find the line itself
            within += 1
        first = self._less_indented(self._neighbour(line, -1) if closes else line, -1, within)
        last = self._less_indented(self._neighbour(line, 1) if opens else line, 1, within)
        while first is not None and last is not None:
            around = first[0], last[1]
            if around[1] - around[0] > MOST_ROW_CHARS:
                return best
            if self._body(first).rstrip().endswith("{"):
                best = around
            within = _indent(self._body(first))
            first = self._less_indented(first, -1, within)
            last = self._less_indented(last, 1, within)
        return best

    def _less_indented(self, line: Span | None, step: int, within: int) -> Span | None:
        """Return the nearest line that is indented by less than `within`.

        The search starts at `line`, goes on by `step` (1 or -1), and ends after `MOST_ROW_CHARS` characters; None if no
        such line was found.
        """
        at = line
        while line is not None and at is not None and abs(at[0] - line[0]) <= MOST_ROW_CHARS:
            body = self._body(at)
            if body.strip() and _indent(body) < within:
                return at
            at = self._neighbour(at, step)
        return None

    def _key_value_block(self, line: Span) -> Span:
        """Return the span of the `key: value` lines around a line of that form.

        The block ends at a line of another form and at the next entry of a list. If it has more than `MOST_ROW_CHARS`
        characters, return the line alone.
        """
        first = line
        while not self._begins_entry(first):
            before = self._neighbour(first, -1)
            if before is None or not self._is_of_block(before):
                break
            if line[1] - before[0] > MOST_ROW_CHARS:
                return line
            first = before
        last = line
        while True:
            after = self._neighbour(last, 1)
            if after is None or not self._is_of_block(after) or self._begins_entry(after):
                break
            if after[1] - first[0] > MOST_ROW_CHARS:
                return line
            last = after
        start, _ = first
        _, end = last
        return (start, end) if end - start <= MOST_ROW_CHARS else line

    def _is_of_block(self, line: Span) -> bool:
        return _PAIR.match(self._body(line).strip()) is not None

    def _begins_entry(self, line: Span) -> bool:
        """Return whether a line begins an entry of a list."""
        return self._body(line).lstrip().startswith("- ")

    def _object(self, first: int, last: int, start: int, end: int) -> Span:
        """Return the span of the object around a piece of a long line (from `first` to `last`).

        Return the piece's own span if there is no object around it of at most `MOST_ROW_CHARS` characters.
        """
        low, high = max(start, first - MOST_ROW_CHARS), min(end, last + MOST_ROW_CHARS)
        opening = self._opening_before(first, low)
        if opening < 0:
            return first, last
        closing = self._closing_of(opening, high)
        if closing < last or closing - opening > MOST_ROW_CHARS:
            return first, last
        return opening, closing

    def _opening_before(self, first: int, low: int) -> int:
        """Return the index of the `{` of the innermost JSON object that contains index `first`.

        Return -1 if there is no such brace at or after index `low`.
        """
        closed = 0
        for brace in reversed(list(_BRACE.finditer(self.text, low, first + 1))):
            closed += 1 if brace[0] == "}" else -1
            if closed < 0:
                return brace.start()
        return -1

    def _closing_of(self, opening: int, high: int) -> int:
        """Return the index after the brace that closes the object at `opening`.

        -1 if the brace is not before `high`.
        """
        opened = 0
        for brace in _BRACE.finditer(self.text, opening, high):
            opened += 1 if brace[0] == "{" else -1
            if opened == 0:
                return brace.end()
        return -1


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
