"""Secrets in a hex dump (`xxd`, `hexdump -C`, `od -t x1z`, `tcpdump -X`): their digits and their printed characters.

The bytes of adjacent lines are joined and searched as a text, so a secret that continues in the next line is found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .found import Secret
from .searched_text import SearchedText

_HINT = "000"
"""A part of every offset near the beginning of a dump."""
_LINE = re.compile(
    r"^[ \t]{0,8}(?:0x)?[0-9a-fA-F]{4,16}:?[ \t]{1,3}(?=[0-9a-fA-F]{2})(?P<rest>[^\n]{2,200})", re.MULTILINE
)
_PAIR = "[0-9a-fA-F]{2}"
_PAIRS = re.compile(_PAIR)
_LAYOUTS = (
    re.compile(rf"(?P<hex>{_PAIR}(?:[ ]{{1,2}}{_PAIR}){{0,31}})[ ]{{1,60}}\|(?P<shown>[^\n]{{1,32}})\|"),
    re.compile(
        rf"(?P<hex>{_PAIR}(?:[ ]{_PAIR}){{7}}[ ]{{2}}{_PAIR}(?:[ ]{_PAIR}){{0,7}})[ ]{{2,60}}>?(?P<shown>[^\n]{{0,32}})"
    ),
    re.compile(
        rf"(?P<hex>(?:{_PAIR}){{1,8}}(?:[ ](?:{_PAIR}){{1,8}}){{0,31}})(?:[ ]{{2,80}}>?(?P<shown>[^\n]{{0,32}})|[ ]?$)"
    ),
)
"""The layouts of dump lines: `hexdump -C`; with a gap after eight bytes; in groups of equal length."""
_READABLE = range(0x20, 0x7F)
_IN_TEXT = frozenset((*_READABLE, *b"\t\n\r"))
_AS_TEXT = bytes([code if code in _IN_TEXT else 0x20 for code in range(256)])


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a hex dump."""

    end: int
    """The end of the line in the text."""
    first: int
    """The number of bytes in the lines before."""
    content: bytes
    digits: list[tuple[int, int]]
    """The start and end of each byte's digits in the text."""
    shown: tuple[int, int]
    """The start and end of the printed column in the text; an empty span if there is none."""


def find_in_hex_dumps(searched: SearchedText, search: Callable[[str], list[Secret]]) -> list[Secret]:
    """Find the hexadecimal digits and printed characters of secrets in hex dumps.

    Args:
        searched: the text with the dumps.
        search: finds the secrets in the bytes of a dump, given as a text.
    """
    text = searched.text
    found = list[Secret]()
    if _HINT not in text:
        return found
    for dump in _dumps(text):
        content = b"".join([line.content for line in dump]).translate(_AS_TEXT).decode("ascii")
        for secret in search(content):
            for line in dump:
                found += _pieces(line, secret)
    return found


def _dumps(text: str) -> Iterator[list[_Line]]:
    """Yield the dumps of a text, each as its adjacent lines."""
    dump: list[_Line] = []
    for match in _LINE.finditer(text):
        if dump and match.start() > dump[-1].end + 1:
            yield dump
            dump = []
        first = dump[-1].first + len(dump[-1].content) if dump else 0
        line = _line(text, match, first)
        if line is not None:
            dump.append(line)
    if dump:
        yield dump


def _line(text: str, match: re.Match[str], first: int) -> _Line | None:
    """Return a line of a dump; None if its printed column differs from its digits."""
    for layout in _LAYOUTS:
        parts = layout.match(match["rest"].rstrip("\r"))
        if parts is None:
            continue
        content = bytes.fromhex(parts["hex"])
        printed = (parts["shown"] or "")[: len(content)]
        if _is_print_of(printed, content):
            offset = match.start("rest")
            digits = [(offset + pair.start(), offset + pair.end()) for pair in _PAIRS.finditer(parts["hex"])]
            shown_start = offset + parts.start("shown") if printed else 0
            return _Line(match.end(), first, content, digits, (shown_start, shown_start + len(printed)))
    return None


def _is_print_of(printed: str, content: bytes) -> bool:
    """Return whether the printed column of a line shows all readable bytes of the line."""
    pairs = zip(printed, content, strict=False)
    return all(letter == chr(code) for letter, code in pairs if code in _READABLE)


def _pieces(line: _Line, secret: Secret) -> Iterator[Secret]:
    """Yield the pieces of a secret that are in a line; the secret is in the bytes of the dump."""
    start = max(secret.start - line.first, 0)
    end = min(secret.end - line.first, len(line.content))
    if start >= end:
        return
    kind = f"{secret.kind} in a hex dump"
    yield Secret(line.digits[start][0], line.digits[end - 1][1], kind)
    shown_start, shown_end = line.shown
    if shown_start + start < shown_end:
        yield Secret(shown_start + start, min(shown_start + end, shown_end), kind)
