"""The OpenAI Agents SDK's `SQLiteSession` on a file (package `openai-agents`).

Its items are those of the Responses API. One message is added by one `add_items`, which commits once; an answer with a
call is two items of one commit. `get_items` gives all, unless a limit is configured, which by default is not.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from typing import Any

from .store import SESSION, Message

_LEVELS = ("off", "normal", "full", "extra")


def synchronous(path: str) -> str:
    """The level at which SQLite syncs a connection to this database where nobody sets one, and its journal."""
    connection = sqlite3.connect(path)
    try:
        (level,), (journal,) = (
            connection.execute(f"PRAGMA {name}").fetchone() for name in ("synchronous", "journal_mode")
        )
    finally:
        connection.close()
    return f"SQLite {sqlite3.sqlite_version}, journal_mode={journal}, synchronous={_LEVELS[level]}"


def items_of(message: Message) -> list[dict[str, Any]]:
    """A message as items of the Responses API."""
    if message["role"] == "tool":
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}]
    calls = [
        {
            "type": "function_call",
            "call_id": call["id"],
            "name": call["tool"],
            "arguments": json.dumps(call["arguments"]),
        }
        for call in message.get("tool_calls", ())
    ]
    return [{"role": message["role"], "content": message["content"]}, *calls]


class AgentsSession:
    """A session in a database of its own."""

    durability = ""

    async def open(self, directory: str) -> None:
        """Open the database."""
        from agents import SQLiteSession

        path = os.path.join(directory, "session.db")
        self._session = SQLiteSession(SESSION, path)
        self.durability = f"power cut: {synchronous(path)}"

    async def append(self, messages: Iterator[Message]) -> None:
        """Add one by one."""
        for message in messages:
            await self._session.add_items(items_of(message))

    async def fill(self, messages: Iterator[Message]) -> None:
        """Add all by one call, which commits once."""
        await self._session.add_items([item for message in messages for item in items_of(message)])

    async def read(self) -> list[Any]:
        """Get all items."""
        return list(await self._session.get_items())

    async def first(self) -> list[Any]:
        """All items: what the runner gives to the model."""
        return await self.read()

    def text(self, item: Any) -> str:
        """The text of an item; calls have none."""
        return str(item.get("content") or item.get("output") or "")

    async def close(self) -> None:
        """Close the database."""
        self._session.close()
