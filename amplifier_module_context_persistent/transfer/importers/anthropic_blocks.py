"""Anthropic messages into ours: results out of user messages, calls out of content, everything else as it is.

Shapes: https://docs.anthropic.com/en/api/messages. `tool_result` blocks stand in user messages and are tool results,
several in one message; text beside them is a person's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .fields import Message, call, items, mapping, metadata, plain_content, result, text, total, usage_of

CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def usage(reported: Any) -> dict[str, Any]:
    """Usage as Anthropic reports it: the three input counts exclude each other."""
    given = mapping(reported)
    read, written = given.get("cache_read_input_tokens"), given.get("cache_creation_input_tokens")
    kinds = mapping(given.get("cache_creation"))
    return usage_of(
        input_tokens=total(given.get("input_tokens"), read),
        output_tokens=given.get("output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
        cache_write_5m_tokens=kinds.get("ephemeral_5m_input_tokens") or None,
        cache_write_1h_tokens=kinds.get("ephemeral_1h_input_tokens") or None,
    )


def assistant_parts(content: Any) -> tuple[list[Message], list[Message]]:
    """The content blocks of an assistant's message, and its calls."""
    if isinstance(content, str):
        return ([{"type": "text", "text": content}] if content else []), []
    blocks, calls = [], []
    for block in items(content):
        if isinstance(block, dict) and block.get("type") == "tool_use" and text(block.get("id")):
            calls.append(call(block["id"], text(block.get("name")), block.get("input")))
        elif isinstance(block, dict):
            blocks.append(block)
        elif isinstance(block, str):
            blocks.append({"type": "text", "text": block})
    return blocks, calls


def user_messages(content: Any, message_id: str, time: Any, names: Mapping[str, str], **more: Any) -> Iterator[Message]:
    """The messages that a user message stands for: each of its results, then what is said beside them.

    Args:
        content: text or blocks.
        message_id: of the first message; others get a number at its end.
        time: the message's time.
        names: tool names by call id.
        more: further metadata of what is said.
    """
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else items(content)
    said: list[Message] = []
    given = 0
    for block in blocks:
        if isinstance(block, dict) and block.get("type") == "tool_result":
            given += 1
            call_id = text(block.get("tool_use_id"))
            own = message_id if given == 1 else f"{message_id}-{given}"
            failed = True if block.get("is_error") is True else None
            yield result(
                call_id, names.get(call_id, ""), _output(block.get("content")), metadata(own, time, is_error=failed)
            )
        elif isinstance(block, dict):
            said.append(block)
        elif isinstance(block, str):
            said.append({"type": "text", "text": block})
    if said:
        own = message_id if not given else f"{message_id}-{given + 1}"
        yield {"role": "user", "content": plain_content(said), "metadata": metadata(own, time, **more)}


def _output(content: Any) -> Any:
    if isinstance(content, list):
        return plain_content(
            [block if isinstance(block, dict) else {"type": "text", "text": str(block)} for block in content]
        )
    return "" if content is None else content
