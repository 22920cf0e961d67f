"""Find whole JSON objects in a line that is not one JSON value.

Writers that were killed, or that wrote at the same time, leave such lines: two records on one line, a whole record
after a cut one, a record after a run of NULs, or a record that is divided by line breaks inside a text.

Rules:
- Each whole object is read, in order; other text is reported with its place and size.
- An object inside a cut record is not a record. A record after a cut one is read only if the rest of the line consists
  of whole records.
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
"""The approximate number of characters that are decoded, in less than a second, to find records after a cut record."""


class Piece(NamedTuple):
    """A part of a line: a whole object, or lost text."""

    offset: int
    """The offset in the line, in characters."""
    characters: int
    value: dict[str, Any] | None = None
    """The object; None if the part is lost text."""


def pieces_of(line: str) -> list[Piece]:
    """Split a line into whole objects and lost parts.

    Fillers between objects belong to neither: a comma, NULs, white space and byte order marks.
    """
    pieces, at = _chain(line, 0)
    if at < len(line) and not _is_filling(line, at):
        behind, start = _records_at_the_end(line, at)
        pieces.append(Piece(at, start - at))
        pieces += behind
    return pieces


def is_whole_object(line: str) -> bool:
    """Return whether a text is one JSON object. Its strings may contain line breaks."""
    found = _object_at(line, 0)
    return found is not None and _is_filling(line, found[1])


def _chain(line: str, start: int) -> tuple[list[Piece], int]:
    """Return the successive whole objects from an offset on, and the offset after them.

    Each object may be followed by a comma.
    """
    pieces = list[Piece]()
    end = start
    while True:
        begin = _skip_filling(line, end)
        found = _object_at(line, begin)
        if found is None:
            return pieces, end
        value, end = found
        pieces.append(Piece(begin, end - begin, value))
        comma = _skip_filling(line, end)
        if line.startswith(",", comma):
            end = comma + 1


def _records_at_the_end(line: str, cut: int) -> tuple[list[Piece], int]:
    """Return the whole objects after a cut one, up to the end of the line, and the offset of the first.

    If there are none, the offset is the line's end.
    """
    work = 0
    inner = list[Piece]()  # used if nothing else is found: the record before was cut right after `:`, `,` or `[`
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
    """Return the object that begins at an offset, and the offset after it, or None if no whole object begins there."""
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
