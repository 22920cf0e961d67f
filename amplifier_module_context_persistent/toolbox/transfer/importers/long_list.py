"""The entries of a JSON list that is too long to be parsed at once: exports of chats are hundreds of megabytes.

Rules:
- Memory holds a block and one entry; an entry over `most_chars` is refused.
- An error in an entry is reported with its number. Earlier entries were yielded before.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

_BLOCK_BYTES = 1 << 20
_BLANK = re.compile(r"[ \t\r\n]*")
_BEGIN = re.compile(r"[ \t\r\n]*\[")
_WORD = re.compile(r"[\w.+\\-]*")
_OPEN_TEXT = "Unterminated string"
_NEAR_END = 32
"""An error so near to the end of what was read may be due to what comes next: a name or a number that is cut."""
_DECODER = json.JSONDecoder()


class LongListError(ValueError):
    """A long list cannot be read on; says at which entry, and why."""


def entries_in(file: BinaryIO, begin: int, most_chars: int) -> Iterator[Any]:
    """Give the entries of a list, one after the other.

    Args:
        file: is read from its beginning on.
        begin: how many bytes there are before the list.
        most_chars: longer entries are refused.

    Raises:
        LongListError: an entry is no JSON, or too long; the list is cut, or something follows it.
    """
    file.read(begin)
    reader = _Reader(file, most_chars)
    if not reader.skip(_BEGIN):
        raise LongListError("it is no list")
    is_end = reader.next_sign() == "]"
    while not is_end:
        yield reader.value()
        sign = reader.next_sign()
        is_end = sign == "]"
        if not is_end and sign != ",":
            raise LongListError(reader.told("a comma is missing after it" if sign else "the file is cut after it"))
        reader.at += 1
    reader.at += reader.number == 0  # an empty list
    if reader.next_sign():
        raise LongListError(reader.told("something follows the list"))


class _Reader:
    """The read part of the file, and a place in it."""

    def __init__(self, file: BinaryIO, most_chars: int) -> None:
        self._file, self._most_chars = file, most_chars
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._text = ""
        self._is_end = False
        self.at = 0
        self.number = 0
        """Of the last entry."""

    def told(self, what: str) -> str:
        """The error in the last entry."""
        return f"entry {self.number:,} of the list: {what}"

    def skip(self, pattern: re.Pattern[str]) -> bool:
        """Skip what a pattern matches; whether it matches here."""
        self.next_sign()
        found = pattern.match(self._text, self.at)
        self.at = found.end() if found else self.at
        return found is not None

    def next_sign(self) -> str:
        """The next character that is not blank; "" at the end of the file."""
        while True:
            found = _BLANK.match(self._text, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self._text) or self._is_end:
                return self._text[self.at : self.at + 1]
            self._read(_BLOCK_BYTES)

    def value(self) -> Any:
        """Parse the entry that begins here.

        Raises:
            LongListError: it is no JSON, too long, or cut.
        """
        self.number += 1
        self.next_sign()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self.at)
            except json.JSONDecodeError as error:
                if not self._may_go_on(error) or self._is_end:
                    is_cut = self._is_end and self._ends_in(error)
                    raise LongListError(self.told("the file is cut in it" if is_cut else error.msg)) from None
            except RecursionError:
                raise LongListError(self.told("nested too deeply")) from None
            else:
                if end < len(self._text) or self._is_end:
                    self.at = end
                    return value
            read = len(self._text) - self.at
            if read > self._most_chars:
                raise LongListError(self.told(f"it is longer than {self._most_chars:,} characters"))
            self._read(max(_BLOCK_BYTES, read))  # as much again: a long entry is not parsed too often

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        """Whether what comes next may mend an error."""
        return error.msg.startswith(_OPEN_TEXT) or error.pos >= len(self._text) - _NEAR_END

    def _ends_in(self, error: json.JSONDecodeError) -> bool:
        """Whether an error is that the text ends."""
        return error.msg.startswith(_OPEN_TEXT) or _WORD.fullmatch(self._text, error.pos) is not None

    def _read(self, size: int) -> None:
        content = self._file.read(size)
        self._is_end = len(content) < size
        try:
            added = self._decode(content, self._is_end)
        except UnicodeDecodeError as error:
            raise LongListError(self.told(f"no UTF-8 text: {error.reason}")) from None
        self._text, self.at = self._text[self.at :] + added, 0
