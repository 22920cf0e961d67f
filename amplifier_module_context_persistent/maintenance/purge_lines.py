"""The lines that a purge writes: chained anew, and checked before they take the log's place."""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

from ..errors import PurgeError
from ..log.index import Index
from ..log.record import seal, stored_crc

_TOLERATED = ("unreadable", "glued", "unchained", "checksum", "repeated")


class ChainedLines:
    """Gives on records and other bytes as lines with LF, each chained to the one before it."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write, self._seed = write, 0

    def put(self, body: bytes) -> None:
        """Write a record."""
        line, self._seed = seal(body, self._seed)
        self._write(line)

    def put_raw(self, line: bytes) -> None:
        """Carry over bytes that are no record; the chain goes through them as a reader's does."""
        stored = stored_crc(line)
        self._seed = crc32(line, self._seed) if stored is None else stored
        self._write(line + b"\n")


def check_written(index: Index, expected: list[int]) -> None:
    """What was written must hold what stays, live in the same order, and verify.

    Raises:
        PurgeError: it does not.
    """
    wrong = [found for found in index.damage if found.kind not in _TOLERATED]
    if wrong or [index.id_hashes[ordinal] for ordinal in index.live] != expected:
        raise PurgeError("the damage in this log is such that it cannot be purged so; only --everything works")
