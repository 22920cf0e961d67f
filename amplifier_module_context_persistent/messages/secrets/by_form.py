"""Secrets that are known by their form alone: searches a text's long words for the rows of `formats`.

Rules:
- One expression finds the beginnings of all forms; the exact expression of a form is tried only where that form begins.
- A word in which no form is possible is remembered: sessions repeat their paths, names and addresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from .base64_text import is_in_encoded_data, may_be_base64
from .formats import HINT_CHARS, LEAST_CHARS, TOKENS, Format
from .found import Secret, hidden
from .names import is_example
from .searched_text import SearchedText
from .services_in_sentences import may_be_key
from .wallet_keys import may_be_wallet_key

Span = tuple[int, int]
"""The start and end of a word."""

_LONG_WORD = re.compile(rf"(?<!\S)\S{{{LEAST_CHARS},}}")
_WITH_SPACES = tuple(known for known in TOKENS if known.has_spaces)
_HINTS_IN_WORDS = tuple(
    (hint, known) for known in TOKENS if not (known.leads or known.has_spaces) for hint in known.hints
)
_MOST_CHARS_KNOWN = 200
_WORDS_KNOWN = 32_768
"""The number of long words that are remembered, and the greatest length of a remembered word."""


def odd_words(text: str) -> list[Span]:
    """Return the long words of a text that may contain a secret: by a known form, in base64, or as a service's key."""
    found = list[Span]()
    for match in _LONG_WORD.finditer(text):
        word = match[0]
        if len(word) > _MOST_CHARS_KNOWN or not _is_ordinary(word):
            found.append(match.span())
    return found


@lru_cache(_WORDS_KNOWN)
def _is_ordinary(word: str) -> bool:
    """Return whether a long word contains nothing that is searched for in long words."""
    if next(_begun(word, [(0, len(word))]), None) is not None or _forms_within(word):
        return False
    return not (may_be_base64(word) or may_be_key(word) or may_be_wallet_key(word))


def find_by_form(searched: SearchedText, words: Sequence[Span]) -> list[Secret]:
    """Find the secrets that are known by their form.

    Args:
        searched: any text.
        words: the places of the words in which a form is possible. Forms with spaces are searched for everywhere.
    """
    text = searched.text
    with_spaces = _by_expression(text, _forms_with_spaces(text))
    if not words:
        return with_spaces
    text_left = hidden(text, with_spaces)
    begun = list(_begun(text_left, words))
    text_left = hidden(text_left, begun)
    long_words = "\n".join([text_left[start:end] for start, end in words])
    within = _by_expression(text_left, _forms_within(long_words))
    in_words = [secret for secret in [*begun, *within] if not is_in_encoded_data(text_left, secret)]
    return with_spaces + in_words


def _forms_with_spaces(text: str) -> list[Format]:
    """Return the forms with spaces that a text may contain, because the text has one of their hints."""

    def has_hint(form: Format) -> bool:
        return any(hint in text for hint in form.hints)

    return [form for form in _WITH_SPACES if has_hint(form)]


def _forms_within(text: str) -> list[Format]:
    """Return the forms without a fixed beginning that occur in a text of long words."""
    hinted = {form.kind: form for hint, form in _HINTS_IN_WORDS if hint in text}
    return [form for form in hinted.values() if form.expression.search(text)]


def _by_expression(text: str, forms: list[Format]) -> list[Secret]:
    """Return the matches of forms in a text, without examples."""
    secrets: list[Secret] = []
    for form in forms:
        matches = [match for match in form.expression.finditer(text) if not is_example(match[0])]
        secrets += [Secret(match.start(), match.end(), form.kind) for match in matches]
    return secrets


def _begun(text: str, words: Sequence[Span]) -> Iterator[Secret]:
    """Yield the secrets in the given words that begin with fixed text, such as `ghp_`."""
    heads, rows = _heads()
    for start, end in words:
        done = start
        for at, head in _heads_in(heads, text, start, end):
            secret = _at(text, at, rows[head]) if at >= done else None
            if secret is not None and not is_example(text[secret.start : secret.end]):
                yield secret
                done = secret.end


def _heads_in(heads: re.Pattern[str], text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Yield the place and the first characters of each form in a word, if a sign or the text's start is before."""
    if start == 0 and (first := heads.match(" " + text[:HINT_CHARS])):
        yield 0, first["head"]
    for head in heads.finditer(text, max(0, start - 1), end):
        yield head.start("head"), head["head"]


def _at(text: str, at: int, forms: list[Format]) -> Secret | None:
    """Return the secret that begins at a position; None if there is none."""
    for form in forms:
        if text.startswith(form.hints, at):
            match = form.expression.match(text, at)
            if match is not None:
                return Secret(at, match.end(), form.kind)
    return None


@cache
def _heads() -> tuple[re.Pattern[str], dict[str, list[Format]]]:
    """Return an expression for the first characters of all forms with a fixed beginning.

    The second value has the forms by these first characters.
    """
    forms: dict[str, list[Format]] = {}
    for form in TOKENS:
        if not form.leads:
            continue
        for head in sorted({hint[:HINT_CHARS] for hint in form.hints}):
            forms.setdefault(head, []).append(form)
    by_letter: dict[str, list[str]] = {}
    for head in sorted(forms):
        by_letter.setdefault(head[0], []).append(re.escape(head[1:]))
    heads = "|".join(f"{re.escape(letter)}(?:{'|'.join(rests)})" for letter, rests in by_letter.items())
    return re.compile(rf"[^A-Za-z0-9](?:(?<=\\)[nrt])??(?=(?P<head>{heads}))"), forms
