"""The bytes of a source: read by the given system calls, and decompressed."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from ....log.filesystem import FileSystem
from ..zstandard import opened_zstd, zstd
from .lines import BLOCK_BYTES
from .refused_import import ImportRefusedError


class RawFile(io.RawIOBase):
    """An open file, as a Python file object, that is read with the given system calls."""

    def __init__(self, files: FileSystem, fd: int) -> None:
        self._files = files
        self._fd = fd
        self._offset = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read the next bytes into a buffer, and return their number; 0 at the end of the file."""
        block = self._files.read(self._fd, len(buffer), self._offset)
        self._offset += len(block)
        buffer[: len(block)] = block
        return len(block)


def blocks_of(packed: BinaryIO | io.BufferedIOBase) -> Iterator[bytes]:
    """Yield the bytes of a stream, block by block.

    Raises:
        ImportRefusedError: the stream cannot be decompressed.
    """
    try:
        while piece := packed.read(BLOCK_BYTES):
            yield piece
    except EOFError:
        raise ImportRefusedError("the compressed file is cut: it ends within its data") from None
    except (zstd.ZstdError, zlib.error, gzip.BadGzipFile) as error:
        raise ImportRefusedError(f"cannot be decompressed: {error}") from error


UNPACKERS: dict[bytes, Callable[[io.BufferedReader], io.BufferedIOBase]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"\x28\xb5": opened_zstd,
}
"""The decompressors, by the first two bytes of a file."""
