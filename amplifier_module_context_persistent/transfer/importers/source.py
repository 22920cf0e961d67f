"""The file that an import reads: line by line, in bounded memory, decompressed where it is compressed.

Rules:
- The file is only read. A FIFO, a device or a directory is refused without waiting; `-` is the standard input.
- A line over `MOST_LINE_BYTES` is passed over in blocks and given as None; a JSON document over `MOST_DOCUMENT_BYTES`
  is refused, as it has to be parsed as a whole.
- A compressed file (gzip, zstd) is decompressed into a temporary file, with a limit on window, ratio and size.
"""

from __future__ import annotations

import codecs
import errno
import gzip
import json
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any, NamedTuple, Protocol

import orjson

from ...errors import ContextPersistentError, LogUnreadableError
from ...log.filesystem import FileSystem, open_file
from .account import Account

if sys.version_info >= (3, 14):  # pragma: no cover - the same interface in the standard library
    from compression import zstd
else:
    from backports import zstd

STANDARD_INPUT = "-"
MOST_LINE_BYTES = 64 << 20
MOST_DOCUMENT_BYTES = 64 << 20
MOST_DECOMPRESSED_BYTES = 4 << 30
_BLOCK_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"
_WINDOW_LOG = 25  # 32 MiB; what writes sessions uses at most 8
_FREE_BYTES = 256 << 20
_RATIO = 200  # sessions compress to about a tenth, repeated ones to a hundredth
_SAMPLE_LINES = 50
_SAMPLE_BYTES = 4 << 20
_SAMPLE_TEXT_BYTES = 4096


class ImportRefusedError(ContextPersistentError, ValueError):
    """The file holds nothing that can be imported, or is not of the format that was named; nothing was written."""


class TwoSessionsError(ImportRefusedError):
    """The file holds another session beside the one that it begins with."""

    def __init__(self, line: int, first: str, other: str) -> None:
        super().__init__(
            f"line {line:,} begins another session ({other!r}; the file begins with {first!r}): a file holds one "
            "session; cut it before that line, and import both parts"
        )


class Line(NamedTuple):
    """A line of the file: its number from 1, where it lies, and its bytes without LF; None if it is too long."""

    number: int
    offset: int
    length: int
    content: bytes | None
    is_cut: bool = False
    """Whether it is the last one and has no LF."""

    def parse(self) -> Any:
        """The JSON value of the line.

        Raises:
            ValueError: it is none; the message says why.
        """
        if self.content is None:
            raise ValueError(f"the line has {self.length:,} bytes; at most {MOST_LINE_BYTES:,} are read")
        try:
            return parse_json(self.content)
        except ValueError as error:
            cut = "; the file ends within this line" if self.is_cut else ""
            raise ValueError(f"{error}{cut}") from None


def parse_json(content: bytes) -> Any:
    """Parse JSON, also such as `orjson` refuses: NaN, and lone surrogates, which cut texts of other programs hold.

    Raises:
        ValueError: it is none, or is nested too deeply.
    """
    try:
        return orjson.loads(content.removeprefix(_BOM))
    except orjson.JSONDecodeError as refused:
        try:
            return json.loads(content.removeprefix(_BOM).decode("utf-8"))
        except RecursionError:
            raise ValueError("nested too deeply") from None
        except ValueError:
            raise ValueError(f"not JSON: {refused.msg}") from None


class Source:
    """An open file; use it in a `with` statement.

    Args:
        path: the file; a link is followed. `-` is the standard input.
        files: the system calls, to watch them.

    Raises:
        LogUnreadableError: it is not there, or cannot be read.
        ImportRefusedError: it is empty, or cannot be decompressed within the limits.
    """

    def __init__(self, path: str | os.PathLike[str], *, files: FileSystem | None = None) -> None:
        is_piped = os.fspath(path) == STANDARD_INPUT
        self.path = STANDARD_INPUT if is_piped else os.path.realpath(path)
        self.plain_path = self.path
        """Where the decompressed bytes are, while this is open."""
        self._files = files or FileSystem()
        self._document: list[Any] = []
        self._sample: Sample | None = None
        self._sampled: dict[int, Any] = {}
        self._temporary: list[str] = []
        self.check: Callable[[int, dict[str, Any]], None] = lambda _number, _entry: None
        """Is given each object of a line with its number, and refuses what is of another format."""
        self._fd = -1
        try:
            self._fd = self._spool(_pieces_of(sys.stdin.buffer), MOST_DECOMPRESSED_BYTES) if is_piped else self._open()
            if unpack := _UNPACKERS.get(self._files.read(self._fd, 2, 0)):
                size = self.size
                most = min(MOST_DECOMPRESSED_BYTES, max(_FREE_BYTES, _RATIO * size))
                packed, self._fd = self._fd, -1
                with os.fdopen(packed, "rb") as file:
                    file.seek(0)
                    self._fd = self._spool(_unpacked(unpack(file), size), most)
            if not self.size:
                raise ImportRefusedError("the file is empty")
        except BaseException:
            self.close()
            raise

    def _open(self) -> int:
        opened = open_file(self._files, self.path, writable=False, create=False)
        if opened is None:
            raise LogUnreadableError(errno.ENOENT, "there is no such file", self.path)
        return opened[0]

    def _spool(self, pieces: Iterator[bytes], most_bytes: int) -> int:
        """Write bytes to a temporary file, which is `plain_path` then; a descriptor of it."""
        fd, name = tempfile.mkstemp(prefix="context-persistent-import-")
        self._temporary.append(name)
        with os.fdopen(fd, "wb") as plain:
            written = 0
            for piece in pieces:
                written += len(piece)
                if written > most_bytes:
                    raise ImportRefusedError(f"it becomes more than {most_bytes:,} bytes; nothing that large is read")
                plain.write(piece)
        self.plain_path = name
        return self._files.open_readonly(name)

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and forget what was parsed of it."""
        fd, self._fd = self._fd, -1
        self._document, self._sample, self._sampled = [], None, {}
        if fd >= 0:
            self._files.close(fd)
        while self._temporary:
            os.remove(self._temporary.pop())

    @property
    def size(self) -> int:
        """The file's size, decompressed."""
        return os.fstat(self._fd).st_size

    def lines(self) -> Iterator[Line]:
        """The lines in order; blank ones too."""
        number, offset, start = 1, 0, 0
        waiting, is_too_long = bytearray(), False
        while block := self._files.read(self._fd, _BLOCK_BYTES, offset):
            offset += len(block)
            at = 0
            while (end := block.find(b"\n", at)) >= 0:
                if is_too_long or len(waiting) + end - at > MOST_LINE_BYTES:
                    content = None
                elif waiting:
                    waiting += block[at:end]
                    content = bytes(waiting)
                else:
                    content = block[at:end]
                stop = offset - len(block) + end
                yield Line(number, start, stop - start, content)
                number, start, at, is_too_long = number + 1, stop + 1, end + 1, False
                waiting = bytearray()
            if len(waiting) + len(block) - at > MOST_LINE_BYTES:
                waiting, is_too_long = bytearray(), True
            if not is_too_long:
                waiting += block[at:]
        if offset > start:
            yield Line(number, start, offset - start, None if is_too_long else bytes(waiting), is_cut=True)

    def line_at(self, offset: int, length: int) -> bytes:
        """The bytes of a line that was read before.

        Raises:
            LogUnreadableError: they are not there any more.
        """
        content = self._files.read(self._fd, length, offset) if length else b""
        while len(content) < length and (
            more := self._files.read(self._fd, length - len(content), offset + len(content))
        ):
            content += more
        if len(content) != length:
            raise LogUnreadableError(errno.EIO, "the file changed while it was read", self.path)
        return content

    def document(self) -> Any:
        """The JSON value that the whole file is; parsed once.

        Raises:
            ImportRefusedError: it is none, or too large.
        """
        if not self._document:
            if self.size > MOST_DOCUMENT_BYTES:
                raise ImportRefusedError(
                    f"a JSON document of {self.size:,} bytes; at most {MOST_DOCUMENT_BYTES:,} are read at once"
                )
            content = self.line_at(0, self.size)
            try:
                self._document.append(parse_json(content))
            except ValueError as error:
                is_cut = _ends_early(error)
                what = "the file is cut: it ends within its JSON document" if is_cut else "not a JSON document"
                raise ImportRefusedError(f"{what} ({error})") from None
        return self._document[0]

    def parsed(self, line: Line) -> Any:
        """The JSON value of a line; of one that the sample holds, what was parsed for it.

        Raises:
            ValueError: it is none; the message says why.
        """
        known = self._sampled.pop(line.offset, None)
        return line.parse() if known is None else known

    def sample(self) -> Sample:
        """What the file begins with."""
        if self._sample is None:
            self._sample = self._sample_of(self.lines())
        return self._sample

    def _sample_of(self, lines: Iterator[Line]) -> Sample:
        entries: list[dict[str, Any]] = []
        seen, begins_well, value = 0, True, None
        for line in lines:
            if line.content is None:
                break
            if line.content.strip():
                seen += 1
                try:
                    value = self._sampled[line.offset] = line.parse()
                except ValueError:
                    value, begins_well = None, begins_well and seen > 1
                if isinstance(value, dict):
                    entries.append(value)
            if seen >= _SAMPLE_LINES or line.offset > _SAMPLE_BYTES:
                break
        else:
            if seen == 1 and begins_well:
                self._document = [value]
        start = self._files.read(self._fd, 64, 0).removeprefix(_BOM).lstrip()[:1]
        if start not in (b"{", b"[") or (seen > 1 and begins_well):
            return Sample(tuple(entries))
        try:
            document = self.document()
        except ImportRefusedError:
            if not entries and self.size > MOST_DOCUMENT_BYTES:
                raise
            return Sample(tuple(entries))
        return Sample(tuple(entries) if seen == 1 else (), document)

    def strangeness(self) -> str:
        """What is wrong with a file that holds no session: it is no text, blank or cut; empty for any other."""
        first = self._files.read(self._fd, _SAMPLE_TEXT_BYTES, 0)
        try:
            text = codecs.getincrementaldecoder("utf-8")().decode(first.removeprefix(_BOM))
        except UnicodeDecodeError:
            return "this is a binary file, or text that is not UTF-8"
        if "\0" in text:
            return "this is a binary file"
        if not text.strip() and self.size == len(first):
            return "there are only blank lines in it"
        if text.lstrip()[:1] not in ("{", "["):
            return "this is no JSON"
        line = next(self.lines())
        try:
            line.parse()
        except ValueError as error:
            if line.is_cut and _ends_early(error):
                return f"the file is cut: it ends within its only line ({error})"
            try:
                self.document()
            except ImportRefusedError as refused:
                return str(refused)
        return ""


def _ends_early(error: ValueError) -> bool:
    """Whether what was wrong with JSON is its end, as `orjson` says."""
    return "end of data" in str(error)


class _Reader(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _unpacked(packed: _Reader, size: int) -> Iterator[bytes]:
    try:
        yield from _pieces_of(packed)
    except EOFError:
        raise ImportRefusedError(f"the compressed file is cut: it ends after {size:,} bytes, within its data") from None
    except (zstd.ZstdError, zlib.error, gzip.BadGzipFile) as error:
        raise ImportRefusedError(f"cannot be decompressed: {error}") from error


def _pieces_of(file: _Reader) -> Iterator[bytes]:
    while piece := file.read(_BLOCK_BYTES):
        yield piece


def _zstd(file: IO[bytes]) -> _Reader:
    return zstd.ZstdFile(file, options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG})


def _gzip(file: IO[bytes]) -> _Reader:
    return gzip.GzipFile(fileobj=file)


_UNPACKERS = {b"\x1f\x8b": _gzip, b"\x28\xb5": _zstd}
"""By the first bytes of a compressed file, what reads it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What a file begins with: its first objects, if it is JSON Lines; its value, if it is one JSON document."""

    entries: tuple[dict[str, Any], ...]
    document: Any = None


MOST_HELD_BYTES = 256 << 20
"""The objects of a larger file are read again where they are needed, so that memory does not grow with it."""


class SourceObject:
    """An object of a source: its line (or its number in a document), and its value.

    Args:
        number: from 1.
        value: what was parsed; None where it is to be read again.
        line: where it lies then.
        source: the file.
        inside: the keys that lead to the value in the object of the line.
    """

    __slots__ = ("_inside", "_line", "_source", "_value", "number")

    def __init__(
        self,
        number: int,
        value: dict[str, Any] | None,
        line: Line | None = None,
        source: Source | None = None,
        inside: tuple[str, ...] = (),
    ) -> None:
        self.number, self._value, self._line, self._source, self._inside = number, value, line, source, inside

    def inner(self, *keys: str) -> SourceObject:
        """An object in this one."""
        value: Any = self._value
        for key in keys if value is not None else ():
            value = value[key]
        return SourceObject(self.number, value, self._line, self._source, (*self._inside, *keys))

    def forget(self, keys: frozenset[str]) -> None:
        """Let go of parts of an object that is held; nobody reads them again."""
        held = self._value or {}
        for key in keys & held.keys():
            del held[key]

    @property
    def value(self) -> dict[str, Any]:
        """The object; of a large file it is parsed anew each time.

        Raises:
            LogUnreadableError: the file changed meanwhile.
        """
        if self._value is not None:
            return self._value
        assert self._source is not None  # noqa: S101 - what is not held can be read
        assert self._line is not None  # noqa: S101 - likewise
        try:
            value = parse_json(self._source.line_at(self._line.offset, self._line.length))
            for key in self._inside:
                value = value[key]
        except (ValueError, TypeError, KeyError):
            value = None
        if not isinstance(value, dict):
            raise LogUnreadableError(errno.EIO, "the file changed while it was read", self._source.path)
        return value


def objects_of(source: Source, account: Account) -> Iterator[tuple[SourceObject, dict[str, Any]]]:
    """Each line that is a JSON object; blank lines are counted, others are lost.

    The caller notes the lines that it gets. Each line is parsed once, if the file has at most `MOST_HELD_BYTES`.
    """
    is_held = source.size <= MOST_HELD_BYTES
    for line in source.lines():
        account.next_line()
        if line.content is not None and not line.content.strip():
            account.skip("blank line")
            continue
        try:
            entry = source.parsed(line)
        except ValueError as error:
            account.lose(line.number, str(error))
            continue
        if not isinstance(entry, dict):
            account.lose(line.number, "no JSON object")
            continue
        source.check(line.number, entry)
        if is_held:
            yield SourceObject(line.number, entry), entry
        else:
            yield SourceObject(line.number, None, line._replace(content=None), source), entry
