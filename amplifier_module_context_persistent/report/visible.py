"""Text as the page shows it: what does not print is written as JSON escapes it, so that nothing hides or turns round.

Colours of terminals are left out; they are neither text nor safe to show. Joiners within words and emoji stay.
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
    """Escape what does not print; line breaks are all of one kind."""
    if _PLAIN.match(text):
        return text
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    strange = {ord(c): escape for c in set(text) if (escape := _escape(c))}
    return text.translate(strange) if strange else text


@lru_cache(maxsize=4096)
def _escape(character: str) -> str:
    if character.isprintable() or character in "\n\t" or character in _JOINERS or category(character) == "Zs":
        return ""
    return json.dumps(character)[1:-1]
