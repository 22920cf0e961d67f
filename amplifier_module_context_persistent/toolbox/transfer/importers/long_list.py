"""Read the entries of a JSON list that is too long to be parsed at once.

Exports of chats can have hundreds of megabytes.

Rules:
- Memory holds a block and one entry. An entry that is too long (`most_chars`) or nested too deeply is skipped, and an
  `UnreadEntry` is given in its place.
- Any other error in an entry is reported with the entry's number, after the earlier entries were yielded.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

_BLOCK_BYTES = 1 << 20
_BLANK = re.compile(r"[ \t\r\n]*")
_BEGIN = re.compile(r"[ \t\r\n]*\[")
_WORD = re.compile(r"[\w.+\\-]*")
_OPEN_TEXT = "Unterminated string"
_NEAR_END = 32
"""An error this near the end of a block (in characters) may only mean that a name or a number is cut there."""
_DECODER = json.JSONDecoder()
_BRACKET_OR_QUOTE = re.compile(r'[\[\]{}"]')
_QUOTE_OR_ESCAPE = re.compile(r'"|\\.', re.DOTALL)
_TOO_DEEP = "nested too deeply"


class UnreadEntry(NamedTuple):
    """An entry that was skipped, and the reason."""

    reason: str


class LongListError(ValueError):
    """A long list cannot be read to its end. The message says at which entry, and why."""


def entries_in(file: BinaryIO, begin: int, most_chars: int) -> Iterator[Any]:
    """Yield the entries of a JSON list in a file, one after the other, without reading the whole list.

    Args:
        file: the file; it is read from its beginning on.
        begin: the number of bytes before the list.
        most_chars: the most characters of an entry; a longer one is skipped.

    Raises:
        LongListError: an entry is not JSON, the list is cut, or something follows it.
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
    """A part of the file, in memory, and a position in it."""

    def __init__(self, file: BinaryIO, most_chars: int) -> None:
        self._file = file
        self._most_chars = most_chars
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._text = ""
        self._is_end = False
        self.at = 0
        self.number = 0
        """The number of the last entry, from 1."""

    def told(self, what: str) -> str:
        """Return an error message that names the entry that was read last by its number, from 1."""
        return f"entry {self.number:,} of the list: {what}"

    def skip(self, pattern: re.Pattern[str]) -> bool:
        """Skip the text that a pattern matches at this position, and return whether it matches."""
        self.next_sign()
        found = pattern.match(self._text, self.at)
        self.at = found.end() if found else self.at
        return found is not None

    def next_sign(self) -> str:
        """Skip white space, and return the next character, or "" at the end of the file."""
        while True:
            found = _BLANK.match(self._text, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self._text) or self._is_end:
                return self._text[self.at : self.at + 1]
            self._read(_BLOCK_BYTES)

    def value(self) -> Any:
        """Parse the entry that begins at this position, and return it, or an `UnreadEntry` in its place.

        Raises:
            LongListError: the entry is not JSON, or cut.
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
                return self._skipped(_TOO_DEEP)
            else:
                if end < len(self._text) or self._is_end:
                    self.at = end
                    return value
            read = len(self._text) - self.at
            if read > self._most_chars:
                return self._skipped(f"it is longer than {self._most_chars:,} characters")
            self._read(max(_BLOCK_BYTES, read))  # doubles what is read, so that a long entry is not parsed too often

    def _skipped(self, reason: str) -> UnreadEntry:
        """Skip the entry that begins at this position, and return the reason.

        Raises:
            LongListError: the entry is neither an object, a list nor a text, or the file is cut in it.
        """
        if self._text[self.at] not in '[{"':
            raise LongListError(self.told(reason))
        depth, is_in_text = 0, False
        while True:
            found = (_QUOTE_OR_ESCAPE if is_in_text else _BRACKET_OR_QUOTE).search(self._text, self.at)
            if found is None:
                if self._is_end:
                    raise LongListError(self.told("the file is cut in it"))
                is_escape_cut = is_in_text and self.at < len(self._text) and self._text.endswith("\\")
                self.at = len(self._text) - is_escape_cut
                self._read(_BLOCK_BYTES)
                continue
            self.at = found.end()
            sign = found[0]
            if sign == '"':
                is_in_text = not is_in_text
            elif not is_in_text:
                depth += 1 if sign in "[{" else -1
            if not depth and not is_in_text:
                return UnreadEntry(self.told(reason))

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        """Return whether an error may disappear when more of the file is read."""
        return error.msg.startswith(_OPEN_TEXT) or error.pos >= len(self._text) - _NEAR_END

    def _ends_in(self, error: json.JSONDecodeError) -> bool:
        """Return whether an error means that the text ends too early."""
        return error.msg.startswith(_OPEN_TEXT) or _WORD.fullmatch(self._text, error.pos) is not None

    def _read(self, size: int) -> None:
        content = self._file.read(size)
        self._is_end = len(content) < size
        try:
            added = self._decode(content, self._is_end)
        except UnicodeDecodeError as error:
            raise LongListError(self.told(f"no UTF-8 text: {error.reason}")) from None
        self._text = self._text[self.at :] + added
        self.at = 0
