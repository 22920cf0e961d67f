"""What a search looks for: a text, or a regular expression that cannot run away.

`re` cannot be interrupted and lets no other thread run, so an expression is judged before it is used. Rules:
- Where case does not matter, a text is found whatever the case of its letters (of ASCII letters, where it is ASCII).
- An expression has at most `MOST_CHARS` characters and refers back to nothing. No repeat holds another repeat or
  alternatives (exponential time), at most `len(_WINDOWS) - 1` repeats are open-ended (polynomial time), and it is
  matched in windows of a text, the shorter the more of them it has: the worst that one can cost is about 0.2 s. Windows
  end at ends of lines; a line that is longer is matched in windows that overlap by a quarter.
- `needle` is what the record of a matching message must hold, as bytes: where there is one, a line without it need not
  be parsed. It is given only where no JSON writer of ours would have written these characters otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from re import _parser  # type: ignore[attr-defined]  # the expression as `re` itself reads it
from typing import Any

from ..errors import RecallError
from ..log.record import CRC_TAIL_BYTES, MARK

MOST_CHARS = 200
_WINDOWS = (4_000, 4_000, 500, 200)
"""How long a window is, by the number of open-ended repeats."""
_FEW = 50  # a repeat that may run this often or less counts as so many alternatives
_MOST_ALTERNATIVES = 100  # ways to go, multiplied
_MORE_CASES = frozenset("iks")
"""ASCII letters that `re` takes for letters beyond ASCII too, where case does not matter."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_REFUSED = {
    "GROUPREF": "refers back to a group",
    "GROUPREF_IGNORE": "refers back to a group",
    "GROUPREF_EXISTS": "depends on whether a group matched",
}


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a search looks for."""

    expression: re.Pattern[str]
    window_chars: int = 0
    """How much of a text is matched at once; 0 is all of it."""
    needle: bytes = b""
    ignores_case: bool = False
    text: str = ""
    """The text as it was asked for; empty for an expression."""

    @property
    def has_capitals(self) -> bool:
        """Whether it is a text whose case was meant: one with a capital letter."""
        return self.text != self.text.lower()

    def may_match(self, line: bytes) -> bool:
        """Whether the message of a line that we wrote may match; cheap, without parsing it."""
        if self.needle in (line.lower() if self.ignores_case else line):
            return True
        return not self.needle.isascii() and line.endswith(MARK, 0, -CRC_TAIL_BYTES)  # such a line is all ASCII

    def spans(self, text: str, *, expired: Callable[[], bool] = lambda: False) -> Iterator[tuple[int, int]]:
        """Places and ends of the matches that are not empty; stops early once `expired`, asked between windows."""
        behind = 0
        for start, end in _windows(text, self.window_chars or len(text)):
            if expired():
                return
            for match in self.expression.finditer(text, start, end):
                if match.end() > match.start() >= behind:
                    behind = match.end()
                    yield match.span()


def text_pattern(query: str, *, ignore_case: bool = True) -> Pattern:
    """Look for a text."""
    flags = re.IGNORECASE | (re.ASCII if query.isascii() else re.NOFLAG) if ignore_case else re.NOFLAG
    needle = (query.lower() if ignore_case else query).encode() if _is_plain(query, any_case=ignore_case) else b""
    return Pattern(re.compile(re.escape(query), flags), needle=needle, ignores_case=ignore_case, text=query)


def regex_pattern(query: str, *, ignore_case: bool = False) -> Pattern:
    """Look for a regular expression; `^` and `$` stand for lines.

    Raises:
        RecallError: it is none, or one that could take for ever.
    """
    if len(query) > MOST_CHARS:
        raise RecallError(f"query: a regular expression has at most {MOST_CHARS} characters, not {len(query):,}")
    try:
        flags = re.MULTILINE | (re.IGNORECASE if ignore_case else re.NOFLAG)
        parsed = _parser.parse(query, flags)
        cost = _Cost()
        cost.add(parsed)
        expression = re.compile(query, flags)
    except (re.error, OverflowError, RecursionError, FutureWarning, DeprecationWarning) as error:
        raise RecallError(f"query: not a regular expression: {error}") from error
    if cost.open_ended >= len(_WINDOWS) or cost.alternatives > _MOST_ALTERNATIVES:
        most = len(_WINDOWS) - 1
        raise RecallError(f"query: this expression could take for ever: use at most {most} open-ended repeats")
    any_case = bool(parsed.state.flags & re.IGNORECASE)
    needle = _longest_literal(parsed, any_case=any_case).encode()
    return Pattern(expression, _WINDOWS[cost.open_ended], needle, any_case)


class _Cost:
    """How many ways a matcher that backtracks may have to try at one place."""

    def __init__(self) -> None:
        self.open_ended = 0
        self.alternatives = 1

    def add(self, tokens: Any, *, repeated: bool = False) -> None:
        for operator, argument in tokens:
            name = str(operator)
            if name in _REFUSED:
                raise RecallError(f"query: this expression {_REFUSED[name]}, which a search does not do")
            if name.endswith("REPEAT"):
                least, most, body = argument
                if repeated:
                    raise RecallError("query: a repeat within a repeat could take for ever; use a set, as in [\\w.]+")
                self._add_repeat(int(most) - int(least))
                self.add(body, repeated=int(most) > 1)
            elif name == "BRANCH":
                if repeated:
                    raise RecallError("query: alternatives within a repeat could take for ever; repeat a set instead")
                self.alternatives *= len(argument[1])
                for body in argument[1]:
                    self.add(body)
            elif isinstance(argument, _parser.SubPattern):
                self.add(argument, repeated=repeated)
            elif name != "IN" and isinstance(argument, tuple):
                for body in argument:
                    if isinstance(body, _parser.SubPattern):
                        self.add(body, repeated=repeated)

    def _add_repeat(self, more: int) -> None:
        if more > _FEW:
            self.open_ended += 1
        else:
            self.alternatives *= more + 1


def _windows(text: str, most: int) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(text):
        end, following = start + most, start + most
        if end < len(text):
            newline = text.rfind("\n", start, end)
            end = following = newline + 1 if newline >= start else end
            if newline < start:
                following = end - most // 4
        yield start, min(end, len(text))
        start = following


def _longest_literal(tokens: Any, *, any_case: bool) -> str:
    """The longest run of characters that every match holds and that stand in a record as they are (in lower case)."""
    runs: list[str] = [""]
    for operator, argument in tokens:
        literal = chr(argument) if str(operator) == "LITERAL" else ""
        if any_case:
            literal = literal.lower()
        if literal and _is_plain(literal, any_case=any_case) and not (any_case and literal in _MORE_CASES):
            runs[-1] += literal
        else:
            runs.append("")
    return max(runs, key=len)


def _is_plain(text: str, *, any_case: bool) -> bool:
    """Whether JSON has no other way to write it, as we write JSON; with `any_case`, letters beyond ASCII have one."""
    return (text.isascii() if any_case else not _SURROGATE.search(text)) and all(
        char >= " " and char not in '"\\\x7f' for char in text
    )


def compile_pattern(query: str, *, regex: bool) -> Pattern:
    """Make a pattern of a query.

    Raises:
        RecallError: as `regex_pattern`.
    """
    return regex_pattern(query) if regex else text_pattern(query)
