r"""Replace the matches of an expression in a text, also where the text is written in another encoding.

A person who removes `pässwort` means the word and not its spelling: a tool's result often is JSON with `p\u00e4sswort`
in it, an address has `p%C3%A4sswort`, and a terminal may change the colour within a word. So a text with such an
encoding is matched a second time, as a person reads it (`messages/secrets/readable.py`).

Where an expression has a space, the text may also have a `+`, a space that does not break, or the end of a line. Only
the space is widened so: `.` still ends at the end of a line. A space in a set or behind a backslash stays a space, and
an expression with the flag `x` is not widened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import regex

from ..messages.secrets.readable import AROUND_CHARS as WORD_AROUND_CHARS
from ..messages.secrets.readable import Reading, json_readings, readings
from .pattern import SlowPatternError, exact_literals

AROUND_CHARS = 5_000
"""The number of characters on both sides of an encoded character in which a match is looked for, if the match may be
longer than a word."""
REPLACE_S = 10.0
"""The longest processor time, in seconds, in which matches in one text are replaced."""
_ENCODED = regex.compile(r"[\\%&=\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2060-\u2064\ufeff]|\^\[")
"""A character with which an encoding begins, or a character that no terminal shows."""
_ENCODED_IN_WORD = "(?:2[dDeE]|3[0-9]|[46][1-9A-Fa-f]|5[0-9aAfF]|7[0-9aA])"
"""The two hexadecimal digits of a character of a plain word: a letter, a digit, `_`, `-` or `.`."""
_WITHIN_WORD = regex.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2060-\u2064\ufeff]|\^\["
    r"|&(?:#|shy;|zw|Zero|NoBreak;|amp;(?:amp;)*#)"
    r"|\\(?:e|u002[56]|u005[cC]|[01][0-7]{2}|u20[06]|u[fF][eE][fF][fF]|u\{|U000)"
    rf"|\\(?:u00|x)(?:[0189]|7[fF]|[aA][dD]|{_ENCODED_IN_WORD})"
    rf"|%(?:2[56]|5[cC]|[01]|7[fF]|[cC]2%|[eE]2%8|[eE][fF]%|{_ENCODED_IN_WORD})"
    r"|=(?:2D|5F|C2=|E2=8|\r?\n)"
)
"""The same characters, as far as they may be within a plain word. Nobody needs to encode the letters of such a word,
but may do so."""
_OTHER_SPACE = regex.compile(r"[+\u00a0\u202f\u2007\n]")
"""A character that may stand where an expression has a space."""
_ANY_SPACE = r"(?:[ +\u00a0\u202f\u2007]|\r?\n)"
_SPACE_OR_PIECE = regex.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?\#[^)]*\)|(?P<space>[ ])", regex.DOTALL)
"""A space of an expression; before it are tried the pieces in which a space stays: an escape, a set, a comment."""
_VERBOSE = regex.compile(r"(?<!\\)\(\?[aiLmsu]*x")
"""The flag with which spaces of an expression mean nothing."""
_SAME_IN_ALL = regex.compile(r"(?:[A-Za-z0-9_-]|\\[._-])+")
"""An expression for a single plain word. JSON doubles none of its characters."""


_Search = tuple[regex.Pattern[str], Sequence[Sequence[str]]]
"""An expression, and its `exact_literals`."""


def replace_matches(
    expression: regex.Pattern[str],
    replacement: str,
    text: str,
    *,
    taken: set[str] | None = None,
    literals: Sequence[Sequence[str]] = ((),),
) -> str:
    """Replace every match in a text and return the new text.

    Args:
        expression: what is replaced.
        replacement: the text in its place.
        text: any text.
        taken: a set to which the matches are added; of a match in another encoding, the match and its spelling.
        literals: the expression's `exact_literals`. A text without them is not matched.

    Raises:
        SlowPatternError: the expression takes too much time or memory; the text was not searched to its end.
    """
    try:
        is_word = _SAME_IN_ALL.fullmatch(expression.pattern) is not None
        is_encoded = (_WITHIN_WORD if is_word else _ENCODED).search(text) is not None
        searches = [(expression, literals)]
        widened = _widened(expression) if is_encoded or _OTHER_SPACE.search(text) else None
        if widened is not None:  # the first, since an optional part with a space belongs to its match
            searches.insert(0, widened)
        for searched, its_literals in searches:
            if _may_match(text, its_literals):
                text = _replace_plain(searched, replacement, text, taken)
        if not is_encoded:
            return text
        decoded = _decoded(text, expression, is_word=is_word)
        return _replace_encoded(searches, replacement, text=text, taken=taken, decoded=decoded)
    except (TimeoutError, MemoryError) as error:
        raise SlowPatternError("the expression takes too much time or memory on one of the texts") from error


def _decoded(text: str, expression: regex.Pattern[str], *, is_word: bool) -> Iterable[Reading]:
    """Yield the readings of a text without its encodings. JSON doubles no character of a plain word."""
    around_chars = max(len(expression.pattern), WORD_AROUND_CHARS if is_word else AROUND_CHARS)
    yield from readings(text, around_chars)
    if not is_word:
        yield from json_readings(text, around_chars)


@lru_cache(maxsize=64)
def _widened(expression: regex.Pattern[str]) -> _Search | None:
    """Return an expression whose spaces also match what may stand for a space; None if there is no space to widen."""
    pattern = expression.pattern
    if expression.flags & regex.VERBOSE or _VERBOSE.search(pattern):
        return None
    wide = _SPACE_OR_PIECE.sub(lambda piece: _ANY_SPACE if piece["space"] else piece[0], pattern)
    if wide == pattern:
        return None
    widened = regex.compile(wide, expression.flags)
    return widened, exact_literals(wide, widened)


def _replace_plain(expression: regex.Pattern[str], replacement: str, text: str, taken: set[str] | None) -> str:
    def replace(match: regex.Match[str]) -> str:
        if taken is not None:
            taken.add(match.group())
        return replacement

    return expression.sub(replace, text, concurrent=True, timeout=REPLACE_S)


def _replace_encoded(
    searches: Sequence[_Search],
    replacement: str,
    text: str,
    taken: set[str] | None,
    decoded: Iterable[Reading],
) -> str:
    """Replace the matches that only the decoded text has."""
    spans = set[tuple[int, int]]()
    for reading in decoded:
        for match in _matches(searches, reading.text):
            if match.start() == match.end():
                continue
            start, end = reading.original(match.start(), match.end())
            if text[start:end] == match.group():
                continue
            spans.add((start, end))
            if taken is not None:
                taken.update((match.group(), text[start:end]))
    for start, end in reversed(list(_merged(sorted(spans)))):
        text = text[:start] + replacement + text[end:]
    return text


def _matches(searches: Sequence[_Search], text: str) -> Iterator[regex.Match[str]]:
    for expression, literals in searches:
        if _may_match(text, literals):
            yield from expression.finditer(text, concurrent=True, timeout=REPLACE_S)


def _merged(spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield spans, which must be sorted. Overlapping spans become one."""
    last: tuple[int, int] | None = None
    for start, end in spans:
        if last is not None and start < last[1]:
            last = last[0], max(last[1], end)
            continue
        if last is not None:
            yield last
        last = start, end
    if last is not None:
        yield last


def _may_match(text: str, alternatives: Sequence[Sequence[str]]) -> bool:
    """Return whether a text contains all texts of at least one alternative."""
    return any(all(literal in text for literal in literals) for literals in alternatives)
