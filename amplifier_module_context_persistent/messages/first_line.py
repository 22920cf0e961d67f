"""The first line of a message, as lists of sessions and turns show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .message import text_of
from .own_words import command_named, own_words

_FIRST_LINE_CHARS = 200


def first_line(message: Mapping[str, Any]) -> str:
    """Return the first line that the author of a message wrote; a long line is cut and ends with three dots.

    Text that programs added is ignored. If the message has no other text, the result is the name of the slash command,
    or else the first line of the whole text. A line that ends with a colon is joined with the next line ("Implement the
    following plan: # Refunds").
    """
    text = text_of(message)
    words = own_words(text) or command_named(text) or text
    beginning = words.lstrip()[: 2 * _FIRST_LINE_CHARS]
    line, _, next_lines = beginning.partition("\n")
    line = line.rstrip()
    if line.endswith(":"):
        next_line, _, _ = next_lines.lstrip().partition("\n")
        line = f"{line} {next_line}".rstrip()
    if len(line) <= _FIRST_LINE_CHARS:
        return line
    return f"{line[: _FIRST_LINE_CHARS - 3].rstrip()}..."
