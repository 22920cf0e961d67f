"""Which of many known terms stand in a text: each is found by its longest word, so that few are searched for."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"\w+")
_MOST_WORDS = 50_000  # of so many it is known which terms they may be part of
_LONG_WORD_CHARS = 64  # longer ones are hardly met again
_START_CHARS = 4


class TermFinder:
    """Finds terms in texts.

    Args:
        terms: what is looked for; each has a letter, a figure or an underscore.
    """

    def __init__(self, terms: Iterable[str]) -> None:
        self._by_piece: dict[str, list[str]] = {}
        for term in terms:
            self._by_piece.setdefault(max(_WORD.findall(term), key=len), []).append(term)
        self._by_start: dict[str, list[str]] = {}
        """The longest words by how they begin."""
        for piece in self._by_piece:
            self._by_start.setdefault(piece[:_START_CHARS], []).append(piece)
        self._start_sizes = sorted(set(map(len, self._by_start)))
        self._of_word: dict[str, tuple[str, ...]] = {}

    def terms_in(self, text: str) -> list[str]:
        """The terms that a text holds, each once."""
        likely = {term for word in set(_WORD.findall(text)) for term in self._terms_with(word)}
        return [term for term in likely if term in text]

    def _terms_with(self, word: str) -> tuple[str, ...]:
        """The terms whose longest word is contained in a word."""
        known = self._of_word.get(word)
        if known is None:
            if len(self._of_word) >= _MOST_WORDS:
                self._of_word.clear()
            known = tuple(term for piece in self._pieces_in(word) for term in self._by_piece[piece])
            if len(word) <= _LONG_WORD_CHARS:
                self._of_word[word] = known
        return known

    def _pieces_in(self, word: str) -> set[str]:
        by_start, found = self._by_start, set[str]()
        for size in self._start_sizes:
            for at in range(len(word) - size + 1):
                if (pieces := by_start.get(word[at : at + size])) is not None:
                    found.update(piece for piece in pieces if word.startswith(piece, at))
        return found
