"""Blocks as text, for a form that does not take them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..messages.media_blocks import source_of
from ..messages.message import Message
from ..messages.text import blocks_without_calls, to_json
from ..messages.uncarried_blocks import line_about, original_of
from .canonical import text

_CACHE_POINT = frozenset({"type", "cachePoint"})
"""Keys of the provider's item that a cache mark of Bedrock's is; it says nothing to another reader."""


def as_blocks(content: Any) -> list[Message]:
    """Content as a list of blocks; a text is one."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def told(block: Mapping[str, Any]) -> str:
    """Return a block as text: what it says, or one line about it; "" for a cache mark of Bedrock's."""
    original = original_of(block)
    if original.keys() == _CACHE_POINT:
        return ""
    if original is not block:
        return text(block.get("text"))
    if (source := source_of(block)) is not None and source.text:
        return source.text
    said = block.get("text")
    return said if isinstance(said, str) else line_about(block)


def result_blocks(message: Message) -> Iterator[Message]:
    """Yield the blocks of a result; those of `tool_result` blocks in it are taken out of them."""
    for block in blocks_without_calls(message):
        if block.get("type") != "tool_result":
            yield block
        elif isinstance(output := block.get("output"), list | str):
            yield from blocks_without_calls({"content": output})
        else:
            yield {"type": "text", "text": to_json(output)}
