"""Text of a session in which every character can be seen, so that no text is hidden or shown backwards.

Characters that do not print are shown as JSON escapes. Colours of terminals are left out. Emoji stay, and joiners
within words.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from unicodedata import category

_COLOURS = re.compile("\x1b\\[[0-9;]*m")
_PLAIN = re.compile(r"[ -~\n\t]*\Z")
_JOINERS = "\u200c\u200d"


def visible(text: str) -> str:
    """Return a text with LF line breaks, in which non-printable characters are escaped."""
    if _PLAIN.match(text):
        return text
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    escapes: dict[int, str] = {}
    for character in set(text):
        escape = _escape(character)
        if escape:
            escapes[ord(character)] = escape
    return text.translate(escapes) if escapes else text


@lru_cache(maxsize=4096)
def _escape(character: str) -> str:
    """Return the JSON escape of a character that does not print; "" for any other character."""
    if character.isprintable() or character in "\n\t" or character in _JOINERS or category(character) == "Zs":
        return ""
    return json.dumps(character)[1:-1]
