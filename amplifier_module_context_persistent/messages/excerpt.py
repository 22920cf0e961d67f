"""Excerpts: some whole pieces of a text, with a mark at every gap between two pieces.

Rules:
- An excerpt shows at least what the caller asks for: the end of a piece moves outward, to the end of the line or of the
  word. In prose it moves to the end of a paragraph, else of a line or a sentence.
- The first gap has the marker with the reference for `recall`; each later gap has a short mark such as `⋮ 31 lines`.
  In prose, a later gap that begins within a line has the mark `…` at the end of that line.
- If a gap is no longer than its mark, its text is shown instead.
- In prose, every piece of a fenced code block has its own fences.

A text's excerpt depends only on the text and the arguments, so a plan gives the same bytes in every process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from unicodedata import category

Span = tuple[int, int]
"""Start and end of a piece of a text."""

GAP = "⋮"
LEAST_GAP_CHARS = 60  # a mark costs as much as 20 characters; of a shorter gap, the text itself is more useful
_LINE_CHARS = 200  # how far from a cut to look for the end of the line
_WORD_CHARS = 60  # how far from a cut to look for the end of the word
_PROSE_SHARE = 0.4  # share of the requested length by which a cut of prose may move outward
_PARAGRAPH_END, _LINE_END = re.compile(r"\n[ \t]*\n"), re.compile(r"\n")
# Not after the number of a list item.
SENTENCE_END = re.compile(r"(?<=[.!?…])(?<!\s\d\.)(?<!\s\d\d\.)[\"')\]]*\s|(?<=[。！？؟।])")  # noqa: RUF001 - Chinese, Arabic and Hindi too
_WORD_END = re.compile("\\s|(?<=[。！？；，、])")  # noqa: RUF001 - Chinese punctuation
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_JOINER = "\u200d"


def excerpt(
    text: str, head_chars: int, tail_chars: int, lines: Iterable[Span] = (), *, reference: str, prose: bool = False
) -> str:
    """Return a text's head, its tail and the given spans between them. If this is not shorter, return the text.

    Args:
        text: the text to shorten.
        head_chars: the approximate number of characters to show of the text's beginning.
        tail_chars: the approximate number of characters to show of the text's end.
        lines: further spans to show.
        reference: the reference by which `recall` returns the whole text; "" if the text cannot be recalled.
        prose: whether to cut at paragraphs and sentences, with a shorter marker.
    """
    spans = shown_spans(text, head_chars, tail_chars, lines, prose=prose)
    gaps = _gaps(spans, len(text))
    if not gaps:
        return text
    parts = {span: _piece(text, span, prose=prose) for span in spans}
    elided_chars = len(text) - sum(end - start for start, end in spans)
    parts[gaps[0]] = elided_marker(elided_chars, len(text), reference, brief=prose)
    for gap_before, gap in pairwise(gaps):
        gap_start, _ = gap
        is_within_line = text[gap_start - 1] != "\n" and text[gap_start] != "\n"
        if prose and is_within_line:
            _, previous_end = gap_before
            parts[previous_end, gap_start] += " …"
        else:
            parts[gap] = gap_mark(text, gap)
    shortened = "\n".join(parts[span] for span in sorted(parts) if parts[span])
    return shortened if len(shortened) < len(text) else text


def elided_marker(elided_chars: int, of_chars: int, reference: str, *, brief: bool = False) -> str:
    """Return the marker for the first gap.

    Args:
        elided_chars: the number of characters that are left out.
        of_chars: the number of characters of the whole text.
        reference: the reference by which the text can be recalled; "" if it cannot.
        brief: whether to return the shorter marker for prose.
    """
    if brief and reference:
        return f"[… recall {reference}]"
    if brief:
        return f"[… {elided_chars:,} characters left out]"
    recall = f"; recall {reference}" if reference else ""
    return f"[… {elided_chars:,} of {of_chars:,} characters elided{recall} …]"


def shown_spans(
    text: str, head_chars: int, tail_chars: int, lines: Iterable[Span] = (), *, prose: bool = False
) -> list[Span]:
    """Return the spans of a text that an excerpt shows, in order.

    Spans with only a small gap between them become one.

    Args:
        text: the text.
        head_chars: the approximate number of characters to show of its beginning.
        tail_chars: the approximate number of characters to show of its end.
        lines: further spans to show, each as start and end in characters.
        prose: whether to cut at paragraphs and sentences instead of lines.
    """
    start = _end_of_head(text, head_chars, prose=prose)
    end = _start_of_tail(text, tail_chars, prose=prose)
    if start >= end:
        return [(0, len(text))]
    inner = [(max(first, start), min(last, end)) for first, last in lines if first < end and last > start]
    return joined(text, [(0, start), *sorted(inner), (end, len(text))])


def joined(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return sorted spans, with spans joined that overlap, or whose gap is too small for a mark."""
    result: list[Span] = []
    for start, end in spans:
        if result:
            last_start, last_end = result[-1]
            if start <= last_end or _is_small(text, last_end, start):
                result[-1] = last_start, max(end, last_end)
                continue
        if start < end:
            result.append((start, end))
    if not result:
        return result
    first_start, first_end = result[0]
    if _is_small(text, 0, first_start):
        result[0] = 0, first_end
    last_start, last_end = result[-1]
    if _is_small(text, last_end, len(text)):
        result[-1] = last_start, len(text)
    return result


def _is_small(text: str, start: int, end: int) -> bool:
    """Return whether a gap is too short to be replaced by a mark."""
    beginning = text[start : min(end, start + 2 * LEAST_GAP_CHARS)]
    if len(beginning.strip()) >= LEAST_GAP_CHARS:
        return False  # nearly always, and most of a long text need not be copied
    return len(text[start:end].strip()) < LEAST_GAP_CHARS


def _gaps(spans: Sequence[Span], length: int) -> list[Span]:
    """Return the gaps before, between and after some spans, in a text of this length."""
    gaps = []
    end_before = 0
    for start, end in spans:
        if end_before < start:
            gaps.append((end_before, start))
        end_before = end
    if end_before < length:
        gaps.append((end_before, length))
    return gaps


def gap_mark(text: str, gap: Span) -> str:
    """Return the text that marks a gap: the number of missing lines or, within one line, of missing characters."""
    start, end = gap
    lines = text[start:end].strip("\r\n").count("\n") + 1
    if lines > 1:
        return f"{GAP} {lines:,} lines"
    begins_line = start == 0 or "\n" in text[start - 1 : start + 1]
    ends_line = end == len(text) or "\n" in text[end - 1 : end + 1]
    if begins_line and ends_line:
        return f"{GAP} 1 line"
    return f"{GAP} {end - start:,} characters"


def _piece(text: str, span: Span, *, prose: bool) -> str:
    """Return the text of a span as an excerpt shows it.

    Line ends next to a gap are removed. In prose, a cut code block gets new fences.
    """
    start, end = span
    piece = text[start:end]
    if start > 0:
        piece = piece.lstrip("\r\n")
    if end < len(text):
        piece = piece.rstrip("\r\n")
    is_whole = start == 0 and end == len(text)
    if not prose or is_whole or not ("```" in text or "~~~" in text):
        return piece
    fence_at_start = open_fence(text[:start])
    if fence_at_start:
        first_line, _, other_lines = piece.partition("\n")
        piece = other_lines if _closes(first_line, fence_at_start) else f"{fence_at_start}\n{piece}"
    fence_at_end = open_fence(piece)
    if fence_at_end and end < len(text):
        other_lines, _, last_line = piece.rpartition("\n")
        piece = other_lines if _FENCE.match(last_line) else f"{piece}\n{fence_at_end}"
    return piece


def open_fence(text: str) -> str:
    """Return the fence of the code block that is still open at the end of a text; "" if none is open."""
    fence = ""
    for match in _FENCE.finditer(text):
        if not fence:
            fence = match[1]
        elif _closes(match[0], fence):
            fence = ""
    return fence


def _closes(line: str, fence: str) -> bool:
    """Return whether a line closes the code block that a fence opened."""
    mark = line.strip()
    has_only_fence_characters = not mark.strip(fence[0])
    return mark.startswith(fence) and has_only_fence_characters


def _end_of_head(text: str, chars: int, *, prose: bool) -> int:
    """Return the index at which an excerpt's head of about this many characters ends."""
    if chars <= 0:
        return 0
    if chars >= len(text):
        return len(text)
    if prose:
        last = min(len(text), chars + int(chars * _PROSE_SHARE))
        ends = _ends_between(text, chars, last)
        if ends:
            return ends[0]
    line_end = text.find("\n", chars - 1, chars + _LINE_CHARS)
    if line_end >= 0:
        return line_end + 1
    word = _WORD_END.search(text, chars, min(len(text), chars + _WORD_CHARS))
    return _character_end(text, word.start() if word else chars)


def _start_of_tail(text: str, chars: int, *, prose: bool) -> int:
    """Return the index at which an excerpt's tail of about this many characters starts."""
    if chars <= 0:
        return len(text)
    if chars >= len(text):
        return 0
    index = len(text) - chars
    if prose:
        first = max(0, index - int(chars * _PROSE_SHARE))
        ends = _ends_between(text, first, index)
        if ends:
            return ends[-1]
    first_of_line = max(0, index - _LINE_CHARS)
    line_end = text.rfind("\n", first_of_line, index)
    if line_end >= 0:
        return line_end + 1
    first_of_word = max(0, index - _WORD_CHARS)
    for position in range(index, first_of_word, -1):
        is_word_start = _WORD_END.match(text, position - 1) or text[position - 1].isspace()
        if is_word_start:
            return position
    return character_start(text, index)


def _ends_between(text: str, first: int, last: int) -> list[int]:
    """Return the ends of paragraphs between two indexes; if there are none, of lines; if none either, of sentences."""
    for pattern in (_PARAGRAPH_END, _LINE_END, SENTENCE_END):
        if ends := [match.end() for match in pattern.finditer(text, first, last)]:
            return ends
    return []


def character_start(text: str, index: int) -> int:
    """Return an index, moved back if it is within one character of several code points, such as an emoji or a flag."""
    start = index
    while max(0, index - _WORD_CHARS) < start < len(text) and is_joined(text[start - 1], text[start]):
        start -= 1
    return start


def _character_end(text: str, index: int) -> int:
    """Return an index, moved forward if it is inside a character of several code points."""
    end = index
    while 0 < end < min(len(text), index + _WORD_CHARS) and is_joined(text[end - 1], text[end]):
        end += 1
    return end


def is_joined(before: str, here: str) -> bool:
    """Return whether two adjacent code points belong to one character."""
    if before.isascii() and here.isascii():
        return before == "\r" and here == "\n"
    if _JOINER in (before, here):
        return True
    is_flag = "\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= here <= "\U0001f1ff"
    is_skin_tone = "\U0001f3fb" <= here <= "\U0001f3ff"
    return is_flag or is_skin_tone or category(here).startswith("M")
