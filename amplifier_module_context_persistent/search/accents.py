"""Search for words with accents, whatever their Unicode form.

A letter with an accent may be one character (*composed*, NFC) or a letter and an accent (*decomposed*, NFD). Searches
find both forms of a text. Ranking also finds a word by its letters without accents.
"""

from __future__ import annotations

import re
from unicodedata import normalize

import regex


def forms_of(text: str) -> tuple[str, ...]:
    """Return the composed form of a text, and the decomposed form if it differs."""
    return tuple(dict.fromkeys((normalize("NFC", text), normalize("NFD", text))))


def either_form(text: str) -> str:
    """Return a regular expression that matches the composed and the decomposed form of a text."""
    forms = forms_of(text)
    return "|".join(map(regex.escape, forms)) if len(forms) == 1 else f"(?:{'|'.join(map(regex.escape, forms))})"


def common_parts(word: str) -> list[str]:
    """Return the parts of a word that are the same in both Unicode forms (NFC and NFD)."""
    parts = [""]
    for character in normalize("NFC", word):
        if len(forms_of(character)) == 1:
            parts[-1] += character
        else:
            parts.append("")
    return [part for part in parts if part]


def in_either_form(expression: str) -> str:
    """Return a regular expression whose accented letters match in both Unicode forms.

    An expression without accented letters, or with a set of characters, is returned unchanged.
    """
    composed = normalize("NFC", expression)
    if composed.isascii() or "[" in composed:
        return expression
    result = ""
    for character in composed:
        result += character if len(forms_of(character)) == 1 else either_form(character)
    return result


_ACCENT = re.compile("[\u0300-\u036f]")
"""Accents as separate characters. Vowel signs of other scripts are no accents: they distinguish words."""
_NO_ACCENTS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ß": "ss"})


def without_accents(text: str) -> str:
    """Return a text in small letters and without accents. Letters without accents stay, also in other scripts."""
    if text.isascii():
        return text.casefold()
    plain = _ACCENT.sub("", normalize("NFD", text.casefold()))
    return normalize("NFC", plain).translate(_NO_ACCENTS)
