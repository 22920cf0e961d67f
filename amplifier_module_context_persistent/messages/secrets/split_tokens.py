"""Keys of known forms that a program's text writes in several pieces: `'rk_live_' + 'Ab…'`, `concat('rk_live_', …)`.

The pieces around each join are searched as one text. A secret that is found there by its form is found in each of its
pieces.
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
"""The text between two pieces."""
_BEHIND_PREFIX = re.compile(
    r"""
    (?: ["'`] (?<=[A-Za-z0-9][_-]["'`]) (?=[\s,)+.$;<(]) (?:[\s,)(+.$;<{]|append|concat|push|write){1,40} [bruf]? ["'`]
      | [$\#] \{ (?<=[A-Za-z0-9][_-][$\#]\{) [ ]? ["'] ) (?=[A-Za-z0-9])
    """,
    re.VERBOSE,
)
"""The text between two pieces if the first one ends like the beginning of a key (`ghp_`).

It may also be the comma of a list or a call, a call that appends, or the brackets of a template.
"""
_IN_WORDS = re.compile(r"[ ](?<=[A-Za-z0-9][_-][ ])(?=[A-Za-z0-9 ]{12,400}[\])}|>])")
"""A space in `%w[…]`."""
_ENDS_OF_PREFIXES = tuple([f"{end}{sign}" for end in "_-" for sign in ("'", '"', "`", "${", "#{")])
_COMMA = re.compile(r"(?P<quote>[\"'])\s{0,4},\s{0,40}(?P=quote)(?=\w)")
_PIECE = re.compile(r"[\w/+=.-]+", re.ASCII)
_PIECE_CHARS = 400
_MOST_PIECES = 40
Span = tuple[int, int]


def find_split_tokens(searched: SearchedText) -> list[Secret]:
    """Find the keys that are in several pieces in a text, and return the pieces."""
    found = list[Secret]()
    text = searched.text
    joins = [*_JOIN.finditer(text)]
    if any(map(text.__contains__, _ENDS_OF_PREFIXES)):
        joins += _BEHIND_PREFIX.finditer(text)
    if "%w" in text:
        joins += _IN_WORDS.finditer(text)
    for pieces in _chains(text, sorted(joins, key=re.Match.start)):
        joined = "".join([searched.text[start:end] for start, end in pieces])
        for secret in find_by_form(SearchedText(joined), odd_words(joined)):
            found += _in_pieces(secret, pieces)
    return found


def _chains(text: str, joins: list[re.Match[str]]) -> Iterator[list[Span]]:
    """Yield the places of the pieces that are joined to each other, a list for each key in pieces."""
    pieces = list[Span]()
    for join in joins:
        if pieces and join.start() < pieces[-1][1]:  # the join is inside the last piece
            continue
        is_next = bool(pieces) and pieces[-1][1] == join.start() and len(pieces) < _MOST_PIECES
        if not is_next:
            if pieces:
                yield pieces
            pieces = [_piece_before(text, join.start())]
        pieces.append(_piece_after(text, join.end()))
        may_be_list = join.re is _BEHIND_PREFIX
        if may_be_list:
            pieces += _further_items(text, pieces[-1], _MOST_PIECES - len(pieces))
    if pieces:
        yield pieces


def _piece_before(text: str, end: int) -> Span:
    """Return the place of the piece that ends at a position; an empty span if there is none."""
    backwards = text[max(0, end - _PIECE_CHARS) : end][::-1]
    piece = _PIECE.match(backwards)
    length = len(piece[0]) if piece else 0
    return end - length, end


def _piece_after(text: str, start: int) -> Span:
    """Return the place of the piece that starts at a position; an empty span if there is none."""
    piece = _PIECE.match(text, start, start + _PIECE_CHARS)
    return start, piece.end() if piece else start


def _further_items(text: str, piece: Span, most: int) -> Iterator[Span]:
    """Yield the places of up to `most` pieces that follow a piece in a list or a call, each after a comma."""
    for _ in range(most):
        start, end = piece
        comma = _COMMA.match(text, end) if end > start else None
        if comma is None:
            return
        piece = _piece_after(text, comma.end())
        yield piece


def _in_pieces(secret: Secret, pieces: list[Span]) -> Iterator[Secret]:
    """Yield the parts of a secret that was found in the joined pieces, each with its place in the whole text."""
    at = 0
    for start, end in pieces:
        first = max(secret.start, at)
        last = min(secret.end, at + end - start)
        if first < last:
            yield Secret(start + first - at, start + last - at, secret.kind)
        at += end - start
