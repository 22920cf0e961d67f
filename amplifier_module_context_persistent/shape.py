"""The shape of one message: its calls, and the form in which every provider accepts it.

Rules:
- `normalise` returns the very object it was given where nothing needs to change, a new one otherwise, and None for a
  message that no provider accepts and that says nothing (blank). It never mutates.
- Content that a request may not carry (blank text blocks, blocks that `amplifier_core.message_models.Message` does not
  know) is left out or becomes text; what the block says in unknown keys stays.
- Arguments stay what they were. `tool_calls` and their copies in `content` name the same calls, and share no object.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

Message = dict[str, Any]

NO_OUTPUT = "(no output)"
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_VISIBILITY = frozenset({"internal", "developer", "user", None})
_CALL_BLOCKS = frozenset({"tool_call", "tool_use"})
_SILENT_BLOCKS = frozenset({"thinking", "redacted_thinking", "reasoning"})
_UNKNOWN_BLOCK_CHARS = 2_000  # a longer block of an unknown type is named, not shown: it may be base64


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: its id, the tool's name, and a digest that calls with the same name and arguments share."""

    id: str
    name: str
    asks: bytes = field(default=b"", compare=False, repr=False)


def calls_of(message: Mapping[str, Any]) -> tuple[Call, ...]:
    """The calls of a message in order: those of `tool_calls`, then those that stand in `content` only."""
    if message.get("role") != "assistant":
        return ()
    calls: dict[str, Call] = {}
    listed = message.get("tool_calls")
    for call in listed if isinstance(listed, list) else ():
        if isinstance(call, dict) and (call_id := _call_id(call)) is not None:
            calls.setdefault(call_id, _call(call_id, call))
    for block in blocks_of(message, _CALL_BLOCKS):
        if (call_id := _call_id(block)) is not None:
            calls.setdefault(call_id, _call(call_id, block))
    return tuple(calls.values())


def result_id_of(message: Mapping[str, Any]) -> str | None:
    """The id of the call that a message answers, or None if it is no result."""
    if message.get("role") not in ("tool", "function"):
        return None
    call_id = message.get("tool_call_id")
    return str(call_id) if call_id is not None and call_id != "" else ""


def blocks_of(message: Mapping[str, Any], kinds: frozenset[str]) -> list[Message]:
    """The content blocks of some kinds."""
    content = message.get("content")
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict) and block.get("type") in kinds]


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message: its content, or its text blocks joined by newlines."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in blocks_of(message, frozenset({"text"})))


def normalise(message: Message) -> Message | None:
    """Bring one message into a form that every provider accepts; None if nothing is left of it."""
    role = message.get("role")
    if role not in _ROLES:
        return None
    changes: Message = {}
    calls = _listed_calls(message)
    if calls is not message.get("tool_calls"):
        changes["tool_calls"] = calls
    content = _content(message, bool(calls))
    if content is None:
        return None
    content, calls = _agree(content, calls)
    if content is not message.get("content"):
        changes["content"] = content
    if calls is not message.get("tool_calls"):
        changes["tool_calls"] = calls
    for key in ("name", "tool_call_id"):
        if not isinstance(value := message.get(key), str | None):
            changes[key] = str(value)
    if not isinstance(message.get("metadata"), dict | None):
        changes["metadata"] = None
    if not changes:
        return message
    changed = {**message, **changes}
    if not changed.get("tool_calls", True):  # providers refuse an empty list
        del changed["tool_calls"]
    return changed


def without_thinking(message: Message) -> Message:
    """Leave out what an assistant thought, in all copies; the same object if it thought nothing."""
    if message.get("role") != "assistant":
        return message
    changes: Message = {}
    for key in ("content", "content_blocks"):
        if isinstance(blocks := message.get(key), list):
            spoken = [block for block in blocks if not _is_thinking(block)]
            if len(spoken) < len(blocks):
                changes[key] = spoken or ("" if key == "content" else [])
    if not changes and "thinking_block" not in message:
        return message
    return {key: changes.get(key, value) for key, value in message.items() if key != "thinking_block"}


def _is_thinking(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in _SILENT_BLOCKS


def _listed_calls(message: Message) -> Any:
    """`tool_calls` without what is no call; the same object if all are."""
    listed = message.get("tool_calls")
    if message.get("role") != "assistant" or not isinstance(listed, list):
        return None if "tool_calls" not in message else []
    good: list[Message] = []
    seen: set[str] = set()
    for call in listed:
        call_id = _call_id(call) if isinstance(call, dict) else None
        if call_id is None or call_id in seen:
            continue
        seen.add(call_id)
        good.append(call if isinstance(call.get("id"), str) else {**call, "id": call_id})
    same = listed and len(good) == len(listed) and all(a is b for a, b in zip(good, listed, strict=True))
    return listed if same else good


def _content(message: Message, has_calls: bool) -> Any:  # noqa: FBT001 - private, one caller
    """The content in an accepted form; None if the message says nothing."""
    content, role = message.get("content"), message["role"]
    answers = role in ("tool", "function")
    if isinstance(content, dict) and "type" in content:
        content = [content]
    if not isinstance(content, str | list):
        content = "" if content is None else _json(content)
    if isinstance(content, list):
        blocks = [kept for block in content if (kept := _block(block, role)) is not None]
        has_calls = has_calls or any(block["type"] == "tool_call" for block in blocks)
        if blocks and (has_calls or not all(block["type"] in _SILENT_BLOCKS for block in blocks)):
            same = len(blocks) == len(content) and all(a is b for a, b in zip(blocks, content, strict=True))
            return content if same else blocks
        content = ""
    if content.strip():
        return content
    return NO_OUTPUT if answers else "" if has_calls else None


def _block(given: Any, role: str) -> Message | None:
    """One content block in an accepted form; None if it says nothing."""
    if isinstance(given, str):
        return {"type": "text", "text": given} if given.strip() else None
    if not isinstance(given, dict):
        return {"type": "text", "text": _json(given)}
    block: Message = given
    if block.get("visibility") not in _VISIBILITY:
        block = {key: value for key, value in block.items() if key != "visibility"}
    kind = block.get("type")
    if kind == "text":
        text = block.get("text")
        if not isinstance(text, str):
            return None if text is None else {**block, "text": _json(text)}
        return block if text.strip() else None
    if kind == "thinking" and role == "assistant":
        well = isinstance(block.get("thinking"), str) and isinstance(block.get("signature"), str | None)
        return block if well and isinstance(block.get("content"), list | None) else None
    if kind == "redacted_thinking" and role == "assistant":
        return block if isinstance(block.get("data"), str) else None
    if kind == "reasoning" and role == "assistant":
        return block if isinstance(block.get("content"), list) and isinstance(block.get("summary"), list) else None
    if kind in _CALL_BLOCKS and role == "assistant":
        return _call_block(block)
    if kind == "tool_result" and role == "tool" and isinstance(block.get("tool_call_id"), str) and "output" in block:
        return block
    if kind == "image" and isinstance(block.get("source"), dict):
        return block
    encoded = _json(block)
    if len(encoded) > _UNKNOWN_BLOCK_CHARS:
        encoded = f"[a {kind} block of {len(encoded):,} characters, which requests cannot carry]"
    return {"type": "text", "text": encoded}


def _call_block(block: Message) -> Message | None:
    call_id = _call_id(block)
    if call_id is None:
        return None
    name, arguments = _call_name(block), _call_arguments(block)
    if block == {**block, "type": "tool_call", "id": call_id, "name": name, "input": arguments}:
        return block
    return {**block, "type": "tool_call", "id": call_id, "name": name, "input": arguments}


def _agree(content: Any, calls: Any) -> tuple[Any, Any]:
    """Let `tool_calls` and the call blocks in `content` name the same calls, each once; one of them may be unused."""
    if not isinstance(content, list):
        return content, calls
    blocks: dict[str, Message] = {}
    for block in content:
        if block["type"] == "tool_call":
            blocks.setdefault(block["id"], block)
    if not blocks:
        return content, calls
    listed = {call["id"]: call for call in calls or ()}
    absent = [block for call_id, block in blocks.items() if call_id not in listed]
    if calls and absent:
        twins = ({"id": b["id"], "tool": b["name"], "arguments": copy.deepcopy(b["input"])} for b in absent)
        calls = [*calls, *twins]
    agreed: list[Message] = []
    seen: set[str] = set()
    for block in content:
        if block["type"] == "tool_call":
            if block["id"] in seen:
                continue
            seen.add(block["id"])
            twin = listed.get(block["id"])
            if twin is not None:
                name, arguments = _call_name(twin), _call_arguments(twin)
                if (block["name"], block["input"]) != (name, arguments):
                    block = {**block, "name": name, "input": copy.deepcopy(arguments)}
        agreed.append(block)
    agreed.extend(
        {"type": "tool_call", "id": call_id, "name": _call_name(call), "input": copy.deepcopy(_call_arguments(call))}
        for call_id, call in listed.items()
        if call_id not in blocks
    )
    same = len(agreed) == len(content) and all(a is b for a, b in zip(agreed, content, strict=True))
    return (content if same else agreed), calls


def _call(call_id: str, call: Mapping[str, Any]) -> Call:
    name = _call_name(call)
    asked = json.dumps([name, _call_arguments(call)], sort_keys=True, default=str)
    return Call(call_id, name, blake2b(asked.encode(), digest_size=8).digest())


def _call_id(call: Mapping[str, Any]) -> str | None:
    call_id = call.get("id") or call.get("tool_call_id")
    return str(call_id) if isinstance(call_id, str | int) and call_id else None


def _call_name(call: Mapping[str, Any]) -> str:
    function = call.get("function")
    name = call.get("tool") or call.get("name") or (function.get("name") if isinstance(function, dict) else None)
    return name if isinstance(name, str) and name else "unknown"


def _call_arguments(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    given = function.get("arguments") if isinstance(function, dict) else call.get("arguments", call.get("input"))
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            given = {"arguments": given}
    return given if isinstance(given, dict) else {} if given is None else {"arguments": given}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
