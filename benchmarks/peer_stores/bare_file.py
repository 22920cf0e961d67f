"""The least that a durable append can be: one write and one sync, nothing kept in memory, nothing checked."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .store import Message


class BareFile:
    """A file of JSON lines, written and synced on the caller's thread."""

    durability = "power cut: write and fdatasync, for comparison"

    async def open(self, directory: str) -> None:
        """Open the file."""
        self._path = Path(directory, "bare.jsonl")
        self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    async def append(self, messages: Iterator[Message]) -> None:
        """Write and sync one by one."""
        for message in messages:
            os.write(self._fd, json.dumps(message).encode() + b"\n")
            os.fdatasync(self._fd)

    async def fill(self, messages: Iterator[Message]) -> None:
        """Write all, sync once."""
        os.write(self._fd, b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        os.fdatasync(self._fd)

    async def read(self) -> list[Any]:
        """Parse every line."""
        return [json.loads(line) for line in self._path.read_bytes().splitlines()]

    async def first(self) -> list[Any]:
        """All of it."""
        return await self.read()

    def text(self, item: Any) -> str:
        """The text of a message."""
        return str(item["content"])

    async def close(self) -> None:
        """Close the file."""
        os.close(self._fd)
