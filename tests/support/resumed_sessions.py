"""A session that ends and is opened again, and what a host makes of its messages in between."""

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.tokens.counter import count_message, open_counter
from tests.support.messages import Message, fill, user

THOUGHT = {"type": "thinking", "thinking": "First the tests.", "signature": "c2ln", "visibility": None}


SYSTEM = {"role": "system", "content": "You are careful."}


def calling(*ids: str, text: str = "I call.") -> Message:
    calls = [{"id": call_id, "tool": "bash", "arguments": {"command": f"run {call_id}"}} for call_id in ids]
    return {"role": "assistant", "content": text, "tool_calls": calls}


def result(call_id: str, text: str = "done") -> Message:
    return {"role": "tool", "tool_call_id": call_id, "name": "bash", "content": f"{text} {call_id}"}


def session_history() -> list[Message]:
    """A session as a streaming orchestrator leaves it, cut off while one of two parallel calls runs."""
    blocks = [THOUGHT, {"type": "text", "text": "I look.", "visibility": None}]
    call = {"type": "tool_call", "id": "c1", "name": "bash", "input": {"command": "run c1"}}
    history = [
        SYSTEM,
        user("Fix the build."),
        {**calling("c1"), "content": [*blocks, call], "thinking_block": THOUGHT, "name": None},
        result("c1"),
        user("<system-reminder>mind the style</system-reminder>", source="hook", hook_name="style", ephemeral=False),
        {"role": "assistant", "content": "ok"},
        user("ok"),
        user("ok"),
        {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "Both."}], "thinking_block": THOUGHT},
        user("Both at once, please."),
        calling("c2", "c3"),
        result("c2"),
    ]
    return copy.deepcopy(history)


def write_lines(path: Path, messages: Sequence[Message]) -> bytes:
    """Write a file as the older module did, and return its bytes."""
    lines = "".join(json.dumps(message) + "\n" for message in messages).encode()
    path.write_bytes(lines)
    return lines


def open_manager(path: Path, **config: Any) -> PersistentContextManager:
    """A manager whose views keep every rule for order: for a provider that nobody knows."""
    return PersistentContextManager(path, session_id="s1", tokenizer="estimate", recipient="somebody", **config)


async def first_session(path: Path, messages: Sequence[Message], **config: Any) -> tuple[list[Message], list[Message]]:
    """Add messages in a session that ends; its history and its last view."""
    manager = open_manager(path, **config)
    await fill(manager, messages)
    history, view = await manager.get_messages(), await manager.get_messages_for_request()
    await manager.close()
    return history, view


def bytes_of(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)


def without_stamps(messages: Sequence[Message]) -> list[Message]:
    """Messages without what the log adds to them."""
    cleaned = []
    for message in messages:
        metadata = dict(message.get("metadata") or {})
        for stamp in ("timestamp", "message_id"):
            metadata.pop(stamp, None)
        bare = {key: value for key, value in message.items() if key != "metadata"}
        cleaned.append({**bare, "metadata": metadata} if metadata else bare)
    return cleaned


def sanitised(value: Any) -> Any:
    """What is left of messages after a host wrote them to its own transcript."""
    if isinstance(value, dict):
        dropped = ("thinking_block", "content_blocks")
        return {key: sanitised(item) for key, item in value.items() if item is not None and key not in dropped}
    return [sanitised(item) for item in value] if isinstance(value, list) else value


def transcript_of(history: Sequence[Message]) -> list[Message]:
    return [message for message in sanitised(list(history)) if message["role"] not in ("system", "developer")]


def repaired(history: Sequence[Message]) -> list[Message]:
    """What the command line makes of a history in which calls lack their results."""
    answered = {message.get("tool_call_id") for message in history}
    whole: list[Message] = []
    for message in history:
        whole.append(message)
        missing = [call["id"] for call in message.get("tool_calls") or () if call["id"] not in answered]
        whole.extend({"role": "tool", "tool_call_id": call_id, "content": "[lost]"} for call_id in missing)
    return whole


COUNTER = open_counter("estimate")


def tokens_of(message: Message) -> int:
    return count_message(message, COUNTER)
