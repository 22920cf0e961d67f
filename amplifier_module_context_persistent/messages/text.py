"""A stored message as one text, which `recall` pages through and searches, and as parts for other formats.

The text of a message with string content and no calls is that string, so that a shortened text is recalled unchanged. A
medium is described by its kind and size.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .message import (
    CALL_BLOCKS,
    Message,
    as_json,
    call_arguments_of,
    call_id_of,
    call_name_of,
    given_arguments_of,
    given_calls,
    is_block,
    parsed,
)
from .metadata import RECALL_TOOL
from .uncarried_blocks import kind_of_item


def well_formed(text: str) -> str:
    """Return a text that can be encoded in UTF-8; the same object if it needs no change.

    The two halves of a surrogate pair become the character; a single half becomes U+FFFD.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a message's content: `text`, `thinking`, a `call` with its arguments as JSON, or another `block`."""

    kind: str
    text: str
    name: str = ""
    """The name of the called tool, or the type of another block."""
    call_id: str = ""

    def __str__(self) -> str:
        if self.kind == "call":
            return f"[call {self.name} {self.call_id}] {self.text}"
        return f"[thinking]\n{self.text}" if self.kind == "thinking" else self.text


def parts_of(message: Message) -> Iterator[TextPart]:
    """Yield the parts of a message's content: its text, then its blocks in order, then calls outside of the blocks."""
    content = message.get("content")
    blocks = list(content) if isinstance(content, list) else []
    if isinstance(content, str):
        yield TextPart("text", content)
    elif not isinstance(content, list | None):
        yield TextPart("text", as_json(content))
    thinking = message.get("thinking_block")
    has_thinking = any(isinstance(block, dict) and block.get("type") == "thinking" for block in blocks)
    if thinking and not has_thinking:
        blocks.insert(0, thinking)
    listed = message.get("tool_calls")
    if isinstance(listed, list):
        blocks += listed
    calls = given_calls(message)
    for block in blocks:
        call_id = call_id_of(block) if isinstance(block, dict) else None
        if call_id in calls and block is calls[call_id]:
            yield TextPart("call", _arguments(block), call_name_of(block), call_id)
        elif call_id not in calls or not is_block(block, CALL_BLOCKS):
            yield _block_part(block)


def full_text(message: Message) -> tuple[str, int]:
    """Return a message's text, and the number of characters at its beginning that a search reads.

    Calls of `recall` come last and are not searched.
    """
    content = message.get("content")
    if isinstance(content, str) and not message.get("tool_calls") and not message.get("thinking_block"):
        return content, len(content)  # the usual case; a search reads many messages
    parts: list[str] = []
    recalls: list[str] = []
    for part in parts_of(message):
        if part.name == RECALL_TOOL:
            recalls.append(str(part))
        else:
            parts.append(str(part))
    searched = "\n".join(part for part in parts if part)
    return "\n".join(part for part in [searched, *recalls] if part), len(searched)


def _block_part(block: Any) -> TextPart:
    """Return the part for a block that is not a call."""
    if not isinstance(block, dict):
        return TextPart("text", block if isinstance(block, str) else as_json(block))
    kind = block.get("type")
    if kind in ("text", "thinking"):
        words = block.get(kind)
        if isinstance(words, str):
            return TextPart(kind, words)
    return TextPart("block", _block_text(block), kind_of_item(block))


def _block_text(block: Mapping[str, Any]) -> str:
    kind = block.get("type")
    if kind == "tool_result" and "output" in block:
        output = block["output"]
        return output if isinstance(output, str) else as_json(output)
    if kind == "redacted_thinking":
        return "[thinking that the provider keeps to itself]"
    source = block.get("source")
    if isinstance(source, dict) and isinstance(source.get("data"), str):
        size = len(source["data"])
        return f"[{kind} {source.get('media_type', '')}, {size:,} characters of {source.get('type', 'data')}]"
    return as_json(block)


def _arguments(call: Mapping[str, Any]) -> str:
    arguments = given_arguments_of(call)
    if arguments is None:
        return as_json({})
    return arguments if isinstance(arguments, str) else as_json(arguments)


def arguments_text(arguments: str) -> str:
    """Return a call's arguments as text, each on a line; a value of several lines starts below its name.

    Args:
        arguments: a JSON object; any other value is returned as text, unchanged.
    """
    try:
        values = parsed(arguments)
    except ValueError:
        return arguments
    if not isinstance(values, dict):
        return arguments
    return "\n".join(_argument(name, value) for name, value in values.items())


def _argument(name: str, value: Any) -> str:
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    return f"{name}:\n{value}" if "\n" in value else f"{name}: {value}"


def to_json(value: Any) -> str:
    """Return a value as JSON on one line that can be encoded in UTF-8."""
    return well_formed(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def calls_with_arguments(message: Message) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the calls of a message, each as (id, tool, arguments)."""
    calls = given_calls(message).items()
    return [(call_id, call_name_of(call), call_arguments_of(call)) for call_id, call in calls]


def blocks_without_calls(message: Message) -> list[dict[str, Any]]:
    """Return the content blocks of a message without its calls; a text becomes a text block."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if not isinstance(content, list):
        return []
    found = list[dict[str, Any]]()
    for block in content:
        if isinstance(block, str):
            found.append({"type": "text", "text": block})
        elif isinstance(block, dict) and not is_block(block, CALL_BLOCKS):
            found.append(block)
    return found


def block_text(block: Mapping[str, Any]) -> str:
    """Return the text of a block; the JSON of a block without text, and `[image]` for an image."""
    if isinstance(block.get("text"), str):
        return str(block["text"])
    return "[image]" if block.get("type") == "image" else to_json(dict(block))
