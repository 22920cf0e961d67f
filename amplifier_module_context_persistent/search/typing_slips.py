"""One slip of the finger: a word that no message has is taken for a word that differs by one slip.

Swapped letters and letters doubled or not are tried first, then superfluous, forgotten and wrong ones. Only words of
plain letters are tried, and their first letter is taken as right. Of several words the one in the most messages is
meant.
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
"""Of a question are tried."""
_MOST_LOOKUPS = 30_000
"""Lookups in segments for a word, beyond which no other letters are tried."""


class _Index(Protocol):
    @property
    def counts(self) -> Sequence[int]:
        """The number of messages in each segment."""
        ...

    def frequencies(self, keys: Sequence[int]) -> Sequence[int]:
        """The number of messages with each term."""
        ...


@dataclass(frozen=True, slots=True)
class Slip:
    """A word that no message has, and the term that is looked for instead."""

    said: str
    meant: AskedTerm

    @property
    def sentence(self) -> str:
        """What a person is told."""
        return self.sentence_with(self.meant.said)

    def sentence_with(self, word: str) -> str:
        """What a person is told, with a form of the meant word as a message has it."""
        return f"no match for `{self.said}`; showing `{word}`"


def slips_in(unknown: Sequence[AskedTerm], index: _Index, *, tries_all: bool) -> tuple[Slip, ...]:
    """Find the words that are meant by words that no message has.

    Args:
        unknown: terms without a message.
        index: what is searched.
        tries_all: whether other letters are tried, too. Beside words that are found, that costs more than it brings:
            a word that was never said is more often right than mistyped.
    """
    tried = [term for term in unknown if _may_be_a_slip(term)][:_MOST_WORDS]
    found = ((term, _meant(term.said.lower(), index, tries_all=tries_all)) for term in tried)
    return tuple(Slip(term.said, AskedTerm(stem(word), word)) for term, word in found if word)


def _may_be_a_slip(term: AskedTerm) -> bool:
    word = term.said
    return word.isascii() and word.isalpha() and _LEAST_CHARS <= len(word) <= _MOST_CHARS and term.share == 1.0


def _meant(word: str, index: _Index, *, tries_all: bool) -> str:
    """The word that is meant; "" if there is none."""
    for words in (list(_likely(word)), list(_others(word)) if tries_all else []):
        if not words or len(words) * len(index.counts) > _MOST_LOOKUPS:
            break
        counts = index.frequencies([key_of(stem(one)) for one in words])
        most, meant = max(zip(counts, words, strict=True), key=lambda pair: pair[0])
        if most:
            return meant
    return ""


def _likely(word: str) -> Iterator[str]:
    """The word with two letters swapped, with one of two equal letters, or with one letter twice."""
    places = range(1, len(word))
    yield from (word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :] for at in places)
    yield from (word[:at] + word[at + 1 :] for at in places if word[at] == word[at - 1])
    yield from (word[:at] + word[at] + word[at:] for at in places)


def _others(word: str) -> Iterator[str]:
    """The word without a letter, with one letter more, or with another letter."""
    yield from (word[:at] + word[at + 1 :] for at in range(1, len(word)))
    for letter in ascii_lowercase:
        for at in range(1, len(word) + 1):
            yield word[:at] + letter + word[at:]
            yield word[:at] + letter + word[at + 1 :]
