"""Blocks as text, for forms that do not accept the blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..messages.media_blocks import source_of
from ..messages.message import Message
from ..messages.text import blocks_without_calls, to_json
from ..messages.uncarried_blocks import line_about, original_of
from .canonical import text

_CACHE_POINT = frozenset({"type", "cachePoint"})
"""The keys of the item for a cache mark of Bedrock's, which means nothing to other providers."""


def as_blocks(content: Any) -> list[Message]:
    """Return content as a list of blocks; a text becomes one block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def words_or_line(block: Mapping[str, Any]) -> str:
    """Return a block as text: its words, or one line about the block; "" for a cache mark of Bedrock's."""
    original = original_of(block)
    if original.keys() == _CACHE_POINT:
        return ""
    if original is not block:
        return text(block.get("text"))
    source = source_of(block)
    if source is not None and source.text:
        return source.text
    words = block.get("text")
    return words if isinstance(words, str) else line_about(block)


def result_blocks(message: Message) -> Iterator[Message]:
    """Yield the blocks of a result. In place of `tool_result` blocks, their inner blocks are yielded."""
    for block in blocks_without_calls(message):
        output = block.get("output")
        if block.get("type") != "tool_result":
            yield block
        elif isinstance(output, list | str):
            yield from blocks_without_calls({"content": output})
        else:
            yield {"type": "text", "text": to_json(output)}
