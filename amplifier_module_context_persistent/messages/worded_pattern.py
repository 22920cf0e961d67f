"""Patterns that ignore case, each with words of which every match has one: a text without them is not searched.

Looking for a dozen words takes a microsecond or two; a search that ignores case, and may begin at any character, takes
ten times as long.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SAME_LETTERS = str.maketrans({"\u0130": "i", "\u0131": "i", "\u017f": "s"})
"""The letters that `re.IGNORECASE` takes for one of ASCII, where `str.lower` makes another of them."""


@dataclass(frozen=True, slots=True)
class WordedPattern:
    """A pattern that ignores case, and what to look for before it is tried.

    Attributes:
        pattern: The pattern; compiled with `re.IGNORECASE`.
        words: Every match has one of them, in upper or lower case; given in lower case, of ASCII letters and signs.
    """

    pattern: re.Pattern[str]
    words: tuple[str, ...]

    def is_in(self, text: str) -> bool:
        """Whether the pattern matches somewhere in a text."""
        lowered = text.lower() if text.isascii() else text.translate(_SAME_LETTERS).lower()
        for word in self.words:
            if word in lowered:
                return self.pattern.search(text) is not None
        return False
