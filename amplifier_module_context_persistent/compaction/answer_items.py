"""A model's answer that is too long: its beginning and its end stay, and the items of its lists between them.

The items of a list, the rows of a table and the headings often say what was found, done or decided. So a cut keeps the
beginning of each item, as far as there is room. All items are shortened before one is left out, and items of inner
lists are left out first. An answer without items keeps more of its beginning and its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..messages.elide import Cut, prose_cut
from ..messages.excerpt import Span, shown_spans
from ..messages.message import Message, texts_of

HEAD_SHARE, TAIL_SHARE = 0.45, 0.2  # of the characters that stay; items have the others
PROSE_HEAD_SHARE, PROSE_TAIL_SHARE = 0.5, 0.33  # the same in an answer without items, which needs less room
LEAST_WITH_ITEMS = 400  # characters that stay; if fewer do, the ends have all the room
ITEM_CHARS = (200, 120, 70)  # of each item that stay; the first length with which all items fit is used
_WORD_CHARS = 30  # how far before the end of a shortened item to look for the end of a word, and behind it for its end

_LINE = re.compile(r"[^\n]+")
_FENCE = re.compile(r"[ \t]*(```|~~~)")
_ITEM = re.compile(
    r"([ \t]*)(?:[-*+•|]|#{1,6}[ \t]|\d+[.)、]|[（(]\d+[)）])"  # noqa: RUF001 - Chinese and Japanese numbers
)
_WORD_END = re.compile(r"\s|(?<=[。！？；，、])")  # noqa: RUF001 - Chinese punctuation


class Item(NamedTuple):
    """A line that is an item of a list, a row of a table or a heading."""

    indent: int
    """The number of spaces before the item."""
    start: int
    end: int


def answer_cut(message: Message, keep_chars: int) -> Cut:
    """Return the cut that keeps about this many characters of each text of an answer.

    The cut keeps the head and the tail of the text, and list items, headings and similar lines between them.
    """
    if keep_chars < LEAST_WITH_ITEMS:
        return prose_cut(keep_chars - keep_chars // 2, keep_chars // 2)
    head_chars, tail_chars = int(HEAD_SHARE * keep_chars), int(TAIL_SHARE * keep_chars)
    room_chars = keep_chars - head_chars - tail_chars
    spans_to_show = list[tuple[int, int, int]]()
    most_used = 0
    for number, text in enumerate(texts_of(message)):
        ends = shown_spans(text, head_chars, tail_chars, prose=True)
        between = [item for item in _items(text) if ends[0][1] <= item.start and item.end <= ends[-1][0]]
        spans = _beginnings(text, between, room_chars)
        spans_to_show += [(number, start, end) for start, end in spans]
        most_used = max(most_used, sum([end - start for start, end in spans]))
    if not spans_to_show:
        return prose_cut(int(PROSE_HEAD_SHARE * keep_chars), int(PROSE_TAIL_SHARE * keep_chars))
    unused = room_chars - most_used
    return prose_cut(head_chars + unused - unused // 2, tail_chars + unused // 2, tuple(spans_to_show))


def _items(text: str) -> Iterator[Item]:
    """Yield the items of a text in order, without those in code blocks.

    Lines without a letter or a digit, such as the rule below the head of a table, are not items.
    """
    fence = ""
    for match in _LINE.finditer(text):
        line = match[0]
        mark = _FENCE.match(line)
        item = _ITEM.match(line)
        if mark is not None and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        elif item is not None and not fence and any(map(str.isalnum, line)):
            yield Item(len(item[1]), match.start(), match.end())


def _beginnings(text: str, items: Sequence[Item], room_chars: int) -> list[Span]:
    """Return the spans of the items' beginnings that fit, all at the same length, in order."""
    spans = list[Span]()
    for chars in ITEM_CHARS:
        spans = [(item.start, _end_of_word(text, item, chars)) for item in items]
        if sum([end - start for start, end in spans]) <= room_chars:
            return spans
    found = list[Span]()
    for _, (start, end) in sorted(zip([item.indent for item in items], spans, strict=True)):
        if end - start <= room_chars:
            room_chars -= end - start
            found.append((start, end))
    return sorted(found)


def _end_of_word(text: str, item: Item, chars: int) -> int:
    """Return the end of the last word within this many characters of an item, or the item's end if it is near."""
    last = item.start + chars
    if item.end <= last + _WORD_CHARS:
        return item.end
    ends = [match.start() for match in _WORD_END.finditer(text, last - _WORD_CHARS, last)]
    return ends[-1] if ends else last
