"""Search for words: one message must contain all of them, in any order and any case.

The syntax is common to many search engines: `retry timeout` are two words; `"connection reset"` is a phrase, whose
words may be on two lines; `time*` is the beginning of a word. A word is a run of letters, digits and underscores. Any
other character separates the words of a phrase, so `os.path` is a phrase. Chinese, Japanese and Thai do not separate
words, so a term in their scripts is found anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from unicodedata import normalize

import regex

from ..errors import RecallError
from .accents import common_parts, either_form
from .expression import longest_plain
from .pattern import MOST_TEXT_CHARS, Pattern, is_plain

_TERM = re.compile(r'"(?P<phrase>[^"]*)"?(?P<begin>\*?)|(?P<plain>[^\s"]+)')
_WORD = re.compile(r"\w+")
_CJK = "\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff66-\uffdc\U00020000-\U0003ffff"
"""The characters of Chinese, Japanese and Korean, as ranges of an expression's set."""
UNPARTED = f"{_CJK}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_IN_A_WORD = rf"[^\W{UNPARTED}]"
_MOST_TERMS = 32


@dataclass(frozen=True)
class AllWords:
    """The words of a search, all of which a message must contain. This class has the methods of a `Pattern`."""

    terms: tuple[Pattern, ...]

    @cached_property
    def needle(self) -> bytes:
        """Bytes that the record of every matching message contains, or b"" if none are known."""
        return max((term.needle for term in self.terms), key=len)

    @property
    def literals(self) -> tuple[tuple[str, ...], ...]:
        """The texts that every matching text contains."""
        texts = list[str]()
        for term in self.terms:
            texts += term.literals[0]
        return (tuple(texts),)

    def may_match(self, line: bytes) -> bool:
        """Return whether the message in a line of this package may match.

        The check is fast, because the line is not parsed.
        """
        return all(not term.needle or term.may_match(line) for term in self.terms)

    def spans(self, text: str, *, expired: Callable[[], bool] = lambda: False) -> Iterator[tuple[int, int]]:
        """Yield the start and the end of each match, in order. If one of the words is missing, nothing is yielded.

        Raises:
            SlowPatternError: `expired` returned True.
        """
        all_spans: set[tuple[int, int]] = set()
        for term in self.terms:
            spans = set(term.spans(text, expired=expired))
            if not spans:
                return
            all_spans |= spans
        end = 0
        for first, last in sorted(all_spans):
            if last > end:
                yield max(first, end), last
                end = last


def words_pattern(query: str) -> AllWords:
    """Make the pattern that finds all words of a query.

    Raises:
        RecallError: the query is too long, or has no word.
    """
    if len(query) > MOST_TEXT_CHARS:
        raise RecallError(f"query: words to look for have at most {MOST_TEXT_CHARS:,} characters, not {len(query):,}")
    patterns = [_term(match) for match in _TERM.finditer(query)]
    terms = [pattern for pattern in patterns if pattern is not None]
    if not terms:
        raise RecallError("query: it holds no word")
    if len(terms) > _MOST_TERMS:
        raise RecallError(f"query: at most {_MOST_TERMS} words and phrases, not {len(terms)}")
    return AllWords(tuple(terms))


def _term(match: re.Match[str]) -> Pattern | None:
    """Return the pattern of one term of a query, a word or a phrase; None for a term without a word."""
    if match["plain"] is not None:
        text = match["plain"]
        is_beginning = text.endswith("*")
    else:
        text = match["phrase"]
        is_beginning = bool(match["begin"])
    words = _WORD.findall(normalize("NFC", text))
    if not words:
        return None
    first_character = words[0][0]
    last_character = words[-1][-1]
    before = "" if _is_unparted(first_character) else f"(?<!{_IN_A_WORD})"
    if is_beginning or _is_unparted(last_character):
        after = ""
    else:
        after = f"(?!{_IN_A_WORD})"
    between = r"\W+".join(map(either_form, words))
    expression = regex.compile(before + between + after, regex.IGNORECASE | regex.VERSION0)
    parts = list(chain.from_iterable(map(common_parts, words)))
    needle = longest_plain(parts, any_case=True, is_plain=partial(is_plain, any_case=True)).encode()
    # The text is a line break: a phrase may go over the ends of lines.
    return Pattern(expression, needle, ignores_case=True, text="\n", literals=(tuple(parts),))


def _is_unparted(char: str) -> bool:
    return re.match(f"[{UNPARTED}]", char) is not None
