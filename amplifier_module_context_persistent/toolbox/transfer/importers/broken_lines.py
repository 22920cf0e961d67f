"""Whole JSON objects in a line that is not one JSON value.

Writers that were killed, or that wrote at the same time, leave such lines: two records on one line, a whole record
behind one that was cut, a record behind a run of NULs, or a record that line breaks inside a text divide.

Rules:
- Each whole object is taken, in order; the rest is told with its place and size.
- An object inside a cut record is no record. A record behind a cut one is taken only if nothing but whole records
  follows it up to the end of the line.
- The work is bounded, whatever the line contains.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

__all__ = ["Piece", "is_whole_object", "pieces_of"]

_DECODER = json.JSONDecoder(strict=False)  # other programs do not escape line breaks and tabs in texts
_FILLING = re.compile(r"[\s\0\ufeff]*")
_RECORD_BEGIN = re.compile(r'\{\s*"')
_MOST_WORK_CHARACTERS = 64 << 20
"""About how much is decoded to find the records behind a cut one: under a second."""


class Piece(NamedTuple):
    """A part of a line: a whole object, or text that is lost."""

    offset: int
    """In characters, from the beginning of the line."""
    characters: int
    value: dict[str, Any] | None = None
    """None if the part is lost."""


def pieces_of(line: str) -> list[Piece]:
    """Split a line into whole objects and lost parts.

    Bytes between objects are neither: a comma, runs of NULs, white space and byte order marks.
    """
    pieces, at = _chain(line, 0)
    if at < len(line) and not _is_filling(line, at):
        behind, start = _records_at_the_end(line, at)
        pieces.append(Piece(at, start - at))
        pieces += behind
    return pieces


def is_whole_object(line: str) -> bool:
    """Whether a text is one JSON object, also if there are line breaks inside its strings."""
    found = _object_at(line, 0)
    return found is not None and _is_filling(line, found[1])


def _chain(line: str, start: int) -> tuple[list[Piece], int]:
    """The successive whole objects from a place on, and their end; a comma may follow each."""
    pieces = list[Piece]()
    end = start
    while (found := _object_at(line, begin := _skip_filling(line, end))) is not None:
        value, end = found
        pieces.append(Piece(begin, end - begin, value))
        if line.startswith(",", behind := _skip_filling(line, end)):
            end = behind + 1
    return pieces, end


def _records_at_the_end(line: str, cut: int) -> tuple[list[Piece], int]:
    """The whole objects after a cut one, up to the end of the line, and their beginning (the line's end if none)."""
    work = 0
    inner = list[Piece]()  # in case that no other is found: the record before it was cut right behind `:`, `,` or `[`
    for match in _RECORD_BEGIN.finditer(line, cut + 1):
        begin = match.start()
        pieces, end = _chain(line, begin)
        if pieces and _is_filling(line, end):
            if not line[cut:begin].rstrip().endswith((":", ",", "[")):
                return pieces, begin
            inner = inner or pieces
        work += (end if pieces else len(line)) - begin
        if work > max(_MOST_WORK_CHARACTERS, len(line)):
            break
    return inner, inner[0].offset if inner else len(line)


def _object_at(line: str, at: int) -> tuple[dict[str, Any], int] | None:
    """The object that begins at a place, and its end; None if no whole object begins there."""
    if not line.startswith("{", at):
        return None
    try:
        value, end = _DECODER.raw_decode(line, at)
    except (ValueError, RecursionError):
        return None
    return value, end


def _skip_filling(line: str, at: int) -> int:
    filling = _FILLING.match(line, at)
    return filling.end() if filling else at


def _is_filling(line: str, at: int) -> bool:
    return _skip_filling(line, at) == len(line)
