"""Write the lines of a new log with a new chain of checksums, as a purge and a fork of a whole log do."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

from ...log.checksum import seal, stored_crc


class ChainedLines:
    """Writes records and other bytes as lines with LF. Each line's checksum continues that of the line before."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._seed = 0
        self.has_raw = False
        """Whether any bytes that are not a record were written."""

    def put(self, body: bytes) -> None:
        """Write a record."""
        line, self._seed = seal(body, self._seed)
        self._write(line)

    def put_raw(self, line: bytes) -> None:
        """Copy bytes that are not a record. The chain of checksums continues through these bytes, as in a reader."""
        self.has_raw = True
        stored = stored_crc(line)
        self._seed = crc32(line, self._seed) if stored is None else stored
        self._write(line + b"\n")


class NoLines(ChainedLines):
    """Accepts records and other bytes and writes nothing, for plans, which only count."""

    def __init__(self) -> None:
        super().__init__(lambda _: None)

    def put(self, body: bytes) -> None:
        """Drop a record."""

    def put_raw(self, line: bytes) -> None:
        """Drop bytes that are not a record."""
        self.has_raw = True
