"""What the host finds wrong with a history whose tool calls were interrupted, by its own rules. Pure.

The host calls a result misplaced if a person's message, or an assistant message without `tool_calls`, stands between it
and its call. A person's message is one of the role user whose text is no reminder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..messages.message import CALL_BLOCKS, Message, blocks_of, call_id_of, result_id_of

REMINDER_TAG = "<system-reminder>"


def is_person(message: Mapping[str, Any]) -> bool:
    """Whether the host's diagnosis takes a message for a person's."""
    if message.get("role") != "user" or "tool_call_id" in message:
        return False
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"text": content}]
    texts = [block.get("text") for block in blocks if isinstance(block, Mapping)]
    return not any(isinstance(text, str) and text.strip().startswith(REMINDER_TAG) for text in texts)


def call_ids(message: Message) -> list[str]:
    """The ids of a message's calls, in any form."""
    listed = message.get("tool_calls") if message.get("role") == "assistant" else ()
    calls = [call for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
    blocks = blocks_of(message, CALL_BLOCKS) if message.get("role") == "assistant" else []
    return [call_id for call in [*calls, *blocks] if (call_id := call_id_of(call)) is not None]


def open_calls(live: Sequence[Message]) -> set[str]:
    """The ids of calls without a result."""
    answered = {result_id_of(message) for message in live}
    return {call_id for message in live for call_id in call_ids(message)} - answered


def late_results(live: Sequence[Message]) -> dict[str, int]:
    """Results that a person's message or an assistant message parts from their call: their positions, by call.

    As the host's diagnosis has it: an assistant message with `tool_calls` does not part them.
    """
    late: dict[str, int] = {}
    parted: dict[str, bool] = {}
    for position, message in enumerate(live):
        call_id = result_id_of(message)
        if call_id is not None and parted.get(call_id):
            late[call_id] = position
        if is_person(message) or (message.get("role") == "assistant" and "tool_calls" not in message):
            parted = dict.fromkeys(parted, True)
        parted.update(dict.fromkeys(call_ids(message), False))
    return late
