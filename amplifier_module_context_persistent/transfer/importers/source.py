"""The file that an import reads: line by line, in bounded memory, decompressed where it is compressed.

Rules:
- The file is only read. A FIFO, a device or a directory is refused without waiting.
- A line over `MOST_LINE_BYTES` is passed over in blocks and given as None; a JSON document over `MOST_DOCUMENT_BYTES`
  is refused, as it has to be parsed as a whole.
- A compressed file is decompressed into an unnamed temporary file, with a limit on window, ratio and size.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from ...errors import ContextPersistentError, LogUnreadableError
from ...log.filesystem import FileSystem, open_file

if sys.version_info >= (3, 14):  # pragma: no cover - the same interface in the standard library
    from compression import zstd
else:
    from backports import zstd

MOST_LINE_BYTES = 64 << 20
MOST_DOCUMENT_BYTES = 64 << 20
MOST_DECOMPRESSED_BYTES = 4 << 30
_BLOCK_BYTES = 1 << 20
_BOM = b"\xef\xbb\xbf"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_WINDOW_LOG = 25  # 32 MiB; what writes sessions uses at most 8
_FREE_BYTES = 256 << 20
_RATIO = 200  # sessions compress to about a tenth, repeated ones to a hundredth
_SAMPLE_LINES = 50
_SAMPLE_BYTES = 4 << 20


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
        path: the file; a link is followed.
        files: the system calls, to watch them.

    Raises:
        LogUnreadableError: it is not there, or cannot be read.
        ImportRefusedError: it is compressed and cannot be decompressed within the limits.
    """

    def __init__(self, path: str | os.PathLike[str], *, files: FileSystem | None = None) -> None:
        self.path = os.path.realpath(path)
        self._files = files or FileSystem()
        opened = open_file(self._files, self.path, writable=False, create=False)
        if opened is None:
            raise LogUnreadableError(errno.ENOENT, "there is no such file", self.path)
        self._fd = fd = opened[0]
        self._document: list[Any] = []
        self.is_compressed = False
        try:
            if self._files.read(fd, 4, 0) == _ZSTD_MAGIC:
                self._decompress()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and forget what was parsed of it."""
        fd, self._fd = self._fd, -1
        self._document = []
        if fd >= 0:
            self._files.close(fd)

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
            try:
                self._document.append(parse_json(self.line_at(0, self.size)))
            except ValueError as error:
                raise ImportRefusedError(f"not a JSON document: {error}") from None
        return self._document[0]

    def sample(self) -> Sample:
        """What the file begins with."""
        entries: list[dict[str, Any]] = []
        seen, begins_well = 0, True
        for line in self.lines():
            if line.content is None:
                break
            if line.content.strip():
                seen += 1
                try:
                    value = parse_json(line.content)
                except ValueError:
                    value = None
                    begins_well = begins_well and seen > 1
                if isinstance(value, dict):
                    entries.append(value)
            if seen >= _SAMPLE_LINES or line.offset > _SAMPLE_BYTES:
                break
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

    def _decompress(self) -> None:
        size = self.size
        most = min(MOST_DECOMPRESSED_BYTES, max(_FREE_BYTES, _RATIO * size))
        packed, self._fd = self._fd, -1
        written = offset = 0
        with tempfile.TemporaryFile() as plain:
            try:
                unpack = zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG})
                while block := self._files.read(packed, _BLOCK_BYTES, offset):
                    offset += len(block)
                    while block or not (unpack.needs_input or unpack.eof):
                        piece = unpack.decompress(block, _BLOCK_BYTES)
                        block = b""
                        written += len(piece)
                        if written > most:
                            raise ImportRefusedError(
                                f"{size:,} compressed bytes become more than {most:,}; nothing that large is read"
                            )
                        plain.write(piece)
                        if unpack.eof and (block := unpack.unused_data):
                            unpack = zstd.ZstdDecompressor(
                                options={zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}
                            )
            except zstd.ZstdError as error:
                raise ImportRefusedError(f"cannot be decompressed: {error}") from error
            finally:
                self._files.close(packed)
            if not written:
                raise ImportRefusedError("cannot be decompressed: there is nothing in it")
            plain.flush()
            self._fd, self.is_compressed = os.dup(plain.fileno()), True


@dataclass(frozen=True, slots=True)
class Sample:
    """What a file begins with: its first objects, if it is JSON Lines; its value, if it is one JSON document."""

    entries: tuple[dict[str, Any], ...]
    document: Any = None
