"""A person's words: a message divided into prose and pasted bodies.

A body is a log, a file, a table or a fenced block, of eight lines or more or of many characters. A person has pasted it
and not written it, so it is cut like a result of a tool. All other text is prose, and a cut of bodies leaves it whole.
If the prose alone is too long, its beginning and its end stay, and prominent lines between them: sentences that begin
unlike most other lines. The division depends on the text alone, in any language: on letters, marks of code, and the
beginnings of lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from ..messages.elide import Cut, prose_cut
from ..messages.excerpt import Span, shown_spans
from ..messages.message import Message, texts_of

LEAST_LINES = 8  # of a body; a shorter body costs less than its marker and a look at the log
LEAST_BODY_CHARS = 800  # of a body of fewer lines: 200 tokens, the least that is cut from a person's message
LEAST_WORDS = 4  # of a line of prose
PLAIN_SHARE = 2 / 3  # least share of plain words in a line of prose; the others are names and numbers
# Least share of letters and punctuation in a line of prose without spaces; a third of a line of a log are digits.
LEAST_LETTERS = 0.8
CHARS_A_WORD = 2  # in scripts without spaces
RARE_SHARE = 0.03  # largest share of all lines that may begin like a prominent line
MOST_LINE_CHARS = 400  # of a prominent line

_LINE = re.compile(r"[^\n]+")
_PLAIN = re.compile(r"[(\"'‘“]*[^\W\d_]+(?:['’-][^\W\d_]+)*[,.;:!?)\"'’”]*\Z")  # noqa: RUF001 - people write either apostrophe
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese."""
_DIGITS = re.compile(r"\d+")
_OF_PROSE = re.compile("[^\\W\\d_]|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]|[,.;:!?\u3000-\u303f\uff00-\uff20]")
_CODE = re.compile(
    r"[{}]\s*$|::|->|=>|^\W*\d{1,4}[-:/.]\d\d|^\W*(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)|^\s*#include"
    r"|^\s*(?:at |File \"|import |from \S+ import |(?:async )?def |class |(?:for|while|if|elif|with|else if)\b.*[:)]$)"
)


class Line(Enum):
    """The kinds of lines."""

    PROSE = "prose"
    MACHINE = "machine"
    EITHER = "either"
    """A line that is blank, or too short to decide."""


def kind_of(line: str) -> Line:
    """Return whether a line reads as a sentence or as the output of a machine."""
    if _CODE.search(line):
        return Line.MACHINE
    words = _words_of_plain(line.strip())
    if words is None:
        return Line.MACHINE
    return Line.PROSE if words >= LEAST_WORDS else Line.EITHER


def _words_of_plain(text: str) -> int | None:
    """Return the number of words in a text that consists mostly of plain words; None for any other text."""
    unspaced_chars = len(_UNSPACED.findall(text))
    if unspaced_chars:
        is_plain = len(_OF_PROSE.findall(text)) >= LEAST_LETTERS * len(text)
        return unspaced_chars // CHARS_A_WORD if is_plain else None
    words = text.split()
    plain_words = sum(_PLAIN.match(word) is not None for word in words)
    is_plain = plain_words >= PLAIN_SHARE * len(words)
    return len(words) if is_plain else None


def bodies(text: str) -> list[Span]:
    """Return the spans of the pasted bodies in a text, in order."""
    found = list[Span]()
    for start, end, lines in _runs(text):
        if lines >= LEAST_LINES or end - start >= LEAST_BODY_CHARS:
            found.append((start, end))
    return found


class _Run(NamedTuple):
    """A stretch of lines that a machine wrote or that are in a fence, with the short and blank lines between."""

    start: int = -1
    end: int = -1
    lines: int = 0
    """The number of the lines that a machine wrote or that are in the fence."""

    def with_line(self, span: Span) -> _Run:
        """Return the run extended by one line; a run without lines begins with this line."""
        start, end = span
        return _Run(self.start if self.lines else start, end, self.lines + 1)


def _runs(text: str) -> Iterator[_Run]:
    """Yield the runs of a text, in order."""
    run = _Run()
    fence = ""
    for match in _LINE.finditer(text):
        line = match[0]
        mark = line.strip()[:3]
        is_fence = mark in ("```", "~~~") and fence in ("", mark)
        kind = Line.MACHINE if fence else kind_of(line)
        if not is_fence and kind is Line.MACHINE:
            run = run.with_line(match.span())
        elif is_fence or kind is Line.PROSE:
            if run.lines:
                yield run
            run = _Run()
        if is_fence:
            fence = "" if fence else mark
    if run.lines:
        yield run


class Divided(NamedTuple):
    """One text of a person's message, divided into the person's prose and the bodies that were pasted."""

    chars: int
    """The length of the text in characters."""
    bodies: Sequence[Span]


def divided(message: Message) -> list[Divided]:
    """Return each text of a person's message, divided into prose and bodies."""
    return [Divided(len(text), bodies(text)) for text in texts_of(message)]


def prose_chars(texts: Iterable[Divided]) -> int:
    """Return the number of characters that a person wrote in the texts of a message, without pasted bodies."""
    chars = 0
    for text in texts:
        body_chars = sum(end - start for start, end in text.bodies)
        chars += text.chars - body_chars
    return chars


def bodies_cuts(message: Message, texts: Iterable[Divided], lengths: Iterable[int]) -> list[Cut]:
    """Return one cut for each length, which keeps all prose of a message, and the head and the tail of each body.

    Args:
        message: a person's message.
        texts: the message's texts, divided into prose and bodies.
        lengths: the numbers of characters of each body that stay.
    """
    parts = [(text, spans) for text, (_, spans) in zip(texts_of(message), texts, strict=True)]
    return [_bodies_cut(parts, body_chars) for body_chars in lengths]


def _bodies_cut(texts: Sequence[tuple[str, Sequence[Span]]], body_chars: int) -> Cut:
    """Return the cut that keeps about `body_chars` characters of each body; the texts come with their bodies' spans."""
    lines = list[tuple[int, int, int]]()
    for number, (text, spans) in enumerate(texts):
        at = 0
        for start, end in spans:
            lines.append((number, at, start))
            body_spans = shown_spans(text[start:end], body_chars - body_chars // 2, body_chars // 2)
            lines += [(number, start + first, start + last) for first, last in body_spans]
            at = end
        lines.append((number, at, len(text)))
    return prose_cut(0, 0, tuple((number, start, end) for number, start, end in lines if start < end))


class Told(NamedTuple):
    """Facts about one text of a person's message, which are needed to shorten the text."""

    chars: int
    """The length of the text in characters."""
    lines: Sequence[Span]
    """The spans of the prominent lines, the rarest first."""


def told_lines(message: Message) -> list[Told]:
    """Return the length and the prominent lines of each text of a person's message."""
    return [Told(len(text), prominent_lines(text)) for text in texts_of(message)]


def words_cut(told_texts: Iterable[Told], keep_chars: int) -> Cut:
    """Return the cut that keeps the head, the tail and prominent lines of each text of a person's message.

    Head and tail together have `keep_chars` characters. The prominent lines between them have at most half as many
    characters, or `MOST_LINE_CHARS` if this is more.
    """
    cut = prose_cut(keep_chars - keep_chars // 2, keep_chars // 2)
    lines = list[tuple[int, int, int]]()
    for number, (chars, standing) in enumerate(told_texts):
        start = cut.head_chars
        end = chars - cut.tail_chars
        room = max(keep_chars // 2, MOST_LINE_CHARS)
        for first, last in standing:
            if start <= first and last <= end and last - first <= room:
                room -= last - first
                lines.append((number, first, last))
    return prose_cut(cut.head_chars, cut.tail_chars, tuple(sorted(lines)))


def prominent_lines(text: str) -> list[Span]:
    """Return the spans of the prominent lines of a text, the rarest first.

    A prominent line reads as a sentence, and few lines of the text have the same beginning. A text of fewer than
    `LEAST_LINES` lines has none.
    """
    lines = [match for match in _LINE.finditer(text) if not match[0].isspace()]
    if len(lines) < LEAST_LINES:
        return []
    shapes = [_shape(line[0]) for line in lines]
    counts = Counter(shapes)
    most = max(1, int(RARE_SHARE * len(lines)))
    found = list[tuple[int, Span]]()
    for line, shape in zip(lines, shapes, strict=True):
        is_rare = counts[shape] <= most
        is_short = len(line[0]) <= MOST_LINE_CHARS
        if is_rare and is_short and kind_of(line[0]) is Line.PROSE:
            found.append((counts[shape], line.span()))
    return [span for _, span in sorted(found)]


def _shape(line: str) -> str:
    """Return the beginning of a line, by which lines are compared: its first two words, with each number as 0.

    In a script without spaces, the beginning is the first four characters.
    """
    words = line.split(None, 2)[:2]
    return _DIGITS.sub("0", " ".join(words))[: 4 if _UNSPACED.match(line.strip()) else None]
