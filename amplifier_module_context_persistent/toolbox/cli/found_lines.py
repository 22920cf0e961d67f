"""Format a line in which a search found something."""

from __future__ import annotations

from rich.text import Text

from ...sessions.pattern_in_session import FoundLine
from .terminal import escaped

_LINE_CHARS = 300  # the most characters of a line that are shown
_BEFORE_CHARS = 100  # the number of them before the first match


def shown_line(line: FoundLine) -> Text:
    """Return a line with its number and marked matches; of a long line, the part around the first match."""
    begin = 0
    if line.spans and len(line.text) > _LINE_CHARS:
        begin = max(0, line.spans[0][0] - _BEFORE_CHARS)
    end = begin + _LINE_CHARS
    styled = Text(f"{line.number:>5}{':' if line.spans else '-'} ", "dim")
    if begin > 0:
        styled.append("...")
    at = begin
    for first, last in line.spans:
        first, last = max(at, min(first, end)), max(at, min(last, end))
        styled.append(_piece(line.text[at:first]), "not dim")
        styled.append(_piece(line.text[first:last]), "not dim bold red")
        at = last
    styled.append(_piece(line.text[at:end]), "not dim")
    if end < len(line.text):
        styled.append("...")
    return styled


def _piece(text: str) -> str:
    return escaped(text.replace("\t", " ").removesuffix("\r"))
