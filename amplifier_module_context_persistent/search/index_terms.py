"""The terms of a text: the ranked index stores them, and a question is looked up by them.

A term is the stem of a word, or a name. A compound name, such as `flush_all`, `flushAll` or `FlushAll`, gives the terms
of its parts and one term of the whole, joined (`flushall`). A question also gives its neighbouring words joined, so
"flush all" finds `flushAll`. Texts are composed (NFC) and their case is folded. Scripts that do not separate words
(Chinese, Japanese, Korean, Thai) give each pair of neighbouring characters; a character without a neighbour gives
itself.

A term with accents (`café`) is also indexed without them (`cafe`), with less weight.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from unicodedata import normalize

import regex

from .accents import without_accents
from .stem import stem
from .word_search import UNPARTED

MOST_WORD_CHARS = 64
"""The longest word that is indexed. Longer runs of letters and digits are data, such as a hash or a picture."""
_ASCII_WORD = re.compile(r"[A-Za-z0-9_]+")
_ANY_WORD = regex.compile(rf"[{UNPARTED}]+|[[\w\p{{M}}]--[{UNPARTED}]]+", regex.V1)
_PLAIN_WORD = re.compile(r"\w+")
_SPECIAL = regex.compile(rf"[{UNPARTED}\p{{M}}]")
"""Characters that occur only in texts whose words are not plain runs of letters, digits and underscores."""
_UNPARTED_RUN = re.compile(f"[{UNPARTED}]")
_PART = regex.compile(r"\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?[^\W_\p{Lu}]+|\p{Lu}+")


PLAIN_SHARE = 0.8
"""The weight of a term without its accents, as a share of the weight of the term."""


def terms_of(text: str) -> dict[str, float]:
    """Count the terms of a text. A term without a word's accents counts as `PLAIN_SHARE` of an occurrence."""
    found: dict[str, float] = {}
    get = found.get
    for word, count in Counter(_words(text)).items():
        for term in _terms_of_word(word):
            found[term] = get(term, 0) + count
        for term in _plain_terms(word):
            found[term] = get(term, 0) + count * PLAIN_SHARE
    return found


def asked_words(question: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the words of a question in their order, each with its terms."""
    return [(word, _terms_of_word(word)) for word in _words(question)]


def plain_term(term: str) -> str:
    """Return the stem of a term without its accents, or "" if the term has no accents."""
    if term.isascii():
        return ""
    plain = without_accents(term)
    return stem(plain) if plain != term else ""


def placed_terms(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield the words of a text in order: the start and the end of each word, and its terms.

    In scripts that do not separate words, each pair of characters counts as a word.
    """
    for match in _ANY_WORD.finditer(text):
        word = match[0]
        start = match.start()
        if word.isascii():
            yield start, match.end(), _terms_of_word(word)
        elif len(word) > 2 and _UNPARTED_RUN.match(word):
            for at in range(len(word) - 1):
                yield start + at, start + at + 2, _terms_of_word(word[at : at + 2])
        else:
            composed = normalize("NFC", word)
            yield start, match.end(), _terms_of_word(composed) + _plain_terms(composed)


def joined_words(words: Sequence[str]) -> list[str]:
    """Join each two neighbouring words to a name and return its term: `flush all` gives the term of `flushall`."""
    return [stem((word + next_word).casefold()) for word, next_word in pairwise(words)]


def _words(text: str) -> list[str]:
    if text.isascii():
        return _ASCII_WORD.findall(text)
    text = normalize("NFC", text)
    words = _ANY_WORD if _SPECIAL.search(text) is not None else _PLAIN_WORD  # the plain expression is twice as fast
    return words.findall(text)


def _plain_terms(word: str) -> tuple[str, ...]:
    """Return the terms of a word without accents, to be added to its terms with accents."""
    if word.isascii():
        return ()
    return tuple(filter(None, map(plain_term, _terms_of_word(word))))


@lru_cache(maxsize=1 << 17)
def _terms_of_word(word: str) -> tuple[str, ...]:
    """Return the terms of a run of letters, digits and underscores."""
    if len(word) > MOST_WORD_CHARS:
        return ()
    if not word.isascii() and _UNPARTED_RUN.match(word):
        return _pairs_of_characters(word.casefold())
    is_one_word = word.isalpha() and (word.islower() or word.istitle() or word.isupper())
    if is_one_word:
        return (stem(word.casefold()),)
    parts = [part.casefold() for part in _PART.findall(word)]
    if len(parts) < 2:
        return tuple(stem(part) for part in parts)
    whole = "".join(parts)
    return tuple(dict.fromkeys(stem(part) for part in (*parts, whole)))


def _pairs_of_characters(text: str) -> tuple[str, ...]:
    """Return all pairs of neighbours, the terms of a script without spaces between words; or a single character."""
    if len(text) < 2:
        return (text,)
    return tuple(text[start : start + 2] for start in range(len(text) - 1))
