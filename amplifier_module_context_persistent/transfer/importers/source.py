"""The file that an import reads: line by line, decompressed where it is compressed.

Rules:
- The file is only read. A FIFO, a device or a directory is refused without waiting; `-` is the standard input.
- Each line is read and parsed once, also those by which the format is recognised.
- A line over `MOST_LINE_BYTES` is passed over in blocks; a JSON document over `MOST_DOCUMENT_BYTES` is refused, as it
  has to be parsed as a whole.
- A compressed file (gzip, zstd) is decompressed into a temporary file, with a limit on window, ratio and size.
"""

from __future__ import annotations

import codecs
import errno
import gzip
import io
import itertools
import json
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

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
_CUT = "; the file ends within this line"


class ImportRefusedError(ContextPersistentError, ValueError):
    """The file holds nothing that can be imported, or is not of the format that was named; nothing was written."""


class TwoSessionsError(ImportRefusedError):
    """The file holds another session beside the one that it begins with."""

    def __init__(self, line: int, first: str, other: str) -> None:
        super().__init__(
            f"line {line:,} begins another session ({other!r}; the file begins with {first!r}): a file holds one "
            "session; cut it before that line, and import both parts"
        )


def one_session(line: int, known: str, named: str) -> str:
    """The id of a file's session, of what is known and what a line names.

    Raises:
        TwoSessionsError: these are two.
    """
    if known and named not in ("", known):
        raise TwoSessionsError(line, known, named)
    return known or named


class Line(NamedTuple):
    """A line of the file: its number from 1, where it begins, and its JSON value, or why it has none."""

    number: int
    offset: int
    value: Any = None
    error: str = ""
    is_blank: bool = False


class SourceObject(NamedTuple):
    """An object of a source, and its line, or its number in a document."""

    number: int
    value: dict[str, Any]


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
        self._begin: list[Line] = []
        """The lines that were read for the sample."""
        self._rest = self._parsed_lines()
        self._temporary: list[str] = []
        self.check: Callable[[int, dict[str, Any]], None] = lambda _number, _entry: None
        """Is given each object of a line with its number, and refuses what is of another format."""
        self._fd = -1
        try:
            self._fd = self._spool(_pieces_of(sys.stdin.buffer), MOST_DECOMPRESSED_BYTES) if is_piped else self._open()
            if unpack := _UNPACKERS.get(self._files.read(self._fd, 2, 0)):
                packed, size = self._fd, self.size
                most = min(MOST_DECOMPRESSED_BYTES, max(_FREE_BYTES, _RATIO * size))
                self._fd = self._spool(_unpacked(unpack(self._reader()), size), most)
                self._files.close(packed)
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
        self._document, self._sample, self._begin = [], None, []
        if fd >= 0:
            self._files.close(fd)
        while self._temporary:
            os.remove(self._temporary.pop())

    @property
    def size(self) -> int:
        """The file's size, decompressed."""
        return os.fstat(self._fd).st_size

    def _reader(self) -> io.BufferedReader:
        """The file, from its beginning on."""
        return io.BufferedReader(_RawFile(self._files, self._fd), _BLOCK_BYTES)

    def lines(self) -> Iterator[Line]:
        """The lines in order, blank ones too; what was given once is not given again."""
        begin, self._begin = self._begin, []
        yield from begin
        yield from self._rest

    def _parsed_lines(self) -> Iterator[Line]:
        file, end = self._reader(), 0
        for number in itertools.count(1):
            content = file.readline(MOST_LINE_BYTES + 1)
            if not content:
                return
            start, end = end, end + len(content)
            if len(content) > MOST_LINE_BYTES and not content.endswith(b"\n"):
                while content and not content.endswith(b"\n"):
                    content = file.readline(_BLOCK_BYTES)
                    end += len(content)
                size = end - start - len(content[-1:])
                error = f"the line has {size:,} bytes; at most {MOST_LINE_BYTES:,} are read"
                yield Line(number, start, error=error)
            elif not content.strip():
                yield Line(number, start, is_blank=True)
            else:
                yield _parsed(number, start, content)

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
            try:
                self._document.append(parse_json(self._reader().read()))
            except ValueError as error:
                is_cut = _ends_early(str(error))
                what = "the file is cut: it ends within its JSON document" if is_cut else "not a JSON document"
                raise ImportRefusedError(f"{what} ({error})") from None
        return self._document[0]

    def sample(self) -> Sample:
        """What the file begins with."""
        if self._sample is None:
            self._sample = self._take_sample()
        return self._sample

    def _take_sample(self) -> Sample:
        said: list[Line] = []
        for line in self._rest:
            self._begin.append(line)
            if not line.is_blank:
                said.append(line)
            if len(said) >= _SAMPLE_LINES or line.offset > _SAMPLE_BYTES:
                break
        else:
            if len(said) == 1 and not said[0].error:
                self._document = [said[0].value]
        entries = tuple(line.value for line in said if isinstance(line.value, dict))
        start = self._files.read(self._fd, 64, 0).removeprefix(_BOM).lstrip()[:1]
        if start not in (b"{", b"[") or (len(said) > 1 and not said[0].error):
            return Sample(entries)
        try:
            document = self.document()
        except ImportRefusedError:
            if not entries and self.size > MOST_DOCUMENT_BYTES:
                raise
            return Sample(entries)
        return Sample(entries if len(said) == 1 else (), document)

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
        error = next(self._parsed_lines()).error
        if _CUT in error and _ends_early(error):
            return f"the file is cut: it ends within its only line ({error})"
        if error:
            try:
                self.document()
            except ImportRefusedError as refused:
                return str(refused)
        return ""


class _RawFile(io.RawIOBase):
    """An open file that is read by system calls which may be watched."""

    def __init__(self, files: FileSystem, fd: int) -> None:
        self._files, self._fd, self._offset = files, fd, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        block = self._files.read(self._fd, len(buffer), self._offset)
        self._offset += len(block)
        buffer[: len(block)] = block
        return len(block)


def _parsed(number: int, offset: int, content: bytes) -> Line:
    try:
        return Line(number, offset, parse_json(content.removesuffix(b"\n")))
    except ValueError as error:
        return Line(number, offset, error=str(error) if content.endswith(b"\n") else f"{error}{_CUT}")


def _ends_early(error: str) -> bool:
    """Whether what was wrong with JSON is its end, as `orjson` says."""
    return "end of data" in error


class _Unpacked(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _unpacked(packed: _Unpacked, size: int) -> Iterator[bytes]:
    try:
        yield from _pieces_of(packed)
    except EOFError:
        raise ImportRefusedError(f"the compressed file is cut: it ends after {size:,} bytes, within its data") from None
    except (zstd.ZstdError, zlib.error, gzip.BadGzipFile) as error:
        raise ImportRefusedError(f"cannot be decompressed: {error}") from error


def _pieces_of(file: _Unpacked) -> Iterator[bytes]:
    while piece := file.read(_BLOCK_BYTES):
        yield piece


_UNPACKERS: dict[bytes, Callable[[io.BufferedReader], _Unpacked]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"\x28\xb5": lambda file: zstd.ZstdFile(file, options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}),
}
"""By the first bytes of a compressed file, what reads it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What a file begins with: its first objects, if it is JSON Lines; its value, if it is one JSON document."""

    entries: tuple[dict[str, Any], ...]
    document: Any = None


def entries_of(listed: Iterable[Any], account: Account) -> Iterator[SourceObject]:
    """Each entry of a document's list that is a JSON object, which the caller notes; others are lost."""
    account.unit = "entry"
    for entry in listed:
        account.next_line()
        if isinstance(entry, dict):
            yield SourceObject(account.lines, entry)
        else:
            account.lose(account.lines, "no JSON object")


def objects_of(source: Source, account: Account) -> Iterator[SourceObject]:
    """Each line that is a JSON object, which the caller notes; blank lines are counted, others are lost."""
    for line in source.lines():
        account.next_line()
        if line.is_blank:
            account.skip("blank line")
        elif line.error or not isinstance(line.value, dict):
            account.lose(line.number, line.error or "no JSON object")
        else:
            source.check(line.number, line.value)
            yield SourceObject(line.number, line.value)
