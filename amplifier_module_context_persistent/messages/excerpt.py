"""Excerpts: some whole pieces of a text, with a mark at every place where a piece between them is missing.

Rules:
- An excerpt never shows less than was asked for: a cut moves outward, to the end of the line or of the word. In prose
  it moves to the end of a paragraph, else of a line or a sentence.
- The first gap has the marker with the reference for `recall`; each later gap has a short mark such as `⋮ 31 lines`.
- If a gap is no longer than its mark, its text is shown instead.
- In prose, every piece of a fenced block has its own fences.

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
LEAST_GAP_CHARS = 60  # a mark costs as much as 20 characters, and a line more of what there was reads better
_LINE_CHARS = 200  # how far from a cut the end of its line is looked for
_WORD_CHARS = 60  # how far the end of its word is looked for
_PROSE_SHARE = 0.4  # of the length asked for: how far a cut of prose may move outward
_PARAGRAPH_END, _LINE_END = re.compile(r"\n[ \t]*\n"), re.compile(r"\n")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"')\]]*\s|(?<=[。！？؟।])")  # noqa: RUF001 - Chinese, Arabic and Hindi too
_WORD_END = re.compile("\\s|(?<=[。！？；，、])")  # noqa: RUF001 - Chinese punctuation
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_JOINER = "\u200d"


def excerpt(
    text: str, head_chars: int, tail_chars: int, lines: Iterable[Span] = (), *, reference: str, prose: bool = False
) -> str:
    """Shorten a text to its head, its tail and some spans between them; the text itself if that is not shorter.

    Args:
        text: the text.
        head_chars: about how many characters of its beginning are shown.
        tail_chars: about how many characters of its end are shown.
        lines: other spans that are shown.
        reference: recalls the whole text; "" if nothing does.
        prose: whether it is cut at paragraphs and sentences; its marker is shorter.
    """
    spans = shown_spans(text, head_chars, tail_chars, lines, prose=prose)
    gaps = _gaps(spans, len(text))
    if not gaps:
        return text
    parts = {span: _piece(text, span, prose=prose) for span in spans}
    gone = len(text) - sum(end - start for start, end in spans)
    parts[gaps[0]] = elided_marker(gone, len(text), reference, brief=prose)
    for gap in gaps[1:]:
        parts[gap] = gap_mark(text, gap)
    shorter = "\n".join(parts[span] for span in sorted(parts) if parts[span])
    return shorter if len(shorter) < len(text) else text


def elided_marker(gone: int, of_chars: int, reference: str, *, brief: bool = False) -> str:
    """The marker of the first gap; it names the reference, if there is one, by which the rest is recalled."""
    if brief:
        return f"[… recall {reference}]" if reference else f"[… {gone:,} characters left out]"
    recall = f"; recall {reference}" if reference else ""
    return f"[… {gone:,} of {of_chars:,} characters elided{recall} …]"


def shown_spans(
    text: str, head_chars: int, tail_chars: int, lines: Iterable[Span] = (), *, prose: bool = False
) -> list[Span]:
    """The spans of a text that an excerpt shows, in order, each apart from the next by a gap that is worth a mark."""
    start = _end_of_head(text, head_chars, prose=prose)
    end = _start_of_tail(text, tail_chars, prose=prose)
    if start >= end:
        return [(0, len(text))]
    inner = [(max(first, start), min(last, end)) for first, last in lines if first < end and last > start]
    return joined(text, [(0, start), *sorted(inner), (end, len(text))])


def joined(text: str, spans: Sequence[Span]) -> list[Span]:
    """Join sorted spans that overlap, or that are apart by no more than a mark would take."""
    found: list[Span] = []
    for start, end in spans:
        if found:
            last_start, last_end = found[-1]
            if start <= last_end or _is_small(text, last_end, start):
                found[-1] = last_start, max(end, last_end)
                continue
        if start < end:
            found.append((start, end))
    if found and _is_small(text, 0, found[0][0]):
        found[0] = 0, found[0][1]
    if found and _is_small(text, found[-1][1], len(text)):
        found[-1] = found[-1][0], len(text)
    return found


def _is_small(text: str, start: int, end: int) -> bool:
    """Whether a gap says less than its mark would take."""
    return len(text[start:end].strip()) < LEAST_GAP_CHARS


def _gaps(spans: Sequence[Span], length: int) -> list[Span]:
    """The spans between others, and before and after them."""
    edges = [(0, 0), *spans, (length, length)]
    return [(before[1], after[0]) for before, after in pairwise(edges) if before[1] < after[0]]


def gap_mark(text: str, gap: Span) -> str:
    """The mark of a gap: how many lines are missing, or, within one line, how many characters."""
    start, end = gap
    lines = text[start:end].strip("\r\n").count("\n") + 1
    if lines > 1:
        return f"{GAP} {lines:,} lines"
    begins_line = start == 0 or "\n" in text[start - 1 : start + 1]
    ends_line = end == len(text) or "\n" in text[end - 1 : end + 1]
    return f"{GAP} 1 line" if begins_line and ends_line else f"{GAP} {end - start:,} characters"


def _piece(text: str, span: Span, *, prose: bool) -> str:
    """The shown form of a span: without line ends at its gaps; in prose, a cut fenced block gets fences of its own."""
    start, end = span
    piece = text[start:end]
    if start > 0:
        piece = piece.lstrip("\r\n")
    if end < len(text):
        piece = piece.rstrip("\r\n")
    if not prose or (start == 0 and end == len(text)) or ("```" not in text and "~~~" not in text):
        return piece
    before = open_fence(text[:start])
    if before:
        first, _, rest = piece.partition("\n")
        piece = rest if _closes(first, before) else f"{before}\n{piece}"
    after = open_fence(piece)
    if after and end < len(text):
        shown, _, last = piece.rpartition("\n")
        piece = shown if _FENCE.match(last) else f"{piece}\n{after}"
    return piece


def open_fence(text: str) -> str:
    """The fence of the block that is open at the end of a text; empty if none is."""
    fence = ""
    for match in _FENCE.finditer(text):
        if not fence:
            fence = match[1]
        elif _closes(match[0], fence):
            fence = ""
    return fence


def _closes(line: str, fence: str) -> bool:
    """Whether a line closes a block that a fence opened."""
    return line.strip().startswith(fence) and not line.strip().strip(fence[0])


def _end_of_head(text: str, chars: int, *, prose: bool) -> int:
    """The end of a head of about this many characters."""
    if chars <= 0 or chars >= len(text):
        return max(0, min(chars, len(text)))
    last = min(len(text), chars + int(chars * _PROSE_SHARE))
    if prose and (ends := _ends_between(text, chars, last)):
        return ends[0]
    line = text.find("\n", chars - 1, chars + _LINE_CHARS)
    if line >= 0:
        return line + 1
    word = _WORD_END.search(text, chars, min(len(text), chars + _WORD_CHARS))
    return _character_end(text, word.start() if word else chars)


def _start_of_tail(text: str, chars: int, *, prose: bool) -> int:
    """The start of a tail of about this many characters."""
    if chars <= 0 or chars >= len(text):
        return len(text) - max(0, min(chars, len(text)))
    index = len(text) - chars
    if prose and (ends := _ends_between(text, max(0, index - int(chars * _PROSE_SHARE)), index)):
        return ends[-1]
    line = text.rfind("\n", max(0, index - _LINE_CHARS), index)
    if line >= 0:
        return line + 1
    for at in range(index, max(0, index - _WORD_CHARS), -1):
        if _WORD_END.match(text, at - 1) or text[at - 1].isspace():
            return at
    return _character_start(text, index)


def _ends_between(text: str, first: int, last: int) -> list[int]:
    """The ends of paragraphs between two places, or else of lines, or else of sentences."""
    for pattern in (_PARAGRAPH_END, _LINE_END, _SENTENCE_END):
        if ends := [match.end() for match in pattern.finditer(text, first, last)]:
            return ends
    return []


def _character_start(text: str, index: int) -> int:
    """An index, or the start of the character that it would cut in two: an emoji of several, accents, a flag, CR LF."""
    start = index
    while max(0, index - _WORD_CHARS) < start < len(text) and is_joined(text[start - 1], text[start]):
        start -= 1
    return start


def _character_end(text: str, index: int) -> int:
    """An index, or the end of the character that it would cut in two."""
    end = index
    while 0 < end < min(len(text), index + _WORD_CHARS) and is_joined(text[end - 1], text[end]):
        end += 1
    return end


def is_joined(before: str, here: str) -> bool:
    """Whether two code points belong to one character."""
    if before.isascii() and here.isascii():
        return before == "\r" and here == "\n"
    is_flag = "\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= here <= "\U0001f1ff"
    is_tone = "\U0001f3fb" <= here <= "\U0001f3ff"
    return _JOINER in (before, here) or is_flag or is_tone or category(here).startswith("M")
