"""A text that is searched for secrets, with what several searches ask of it; each is found out once, if it is asked.

Most rules begin with a word: a command, a label, a name in another language. `Beginnings` looks for such words only if
the text has words that begin alike. That costs one pass over the text, in place of one for each rule.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property

from .found import Secret, hidden

_LETTERS = 4
"""By so many letters words are told apart."""
_PIECE_CHARS = 1_000_000
_OVERLAP_CHARS = 500
_WORD = re.compile("[a-z]+")


class SearchedText:
    """A text, and what is known of it.

    Args:
        text: the text as it is searched; what was found before is hidden in it.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def with_hidden(self, found: Collection[Secret]) -> SearchedText:
        """Return the text with secrets hidden; its words are not looked for again."""
        rest = SearchedText(hidden(self.text, found))
        rest.word_heads = self.word_heads
        if "_listed_words" in self.__dict__:
            rest._listed_words = self._listed_words
        return rest

    @cached_property
    def folded(self) -> str:
        """The text in lower case, of the same length."""
        text = self.text
        return text.lower() if text.isascii() else text.replace("\u0130", "i").replace("\u017f", "s").lower()

    @cached_property
    def word_heads(self) -> frozenset[str]:
        """The first letters that words of the text have; of hidden words too, so it only says what may be there.

        Words are runs of letters from `a` to `z` in lower case.
        """
        words = set[str]().union(*self.ordered_words())
        return frozenset([word[:_LETTERS] for word in words])

    def ordered_words(self) -> Iterator[list[str]]:
        """Give the words of the text in order; in pieces if the text is long."""
        if len(self.text) <= _PIECE_CHARS:
            yield self._listed_words
            return
        for start in range(0, len(self.text), _PIECE_CHARS):
            yield _WORD.findall(self.folded, max(0, start - _OVERLAP_CHARS), start + _PIECE_CHARS)

    @cached_property
    def _listed_words(self) -> list[str]:
        return _WORD.findall(self.folded)

    @cached_property
    def characters(self) -> frozenset[str]:
        """The characters of the text in lower case."""
        return frozenset(self.folded)


class Beginnings:
    """Fixed texts that matches begin with.

    Args:
        texts: in lower case or not. In a match of an ASCII text, no letter is right before the first word, nor right
            after the text if it ends with a word of less than four letters.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._by_word: dict[str, list[str]] = {}
        self._by_character: dict[str, list[str]] = {}
        """Those that are not ASCII, by their first character that is not."""
        for text in texts:
            word = _WORD.search(text.lower())
            if word is not None and text.isascii():
                self._by_word.setdefault(word[0][:_LETTERS], []).append(text)
            else:
                first = next(letter for letter in text.lower() if not letter.isascii())
                self._by_character.setdefault(first, []).append(text)
        self._words, self._characters = frozenset(self._by_word), frozenset(self._by_character)

    def possible_in(self, searched: SearchedText) -> list[str]:
        """The texts that may begin a match, as far as the words of a text tell."""
        found = [text for word in self._words & searched.word_heads for text in self._by_word[word]]
        if self._characters and not searched.text.isascii():
            for first in self._characters & searched.characters:
                found += self._by_character[first]
        return found

    def matches(self, expression: re.Pattern[str], searched: SearchedText, *, is_folded: bool) -> list[re.Match[str]]:
        """Find the matches of an expression that begin with one of the texts, in order.

        Args:
            expression: what is looked for.
            searched: where.
            is_folded: it is matched in lower case, and so are the texts.
        """
        text, found = searched.folded if is_folded else searched.text, list[re.Match[str]]()
        for beginning in self.possible_in(searched):
            found += begun_by(expression, text, beginning)
        return sorted(found, key=lambda match: match.start())


def begun_by(expression: re.Pattern[str], text: str, beginning: str) -> list[re.Match[str]]:
    """Find the matches of an expression that begin with a fixed text, in order; much faster than searching for it."""
    matches = []
    at = text.find(beginning)
    while at >= 0:
        if match := expression.match(text, at):
            matches.append(match)
        at = text.find(beginning, at + 1)
    return matches
