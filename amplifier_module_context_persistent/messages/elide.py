"""Elision: a long text shortened to its head and its tail, with the reference by which the rest can be recalled.

The text that is put in the middle depends on the message's id and the cut alone. Thinking, calls and images are not
touched here. A message is a new object where it is cut; nothing is mutated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .message import Message


@dataclass(frozen=True, slots=True)
class Cut:
    """How much of a message's text stays: characters of its beginning and of its end."""

    head_chars: int
    tail_chars: int


WHOLE = Cut((1 << 31) - 1, 0)
"""The cut that shortens nothing: for what is shortened without one."""


_BOUNDARY_CHARS = 200  # how far from the place of the cut the end of a line is looked for


def cut_for(keep_chars: int) -> Cut:
    """The cut that keeps `keep_chars` characters, as many of the end (where errors are) as of the beginning."""
    return Cut(keep_chars - keep_chars // 2, keep_chars // 2)


def texts_of(message: Message) -> list[str]:
    """The texts of a message that can be shortened: its string content, or those of its blocks."""
    content = message.get("content")
    return [content] if isinstance(content, str) else [text for _, text in _texts(content)]


def elide_message(message: Message, cut: Cut, *, reference: str, boundary: str = "line") -> Message:
    """Shorten a message's text; every text block of a block list is shortened by the same cut."""
    content = message.get("content")
    if isinstance(content, str):
        shorter: Any = elide_text(content, cut, reference=reference, boundary=boundary)
    elif isinstance(content, list):
        shorter = list(content)
        for position, text in _texts(content):
            block = content[position]
            key = "text" if block["type"] == "text" else "output"
            elided = elide_text(text, cut, reference=reference, boundary=boundary)
            shorter[position] = {**block, key: elided}
    else:
        return message
    return {**message, "content": shorter}


def elide_text(text: str, cut: Cut, *, reference: str, boundary: str = "line") -> str:
    """Shorten a text to head and tail; it is left alone where that would not make it shorter."""
    head, tail = cut.head_chars, cut.tail_chars
    if head + tail >= len(text):
        return text
    start, end = head, len(text) - tail
    if boundary == "line":
        start, end = _line_start(text, start), _line_end(text, end)
    marker = f"[… {end - start:,} of {len(text):,} characters elided; recall {reference} …]"
    parts = [text[:start].rstrip("\n"), marker, text[end:].lstrip("\n")]
    shorter = "\n".join(part for part in parts if part)
    return shorter if len(shorter) < len(text) else text


def _line_start(text: str, position: int) -> int:
    found = text.rfind("\n", max(0, position - _BOUNDARY_CHARS, position // 2), position)
    return position if found < 0 else found + 1


def _line_end(text: str, position: int) -> int:
    found = text.find("\n", position, min(len(text), position + _BOUNDARY_CHARS, (position + len(text)) // 2 + 1))
    return position if found < 0 else found + 1


def _texts(content: Any) -> list[tuple[int, str]]:
    """Places and texts of the blocks whose text can be elided."""
    if not isinstance(content, list):
        return []
    return [
        (position, text)
        for position, block in enumerate(content)
        if isinstance(block, dict)
        and block.get("type") in ("text", "tool_result")
        and isinstance(text := block.get("text" if block["type"] == "text" else "output"), str)
    ]
