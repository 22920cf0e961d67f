"""The shape of one message: its calls, and the form in which every provider accepts it.

Rules:
- `normalise` returns the same object if nothing needs to change, else a new one. For a blank message, which no provider
  accepts, it returns None. It never mutates.
- Content that a request cannot carry (blank text blocks, blocks that `amplifier_core.message_models.Message` does not
  know) is left out or becomes text; unknown keys of a block stay. A block of an unknown type is never shown as JSON:
  the view shows its words, or one line about it (`carried`).
- Arguments are an object, or the JSON text of one in a call of OpenAI's shape. `tool_calls` and their copies in
  `content` name the same calls but share no object.
- Messages of a log are accepted in any form; `incoming` checks new ones.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from operator import is_
from typing import Any

from ..tokens.counter import TokenCounter, count_message
from .media_blocks import source_of
from .message import (
    CALL_BLOCKS,
    THINKING_BLOCKS,
    Message,
    as_json,
    call_arguments_of,
    call_id_of,
    call_name_of,
    given_arguments_of,
    metadata_of,
    parsed,
)
from .metadata import FORM_KEY, given_id
from .uncarried_blocks import carried, line_about, words_of

NO_OUTPUT = "(no output)"
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_VISIBILITY = ("internal", "developer", "user", None)


def normalise(message: Message, *, keeps_originals: bool = False) -> Message | None:
    """Return a message in a form that every provider accepts; None if no part of the message can be sent.

    Args:
        message: the message; it is not altered.
        keeps_originals: whether to keep every block that Amplifier's requests cannot contain beside the text that
            describes it. If False, only media are kept, and the blocks of a message that names its provider or its
            form.
    """
    role = message.get("role")
    if role not in _ROLES:
        return None
    changes: Message = {}
    calls = _listed_calls(message)
    if calls is not message.get("tool_calls"):
        changes["tool_calls"] = calls
    content = _content(message, has_calls=bool(calls), keeps_originals=keeps_originals)
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
    """Return `tool_calls` without invalid and repeated calls; the same list if all are valid, None if there is none."""
    if "tool_calls" not in message:
        return None
    listed = message["tool_calls"]
    if message.get("role") != "assistant" or not isinstance(listed, list):
        return []
    good: list[Message] = []
    seen: set[str] = set()
    for call in listed:
        call_id = call_id_of(call) if isinstance(call, dict) else None
        if call_id is None or call_id in seen:
            continue
        seen.add(call_id)
        with_id = call if isinstance(call.get("id"), str) else {**call, "id": call_id}
        good.append(_with_object(with_id))
    if listed and _are_same(good, listed):
        return listed
    return good


def _are_same(calls: list[Any], listed: list[Any]) -> bool:
    """Return whether two lists contain the very same objects, not only equal objects."""
    return len(calls) == len(listed) and all(map(is_, calls, listed))


def _with_object(call: Message) -> Message:
    """Return a call with an object as its arguments, or the JSON text of an object in OpenAI's shape."""
    given_arguments = given_arguments_of(call)
    function = call.get("function")
    has_none = given_arguments is None and "arguments" not in call and not isinstance(function, dict)
    if has_none or isinstance(given_arguments, dict):
        return call
    arguments = call_arguments_of(call)
    if not isinstance(function, dict):
        return {**call, "arguments": arguments}
    if isinstance(given_arguments, str) and _is_object(given_arguments):
        return call
    return {**call, "function": {**function, "arguments": as_json(arguments)}}


def _is_object(text: str) -> bool:
    try:
        return isinstance(parsed(text), dict)
    except ValueError:
        return False


def _content(message: Message, *, has_calls: bool, keeps_originals: bool) -> Any:
    """Return the content in an accepted form; None if the message says nothing."""
    content = message.get("content")
    if content is None:
        content = ""
    elif isinstance(content, dict) and "type" in content:
        content = [content]
    elif not isinstance(content, str | list):
        content = as_json(content)
    if isinstance(content, list):
        accepted = _Blocks.of(message, keeps_originals=keeps_originals)
        blocks = [block for block in map(accepted.block, content) if block is not None]
        says_something = has_calls or any(block["type"] not in THINKING_BLOCKS for block in blocks)
        if blocks and says_something:
            return content if _are_same(blocks, content) else blocks
    elif content.strip():
        return content
    # The message has no content, but a result or an answer with calls is accepted without one.
    if message["role"] in ("tool", "function"):
        return NO_OUTPUT
    if has_calls:
        return ""
    return None


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Converts the blocks of one message into the form in which views show blocks."""

    role: str
    reference: str
    """The id of the message; "" for a message without an id."""
    keeps_originals: bool

    @classmethod
    def of(cls, message: Message, *, keeps_originals: bool) -> _Blocks:
        metadata = metadata_of(message)
        is_made = bool(metadata.get(FORM_KEY) or metadata.get("provider"))
        return cls(message["role"], given_id(message) or "", keeps_originals or is_made)

    def block(self, content_block: Any) -> Message | None:
        """Return a content block in an accepted form; None if the block says nothing."""
        if isinstance(content_block, str):
            return {"type": "text", "text": content_block} if content_block.strip() else None
        if not isinstance(content_block, dict):
            return {"type": "text", "text": as_json(content_block)}
        block: Message = content_block
        if block.get("visibility") not in _VISIBILITY:
            block = {key: value for key, value in block.items() if key != "visibility"}
        kind = block.get("type")
        if not isinstance(kind, str):
            kind = None
        if kind == "text":
            return _text_block(block)
        if self.role == "assistant":
            if kind in THINKING_BLOCKS:
                return block if _is_whole_thinking(block) else None
            if kind in CALL_BLOCKS:
                return _call_block(block)
        if kind == "tool_result" and self.role == "tool" and isinstance(block.get("tool_call_id"), str):
            return block if "output" in block else self._strange(block)
        if kind == "image" and isinstance(block.get("source"), dict):
            return block
        return _as_image(block) or self._strange(block)

    def _strange(self, block: Message) -> Message | None:
        """Return a text block in place of a block that Amplifier's requests cannot contain; never None."""
        if self.keeps_originals or source_of(block) is not None:
            return carried(block, self.reference)
        words = words_of(block)
        return {"type": "text", "text": words if words.strip() else line_about(block, self.reference)}


def _text_block(block: Message) -> Message | None:
    text = block.get("text")
    if text is None:
        return None
    if not isinstance(text, str):
        return {**block, "text": as_json(text)}
    return block if text.strip() else None


def _is_whole_thinking(block: Message) -> bool:
    """Return whether a thinking block has all fields that its type needs."""
    if block["type"] == "thinking":
        well = isinstance(block.get("thinking"), str) and isinstance(block.get("signature"), str | None)
        return well and isinstance(block.get("content"), list | None)
    if block["type"] == "redacted_thinking":
        return isinstance(block.get("data"), str)
    return isinstance(block.get("content"), list) and isinstance(block.get("summary"), list)


def _as_image(block: Message) -> Message | None:
    """Return another form's image in Amplifier's form; None for other blocks, and without both body and address."""
    if "source" in block:
        return None
    source = source_of(block)
    if source is None or source.kind != "image":
        return None
    if source.data:
        body = {"type": "base64", "media_type": source.media_type, "data": source.data}
    elif source.url:
        body = {"type": "url", "url": source.url}
    else:
        return None
    more: Message = {key: block[key] for key in ("cache_control", "detail", "visibility") if key in block}
    return {"type": "image", "source": body, **more}


def _call_block(block: Message) -> Message | None:
    call_id = call_id_of(block)
    if call_id is None:
        return None
    name = call_name_of(block)
    arguments = call_arguments_of(block)
    accepted = {**block, "type": "tool_call", "id": call_id, "name": name, "input": arguments}
    return block if block == accepted else accepted


def _agree(content: Any, calls: Any) -> tuple[Any, Any]:
    """Return the content and the calls of a message, changed so that both have the same calls, each once.

    If `content` has no call blocks, both stay unchanged.
    """
    if not isinstance(content, list):
        return content, calls
    if not any(block["type"] == "tool_call" for block in content):
        return content, calls
    listed = {call["id"]: call for call in calls or ()}
    agreed: list[Message] = []
    not_listed: list[Message] = []
    seen: set[str] = set()
    for block in content:
        if block["type"] != "tool_call":
            agreed.append(block)
            continue
        call_id = block["id"]
        if call_id in seen:
            continue
        seen.add(call_id)
        call = listed.get(call_id)
        if call is None:
            arguments = copy.deepcopy(block["input"])
            not_listed.append({"id": call_id, "tool": block["name"], "arguments": arguments})
            agreed.append(block)
        elif block["name"] == call_name_of(call) and block["input"] == call_arguments_of(call):
            agreed.append(block)
        else:
            agreed.append(_block_of(call, block))
    for call_id, call in listed.items():
        if call_id not in seen:
            agreed.append(_block_of(call, {"type": "tool_call", "id": call_id}))
    if _are_same(agreed, content):
        agreed = content
    if calls and not_listed:
        calls = [*calls, *not_listed]
    return agreed, calls


def _block_of(call: Message, block: Message) -> Message:
    """Return a call block with the name and arguments of a listed call, without sharing an object with it."""
    return {**block, "name": call_name_of(call), "input": copy.deepcopy(call_arguments_of(call))}


def tokens_of(message: Message, counter: TokenCounter) -> int:
    """Return the number of tokens of a stored message in the form in which it would be sent."""
    accepted = normalise(message)
    return count_message(accepted, counter) if accepted else 0
