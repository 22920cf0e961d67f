"""Reasoning in OpenAI's Responses: read and written.

Items that are added one by one become a message each. Views leave out a message that has only reasoning, since most
providers refuse it. But the item after the reasoning is bound to it. So the message of that item repeats the reasoning,
as a block with the key `carried`. A history that is written exactly leaves out the repetition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Any

from ..messages.host_form import same_content
from ..messages.message import THINKING_BLOCKS, Message, is_block
from .canonical import beside, blocks_of, form_of, items, mapping, mark_of, marked, text, without
from .responses_parts import RESPONSES


def reasoning_block(item: Mapping[str, Any]) -> Message:
    """Return reasoning as hosts store it: the summary as text, with the encrypted state and the item's id beside it."""
    parts = list[str]()
    lengths = dict[str, list[int]]()
    for key in ("summary", "content"):
        texts = [text(mapping(part).get("text")) for part in items(item.get(key))]
        parts += texts
        if texts:
            lengths[key] = [len(part) for part in texts]
    words = "\n\n".join(parts)
    block: Message = {"type": "thinking", "thinking": words, "content": [item.get("encrypted_content"), item.get("id")]}
    is_one_summary = lengths == {"summary": [len(words)]}
    if lengths and not is_one_summary:
        block["lengths"] = lengths
    more = without(item, "type", "summary", "content", "encrypted_content", "id")
    if more:
        block["item"] = more
    return block


def reasoning_item(block: Message) -> Message | None:
    """Return reasoning as an item; None for reasoning of another provider, or without both a state and an id."""
    state = block.get("content")
    if block.get("type") != "thinking" or not isinstance(state, list) or len(state) != 2:
        return None
    encrypted, item_id = state
    if not encrypted and not item_id:
        return None
    item: Message = {"type": "reasoning"}
    if item_id:
        item["id"] = item_id
    words = text(block.get("thinking"))
    lengths = mapping(block.get("lengths"))
    parts = {"summary": [words] if words else []}
    if lengths:
        parts = _cut_again(words, lengths)
    item["summary"] = [{"type": "summary_text", "text": part} for part in parts.get("summary", [])]
    if "content" in parts:
        item["content"] = [{"type": "reasoning_text", "text": part} for part in parts["content"]]
    if encrypted:
        item["encrypted_content"] = encrypted
    return {**item, **mapping(block.get("item"))}


def lack_reasoning(messages: Sequence[Message]) -> bool:
    """Return whether the first message is an answer without reasoning, which may have been added just before it."""
    if not messages:
        return False
    first = messages[0]
    return _is_answer(first) and "response" not in beside(first) and not _thoughts_of(first)


def with_reasoning_before(before: Message, message: Message) -> Message:
    """Return a message with the reasoning that was added just before it.

    Without such reasoning, return the same object.

    Args:
        before: the message before it.
        message: the message of one or more items of an answer.
    """
    if not _is_answer(before) or not _is_answer(message) or _thoughts_of(message):
        return message
    thoughts = _thoughts_of(before)
    is_reasoning_only = not before.get("tool_calls") and len(thoughts) == len(blocks_of(before.get("content")))
    if is_reasoning_only:
        return _with_reasoning(message, [{**thought, CARRIED: True} for thought in thoughts])
    carried = [thought for thought in thoughts if thought.get(CARRIED)]
    if not carried:
        return message
    repeated = _with_reasoning(message, carried)
    return repeated if same_content(repeated, before) else message


CARRIED = "carried"
"""The key of a reasoning block that repeats the reasoning of the message before."""


class ReasoningShown:
    """Tracks, while messages are written in order, which reasoning was written.

    The server refuses an item with an id if the reasoning that belongs to the item is missing.
    """

    def __init__(self) -> None:
        self._reasons = False
        """Whether the model reasoned in any answer so far."""
        self._in_turn = False
        """Whether an answer of the turn so far shows reasoning."""

    def turn(self) -> None:
        """Begin a new turn, at a message of a person."""
        self._in_turn = False

    def of(self, answer: Message, *, shows: bool) -> Bound:
        """Return whether the items of the next answer are bound to reasoning that is shown.

        Args:
            answer: the next answer; answers have to be given in order.
            shows: whether the answer shows reasoning itself.
        """
        facts = beside(answer)
        had_reasoning = "reasons" in facts
        is_alone = "alone" in facts
        self._reasons |= had_reasoning
        self._in_turn |= shows
        if form_of(answer) != RESPONSES:
            return Bound.LOST
        if shows or not (is_alone or had_reasoning):
            return Bound.KEPT
        if not self._reasons or (is_alone and self._in_turn):
            return Bound.UNKNOWN
        return Bound.LOST


class Bound(Enum):
    """Whether the reasoning that an answer's items may be bound to is shown."""

    KEPT = auto()
    """The reasoning is shown, or there is none."""
    UNKNOWN = auto()
    """The reasoning may be in another message, so ids that are optional are left out."""
    LOST = auto()
    """The reasoning is left out, so no item may keep its id."""


def _is_answer(message: Message) -> bool:
    return message.get("role") == "assistant" and form_of(message) == RESPONSES


def _thoughts_of(message: Message) -> list[Message]:
    return [block for block in blocks_of(message.get("content")) if is_block(block, THINKING_BLOCKS)]


def _with_reasoning(message: Message, thoughts: list[Message]) -> Message:
    if not thoughts:
        return message
    places = items(mark_of(message).get("calls_at"))
    moved = [place + len(thoughts) for place in places]
    content = [*thoughts, *blocks_of(message.get("content"))]
    facts = {**beside(message), "reasons": True}
    return marked({**message, "content": content}, RESPONSES, calls_at=moved, beside=facts)


def _cut_again(words: str, lengths: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the parts from which the text of a reasoning was joined."""
    parts: dict[str, list[str]] = {}
    position = 0
    for key, sizes in lengths.items():
        parts_of_key = parts[str(key)] = list[str]()
        if not isinstance(sizes, list):
            continue
        for size in sizes:
            parts_of_key.append(words[position : position + size])
            position += size + len("\n\n")
    return parts
