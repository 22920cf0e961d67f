"""Reasoning in OpenAI's Responses: read and written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..messages.message import (
    Message,
)
from .canonical import (
    items,
    mapping,
    text,
    without,
)


def reasoning_block(item: Mapping[str, Any]) -> Message:
    """Reasoning as hosts keep it: the summary as text, the encrypted state and the item's id beside it."""
    parts = {key: [text(mapping(part).get("text")) for part in items(item.get(key))] for key in ("summary", "content")}
    said = "\n\n".join(part for texts in parts.values() for part in texts)
    lengths = {key: [len(part) for part in texts] for key, texts in parts.items() if texts}
    block: Message = {"type": "thinking", "thinking": said, "content": [item.get("encrypted_content"), item.get("id")]}
    if lengths not in ({}, {"summary": [len(said)]}):
        block["lengths"] = lengths
    more = without(item, "type", "summary", "content", "encrypted_content", "id")
    return {**block, **({"item": more} if more else {})}


def reasoning_item(block: Message) -> Message | None:
    """Reasoning as an item; None for another provider's, or for what has neither state nor id."""
    state = block.get("content")
    if block.get("type") != "thinking" or not isinstance(state, list) or len(state) != 2 or not any(state):
        return None
    said, lengths = text(block.get("thinking")), mapping(block.get("lengths"))
    parts = {"summary": [said] if said else []}
    if lengths:
        parts = _cut_again(said, lengths)
    item: Message = {"type": "reasoning", **({"id": state[1]} if state[1] else {})}
    item["summary"] = [{"type": "summary_text", "text": part} for part in parts.get("summary", [])]
    if "content" in parts:
        item["content"] = [{"type": "reasoning_text", "text": part} for part in parts["content"]]
    return {**item, **({"encrypted_content": state[0]} if state[0] else {}), **mapping(block.get("item"))}


def _cut_again(said: str, lengths: Mapping[str, Any]) -> dict[str, list[str]]:
    """The parts that a reasoning's text was joined of."""
    parts: dict[str, list[str]] = {}
    at = 0
    for key, sizes in lengths.items():
        parts[str(key)] = []
        for size in sizes if isinstance(sizes, list) else []:
            parts[str(key)].append(said[at : at + size])
            at += size + len("\n\n")
    return parts
