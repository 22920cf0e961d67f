"""Sessions to replay: recorded with receipts, or plain messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fixtures.generate import generate_session
from tests.support import recorded_sessions

BUDGET = 9_000


COUNTED = {"tokenizer": "estimate", "durability": "write", "max_tokens": BUDGET}


async def record(path: Path, messages: list[dict[str, Any]], **config: Any) -> list[list[dict[str, Any]]]:
    """Record a session whose budget and counter are known; its views."""
    return await recorded_sessions.record(path, messages, **{**COUNTED, **config})


def plain(path: Path, messages: list[dict[str, Any]]) -> Path:
    """Write plain messages, one JSON object a line."""
    path.write_text("".join(json.dumps(message) + "\n" for message in messages), encoding="utf-8")
    return path


MESSAGES = list(generate_session(1, 44, mean_bytes=0))


def call(call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": [{"id": call_id, "tool": "bash", "arguments": arguments}]}


def result(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "name": "bash", "content": text}
