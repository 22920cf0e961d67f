"""The host's diagnosis of a history: calls without a result, and results that come too late.

For the host, a result is late if a person's message, or an assistant message without `tool_calls`, is between the call
and the result. A person's message has the role user and is not a reminder.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..messages.message import Message, given_calls, result_id_of, texts_of
from ..messages.system_reminder import REMINDER_PREFIX


def is_person(message: Message) -> bool:
    """Return whether the host's diagnosis regards a message as a person's."""
    if message.get("role") != "user" or "tool_call_id" in message:
        return False
    return not any(text.strip().startswith(f"{REMINDER_PREFIX}>") for text in texts_of(message))


def open_calls(live: Sequence[Message]) -> set[str]:
    """Return the ids of calls without a result."""
    called: set[str] = set()
    answered: set[str | None] = set()
    for message in live:
        called.update(given_calls(message))
        answered.add(result_id_of(message))
    return called - answered


def late_results(live: Sequence[Message]) -> dict[str, int]:
    """Return the positions of late results by call id.

    A result is late if a person's or an assistant's message is between the call and the result. As in the host's
    diagnosis, an assistant message with `tool_calls` does not count.
    """
    late: dict[str, int] = {}
    separators = 0  # so far
    separators_at_call: dict[str, int] = {}
    for position, message in enumerate(live):
        answered = result_id_of(message)
        if answered in separators_at_call and separators_at_call[answered] < separators:
            late[answered] = position
        if _separates(message):
            separators += 1
        for call_id in given_calls(message):
            separators_at_call[call_id] = separators
    return late


def _separates(message: Message) -> bool:
    """Return whether a result is late if this message is between the call and the result."""
    if message.get("role") == "assistant":
        return "tool_calls" not in message
    return is_person(message)
