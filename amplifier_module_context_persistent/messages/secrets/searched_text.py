"""A text that is searched for secrets, with facts that several searches need, each computed when first used.

Most rules begin with a word: a command, a label, a name in another language. `Beginnings` searches for such a word only
if a word of the text begins with the same letters. That needs one pass over the text for all rules, instead of one for
each rule.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property

from .found import Secret, hidden

_LETTERS = 4
"""The number of first letters by which words are told apart if a beginning ends within a word."""
_PIECE_CHARS = 1_000_000
_OVERLAP_CHARS = 500
_WORD = re.compile("[a-z]+")
_SPACES = bytes([code if 97 <= code <= 122 else 32 for code in range(256)])
"""A table that turns all bytes except the letters from `a` to `z` into spaces."""
_DIGIT = re.compile("[0-9]")


class SearchedText:
    """A text that is searched for secrets, with facts that several searches need.

    Args:
        text: the text to search, in which secrets that were already found are hidden.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: list[tuple[int, int]] = []
        """The starts and ends of names without a secret beside them, as `named_values` found them."""

    def with_hidden(self, found: Collection[Secret]) -> SearchedText:
        """Return the text with secrets hidden; its words are not computed again."""
        rest = SearchedText(hidden(self.text, found))
        rest.words = self.words
        rest.beginnings = self.beginnings
        rest.names = self.names
        if "_listed_words" in self.__dict__:
            rest._listed_words = self._listed_words
        return rest

    @cached_property
    def folded(self) -> str:
        """The text in lower case, of the same length."""
        text = self.text
        return text.lower() if text.isascii() else text.replace("\u0130", "i").replace("\u017f", "s").lower()

    @cached_property
    def has_digit(self) -> bool:
        """Whether the text has a digit."""
        return _DIGIT.search(self.text) is not None

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the text: runs of the letters `a` to `z` in lower case; also words that are hidden."""
        return frozenset[str]().union(*self.ordered_words())

    @cached_property
    def beginnings(self) -> dict[Beginnings, list[str]]:
        """The texts of each `Beginnings` that this text may contain, judging by its words."""
        return _begun_in(self)

    def ordered_words(self) -> Iterator[list[str]]:
        """Yield the words of the text in order, as one list or, for a long text, as several."""
        if len(self.text) <= _PIECE_CHARS:
            yield self._listed_words
            return
        for start in range(0, len(self.text), _PIECE_CHARS):
            yield _words_of(self.folded[max(0, start - _OVERLAP_CHARS) : start + _PIECE_CHARS])

    @cached_property
    def _listed_words(self) -> list[str]:
        return _words_of(self.folded)


def _words_of(folded: str) -> list[str]:
    """Return the runs of the letters `a` to `z` in order; three times as fast as an expression."""
    return folded.encode("utf-8", "surrogatepass").translate(_SPACES).decode("ascii").split()


class Beginnings:
    """Fixed texts with which the matches of a rule begin.

    Args:
        texts: the texts, in lower case or not. In a match of an ASCII text, no letter may be right before its first
            word. If the text ends with a word of less than four letters, no letter may follow.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        for text in texts:
            _register(self, text)

    def possible_in(self, searched: SearchedText) -> list[str]:
        """Return the texts that may begin a match in a searched text, judging by its words."""
        return searched.beginnings.get(self, [])

    def matches(self, expression: re.Pattern[str], searched: SearchedText, *, is_folded: bool) -> list[re.Match[str]]:
        """Return the matches of an expression that begin with one of the fixed texts, in order.

        Args:
            expression: the expression to match.
            searched: the text to search.
            is_folded: whether to search the text in lower case; the fixed texts must then be in lower case.
        """
        beginnings = self.possible_in(searched)
        if not beginnings:
            return []
        text = searched.folded if is_folded else searched.text
        found = list[re.Match[str]]()
        for beginning in beginnings:
            found += begun_by(expression, text, beginning)
        return sorted(found, key=lambda match: match.start())


def begun_by(expression: re.Pattern[str], text: str, beginning: str) -> list[re.Match[str]]:
    """Return the matches of an expression that begin with a fixed text, in order.

    This is much faster than a search with the expression alone.
    """
    matches = []
    at = text.find(beginning)
    while at >= 0:
        if match := expression.match(text, at):
            matches.append(match)
        at = text.find(beginning, at + 1)
    return matches


_Owned = dict[str, list[tuple[Beginnings, str]]]
_BY_WORD: _Owned = {}
"""The texts of all `Beginnings` in which the first word is followed by no letter, by that word."""
_BY_HEAD: _Owned = {}
"""The texts that end within a word, by the word's first letters."""
_BY_CHARACTER: _Owned = {}
"""The texts that are not ASCII, by their first character that is not ASCII."""
_PLAIN_WORDS: set[str] = set()
"""Words that begin no text of any `Beginnings`. Most words are such words, and most texts share these."""
_MOST_PLAIN_WORDS = 50_000
_MOST_WORD_CHARS = 40


def _register(owner: Beginnings, text: str) -> None:
    """Add a text to the table that shows, by a word, its first letters or a character, whether the text may occur."""
    _PLAIN_WORDS.clear()
    folded = text.lower()
    word = _WORD.search(folded)
    if word is None or not text.isascii():
        first = next(letter for letter in folded if not letter.isascii())
        _BY_CHARACTER.setdefault(first, []).append((owner, text))
    elif word.end() < len(text) or len(word[0]) < _LETTERS:
        _BY_WORD.setdefault(word[0], []).append((owner, text))
    else:
        _BY_HEAD.setdefault(word[0][:_LETTERS], []).append((owner, text))


def _begun_in(searched: SearchedText) -> dict[Beginnings, list[str]]:
    owned: list[tuple[Beginnings, str]] = []
    heads = set[str]()
    for word in searched.words - _PLAIN_WORDS:
        head = word[:_LETTERS]
        if word in _BY_WORD or head in _BY_HEAD:
            owned += _BY_WORD.get(word, ())
            heads.add(head)
        elif len(word) < _MOST_WORD_CHARS and len(_PLAIN_WORDS) < _MOST_PLAIN_WORDS:
            _PLAIN_WORDS.add(word)
    for head in heads:
        owned += _BY_HEAD.get(head, ())
    if not searched.text.isascii():
        for first in _BY_CHARACTER.keys() & set(searched.folded):
            owned += _BY_CHARACTER[first]
    found: dict[Beginnings, list[str]] = {}
    for owner, text in owned:
        found.setdefault(owner, []).append(text)
    return found
