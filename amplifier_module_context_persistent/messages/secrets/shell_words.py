"""Words of a command line with their places, as a shell reads them, or from a list of arguments in code or YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_MOST_WORDS = 60
_SHELL = re.compile(
    r"""[ \t]{1,40} (?:\\\r?\n[ \t]{0,40})? (?=[^\s|;&<>])
    (?: (?P<flag>-{1,2}[\w-]{1,40}=)? (?P<quote>\\*["'])(?P<quoted>[^"'\n\\]{0,4000})(?P=quote)
      | (?P<bare>(?:[^\s"'|;&<>\\]|\\[ -~]|["'](?=[^\s|;&<>])){1,2000}) )""",
    re.VERBOSE,
)
_LISTED = re.compile(r"""\\*["']?\s{0,40},\s{0,40}\\*["'](?P<bare>[^"'\n\\]{0,2000})(?=\\*["'])""")
_ITEM = re.compile(
    r"""["']?[ \t]{0,20}\r?\n[ \t]{0,40}-[ ]{1,4}(?P<quote>["']?)"""
    r"""(?P<bare>[^\s"'][^"'\n]{0,2000}?)(?=(?P=quote)[ \t]{0,20}(?:\r?\n|\Z))"""
)
"""An item of a YAML list."""


class Word(NamedTuple):
    """A word of a command line, without its quotes."""

    text: str
    start: int
    flag: str = ""
    """The flag to which the word is attached in quotes: `--token=` of `--token="x"`; "" if there is none."""


def words_behind(text: str, end: int) -> Iterator[Word]:
    """Yield the words after the name of a command, up to the end of the command.

    Args:
        text: any text.
        end: the end of the command's name.
    """
    if _ITEM.match(text, end):
        expression = _ITEM
    elif text[end : end + 1] in ("'", '"', "\\"):
        expression = _LISTED
    else:
        expression = _SHELL
    for _ in range(_MOST_WORDS):
        word = expression.match(text, end)
        if word is None:
            return
        end = word.end()
        if expression is _SHELL and word["quoted"] is not None:
            yield Word(word["quoted"], word.start("quoted"), word["flag"] or "")
        else:
            yield Word(word["bare"], word.start("bare"))
