"""Blocks of data in the page: JSON, compressed by gzip, written in base64.

Each block can be decoded by itself, with `base64 -d | gunzip`. The same values give the same bytes.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import Any, Self

import orjson

BLOCK_BYTES = 1 << 20
"""A block of messages is closed when its JSON has so many bytes."""

_LEVEL = 6  # 9 saves 2 % more and takes twice as long


def encode_block(value: Any) -> bytes:
    """Encode a value as one block."""
    return pack(orjson.dumps(value))


def pack(json_bytes: bytes) -> bytes:
    """Encode what is JSON already."""
    return base64.b64encode(gzip.compress(json_bytes, _LEVEL, mtime=0))


class BodyBlocks:
    """The bodies of messages, block by block in their order; add them one after the other, then `finish`.

    The blocks lie in a temporary file, which is removed at the end of the `with` statement: the page begins with what
    is known only after the last of them.
    """

    def __init__(self, block_bytes: int = BLOCK_BYTES) -> None:
        self._block_bytes = block_bytes
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._count = 0
        self._file = TemporaryFile(prefix="context-")  # noqa: SIM115 - closed at the end of the `with` statement
        self._sizes: list[int] = []
        self.starts: list[int] = []
        """The number of the first message of each block, from 0."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def blocks(self) -> Iterator[bytes]:
        """Read the blocks that are closed."""
        self._file.seek(0)
        return map(self._file.read, self._sizes)

    def add(self, body: Any) -> None:
        """Add the next message's body."""
        encoded = orjson.dumps(body)
        if not self._waiting:
            self.starts.append(self._count)
        self._waiting.append(encoded)
        self._waiting_bytes += len(encoded)
        self._count += 1
        if self._waiting_bytes >= self._block_bytes:
            self.finish()

    def finish(self) -> None:
        """Close the block that was begun."""
        if self._waiting:
            self._sizes.append(self._file.write(pack(b"[" + b",".join(self._waiting) + b"]")))
            self._waiting, self._waiting_bytes = [], 0
