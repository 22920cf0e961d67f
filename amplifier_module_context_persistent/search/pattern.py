"""Patterns: a search looks for a text, or for a regular expression in the syntax of Python's `re`.

Expressions come from models, so none may stop the process. They are matched by `regex`, which lets other threads run
during a match, and gives up after a given time; `re` does neither. Rules:

- If case is ignored, a text is found in any case of its letters (of its ASCII letters, if the text is ASCII).
- `re` decides what is a valid expression. Its size is bounded, because `regex` copies the body of a counted repeat
  such as `{9}`.
- A text is matched in windows of `_WINDOW_CHARS`. That bounds the memory of one match, and the work of `regex` between
  two looks at the clock. Windows end at ends of lines; in a longer line they overlap by a quarter.
- A window that takes over `WINDOW_S` ends the search of this text with `SlowPatternError`. Callers also limit the time
  of a whole message: `MESSAGE_S` in `sessions/pattern_in_session` and in `session/recall`.
- `needle` is a run of bytes that the record of every matching message contains: a line without it need not be parsed.
  There is a needle only if all our JSON writers write its characters in the same way.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import regex

from ..errors import ContextPersistentError, RecallError
from ..log.checksum import CRC_TAIL_BYTES
from ..log.record_line import MARK
from .accents import either_form, forms_of, in_either_form
from .expression import literals_of, longest_plain, size_of

MOST_CHARS = 200
"""The most characters of a regular expression."""
MOST_TEXT_CHARS = 1_000
"""The most characters of a text to look for."""
MOST_SIZE = 20_000
"""The largest size of a regular expression after its counted repeats are written out."""
_WINDOW_CHARS = 1 << 14
WINDOW_S = 0.5  # seconds of processor time
_SURROGATE = re.compile("[\ud800-\udfff]")
_BRACE_OR_ESCAPE = re.compile(r"\\.|\{(?!\d*,?\d*\})", re.DOTALL)
"""An escaped character, or a brace that begins no count."""


class SlowPatternError(ContextPersistentError):
    """Raised if an expression takes too much time or memory on a text. The part that was not searched may match."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A text or an expression to search for."""

    expression: regex.Pattern[str]
    needle: bytes = b""
    ignores_case: bool = False
    text: str = ""
    """The text of the search, unchanged, or "" for a regular expression."""
    literals: tuple[tuple[str, ...], ...] = ((),)
    """Alternatives: every match contains all texts of at least one of them, in any case of letters."""

    @property
    def has_capitals(self) -> bool:
        """Whether the pattern is a text with a capital letter, so that its case is probably intended."""
        return self.text != self.text.lower()

    def may_match(self, line: bytes) -> bool:
        """Return whether the message in a line of this package may match.

        The check is fast, because the line is not parsed.
        """
        if self.needle in (line.lower() if self.ignores_case else line):
            return True
        return not self.needle.isascii() and line.endswith(MARK, 0, -CRC_TAIL_BYTES)  # such a line is all ASCII

    def spans(self, text: str, *, expired: Callable[[], bool] = lambda: False) -> Iterator[tuple[int, int]]:
        """Yield the start and the end of each match that is not empty.

        Args:
            text: what is searched.
            expired: whether to give up; asked before each window.

        Raises:
            SlowPatternError: `expired` said so, or a window took too much time or memory.
        """
        done = 0
        for start, end in _windows(text, ends_at_lines="\n" not in self.text):
            if expired():
                raise SlowPatternError("the expression takes too much time")
            for first, last in self._in_window(text, start, end):
                is_empty = last == first
                is_known = first < done  # windows overlap
                is_cut = last == end < len(text) and text[end - 1] != "\n"  # the next window has the whole match
                if not (is_empty or is_known or is_cut):
                    done = last
                    yield first, last

    def _in_window(self, text: str, start: int, end: int) -> list[tuple[int, int]]:
        """Return all matches in a window at once, so that the caller's time between matches does not count.

        A window that takes too long is tried once more, because the first time may include a pause of the whole
        process, such as a collection of garbage.

        Raises:
            SlowPatternError: the window took too much time twice, or too much memory.
        """
        with suppress(TimeoutError):
            return self._found(text, start, end)
        try:
            return self._found(text, start, end)
        except TimeoutError as error:
            raise SlowPatternError("the expression takes too much time") from error

    def _found(self, text: str, start: int, end: int) -> list[tuple[int, int]]:
        try:
            matches = self.expression.finditer(text, start, end, concurrent=True, timeout=WINDOW_S)
            return [match.span() for match in matches]
        except MemoryError as error:
            raise SlowPatternError("the expression takes too much memory") from error


def text_pattern(query: str, *, ignore_case: bool = True) -> Pattern:
    """Make the pattern that finds a text.

    Raises:
        RecallError: the text is too long.
    """
    if len(query) > MOST_TEXT_CHARS:
        raise RecallError(f"query: a text to look for has at most {MOST_TEXT_CHARS:,} characters, not {len(query):,}")
    flags = 0
    if ignore_case:
        flags = regex.IGNORECASE
        if query.isascii():
            flags |= regex.ASCII
    forms = forms_of(query)
    if len(forms) > 1:
        each_alone = tuple((form,) for form in forms)
        return Pattern(_compiled(either_form(query), flags), b"", ignore_case, query, literals=each_alone)
    needle = ""
    if is_plain(query, any_case=ignore_case):
        needle = query.lower() if ignore_case else query
    return Pattern(_compiled(regex.escape(query), flags), needle.encode(), ignore_case, query, literals=((query,),))


def matches_only_empty(query: str) -> bool:
    """Return whether a valid expression of `re` matches only empty places, as `^` and `(?=x)` do."""
    _, most = re._parser.parse(query).getwidth()  # type: ignore[attr-defined]  # unknown to typeshed
    return bool(most == 0)


EACH_LINE = int(re.MULTILINE)
"""The flags with which expressions are searched and purged: `^` and `$` match at the ends of lines."""


def regex_pattern(query: str, *, ignore_case: bool = False) -> Pattern:
    """Make the pattern of a regular expression. `^` and `$` match at the ends of lines.

    Raises:
        RecallError: the expression is invalid or too large.
    """
    if len(query) > MOST_CHARS:
        raise RecallError(f"query: a regular expression has at most {MOST_CHARS} characters, not {len(query):,}")
    query = in_either_form(query)
    flags = EACH_LINE
    if ignore_case:
        flags |= re.IGNORECASE
    expression = compile_regex(query, flags)
    any_case = bool(expression.flags & regex.IGNORECASE)  # also if the expression itself says so, as `(?i)`
    alternatives = literals_of(query)
    needle = ""
    if len(alternatives) == 1:  # a record need not contain the literals of one alternative of several
        (literals,) = alternatives
        needle = longest_plain(literals, any_case=any_case, is_plain=partial(is_plain, any_case=any_case))
    return Pattern(expression, needle.encode(), any_case, literals=tuple(tuple(literals) for literals in alternatives))


def compile_regex(query: str, flags: int = 0) -> regex.Pattern[str]:
    """Compile an expression of `re`, with flags of `re`, for `regex`.

    Raises:
        RecallError: the expression is invalid or too large.
    """
    try:
        _check_valid(query, flags)
        if size_of(query) > MOST_SIZE:
            raise RecallError(f"query: its counted repeats expand to more than {MOST_SIZE:,} characters; use * or +")
        return _compiled(_with_escaped_braces(query), flags)
    except FutureWarning as doubt:  # a later Python may read it differently
        raise RecallError(
            f"query: ambiguous: {doubt}; put a backslash before a character that is meant literally"
        ) from doubt
    except (re.error, regex.error, OverflowError, RecursionError, Warning) as error:
        raise RecallError(f"query: not a regular expression: {error}") from error


def _check_valid(query: str, flags: int) -> None:
    """Raise an exception or a warning if `re` does not accept an expression, or accepts it with a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        re.compile(query, flags)


def _with_escaped_braces(query: str) -> str:
    """Escape each brace that is no count: in `re` it is an ordinary character, in `regex` it may allow for errors."""
    return _BRACE_OR_ESCAPE.sub(lambda found: r"\{" if found[0] == "{" else found[0], query)


def exact_literals(query: str, expression: regex.Pattern[str]) -> list[list[str]]:
    """Return alternatives of texts: every match contains all texts of at least one of them, letter by letter.

    If the expression ignores case, return one alternative without texts. A search for the texts first is up to a
    hundred times as fast as matching an expression with alternatives.
    """
    return [[]] if expression.flags & regex.IGNORECASE else literals_of(query)


def compile_pattern(query: str, *, regex: bool) -> Pattern:
    """Make the pattern of a query.

    Raises:
        RecallError: an error of `text_pattern` or `regex_pattern`.
    """
    return regex_pattern(query) if regex else text_pattern(query)


def _compiled(query: str, flags: int) -> regex.Pattern[str]:
    return regex.compile(query, flags | regex.VERSION0)


def _windows(text: str, *, ends_at_lines: bool) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(text):
        end = following = start + _WINDOW_CHARS
        if end < len(text):
            newline = text.rfind("\n", start, end) if ends_at_lines else -1
            end = following = newline + 1 if newline >= start else end
            if newline < start:
                following = end - _WINDOW_CHARS // 4
        yield start, min(end, len(text))
        start = following


def is_plain(text: str, *, any_case: bool) -> bool:
    """Return whether our JSON writers write a text in only one way.

    With `any_case`, a text with letters beyond ASCII is not plain.
    """
    if any_case and not text.isascii():
        return False
    if not any_case and _SURROGATE.search(text):
        return False
    return all(char >= " " and char not in '"\\\x7f' for char in text)
