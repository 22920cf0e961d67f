"""Bodies of requests: the whole live history as OpenAI's Chat Completions and Anthropic's Messages API take it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from ...messages.message import Message
from .parts import blocks_of, calls_with_arguments, image_url, model_of, paired, text_block, to_json, tool_definitions
from .session_view import SessionView

_THINKING = frozenset({"thinking", "redacted_thinking", "reasoning"})
_INSTRUCTIONS = frozenset({"system", "developer"})


class OpenAIBody:
    """`{model, tools, messages}` of Chat Completions. Thinking has no place in it."""

    name = "openai"

    def pieces(self, view: SessionView) -> Iterator[str]:
        """The body, message by message."""
        head: dict[str, Any] = {"model": model_of(view)} if model_of(view) else {}
        if tools := tool_definitions(view.tools, openai=True):
            head["tools"] = tools
        yield from _document(head, (message for one in paired(view) if (message := _chat_message(one)) is not None))


class AnthropicBody:
    """`{model, system, tools, messages}` of the Messages API. Thinking without a signature has no place in it."""

    name = "anthropic"

    def pieces(self, view: SessionView) -> Iterator[str]:
        """The body, message by message."""
        head: dict[str, Any] = {"model": model_of(view)} if model_of(view) else {}
        messages = paired(view)
        system: list[str] = []
        first = next(messages, None)
        while first is not None and str(first.get("role")) in _INSTRUCTIONS:
            system.append("\n".join(map(text_block, blocks_of(first))))
            first = next(messages, None)
        if system:
            head["system"] = "\n\n".join(system)
        if tools := tool_definitions(view.tools, openai=False):
            head["tools"] = tools
        yield from _document(head, _anthropic_messages(first, messages))


def _document(head: dict[str, Any], messages: Iterator[dict[str, Any]]) -> Iterator[str]:
    opened = to_json(head)[:-1]
    yield f'{opened}{"," if head else ""}"messages":[\n'
    between = ""
    for message in messages:
        yield between
        yield to_json(message)
        between = ",\n"
    yield "\n"
    yield "]}\n"


def _chat_message(message: Message) -> dict[str, Any] | None:
    role = str(message.get("role"))
    blocks = [block for block in blocks_of(message) if str(block.get("type")) not in _THINKING]
    if role in ("tool", "function"):
        said = "\n".join(map(text_block, blocks))
        return {"role": "tool", "tool_call_id": str(message.get("tool_call_id") or ""), "content": said}
    if role == "assistant":
        said = "\n".join(map(text_block, blocks))
        calls = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": to_json(arguments)}}
            for call_id, name, arguments in calls_with_arguments(message)
        ]
        if not said and not calls:
            return None
        return {"role": role, "content": said or None, **({"tool_calls": calls} if calls else {})}
    if not any(block.get("type") == "image" for block in blocks):
        said = "\n".join(map(text_block, blocks))
        return {"role": role, "content": said} if said else None
    parts = [
        {"type": "image_url", "image_url": {"url": url}}
        if block.get("type") == "image" and (url := image_url(block))
        else {"type": "text", "text": text_block(block)}
        for block in blocks
    ]
    return {"role": role, "content": parts}


def _anthropic_messages(first: Message | None, rest: Iterator[Message]) -> Iterator[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    for message in () if first is None else chain([first], rest):
        role = str(message.get("role"))
        if role in ("tool", "function"):
            results.append(_tool_result(message))
            continue
        if results:
            yield {"role": "user", "content": results}
            results = []
        blocks = [block for block in map(_anthropic_block, blocks_of(message)) if block is not None]
        if role == "assistant":
            blocks += [
                {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
                for call_id, name, arguments in calls_with_arguments(message)
            ]
        else:
            blocks = [block for block in blocks if str(block.get("type")) not in _THINKING]
        if blocks:
            only = blocks[0]["text"] if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} else None
            yield {"role": "assistant" if role == "assistant" else "user", "content": blocks if only is None else only}
    if results:
        yield {"role": "user", "content": results}


def _tool_result(message: Message) -> dict[str, Any]:
    blocks = [block for block in map(_anthropic_block, blocks_of(message)) if block is not None]
    content: Any = blocks
    if all(block.keys() == {"type", "text"} for block in blocks):
        content = "\n".join(block["text"] for block in blocks)
    metadata = message.get("metadata")
    failed = {"is_error": True} if isinstance(metadata, dict) and metadata.get("is_error") is True else {}
    return {"type": "tool_result", "tool_use_id": str(message.get("tool_call_id") or ""), "content": content, **failed}


def _anthropic_block(block: dict[str, Any]) -> dict[str, Any] | None:
    kind = block.get("type")
    if kind == "thinking":
        signed = isinstance(block.get("signature"), str) and block["signature"]
        return {"type": kind, "thinking": block.get("thinking") or "", "signature": signed} if signed else None
    if kind == "redacted_thinking":
        return {"type": kind, "data": str(block.get("data") or "")}
    if kind == "reasoning":
        return None
    if kind == "image" and isinstance(block.get("source"), dict):
        return {"type": "image", "source": block["source"]}
    said = text_block(block)
    return {"type": "text", "text": said} if said.strip() else None
