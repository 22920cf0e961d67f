"""The lines of a file of JSON Lines, parsed.

Rules:
- Of a line over `MOST_LINE_BYTES` the texts that make it long are left out (`long_line.py`); one that is long without
  such texts is passed over.
- A line that is not one JSON value is mended if it can be: whole records in it are taken (`broken_lines.py`), and a
  record that line breaks divide is put together.
"""

from __future__ import annotations

import io
import json
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from ....log.record_line import may_be_rounded
from .broken_lines import Piece, is_whole_object, pieces_of
from .long_line import LongLine

MOST_LINE_BYTES = 64 << 20
BLOCK_BYTES = 1 << 20
BOM = b"\xef\xbb\xbf"
CUT = "; the file ends within this line"
_MOST_CONTINUED_LINES = 200
_MOST_CONTINUED_BYTES = 4 << 20


class Line(NamedTuple):
    """A line of the file: its number from 1, its offset, and its JSON value, or why it has none.

    A line that is not one JSON value gives a `Line` for each whole object in it and each lost part.
    """

    number: int
    offset: int
    value: Any = None
    error: str = ""
    is_blank: bool = False
    is_continued: bool = False
    """Whether the line belongs to the record that began on the line before it."""
    is_lost_part: bool = False
    """Whether the line holds whole records besides this part."""
    left_out: tuple[int, ...] = ()
    """The bytes of each text that was left out, since the line is too long."""


def parse_json(content: bytes) -> Any:
    """Parse JSON, also such as `orjson` refuses: NaN, and lone surrogates, which cut texts of other programs hold.

    Raises:
        ValueError: it is none, or is nested too deeply.
    """
    try:
        value = orjson.loads(content.removeprefix(BOM))
        return value if not may_be_rounded(content, value) else json.loads(content.removeprefix(BOM))
    except orjson.JSONDecodeError as refused:
        try:
            return json.loads(content.removeprefix(BOM).decode("utf-8"))
        except RecursionError:
            raise ValueError("nested too deeply") from None
        except ValueError:
            raise ValueError(f"not JSON: {refused.msg}") from None


def as_object(value: Any) -> Any:
    """A value; if it is a text that is the JSON of an object, as programs write that encode twice, the object."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            inner = parse_json(value.encode("utf-8"))
        except ValueError:
            return value
        return inner if isinstance(inner, dict) else value
    return value


def read_lines(opened: io.BufferedReader) -> Iterator[Line]:
    """Yield the lines in order, blank ones too."""
    file = _LineReader(opened)
    while (content := file.next_line()) is not None:
        number, start = file.number, file.start
        if content.startswith(b"{") and content.endswith(b"}\n") and not file.left_out:  # as nearly all do
            try:
                value = parse_json(content)
            except ValueError:
                pass
            else:
                content = b""  # a long line is in memory once while its value is used
                yield Line(number, start, value)
                continue
        if file.left_out:
            yield _parsed(number, start, content)._replace(left_out=file.left_out)
        elif file.skipped_bytes:
            error = f"the line has {file.skipped_bytes:,} bytes; at most {MOST_LINE_BYTES:,} are read"
            yield Line(number, start, error=error)
        elif not content.strip():
            yield Line(number, start, is_blank=True)
        else:
            line = _parsed(number, start, content)
            yield from [line] if not line.error else _mended(line, content, file)


def _parsed(number: int, offset: int, content: bytes) -> Line:
    try:
        return Line(number, offset, as_object(parse_json(content.removesuffix(b"\n"))))
    except ValueError as error:
        if not content.strip(b"\0\r\n"):
            return Line(number, offset, error=f"{content.count(0):,} NUL bytes, as a power cut leaves them")
        return Line(number, offset, error=str(error) if content.endswith(b"\n") else f"{error}{CUT}")


class _LineReader:
    """The lines of a file one after the other, with a look at the lines that come next."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file
        self._ahead = deque[bytes]()
        self._end = 0
        self.number = 0
        """Of the line that was read last, from 1."""
        self.start = 0
        """The offset at which this line begins."""
        self.skipped_bytes = 0
        """The size of this line if it is too long to be read, else 0."""
        self.left_out: tuple[int, ...] = ()
        """The bytes of each text that was left out of this line."""

    def next_line(self) -> bytes | None:
        """Read a line; None at the end of the file."""
        content = self._ahead.popleft() if self._ahead else self._file.readline(MOST_LINE_BYTES + 1)
        if not content:
            return None
        self.number += 1
        self.start, self._end = self._end, self._end + len(content)
        self.skipped_bytes, self.left_out = 0, ()
        if len(content) > MOST_LINE_BYTES and not content.endswith(b"\n"):
            return self._shortened(content)
        return content

    def _shortened(self, content: bytes) -> bytes:
        """Read a line to its end and shorten it; its beginning if it cannot be shortened."""
        line, begin = LongLine(MOST_LINE_BYTES), content[:1]
        while content:
            line.feed(content)
            if content.endswith(b"\n"):
                break
            content = self._file.readline(BLOCK_BYTES)
            self._end += len(content)
        if line.is_too_long or not line.left_out:
            self.skipped_bytes = self._end - self.start - len(content[-1:])
            return begin
        self.left_out = tuple(line.left_out)
        return line.finish()

    def look_ahead(self, most_lines: int, most_bytes: int) -> Iterator[bytes]:
        """Yield the lines that come next; they are still to be read."""
        seen = 0
        for position in range(most_lines):
            if position == len(self._ahead):
                content = self._file.readline(MOST_LINE_BYTES + 1)
                if not content:
                    return
                self._ahead.append(content)
            seen += len(self._ahead[position])
            if seen > most_bytes:
                return
            yield self._ahead[position]


def _mended(line: Line, content: bytes, file: _LineReader) -> Iterator[Line]:
    """Whole records in a line that is not one JSON value, a record that goes on in the next lines, and lost parts."""
    try:
        text = content.decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError:
        yield line
        return
    pieces = pieces_of(text)
    found = sum(piece.value is not None for piece in pieces)
    if not found and (continued := _continued(text, file)):
        yield Line(line.number, line.offset, continued[0].value)
        for _ in range(continued[1]):
            file.next_line()
            yield Line(file.number, file.start, is_continued=True)
        return
    if not found:
        yield line
        return
    for piece in pieces:
        offset = line.offset + len(text[: piece.offset].encode("utf-8"))
        if piece.value is not None:
            yield Line(line.number, offset, piece.value)
        else:
            lost = f"{piece.characters:,} characters that are no whole record, beside {found} whole on the same line"
            yield Line(line.number, offset, error=lost, is_lost_part=True)


def _continued(text: str, file: _LineReader) -> tuple[Piece, int] | None:
    """The record that begins with a line and continues in the next ones, and their number; None if there is none.

    Some programs do not escape line breaks inside a text. A document with line breaks between its values is not such a
    record.
    """
    if not text.lstrip().startswith("{"):
        return None
    joined = [text]
    for count, content in enumerate(file.look_ahead(_MOST_CONTINUED_LINES, _MOST_CONTINUED_BYTES), 1):
        try:
            joined.append(content.decode("utf-8").removesuffix("\n"))
        except UnicodeDecodeError:
            return None
        if is_whole_object(joined[-1]):
            return None  # another record begins here: the one before it was cut
        if joined[-1].rstrip().endswith("}"):
            record = "\n".join(joined)
            if is_whole_object(record):
                return None if _is_strict_json(record) else (pieces_of(record)[0], count)
    return None


def _is_strict_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True
