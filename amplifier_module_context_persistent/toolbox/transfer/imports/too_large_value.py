"""The text that an import puts in place of a value that is too large for a record of a log."""

from __future__ import annotations

from typing import Any

from ....forms.canonical import text_block
from ....log.record_limits import MAX_RECORD_BYTES
from ....messages.message import THINKING_BLOCKS, Message

LEFT_OUT = "[left out by the import: "


def left_out_text(size_bytes: int) -> str:
    """Return the text that replaces a value of this size."""
    return f"{LEFT_OUT}{size_bytes:,} bytes; a record has at most {MAX_RECORD_BYTES:,}]"


def with_texts_for_left_out(message: Message) -> Message:
    """Return a message in which blocks are replaced whose data was left out: images, documents and reasoning.

    Providers would refuse such blocks. An image or a document becomes a text block; reasoning loses its signature and
    its encrypted state.
    """
    content = message["content"]
    if not isinstance(content, list):
        return message
    return {**message, "content": [_as_text(block) for block in content]}


def _as_text(block: Message) -> Message:
    found = _found_in({key: value for key, value in block.items() if key != "text"})
    if not found or block.get("type") == "text":
        return block
    thinking = block.get("thinking")
    if block.get("type") in THINKING_BLOCKS and isinstance(thinking, str) and thinking:
        return {"type": "thinking", "thinking": thinking, "signature": None}
    return text_block(found)


def _found_in(value: Any) -> str:
    """Return the first text in a value that was put in place of left-out data, or "" if there is none."""
    waiting = [value]
    for item in waiting:  # it grows while it is walked
        if isinstance(item, str) and item.startswith(LEFT_OUT):
            return item
        if isinstance(item, dict | list):
            waiting += item.values() if isinstance(item, dict) else item
    return ""
