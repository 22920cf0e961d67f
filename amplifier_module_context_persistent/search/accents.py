"""A text is the same whether its accents are characters of their own (NFD) or not (NFC): searches find both."""

from __future__ import annotations

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
