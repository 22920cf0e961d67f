"""Sessions to replay: recorded with receipts, or plain messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from amplifier_module_context_persistent import PersistentContextManager
from fixtures.generate import generate_session

BUDGET = 9_000


COUNTED = {"tokenizer": "estimate", "durability": "write", "max_tokens": BUDGET}


async def record(path: Path, messages: list[dict[str, Any]], **config: Any) -> list[list[dict[str, Any]]]:
    """Let a manager record a session; the views that it handed out."""
    views = []
    manager = PersistentContextManager(path, **{**COUNTED, **config})
    for message in messages:
        if message["role"] == "assistant":
            views.append(await manager.get_messages_for_request())
        await manager.add_message(message)
    await manager.close()
    return views


def plain(path: Path, messages: list[dict[str, Any]]) -> Path:
    """Write plain messages, one JSON object a line."""
    path.write_text("".join(json.dumps(message) + "\n" for message in messages), encoding="utf-8")
    return path


MESSAGES = list(generate_session(1, 60, mean_bytes=0))
