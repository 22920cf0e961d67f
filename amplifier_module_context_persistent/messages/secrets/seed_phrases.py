"""Seed phrases of wallets (BIP39): 12 to 24 words from a list of 2,048, the last of which contains a checksum.

Words of the list are ordinary words, so a phrase counts only if its checksum is valid, or after a label that names it
(`Seed phrase:`, `MNEMONIC=`). One of 16 sequences of 12 words is valid by chance, but 12 adjacent words of prose that
are all in the list are rare. A phrase that repeats words stays, such as `abandon … about`, the example of the standard.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from hashlib import sha256

from .found import Secret
from .searched_text import SearchedText
from .seed_words import ENGLISH

LENGTHS = (24, 21, 18, 15, 12)
"""The possible numbers of words in a phrase."""
_FEWEST = min(LENGTHS)
_TWELVE = bytes([True] * _FEWEST)
_WORD_BITS = 11
"""The number of bits in one word of a phrase."""
_RUN = re.compile(
    r"(?<![A-Za-z'-])(?:[A-Za-z]{3,8}+(?:[\s,;|\"'\[\]-]|[0-9]{1,2}[.):]?){1,8}+){11,}[A-Za-z]{3,8}(?![A-Za-z'-])"
)
"""Short words with only spaces, numbers, quotes and commas between them."""
_WORD = re.compile("[A-Za-z]+")
_LABEL = re.compile(
    r"""
    (?: (?:seed|recovery|backup|mnemonic|secret)[ _-]?(?:recovery[ _-]?)?(?:phrase|words|seed) | mnemonics? | wallet[ _-]?seed | \bseed(?=[ ]?[:=]|[ ]is[ ]|"[ ]?:)
      | wiederherstellungs(?:phrase|wörter) | phrase[ ]de[ ]récupération | frase[ ](?:semilla|de[ ]recuperaci[óo]n|seed|di[ ]recupero|de[ ]recuperação)
      | fraza[ ](?:seed|odzyskiwania) | сид-?фраза\w? | мнемони\w{1,12} | 助记词 | シードフレーズ | リカバリーフレーズ | 니모닉 | kurtarma[ ](?:ifadesi|kelimeleri) )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LABEL_CHARS = 240
"""The largest distance between a label and its phrase, in characters."""


def find_seed_phrases(searched: SearchedText) -> list[Secret]:
    """Find seed phrases with a valid checksum."""
    text = searched.text
    if len(_numbers().keys() & searched.words) <= _FEWEST // 2:
        return []  # more than half of the words of a phrase are different
    if not any(_has_run(words) for words in searched.ordered_words()):
        return []
    found: list[Secret] = []
    for run in _RUN.finditer(text):
        is_named = _LABEL.search(text, max(0, run.start() - _LABEL_CHARS), run.start() + _LABEL_CHARS) is not None
        found += _in_run(text, run.start(), run.end(), is_named=is_named)
    return found


def _has_run(words: list[str]) -> bool:
    """Return whether twelve adjacent words are all in the list; much faster than a check of each word."""
    return _TWELVE in bytes(map(_numbers().__contains__, words))


def is_seed_phrase(words: list[str]) -> bool:
    """Return whether words of the list are a phrase: the last bits must be the start of the first bits' hash."""
    number = 0
    for word in words:
        number = number << _WORD_BITS | _numbers()[word]
    check_bits = len(words) * _WORD_BITS // 33
    entropy = (number >> check_bits).to_bytes(len(words) * 4 // 3, "big")
    return sha256(entropy).digest()[0] >> (8 - check_bits) == number & ((1 << check_bits) - 1)


@cache
def _numbers() -> dict[str, int]:
    return {word: number for number, word in enumerate(ENGLISH)}


def _in_run(text: str, start: int, end: int, *, is_named: bool) -> Iterator[Secret]:
    known: list[re.Match[str]] = []
    for word in _WORD.finditer(text, start, end):
        if word[0].lower() in _numbers():
            known.append(word)
        else:
            yield from _phrases(known, is_named=is_named)
            known = []
    yield from _phrases(known, is_named=is_named)


def _phrases(words: list[re.Match[str]], *, is_named: bool) -> Iterator[Secret]:
    """Yield the phrases in adjacent words of the list.

    Words in alphabetical order may be the list itself, and are skipped.
    """
    texts = [word[0].lower() for word in words]
    at = 0
    while at + _FEWEST <= len(words):
        length = next(
            (length for length in LENGTHS if _is_phrase(texts[at : at + length], length, is_named=is_named)), 0
        )
        if length:
            yield Secret(words[at].start(), words[at + length - 1].end(), "seed phrase")
        at += length or 1


def _is_phrase(words: list[str], length: int, *, is_named: bool) -> bool:
    is_varied = 2 * len(set(words)) > length
    is_sorted = words == sorted(words)  # as in a list of words
    if len(words) != length or not is_varied or is_sorted:
        return False
    return is_named or is_seed_phrase(words)
