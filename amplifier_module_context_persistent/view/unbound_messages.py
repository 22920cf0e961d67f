"""Copies of messages without the parts that only their maker can read, for other readers."""

from __future__ import annotations

from typing import Any

from ..messages.message import THINKING_BLOCKS, Message, is_block, metadata_of
from .recipients import CHAIN_NAMES, REASONING_NAMES, SIGNATURES, metadata_without


def without_names(message: Message, names: frozenset[str]) -> Message:
    """Return a copy of a message without the metadata whose keys are in `names`."""
    return {**message, "metadata": metadata_without(metadata_of(message), names)}


def without_bonds(message: Message, *, keep_text: bool) -> Message:
    """Return a copy of a message without the parts that are bound to their maker.

    Args:
        message: the message, in its accepted form.
        keep_text: whether the text of visible thinking stays, unsigned.
    """
    changed = {key: value for key, value in message.items() if key != "thinking_block"}
    thinking = message.get("thinking_block")
    if keep_text and isinstance(thinking, dict):
        plain = _plain_thinking(thinking)
        if plain is not None:
            changed["thinking_block"] = plain
    for key in ("content", "content_blocks"):
        blocks = message.get(key)
        if isinstance(blocks, list):
            unbound = [_unbound(block, keep_text=keep_text) for block in blocks]
            changed[key] = [block for block in unbound if block is not None]
    if changed.get("content") == []:
        changed["content"] = ""
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        changed["tool_calls"] = [_unsigned(call) for call in calls]
    metadata = metadata_of(message)
    if metadata:
        changed["metadata"] = metadata_without(metadata, CHAIN_NAMES | REASONING_NAMES)
    return changed


def _unbound(block: Any, *, keep_text: bool) -> Any:
    if not is_block(block, THINKING_BLOCKS):
        return _unsigned(block)
    return _plain_thinking(block) if keep_text else None


def _plain_thinking(block: Message) -> Message | None:
    """Return a thinking block with only its visible text, or None if the block has no text."""
    text = block.get("thinking")
    if not isinstance(text, str) or not text.strip():
        return None
    return {"type": "thinking", "thinking": text}


def _unsigned(block: Any) -> Any:
    if not isinstance(block, dict) or not any(key in block for key in SIGNATURES):
        return block
    return {key: value for key, value in block.items() if key not in SIGNATURES}
