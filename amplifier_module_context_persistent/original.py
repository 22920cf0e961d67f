"""A stored message as one text: what `recall` pages through and searches.

A message whose content is a string and that calls nothing is that string, so that an elided text is had again as
it was. Of a medium its kind and size are told.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .entry import RECALL_TOOL, metadata_of
from .shape import Message, calls_of

_CALLS = ("tool_call", "tool_use")


def full_text(message: Message) -> tuple[str, int]:
    """Give a message's text, and how much of it is searched: all but calls of `recall`, which stand at its end."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    parts: list[str] = []
    if not isinstance(content, list | None):
        parts.append(content if isinstance(content, str) else _json(content))
    thinking = message.get("thinking_block")
    if thinking and not any(isinstance(block, dict) and block.get("type") == "thinking" for block in blocks):
        blocks = [thinking, *blocks]
    names = {call.id: call.name for call in calls_of(message)}
    listed = message.get("tool_calls")
    listed_calls = listed if isinstance(listed, list) else []
    listed_ids = {_call_id(call) for call in listed_calls}
    own: list[str] = []
    for block in blocks:
        if not isinstance(block, dict) or block.get("type") not in _CALLS:
            parts.append(_block_text(block))
        elif _call_id(block) not in listed_ids:
            _add_call(block, names, parts, own)
    for call in listed_calls:
        _add_call(call, names, parts, own)
    searched = "\n".join(part for part in parts if part)
    return "\n".join(part for part in [searched, *own] if part), len(searched)


def timestamp_of(message: Mapping[str, Any]) -> str:
    """When a message was written, as it says."""
    given = metadata_of(message).get("timestamp") or message.get("timestamp")
    return given if isinstance(given, str) else ""


def _add_call(call: Any, names: Mapping[str, str], parts: list[str], own: list[str]) -> None:
    """Add a call's text to those of the message, or to those of calls of `recall`."""
    name = names.get(_call_id(call), "")
    text = f"[call {name} {_call_id(call)}] {_arguments(call)}" if name else _json(call)
    (own if name == RECALL_TOOL else parts).append(text)


def _block_text(block: Any) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return _json(block)
    kind = block.get("type")
    if kind == "text" and isinstance(text := block.get("text"), str):
        return text
    if kind == "tool_result" and "output" in block:
        output = block["output"]
        return output if isinstance(output, str) else _json(output)
    if kind == "thinking" and isinstance(thinking := block.get("thinking"), str):
        return f"[thinking]\n{thinking}"
    if kind == "redacted_thinking":
        return "[thinking that the provider keeps to itself]"
    if isinstance(source := block.get("source"), dict) and isinstance(data := source.get("data"), str):
        return f"[{kind} {source.get('media_type', '')}, {len(data):,} characters of {source.get('type', 'data')}]"
    return _json(block)


def _call_id(call: Any) -> str:
    call_id = (call.get("id") or call.get("tool_call_id")) if isinstance(call, dict) else None
    return str(call_id) if call_id else ""


def _arguments(call: Mapping[str, Any]) -> str:
    function = call.get("function")
    given = function.get("arguments") if isinstance(function, dict) else call.get("arguments", call.get("input"))
    return given if isinstance(given, str) else _json({} if given is None else given)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
