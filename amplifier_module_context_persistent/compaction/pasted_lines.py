"""Lines in pasted text: what a person wrote among lines that a machine wrote, or that stands out among its own.

A long message of a person is often a log, a file or a list with a sentence in it that matters more than all the rest.
A line counts as written by hand if it reads as a sentence and most lines begin in another way than it does. It is told
from the text alone, in no language: by words, letters and how its beginning is shaped.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from ..messages.elide import Cut, word_cut_for
from ..messages.message import Message, texts_of

LEAST_LINES = 8  # of a text, for any of them to stand out
LEAST_WORDS = 4
RARE_SHARE = 0.03  # of the lines may begin as a line does that stands out
MOST_LINE_CHARS = 400

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*[,.;:!?)]*\Z")  # noqa: RUF001 - people write either apostrophe
_LINE = re.compile(r"[^\n]+")
_DIGITS = re.compile(r"\d+")
_CODE = re.compile(r"[{}\[\]<>=|;\\]|\w\(|::|->|^\s*(?:at |File |import |from |def |class |return |#include)")


def cut_with_lines(message: Message, keep_chars: int) -> Cut:
    """The cut that keeps so many characters of a person's message, and the lines in between that stand out."""
    cut = word_cut_for(keep_chars)
    lines: list[tuple[int, int, int]] = []
    for number, text in enumerate(texts_of(message)):
        start, end = cut.head_chars, len(text) - cut.tail_chars
        room = max(keep_chars // 2, MOST_LINE_CHARS)
        for first, last in standing_out(text):
            if start <= first and last <= end and last - first <= room:
                room -= last - first
                lines.append((number, first, last))
    return replace(cut, lines=tuple(sorted(lines)), brief=True)


def standing_out(text: str) -> list[tuple[int, int]]:
    """The spans of the lines of a text that stand out, those first that do so most."""
    lines = [match for match in _LINE.finditer(text) if not match[0].isspace()]
    if len(lines) < LEAST_LINES:
        return []
    counts = Counter(_shape(line[0]) for line in lines)
    most = max(1, int(RARE_SHARE * len(lines)))
    found = [
        (counts[_shape(line[0])], line.span())
        for line in lines
        if counts[_shape(line[0])] <= most and len(line[0]) <= MOST_LINE_CHARS and _reads_as_a_sentence(line[0])
    ]
    return [span for _, span in sorted(found)]


def _shape(line: str) -> str:
    """How a line begins: its first words, every number the same."""
    return _DIGITS.sub("0", " ".join(line.split(None, 2)[:2]))


def _reads_as_a_sentence(line: str) -> bool:
    words = line.split()
    if len(words) < LEAST_WORDS or _CODE.search(line):
        return False
    plain = sum(_WORD.match(word) is not None for word in words)
    return plain * 3 >= len(words) * 2
