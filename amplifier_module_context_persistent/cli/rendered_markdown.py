"""Markdown as a terminal shows it; a module of its own, since only terminals need what renders it."""

from __future__ import annotations

import os

from markdown_it import MarkdownIt
from rich.console import Console
from rich.markdown import Markdown
from rich.segment import Segment, Segments
from rich.text import Text

from .terminal import escaped

_LIGHT = ("7", "15")  # white, in the palette of sixteen colours

_parser = MarkdownIt("commonmark").enable(["strikethrough", "table"])
_parser.disable(["entity", "html_block", "html_inline", "image", "reference"])


def rendered(text: str, screen: Console) -> Segments | Text:
    """Render Markdown; return the plain text if rendering would hide a part of it (deep nesting, wide tables)."""
    markdown = Markdown("", code_theme=_code_theme(), hyperlinks=False)
    markdown.parsed = _parser.parse(text)
    tags = 0  # the languages of code blocks are not shown
    for token in markdown.parsed:
        tags += _letters(token.info)
        for inline in token.children or ():
            if inline.type == "softbreak":  # people and models break lines where they mean it
                inline.type = "hardbreak"
    segments = list(screen.render(markdown))
    if sum(_letters(segment.text) for segment in segments) < _letters(text) - tags:
        return Text(text)
    return Segments([Segment(escaped(segment.text), segment.style) for segment in segments])


def _code_theme() -> str:
    """Colours for code from the terminal's own palette, for a light or a dark background (`COLORFGBG` says which)."""
    background = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return "ansi_light" if background in _LIGHT else "ansi_dark"


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))
