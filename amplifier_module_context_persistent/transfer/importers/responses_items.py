"""Items of OpenAI's Responses API into messages: https://platform.openai.com/docs/api-reference/responses.

Reasoning, text and calls that follow each other are one assistant's message; outputs are results. Codex keeps its
history as such items, some of them without a `type`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .fields import Message, as_text, call, items, mapping, plain_content, text

CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})
KINDS = CALLS | OUTPUTS | {"message", "reasoning"}


def kind_of(item: dict[str, Any]) -> str:
    """The type of an item, also of one that does not name it."""
    if kind := text(item.get("type")):
        return kind
    if "role" in item:
        return "message"
    if "output" in item and "call_id" in item:
        return "function_call_output"
    return "function_call" if "name" in item and "call_id" in item else ""


def is_answer(item: dict[str, Any]) -> bool:
    """Whether an item is a part of an assistant's message."""
    kind = kind_of(item)
    return kind in CALLS or kind == "reasoning" or (kind == "message" and item.get("role") == "assistant")


def blocks_of(content: Any) -> list[Message]:
    """Content parts as blocks that hosts keep."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [block for part in items(content) for block in _block(part)]


def _block(part: Any) -> Iterator[Message]:
    if isinstance(part, str):
        yield {"type": "text", "text": part}
        return
    kind = mapping(part).get("type")
    if kind in ("input_text", "output_text", "text", "summary_text", "reasoning_text"):
        yield {"type": "text", "text": text(part.get("text"))}
    elif kind == "refusal":
        yield {"type": "text", "text": text(part.get("refusal"))}
    elif kind in ("input_image", "image_url"):
        given = part.get("image_url")
        detail = part.get("detail") or mapping(given).get("detail")
        yield image_block(text(given) or text(mapping(given).get("url")), detail)
    elif isinstance(part, dict):
        yield part


def image_block(url: str, detail: Any = None) -> Message:
    """An image from a URL; one that holds its data becomes base64 with its media type."""
    more = {"detail": detail} if isinstance(detail, str) else {}
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        media_type = head.removeprefix("data:").removesuffix(";base64")
        return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}, **more}
    return {"type": "image", "source": {"type": "url", "url": url}, **more}


def parts_of(item: dict[str, Any]) -> tuple[list[Message], list[Message]]:
    """The content blocks and calls of an item that is a part of an assistant's message."""
    kind = kind_of(item)
    if kind == "message":
        return blocks_of(item.get("content")), []
    if kind == "reasoning":
        return _reasoning(item), []
    call_id = text(item.get("call_id")) or text(item.get("id"))
    if kind == "custom_tool_call":
        return [], [call(call_id, text(item.get("name")), {"input": item.get("input")})]
    if kind == "local_shell_call":
        return [], [call(call_id, "local_shell", item.get("action"))]
    given = item.get("arguments")
    if given is None and isinstance(summary := item.get("summary"), str):
        given = {"summary": summary}
    return [], [call(call_id, text(item.get("name")), given)]


def text_of_reasoning(item: dict[str, Any]) -> str:
    """What a reasoning item says."""
    return "\n\n".join(
        text(block.get("text")) for key in ("summary", "content") for block in blocks_of(item.get(key)) if block
    )


def thinking(said: str) -> Message:
    """What was reasoned, as a content block."""
    return {"type": "thinking", "thinking": said, "signature": None}


def _reasoning(item: dict[str, Any]) -> list[Message]:
    """Reasoning as hosts keep it: the summary as text, the encrypted state and the item's id beside it."""
    said, state = text_of_reasoning(item), [item.get("encrypted_content"), item.get("id")]
    if not said and not any(state):
        return []
    return [{**thinking(said), "content": state} if any(state) else thinking(said)]


def output_of(item: dict[str, Any]) -> tuple[Any, bool]:
    """The content of a result, and whether it tells of a failure."""
    given = item.get("output")
    failed = mapping(given).get("success") is False
    if isinstance(given, dict):
        given = given.get("content", given)
    if isinstance(given, list):
        return plain_content(blocks_of(given)), failed
    return ("" if given is None else as_text(given)), failed
