"""Elision: shorten a long text to its head and its tail, with a reference by which the rest can be recalled.

A cut (`Cut`) says how much of the text stays; the marker is the line in place of the missing part. The marker depends
only on the text, the message's id and the cut. Thinking, calls and images are not touched here. A message that is cut
becomes a new object; nothing is mutated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .excerpt import character_start, elided_marker, excerpt
from .message import ORIGINAL, Message, text_places


@dataclass(frozen=True, slots=True)
class Cut:
    """The way in which a message's text is shortened: the parts that stay, and the kind of marker."""

    head_chars: int
    """Number of characters of each text's beginning that stay."""
    tail_chars: int
    """Number of characters of each text's end that stay."""
    lines: tuple[tuple[int, int, int], ...] = ()
    """Spans between head and tail that stay, each as (index of the text among the message's texts, start, end)."""
    instead: str = ""
    """A text that is shown instead of the message's own texts; "" for none."""
    then: str = ""
    """A line that is appended to the last text of the message; "" for none."""
    whole_words: bool = False
    """Whether a cut moves to the end of a word if there is no end of a line nearby."""
    brief: bool = False
    """Whether the marker of the cut is brief, with the message's reference but without numbers of characters."""
    whole_characters: bool = False
    """Whether a character of several code points is never split; text without spaces is then cut at its punctuation."""
    excerpt: bool = False
    """Whether the text is shown in whole pieces with a mark at every gap (see `excerpt`); False in older plans."""
    no_recall: bool = False
    """Whether the marker names no reference, because the session has no tool `recall`."""

    @property
    def shortens(self) -> bool:
        """Whether the cut may leave out a part of the text."""
        return self.instead != "" or self.head_chars < WHOLE.head_chars

    @property
    def shown_chars(self) -> int:
        """The approximate number of characters that stay of each text."""
        ends = self.head_chars + self.tail_chars
        if not self.lines:  # nearly always
            return ends
        return ends + sum([last - first for _, first, last in self.lines])

    def with_line(self, line: str) -> Cut:
        """Return a copy of this cut that puts another line after the text; "" for no line."""
        return Cut(
            self.head_chars,
            self.tail_chars,
            lines=self.lines,
            instead=self.instead,
            then=line,
            whole_words=self.whole_words,
            brief=self.brief,
            whole_characters=self.whole_characters,
            excerpt=self.excerpt,
            no_recall=self.no_recall,
        )

    def to_record(self) -> list[Any]:
        """Return the cut as a plan's record stores it: the two lengths, then an object with the other set fields."""
        more: dict[str, Any] = {}
        if self.lines:
            more["lines"] = [list(line) for line in self.lines]
        if self.instead:
            more["instead"] = self.instead
        if self.then:
            more["then"] = self.then
        for flag in _FLAGS:
            if getattr(self, flag):
                more[flag] = True
        record: list[Any] = [self.head_chars, self.tail_chars]
        return [*record, more] if more else record

    @classmethod
    def from_record(cls, record: Sequence[Any]) -> Cut:
        """Return the cut that a plan's record contains.

        Raises:
            ValueError, TypeError, AttributeError: the record does not have the shape that `to_record` returns.
        """
        head, tail, *rest = record
        if not rest:
            return cls(int(head), int(tail))
        (more,) = rest
        lines = tuple((int(number), int(start), int(end)) for number, start, end in more.get("lines", ()))
        instead = str(more.get("instead", ""))
        then = str(more.get("then", ""))
        flags = {key: more.get(key) is True for key in _FLAGS}
        return cls(int(head), int(tail), lines, instead, then, **flags)


_FLAGS = ("whole_words", "brief", "whole_characters", "excerpt", "no_recall")

WHOLE = Cut((1 << 31) - 1, 0)
"""The cut that shortens nothing; for messages that are changed without being shortened."""

LEAST_SHOWN_CHARS = 240
"""The smallest part of a cut text that is shown, in characters, unless a smaller one is configured.

If a cut would show less of a text, it shows nothing of it.
"""

_BOUNDARY_CHARS = 200  # how far from the cut to look for the end of a line
_WORD_CHARS = 60  # how far from the cut to look for the end of a word
_SPACE, _SPACE_OR_END = re.compile(r"\s"), re.compile("\\s|(?<=[。！？；，、])")  # noqa: RUF001 - Chinese punctuation


def cut_for(keep_chars: int) -> Cut:
    """Return a cut that keeps `keep_chars` characters of a text: half at its end, because errors are often there."""
    return Cut(keep_chars - keep_chars // 2, keep_chars // 2)


def excerpt_cut(keep_chars: int, lines: tuple[tuple[int, int, int], ...] = ()) -> Cut:
    """Return a cut for a result: half of the characters at each end, the given lines, and a mark at every gap."""
    return Cut(keep_chars - keep_chars // 2, keep_chars // 2, lines, excerpt=True)


def prose_cut(head_chars: int, tail_chars: int, lines: tuple[tuple[int, int, int], ...] = ()) -> Cut:
    """Return a cut for prose, which ends at paragraphs or sentences and has a brief marker."""
    return Cut(head_chars, tail_chars, lines, brief=True, excerpt=True)


def elide_message(message: Message, cut: Cut, *, reference: str, boundary: str = "line") -> Message:
    """Return the message with shortened text; every text block of a list is shortened by the same cut."""
    content = message.get("content")
    if isinstance(content, str):
        shortened = _shown([content], cut, reference=reference, boundary=boundary)
        return {**message, "content": shortened[0]}
    if not isinstance(content, list):
        return message
    places = text_places(content)
    shortened = _shown([text for _, text in places], cut, reference=reference, boundary=boundary)
    blocks: list[Any] = list(content)
    for (position, _), text in zip(places, shortened, strict=True):
        block = content[position]
        text_key = "text" if block["type"] == "text" else "output"
        blocks[position] = {**block, text_key: text}
    if cut.shortens:
        blocks = [_without_original(block) for block in blocks]
    if cut.instead:  # it is in the first text block
        left_out = {position for position, _ in places[1:]}
        blocks = [block for position, block in enumerate(blocks) if position not in left_out]
    return {**message, "content": blocks}


def _without_original(block: Any) -> Any:
    """Return a text block without the original block that it describes and without citations."""
    if not isinstance(block, dict) or (ORIGINAL not in block and "citations" not in block):
        return block
    return {key: value for key, value in block.items() if key not in (ORIGINAL, "citations")}


def _shown(texts: list[str], cut: Cut, *, reference: str, boundary: str) -> list[str]:
    """Return the texts of a message with a cut applied."""
    shortened = texts
    if cut.instead:
        shortened = [cut.instead, *texts[1:]]
    elif cut.shortens:
        shortened = []
        for number, text in enumerate(texts):
            own_lines = tuple([line for line in cut.lines if line[0] == number])
            own_cut = cut if own_lines == cut.lines else replace(cut, lines=own_lines)
            shortened.append(elide_text(text, own_cut, reference=reference, boundary=boundary))
    if cut.then and shortened:
        last = 0 if cut.instead else -1
        shortened[last] = f"{shortened[last]}\n{cut.then}"
    return shortened


def elide_text(text: str, cut: Cut, *, reference: str, boundary: str = "line") -> str:
    """Return only the head, the tail and the cut's lines of a text.

    Return the text itself if the result is not shorter.
    """
    if cut.no_recall:
        reference = ""
    if cut.head_chars + cut.tail_chars >= len(text):
        return text
    spans = [(first, last) for _, first, last in cut.lines]
    if cut.excerpt and boundary == "line":
        return excerpt(text, cut.head_chars, cut.tail_chars, spans, reference=reference, prose=cut.brief)
    start, end = _gap_of(text, cut, boundary)
    if start >= end:
        return text
    lines = [(first, last) for first, last in spans if start <= first < last <= end]
    elided = end - start - sum(last - first for first, last in lines)
    marker = elided_marker(elided, len(text), reference, brief=cut.brief)
    line_ends = "\r\n" if cut.whole_characters else "\n"
    parts = [text[:start].rstrip(line_ends), marker]
    marks_each_gap = cut.brief or not cut.whole_characters  # else the first marker is enough
    for first, last in lines:
        parts.append(text[first:last].strip("\n"))
        if marks_each_gap:
            parts.append("[…]")
    parts.append(text[end:].lstrip(line_ends))
    shorter = "\n".join(part for part in parts if part)
    return shorter if len(shorter) < len(text) else text


def _gap_of(text: str, cut: Cut, boundary: str) -> tuple[int, int]:
    """Return the span that is left out between head and tail, moved to the ends of words, lines or characters."""
    start = cut.head_chars
    end = len(text) - cut.tail_chars
    if boundary == "line" and cut.whole_words:
        start = _word_start(text, start, _SPACE_OR_END if cut.whole_characters else _SPACE)
        end = _word_end(text, end)
    elif boundary == "line":
        start = _line_start(text, start)
        end = _line_end(text, end)
    if cut.whole_characters or cut.excerpt:
        start = character_start(text, start)
        end = character_start(text, end)
    return start, end


def _word_start(text: str, index: int, ends: re.Pattern[str]) -> int:
    """Return the start of the last line that begins shortly before the index, else the end of the word at the index."""
    if index == 0:
        return 0
    found = text.rfind("\n", max(index - _BOUNDARY_CHARS, index * 3 // 4), index)
    if found >= 0:
        return found + 1
    space = ends.search(text, index, min(len(text), index + _WORD_CHARS))
    return space.start() if space else index


def _word_end(text: str, index: int) -> int:
    """Return the start of the first line that begins shortly after the index, else of the word at the index."""
    if index == len(text):
        return index
    found = text.find("\n", index, index + min(_BOUNDARY_CHARS, (len(text) - index) // 4))
    if found >= 0:
        return found + 1
    for position in range(index, max(0, index - _WORD_CHARS), -1):
        if text[position - 1].isspace():
            return position
    return index


def _line_start(text: str, position: int) -> int:
    found = text.rfind("\n", max(0, position - _BOUNDARY_CHARS, position // 2), position)
    return position if found < 0 else found + 1


def _line_end(text: str, position: int) -> int:
    """Return the position after the next line break, or `position` if none is near."""
    middle_of_rest = (position + len(text)) // 2 + 1
    limit = min(len(text), position + _BOUNDARY_CHARS, middle_of_rest)
    line_break = text.find("\n", position, limit)
    return position if line_break < 0 else line_break + 1
