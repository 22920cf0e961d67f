"""Anthropic's messages as files have them: recognised by their blocks, and given the ids that files leave out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..messages.message import Message
from .anthropic_server_tools import SERVER_CALLS
from .canonical import id_text, items, text

_SIGNS = SERVER_CALLS | {"tool_use", "tool_result", "thinking", "redacted_thinking", "document"}


def is_sure(message: Mapping[str, Any]) -> bool:
    """Return whether a message of a file has blocks that other providers do not have."""
    blocks = [block for block in items(message.get("content")) if isinstance(block, Mapping)]
    return any(text(block.get("type")) in _SIGNS and "tool_call_id" not in block for block in blocks)


def with_ids(blocks: Iterable[Message], begin: str, open_calls: dict[str, None] | None = None) -> list[Message]:
    """Return the blocks of a file's message, with ids for calls and results that have none.

    A result without an id gets the id of the next open call.

    Args:
        blocks: the blocks in order.
        begin: the beginning of the new ids.
        open_calls: the ids of earlier messages' calls without a result, in order; this message's calls are added, and
            those that it answers are removed.
    """
    waiting = open_calls if open_calls is not None else {}
    blocks_with_ids = []
    for position, block in enumerate(blocks, 1):
        kind = block.get("type")
        if kind == "tool_use":
            call_id = id_text(block.get("id"))
            block = block if call_id else {**block, "id": f"{begin}-call{position}"}
            waiting[id_text(block["id"])] = None
        elif kind == "tool_result":
            call_id = id_text(block.get("tool_use_id"))
            if not call_id:
                call_id = next(iter(waiting), f"{begin}-call{position}")
                block = {**block, "tool_use_id": call_id}
            waiting.pop(call_id, None)
        blocks_with_ids.append(block)
    return blocks_with_ids


def answered_calls(content: Any) -> list[str]:
    """Return the ids of the calls that the results in a user's content answer, in order; "" for a missing id."""
    blocks = [block for block in items(content) if isinstance(block, dict)]
    return [text(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]
