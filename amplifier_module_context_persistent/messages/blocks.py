"""Parts of messages for other formats: blocks, calls with their arguments, JSON. Every text in it can be encoded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .message import Message, call_arguments_of, call_name_of, calls_of
from .text import well_formed


def to_json(value: Any) -> str:
    """JSON on one line; half a surrogate pair, which no reader takes, becomes U+FFFD."""
    return well_formed(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def calls_with_arguments(message: Message) -> list[tuple[str, str, dict[str, Any]]]:
    """The calls of a message: id, tool, arguments."""
    wanted = {call.id for call in calls_of(message)}
    found: dict[str, tuple[str, str, dict[str, Any]]] = {}
    listed, content = message.get("tool_calls"), message.get("content")
    for call in [*(listed if isinstance(listed, list) else []), *(content if isinstance(content, list) else [])]:
        call_id = str(call.get("id") or call.get("tool_call_id") or "") if isinstance(call, dict) else ""
        if call_id in wanted:
            found.setdefault(call_id, (call_id, call_name_of(call), call_arguments_of(call)))
    return list(found.values())


def blocks_of(message: Message) -> list[dict[str, Any]]:
    """The content blocks of a message without its calls; a text is one block."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    found = []
    for block in content if isinstance(content, list) else []:
        if isinstance(block, str):
            found.append({"type": "text", "text": block})
        elif isinstance(block, dict) and block.get("type") not in ("tool_call", "tool_use"):
            found.append(block)
    return found


def text_block(block: Mapping[str, Any]) -> str:
    """A block as text: its text, or what it is where it has none."""
    if isinstance(block.get("text"), str):
        return str(block["text"])
    if block.get("type") == "image":
        return "[image]"
    return to_json(dict(block))
