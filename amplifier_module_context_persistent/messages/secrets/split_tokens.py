"""Keys of known forms that a program's text writes in several pieces: `'rk_live_' + 'Ab…'`, one piece a line.

The pieces around each join are read as one text; what is found there by its form goes from each of its pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .by_form import find_by_form, odd_words
from .found import Secret
from .searched_text import SearchedText

_JOIN = re.compile(
    r"""
    (?P<quote>["'`\\])
    (?: (?<=[\w/+=.-]["'`])
        (?: [ \t]{0,20} (?:\+\+?|[.&]|\.\.|\|\|)? [ \t]{0,20}
            (?:\\?\r?\n[ \t]{1,80}) (?:\+\+?|[.&]|\.\.|\|\|)? [ \t]{0,20}
          | [ \t]{0,20} (?:\+\+?|[.&]|\.\.|\|\|) [ \t]{0,20} )
        [bruf]? (?P=quote) (?=[\w/+=-])
      | (?<=[\w/+=-]\\) \r?\n [ \t]{0,20} (?=[\w/+=-]) )
    """,
    re.VERBOSE,
)
_PIECE = re.compile(r"[\w/+=.-]+", re.ASCII)
_PIECE_CHARS = 400
Span = tuple[int, int]


def find_split_tokens(searched: SearchedText) -> list[Secret]:
    """Find the pieces of the keys that a text has in several pieces."""
    found = list[Secret]()
    for pieces in _chains(searched.text):
        joined = "".join([searched.text[start:end] for start, end in pieces])
        for secret in find_by_form(SearchedText(joined), odd_words(joined)):
            found += _in_pieces(secret, pieces)
    return found


def _chains(text: str) -> Iterator[list[Span]]:
    """Yield where the pieces are that are joined to each other."""
    pieces = list[Span]()
    for join in _JOIN.finditer(text):
        if not pieces or pieces[-1][1] != join.start():
            if pieces:
                yield pieces
            before = _PIECE.match(text[max(0, join.start() - _PIECE_CHARS) : join.start()][::-1])
            pieces = [(join.start() - (len(before[0]) if before else 0), join.start())]
        after = _PIECE.match(text, join.end(), join.end() + _PIECE_CHARS)
        pieces.append((join.end(), after.end() if after else join.end()))
    if pieces:
        yield pieces


def _in_pieces(secret: Secret, pieces: list[Span]) -> Iterator[Secret]:
    """Yield the parts of a secret of the joined text where they are in its pieces."""
    at = 0
    for start, end in pieces:
        first, last = max(secret.start, at), min(secret.end, at + end - start)
        if first < last:
            yield Secret(start + first - at, start + last - at, secret.kind)
        at += end - start
