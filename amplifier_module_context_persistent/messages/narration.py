"""Narration: the words between tool calls that some models give as readable thinking.

A plan removes the thinking of older answers, since thinking is bound to the messages before it. Some models (see the
table in `view/recipients.py`) put the words between two calls into their thinking, so these words would be lost too.
Their beginning and end stay as ordinary text of the same message, which is bound to nothing. Redacted thinking has no
text.
"""

from __future__ import annotations

from typing import Any

from .excerpt import excerpt
from .message import THINKING_BLOCKS, Message, blocks_of, is_block, without_thinking

HEAD_CHARS, TAIL_CHARS = 320, 160  # with the marker about 150 tokens: enough for a statement and the next step

_READABLE = frozenset({"thinking"})


def narration_of(message: Message, reference: str) -> str:
    """Return the readable thinking of an answer, shortened; "" if there is none."""
    if message.get("role") != "assistant":
        return ""
    blocks = blocks_of(message, _READABLE)
    copy: Any = message.get("thinking_block")
    if not blocks and is_block(copy, _READABLE):
        blocks = [copy]
    texts = list[str]()
    for block in blocks:
        text = block.get("thinking")
        if isinstance(text, str) and text.strip():
            texts.append(text)
    if not texts:
        return ""
    return excerpt("\n\n".join(texts), HEAD_CHARS, TAIL_CHARS, reference=reference, prose=True)


def with_narration(message: Message, narration: str) -> Message:
    """Return a new message with the narration as text in place of the thinking."""
    content = message.get("content")
    changed = without_thinking(message)
    if not isinstance(content, list):
        return {**changed, "content": "\n\n".join(part for part in (narration, content) if part)}
    first = 0  # the position of the first thinking
    while first < len(content) and not is_block(content[first], THINKING_BLOCKS):
        first += 1
    if first == len(content):
        first = 0
    narration_block: dict[str, Any] = {"type": "text", "text": narration}
    rest = [block for block in content[first:] if not is_block(block, THINKING_BLOCKS)]
    return {**changed, "content": [*content[:first], narration_block, *rest]}
