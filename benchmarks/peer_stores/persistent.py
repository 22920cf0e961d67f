"""This project's sessions, at both levels of durability."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from .store import SESSION, Message


class Durable:
    """A session with the settings that it has without any: every append is synced."""

    durability = "power cut: fdatasync before each acknowledgement (durability: fsync, the default)"
    level = "fsync"

    async def open(self, directory: str) -> None:
        """Open the session."""
        self._path = os.path.join(directory, "context-messages.jsonl")
        self._manager = self._new(self.level)

    def _new(self, level: str) -> Any:
        from amplifier_module_context_persistent import PersistentContextManager

        return PersistentContextManager(self._path, session_id=SESSION, durability=level)

    async def append(self, messages: Iterator[Message]) -> None:
        """Append one by one."""
        for message in messages:
            await self._manager.add_message(message)

    async def fill(self, messages: Iterator[Message]) -> None:
        """Append without syncs, and ask once for what a model would see, as a session that went on has done."""
        await self._manager.close()
        async with self._new("write") as manager:
            for message in messages:
                await manager.add_message(message)
            await manager.get_messages_for_request()
        self._manager = self._new(self.level)

    async def read(self) -> list[Any]:
        """Read the whole history."""
        return list(await self._manager.get_messages())

    async def first(self) -> list[Any]:
        """The view: what fits the budget, with the plan of the session before; only what is in the history."""
        view = await self._manager.get_messages_for_request()
        return [message for message in view if "message_id" in message.get("metadata", {})]

    def text(self, item: Any) -> str:
        """The text of a message."""
        return str(item["content"])

    async def close(self) -> None:
        """Close the log."""
        await self._manager.close()


class Written(Durable):
    """The same without a sync."""

    durability = "killed process: one write, no sync (durability: write)"
    level = "write"
