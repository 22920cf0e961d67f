"""The shape of one message: its calls, and the form in which every provider accepts it.

Rules:
- `normalise` returns the very object it was given where nothing needs to change, a new one otherwise, and None for a
  message that no provider accepts and that says nothing (blank). It never mutates.
- Content that a request may not carry (blank text blocks, blocks that `amplifier_core.message_models.Message` does not
  know) is left out or becomes text; what the block says in unknown keys stays.
- Arguments stay what they were. `tool_calls` and their copies in `content` name the same calls, and share no object.
- What is in a log already is read, whatever it is; what comes in is looked at by `incoming`.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import Any

from ..tokens.counter import TokenCounter, count_message
from .message import CALL_BLOCKS, THINKING_BLOCKS, Message, as_json, call_arguments_of, call_id_of, call_name_of

NO_OUTPUT = "(no output)"
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_VISIBILITY = ("internal", "developer", "user", None)
_UNKNOWN_BLOCK_CHARS = 2_000  # a longer block of an unknown type is named, not shown: it may be base64


def normalise(message: Message, keeps: Collection[str] = ()) -> Message | None:
    """Bring one message into a form that every provider accepts; None if nothing is left of it.

    Args:
        message: the message; it is not altered.
        keeps: kinds of blocks that stay as they are, beside those that Amplifier's requests carry.
    """
    role = message.get("role")
    if role not in _ROLES:
        return None
    changes: Message = {}
    calls = _listed_calls(message)
    if calls is not message.get("tool_calls"):
        changes["tool_calls"] = calls
    content = _content(message, bool(calls), keeps)
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


def _listed_calls(message: Message) -> Any:
    """`tool_calls` without what is no call; the same object if all are."""
    listed = message.get("tool_calls")
    if message.get("role") != "assistant" or not isinstance(listed, list):
        return None if "tool_calls" not in message else []
    good: list[Message] = []
    seen: set[str] = set()
    for call in listed:
        call_id = call_id_of(call) if isinstance(call, dict) else None
        if call_id is None or call_id in seen:
            continue
        seen.add(call_id)
        good.append(call if isinstance(call.get("id"), str) else {**call, "id": call_id})
    same = listed and len(good) == len(listed) and all(a is b for a, b in zip(good, listed, strict=True))
    return listed if same else good


def _content(message: Message, has_calls: bool, keeps: Collection[str]) -> Any:  # noqa: FBT001 - private, one caller
    """The content in an accepted form; None if the message says nothing."""
    content, role = message.get("content"), message["role"]
    answers = role in ("tool", "function")
    if isinstance(content, dict) and "type" in content:
        content = [content]
    if not isinstance(content, str | list):
        content = "" if content is None else as_json(content)
    if isinstance(content, list):
        blocks = [kept for block in content if (kept := _block(block, role, keeps)) is not None]
        has_calls = has_calls or any(block["type"] == "tool_call" for block in blocks)
        if blocks and (has_calls or not all(block["type"] in THINKING_BLOCKS for block in blocks)):
            same = len(blocks) == len(content) and all(a is b for a, b in zip(blocks, content, strict=True))
            return content if same else blocks
        content = ""
    if content.strip():
        return content
    return NO_OUTPUT if answers else "" if has_calls else None


def _block(given: Any, role: str, keeps: Collection[str]) -> Message | None:
    """One content block in an accepted form; None if it says nothing."""
    if isinstance(given, str):
        return {"type": "text", "text": given} if given.strip() else None
    if not isinstance(given, dict):
        return {"type": "text", "text": as_json(given)}
    block: Message = given
    if block.get("visibility") not in _VISIBILITY:
        block = {key: value for key, value in block.items() if key != "visibility"}
    kind = block.get("type") if isinstance(block.get("type"), str) else None
    if kind == "text":
        text = block.get("text")
        if not isinstance(text, str):
            return None if text is None else {**block, "text": as_json(text)}
        return block if text.strip() else None
    if kind == "thinking" and role == "assistant":
        well = isinstance(block.get("thinking"), str) and isinstance(block.get("signature"), str | None)
        return block if well and isinstance(block.get("content"), list | None) else None
    if kind == "redacted_thinking" and role == "assistant":
        return block if isinstance(block.get("data"), str) else None
    if kind == "reasoning" and role == "assistant":
        return block if isinstance(block.get("content"), list) and isinstance(block.get("summary"), list) else None
    if kind in CALL_BLOCKS and role == "assistant":
        return _call_block(block)
    if kind == "tool_result" and role == "tool" and isinstance(block.get("tool_call_id"), str) and "output" in block:
        return block
    if (kind == "image" and isinstance(block.get("source"), dict)) or kind in keeps:
        return block
    encoded = as_json(block)
    if len(encoded) > _UNKNOWN_BLOCK_CHARS:
        encoded = f"[a {kind} block of {len(encoded):,} characters, which requests cannot carry]"
    return {"type": "text", "text": encoded}


def _call_block(block: Message) -> Message | None:
    call_id = call_id_of(block)
    if call_id is None:
        return None
    name, arguments = call_name_of(block), call_arguments_of(block)
    accepted = {**block, "type": "tool_call", "id": call_id, "name": name, "input": arguments}
    return block if block == accepted else accepted


def _agree(content: Any, calls: Any) -> tuple[Any, Any]:
    """Let `tool_calls` and the call blocks in `content` name the same calls, each once; one of them may be unused."""
    if not isinstance(content, list):
        return content, calls
    if not any(block["type"] == "tool_call" for block in content):
        return content, calls
    listed = {call["id"]: call for call in calls or ()}
    agreed: list[Message] = []
    twins: list[Message] = []
    seen: set[str] = set()
    for block in content:
        if block["type"] == "tool_call":
            if block["id"] in seen:
                continue
            seen.add(block["id"])
            twin = listed.get(block["id"])
            if twin is None:
                arguments = copy.deepcopy(block["input"])
                twins.append({"id": block["id"], "tool": block["name"], "arguments": arguments})
            elif (block["name"], block["input"]) != (call_name_of(twin), call_arguments_of(twin)):
                block = _block_of(twin, block)
        agreed.append(block)
    without_block = [(call_id, call) for call_id, call in listed.items() if call_id not in seen]
    agreed.extend(_block_of(call, {"type": "tool_call", "id": call_id}) for call_id, call in without_block)
    same = len(agreed) == len(content) and all(a is b for a, b in zip(agreed, content, strict=True))
    return (content if same else agreed), [*calls, *twins] if calls and twins else calls


def _block_of(call: Message, block: Message) -> Message:
    """A block that says what a listed call does, and shares no object with it."""
    return {**block, "name": call_name_of(call), "input": copy.deepcopy(call_arguments_of(call))}


def tokens_of(message: Message, counter: TokenCounter) -> int:
    """Count a stored message in the form in which it would be sent."""
    accepted = normalise(message)
    return count_message(accepted, counter) if accepted else 0
