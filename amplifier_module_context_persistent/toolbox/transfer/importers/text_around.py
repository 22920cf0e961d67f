"""Find the JSON document in a file that has other text around it.

Output copied from a terminal begins with a prompt or a log line, Markdown puts a fence around the document, and a power
cut may leave NUL bytes after it.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from .broken_lines import pieces_of
from .lines import parse_json

__all__ = ["DocumentInText", "find_document", "is_readable"]

_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\0\r\n\t\x1a\ufeff]")
"""Matches a terminal's colour codes, and control characters that are often found around documents."""
_JSON_BEGIN = re.compile(r"(?<!\x1b)[{\[]")
_LOG_MARK = re.compile(r"\[[\w:., +-]*[A-Za-z:][\w:., +-]*\]")
_BEGIN_CHARACTERS = 4096
_DECODER = json.JSONDecoder()


class DocumentInText(NamedTuple):
    """A JSON document in a text, and the readable text before and after the document."""

    value: Any
    before: str = ""
    after: str = ""
    end_line: int = 1
    """The line on which the document ends."""


def is_readable(text: str) -> bool:
    """Return whether a text is readable, not binary data. Colour codes of a terminal are allowed."""
    return _CONTROLS.sub(" ", text).isprintable()


def find_document(content: bytes) -> DocumentInText:
    """Return the only JSON document in a text.

    If there are several objects in a row, as `jq` prints them, return their list.

    Raises:
        ValueError: there is no JSON document.
    """
    try:
        return DocumentInText(parse_json(content))
    except ValueError:
        text = content.decode("utf-8")
    begin = _begin_of(text)
    if begin is None or not is_readable(text[:begin]):
        raise ValueError("not JSON")
    value, end = _document_at(text, begin)
    return DocumentInText(value, _shown(text[:begin]), _shown(text[end:]), text.count("\n", 0, end) + 1)


def _begin_of(text: str) -> int | None:
    """Return the offset of the first object or list, or None if there is none. `[INFO]` in a log line is not a list."""
    start = len(text) - len(text.lstrip("\0\ufeff"))
    found = _JSON_BEGIN.finditer(text, start, start + _BEGIN_CHARACTERS)
    return next((match.start() for match in found if not _LOG_MARK.match(text, match.start())), None)


def _document_at(text: str, begin: int) -> tuple[Any, int]:
    """Return the document that begins at an offset, and the offset of its end.

    Raises:
        ValueError: no document begins there, or both JSON and other text follow it.
    """
    try:
        return parse_json(text[begin:].encode("utf-8")), len(text)
    except ValueError as refused:
        if "after document" not in str(refused):
            raise
        value, end = _DECODER.raw_decode(text, begin)
        after = text[end:]
        pieces = pieces_of(after)
        are_objects = [piece.value is not None for piece in pieces]
        if not any(are_objects) and is_readable(after):
            return value, end
        if not all(are_objects):
            raise
        return [value, *(piece.value for piece in pieces)], len(text)


def _shown(text: str) -> str:
    return _CONTROLS.sub(" ", text).strip()
