"""A text is the same whether its accents are characters of their own (NFD) or not (NFC): searches find both.

Ranking also finds a word by the same word without accents.
"""

from __future__ import annotations

import re
from unicodedata import normalize

import regex


def forms_of(text: str) -> tuple[str, ...]:
    """The text composed, and decomposed if that differs."""
    return tuple(dict.fromkeys((normalize("NFC", text), normalize("NFD", text))))


def either_form(text: str) -> str:
    """An expression that matches a text in both forms."""
    forms = forms_of(text)
    return "|".join(map(regex.escape, forms)) if len(forms) == 1 else f"(?:{'|'.join(map(regex.escape, forms))})"


def common_parts(word: str) -> list[str]:
    """The parts of a word that are the same in both forms."""
    marked = "".join(char if len(forms_of(char)) == 1 else "\n" for char in normalize("NFC", word))
    return [part for part in marked.split("\n") if part]


def in_either_form(expression: str) -> str:
    """An expression whose accented letters match in both forms; itself if it has none, or has a set of characters."""
    composed = normalize("NFC", expression)
    if composed.isascii() or "[" in composed:
        return expression
    return "".join(char if len(forms_of(char)) == 1 else either_form(char) for char in composed)


_ACCENT = re.compile("[\u0300-\u036f]")
"""Accents that are characters of their own. Vowel signs of other scripts are none: words differ by them."""
_NO_ACCENTS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ß": "ss"})


def without_accents(text: str) -> str:
    """A text in small letters without accents; other scripts stay the same."""
    if text.isascii():
        return text.casefold()
    plain = _ACCENT.sub("", normalize("NFD", text.casefold()))
    return normalize("NFC", plain).translate(_NO_ACCENTS)
