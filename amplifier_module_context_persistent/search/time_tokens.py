"""Divide a question into words, numbers and dates, with the meanings that each may have in an expression of time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from .accents import without_accents
from .time_words import Kind, Meanings, vocabulary

_BEFORE_DATE = r"(?<![\w/.:-])"
_AFTER_DATE = r"(?![\w/:-]|\.\w)"
"""An expression for the text after a date. A date within a path, a version or a file's name is not a time."""
_DATES = (
    re.compile(rf"{_BEFORE_DATE}(?P<year>\d{{4}})(?P<by>[-/])(?P<month>\d\d)(?P=by)(?P<day>\d\d)"
        rf"(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?{_AFTER_DATE}"),
    re.compile(rf"{_BEFORE_DATE}(?P<day>\d\d?)\. ?(?P<month>\d\d?)\. ?(?P<year>\d{{4}}){_AFTER_DATE}"),
    re.compile(rf"{_BEFORE_DATE}(?P<day>1[3-9]|2\d|3[01])/(?P<month>\d\d?)/(?P<year>\d{{4}}){_AFTER_DATE}"),
    re.compile(rf"{_BEFORE_DATE}(?P<month>\d\d?)/(?P<day>1[3-9]|2\d|3[01])/(?P<year>\d{{4}}){_AFTER_DATE}"),
    re.compile(rf"{_BEFORE_DATE}(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2]){_AFTER_DATE}"),
    re.compile(rf"{_BEFORE_DATE}(?P<day>\d\d?)\. ?(?P<month>\d\d?)\.(?!\w|\.)"),
)  # fmt: skip
"""Dates in figures. If two figures may both be the month, the date is ambiguous and not read."""
_WORD = re.compile(r"\d+(?:st|nd|rd|th|er|e)?(?![^\W\d_])|[^\W\d_]+|\d+|_+")
_NUMBER = re.compile(r"\d+")
_GAP = re.compile(r"[\s,.'\u2019-]{0,3}")
_MOST_WORDS_TOGETHER = 4


@dataclass(frozen=True, slots=True)
class Date:
    """A date in figures. A missing part is 0."""

    year: int
    month: int
    day: int


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a group of words, a number, or a date.

    Attributes:
        start, stop: the token's place in the text.
        number: the token's value if it is a number, else -1.
        date: the date, or None.
        meanings: what the words may mean in an expression of time.
    """

    start: int
    stop: int
    number: int
    date: Date | None
    meanings: Meanings


_NONE: Mapping[Kind, float] = MappingProxyType({})


def tokens_of(text: str, languages: tuple[str, ...]) -> list[Token]:
    """Divide a question into tokens.

    Args:
        text: the question.
        languages: the languages whose words are known.
    """
    known = vocabulary(languages)
    words = list[tuple[int, int, str]]()
    dates = list(_dates_in(text))
    tokens: list[Token] = []
    at = 0
    for start, stop, date in [*dates, (len(text), len(text), None)]:
        words = [(found.start(), found.end(), found[0]) for found in _WORD.finditer(text, at, start)]
        tokens += _grouped(words, known)
        if date is not None:
            tokens.append(Token(start, stop, -1, date, _NONE))
        at = stop
    return tokens


def may_follow(text: str, one: Token, other: Token) -> bool:
    """Return whether only spaces, a comma, a point or an apostrophe are between two tokens."""
    return _GAP.fullmatch(text, one.stop, other.start) is not None


def _dates_in(text: str) -> Iterator[tuple[int, int, Date]]:
    at = 0
    while (date := _first_date(text, at)) is not None:
        numbers = {name: int(value) for name, value in date.groupdict().items() if name != "by"}
        yield date.start(), date.end(), Date(numbers.get("year", 0), numbers["month"], numbers.get("day", 0))
        at = date.end()


def _first_date(text: str, at: int) -> re.Match[str] | None:
    """Find the first date from a position on; None if there is none.

    If several expressions match at the same place, the earliest in `_DATES` is used.
    """
    matches = [pattern.search(text, at) for pattern in _DATES]
    found = [match for match in matches if match is not None]
    return min(found, key=lambda match: match.start(), default=None)


def _grouped(words: Sequence[tuple[int, int, str]], known: Mapping[tuple[str, ...], Meanings]) -> Iterator[Token]:
    """Yield the tokens of words. Several words that have a meaning together become one token.

    Args:
        words: the start, the end and the text of each word.
        known: the meanings of words, or of several words together, without accents.
    """
    plain = tuple(without_accents(word) for _, _, word in words)
    first = 0
    while first < len(words):
        count = _words_together(plain[first : first + _MOST_WORDS_TOGETHER], known)
        start, _, _ = words[first]
        _, stop, _ = words[first + count - 1]
        meanings = known.get(plain[first : first + count], _NONE)
        yield Token(start, stop, _number_of(plain[first]), None, meanings)
        first += count


def _words_together(plain: tuple[str, ...], known: Mapping[tuple[str, ...], Meanings]) -> int:
    """Return how many words at the beginning of `plain` have a meaning together; 1 if no two have."""
    for count in range(len(plain), 1, -1):
        if plain[:count] in known:
            return count
    return 1


def _number_of(word: str) -> int:
    """Return the number with which a word begins; -1 for a word without a number, or with too many digits."""
    digits = _NUMBER.match(word)
    if digits is None or len(digits[0]) > _MOST_DIGITS:
        return -1
    return int(digits[0])


_MOST_DIGITS = 4
