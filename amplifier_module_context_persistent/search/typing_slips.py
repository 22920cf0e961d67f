"""Typing slips: a word that no message has is replaced by a known word that differs by one slip.

Swapped letters, doubled letters and missing doubles are tried first, then extra, missing and wrong letters. Only words
of plain letters are tried, and their first letter is assumed to be right. Of several known words the one in the most
messages is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Protocol

from .question import AskedTerm
from .ranked_segment import key_of
from .stem import stem

_LEAST_CHARS, _MOST_CHARS = 5, 20
_MOST_WORDS = 3
"""The most words of a question that are tried."""
_MOST_LOOKUPS = 30_000
"""The largest number of lookups in segments for the variants of one word."""


class _Index(Protocol):
    @property
    def counts(self) -> Sequence[int]:
        """The number of messages in each segment."""
        ...

    def frequencies(self, keys: Sequence[int]) -> Sequence[int]:
        """Return the number of messages with each term."""
        ...


@dataclass(frozen=True, slots=True)
class Slip:
    """A word that no message has, and the term to look for instead."""

    said: str
    meant: AskedTerm

    @property
    def sentence(self) -> str:
        """A sentence that tells a person about the slip."""
        return self.sentence_with(self.meant.said)

    def sentence_with(self, word: str) -> str:
        """Return the sentence with a form of the intended word that a message has."""
        return f"no match for `{self.said}`; showing `{word}`"


def slips_in(unknown: Sequence[AskedTerm], index: _Index, *, tries_all: bool) -> tuple[Slip, ...]:
    """Find known words for words that no message has.

    Args:
        unknown: terms without a message.
        index: the index to search.
        tries_all: whether other letters are tried, too. Beside words that are found, that costs more than it brings:
            a word that was never said is more often right than mistyped.
    """
    tried = [term for term in unknown if _may_be_a_slip(term)][:_MOST_WORDS]
    slips = list[Slip]()
    for term in tried:
        word = _meant(term.said.lower(), index, tries_all=tries_all)
        if word:
            slips.append(Slip(term.said, AskedTerm(stem(word), word)))
    return tuple(slips)


def _may_be_a_slip(term: AskedTerm) -> bool:
    word = term.said
    return word.isascii() and word.isalpha() and _LEAST_CHARS <= len(word) <= _MOST_CHARS and term.share == 1.0


def _meant(word: str, index: _Index, *, tries_all: bool) -> str:
    """Return the word that is probably meant, or "" if there is none."""
    attempts = [_likely(word)]
    if tries_all:
        attempts.append(_others(word))
    for candidates in map(list, attempts):
        if not candidates or len(candidates) * len(index.counts) > _MOST_LOOKUPS:
            break
        counts = index.frequencies([key_of(stem(candidate)) for candidate in candidates])
        most = max(counts)
        if most:
            return candidates[counts.index(most)]
    return ""


def _likely(word: str) -> Iterator[str]:
    """Yield the word with two letters swapped, with a double letter made single, or with a letter doubled."""
    for place in range(1, len(word)):
        yield word[: place - 1] + word[place] + word[place - 1] + word[place + 1 :]
    for place in range(1, len(word)):
        if word[place] == word[place - 1]:
            yield word[:place] + word[place + 1 :]
    for place in range(1, len(word)):
        yield word[:place] + word[place] + word[place:]


def _others(word: str) -> Iterator[str]:
    """Yield variants of a word: without one letter, with one more letter, or with one letter replaced."""
    yield from (word[:at] + word[at + 1 :] for at in range(1, len(word)))
    for letter in ascii_lowercase:
        for at in range(1, len(word) + 1):
            yield word[:at] + letter + word[at:]
            yield word[:at] + letter + word[at + 1 :]
