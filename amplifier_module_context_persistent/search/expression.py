"""Facts about a regular expression that need no matching: its size, and texts that every match contains."""

from __future__ import annotations

import re
from collections.abc import Callable

_MORE_CASES = frozenset("iks")
"""ASCII letters that also match letters beyond ASCII if case is ignored."""

_TOKEN = re.compile(
    r"""
      \\ (?P<escaped> [^A-Za-z0-9] )
    | (?P<class> \\[dDsSwWbBAZafnrtv] | [.^$] )
    | (?P<repeat> (?: [*+?] | \{ (?P<least>\d*) (?P<comma>,?) (?P<most>\d*) \} ) [?+]? )
    | (?P<set> \[ \^? \]? (?: \\. | [^\]\\\[] )* \] )
    | (?P<open> \( (?! \? ) | \(\? (?: [:=!>] | <[=!] | P<\w+> ) )
    | (?P<close> \) )
    | (?P<or> \| )
    | (?P<literal> [^\\\[({|)*+?] | \{ )
    | (?P<unknown> \\. | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_FLAGS = re.compile(r"\(\?([aimsu]+)\)")


def size_of(expression: str) -> int:
    """Count the single characters and sets of an expression after its counted repeats are written out."""
    sizes = [0]
    last = 0
    for token in _TOKEN.finditer(expression):
        if token["open"] or token["unknown"] == "(":
            sizes.append(0)
        elif token["close"] and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
        elif token["repeat"]:
            copies = int(token["most"] or token["least"] or 1)
            sizes[-1] += last * (copies - 1)
            last *= copies
        else:
            last = 1
            sizes[-1] += last
    return sum(sizes)


def literals_of(expression: str) -> list[list[str]]:
    """Find the runs of characters that every match contains, for each top-level alternative.

    Groups, sets and nested alternatives are not looked into. If the expression contains anything that is not known
    here, the answer is one alternative without runs. This is always correct, because it excludes no text.

    Args:
        expression: a valid regular expression.
    """
    flags = _FLAGS.match(expression)
    begin = flags.end() if flags else 0
    group_depth = 0
    alternatives = [[""]]  # the last text of an alternative is the run that the next character continues
    for token in _TOKEN.finditer(expression, begin):
        if token["unknown"]:
            return [[]]
        runs = alternatives[-1]
        literal = token["escaped"] or token["literal"]
        if token["or"] and group_depth == 0:
            alternatives.append([""])
        elif token["open"]:
            group_depth += 1
            runs.append("")
        elif token["close"]:
            group_depth -= 1
            runs.append("")
        elif group_depth > 0:
            continue
        elif token["repeat"]:
            if not token["repeat"].startswith("+"):
                runs[-1] = runs[-1][:-1]  # the character before it may be missing
            runs.append("")
        elif literal:
            runs[-1] += literal
        else:
            runs.append("")
    return [[run for run in runs if run] for runs in alternatives]


def longest_plain(runs: list[str], *, any_case: bool, is_plain: Callable[[str], bool]) -> str:
    """Return the longest part of these runs whose characters are all plain, or "" if there is none.

    Args:
        runs: the runs of one alternative, from `literals_of`.
        any_case: case is ignored; the part is given in lower case.
        is_plain: whether a character may be part of it.
    """
    parts = [""]
    for run in runs:
        parts.append("")
        text = run.lower() if any_case else run
        for char in text:
            if is_plain(char) and not (any_case and char in _MORE_CASES):
                parts[-1] += char
            else:
                parts.append("")
    return max(parts, key=len)
