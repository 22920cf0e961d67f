"""Read and parse the lines of a JSON Lines file.

Rules:
- If a line is longer than `MOST_LINE_BYTES`, the texts that make it long are left out (`long_line.py`). If it has no
  such texts, it is skipped.
- A line that is not one JSON value is repaired if possible: whole records in it are read (`broken_lines.py`), and a
  record that is divided by line breaks is joined.
"""

from __future__ import annotations

import io
import json
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from ....log.record_line import may_be_rounded
from ..imports.spool import LARGE_BYTES
from .broken_lines import Piece, is_whole_object, pieces_of
from .long_line import LongLine

MOST_LINE_BYTES = 64 << 20
BLOCK_BYTES = 1 << 20
BOM = b"\xef\xbb\xbf"
CUT = "; the file ends within this line"
_LONG_LINE_BYTES = 16 << 20
_MOST_CONTINUED_LINES = 200
_MOST_CONTINUED_BYTES = 4 << 20


class SourceObject(NamedTuple):
    """A JSON object of a source, with its line number, or its number in a document's list."""

    number: int
    value: dict[str, Any]


class Line(NamedTuple):
    """A line of the file: its number, from 1, its offset in bytes, and its JSON value or an error.

    A line that is not one JSON value becomes several `Line` objects: one for each whole object in it and for each lost
    part.
    """

    number: int
    offset: int
    value: Any = None
    size: int = 0
    """The size of a line with an object in bytes, with its LF."""
    error: str = ""
    is_blank: bool = False
    is_continued: bool = False
    """Whether the line is part of a record that began on an earlier line."""
    is_lost_part: bool = False
    """Whether this is a lost part of a line that also has whole records."""
    left_out: tuple[int, ...] = ()
    """The size in bytes of each text that was left out because the line is too long."""


def parse_json(content: bytes) -> Any:
    """Parse JSON, including NaN and lone surrogates, which `orjson` refuses.

    Other programs write lone surrogates when they cut texts.

    Raises:
        ValueError: the bytes are not JSON, or are nested too deeply.
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


def _object_in(text: str) -> dict[str, Any] | None:
    """Return the object in a long line, or None if the line is not one JSON object.

    The standard library parses the line, because it needs a third less memory for a long line than `orjson`.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def as_object(value: Any) -> Any:
    """Return the object that a text encodes as JSON, or any other value unchanged.

    Some programs encode objects twice.
    """
    if isinstance(value, str) and value.startswith("{"):
        try:
            inner = parse_json(value.encode("utf-8"))
        except ValueError:
            return value
        return inner if isinstance(inner, dict) else value
    return value


def read_lines(file: LineReader) -> Iterator[Line]:
    """Yield the lines in order, including blank ones."""
    while file.next_line():
        yield from _lines_of(file)


def read_objects(file: LineReader) -> Iterator[SourceObject | Line]:
    """Yield the lines in order: the object of each usual line, and any other line as `read_lines` does.

    A usual line has one JSON object, and at most `LARGE_BYTES`, and nothing of it was left out.
    """
    while file.next_line():
        content = file.content
        is_usual = len(content) <= LARGE_BYTES and not file.left_out
        if is_usual and content.startswith(b"{") and content.endswith(b"}\n"):
            try:
                value = parse_json(content)
            except ValueError:
                pass
            else:
                yield SourceObject(file.number, value)
                continue
        content = b""  # so that a long line is not in memory twice
        yield from _lines_of(file)


def _lines_of(file: LineReader) -> Iterator[Line]:
    """Yield the line that was read last, and drop its bytes. It becomes several lines if it is not one JSON value."""
    number = file.number
    start = file.start
    content = file.content
    file.content = b""
    size = len(content)
    if size > _LONG_LINE_BYTES and content.isascii():
        text = content.decode("ascii")
        content = b""  # so that a long line is not in memory twice
        value = _object_in(text)
        if value is not None:
            text = ""
            yield Line(number, start, value, size, left_out=file.left_out)
            return
        content = text.encode("ascii")
        text = ""
    if content.startswith(b"{") and content.endswith(b"}\n") and not file.left_out:
        try:
            value = parse_json(content)
        except ValueError:
            pass
        else:
            content = b""  # so that a long line is not in memory twice
            yield Line(number, start, value, size)
            return
    if file.left_out:
        yield _parsed(number, start, content)._replace(left_out=file.left_out)
    elif file.skipped_bytes:
        error = f"the line has {file.skipped_bytes:,} bytes; at most {MOST_LINE_BYTES:,} are read"
        yield Line(number, start, error=error)
    elif not content.strip():
        yield Line(number, start, is_blank=True)
    else:
        line = _parsed(number, start, content)
        if line.error:
            yield from _mended(line, content, file)
        else:
            yield line


def _parsed(number: int, offset: int, content: bytes) -> Line:
    try:
        return Line(number, offset, as_object(parse_json(content.removesuffix(b"\n"))), len(content))
    except ValueError as error:
        if not content.strip(b"\0\r\n"):
            return Line(number, offset, error=f"{content.count(0):,} NUL bytes, as a power cut leaves them")
        return Line(number, offset, error=str(error) if content.endswith(b"\n") else f"{error}{CUT}")


class LineReader:
    """Reads the lines of a file one after the other, and can also look at the next lines in advance.

    Args:
        file: the file.
    """

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file
        self._ahead = deque[bytes]()
        self._end = 0
        self.content = b""
        """The current line, or what is left of it."""
        self.number = 0
        """The number of the line that was read last, from 1."""
        self.start = 0
        """The offset of the current line, in bytes."""
        self.skipped_bytes = 0
        """The size of the current line in bytes if the line is too long to be read, else 0."""
        self.left_out: tuple[int, ...] = ()
        """The size in bytes of each text that was left out of the current line."""

    def next_line(self) -> bool:
        """Read the next line into `content`. Return False at the end of the file."""
        content = self._ahead.popleft() if self._ahead else self._file.readline(MOST_LINE_BYTES + 1)
        if not content:
            return False
        self.number += 1
        self.start = self._end
        self._end = self._end + len(content)
        self.skipped_bytes = 0
        self.left_out = ()
        if len(content) > MOST_LINE_BYTES and not content.endswith(b"\n"):
            content = self._shortened(content)
        self.content = content
        return True

    def _shortened(self, content: bytes) -> bytes:
        """Read a long line to its end, and return the shortened line.

        If the line cannot be shortened, return its first byte.
        """
        line = LongLine(MOST_LINE_BYTES)
        begin = content[:1]
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
        """Yield the next lines in advance: `next_line` returns these lines again."""
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


def _mended(line: Line, content: bytes, file: LineReader) -> Iterator[Line]:
    """Yield the records and the lost parts of a line that is not one JSON value.

    A record may continue in the next lines.
    """
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


def _continued(text: str, file: LineReader) -> tuple[Piece, int] | None:
    """Return a record that begins with a line and continues in the next lines, and the number of these lines.

    Return None if there is no such record. Some programs do not escape line breaks inside a text. A JSON document with
    line breaks between its values is another case.
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
            return None  # another record begins here, so the one before it was cut
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
