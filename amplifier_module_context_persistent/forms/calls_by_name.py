"""Results of Gemini that do not name the call they answer: matched by the function's name, in the order of the calls.

The API also accepts responses without ids, even if the calls have ids; `Part.from_function_response` of `google-genai`
makes such responses (ai.google.dev/gemini-api/docs/function-calling, read 2026-11): they are given in the order of the
calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..messages.message import Message, call_id_of, call_name_of
from .canonical import beside, form_of, items, marked, text

GEMINI = "gemini"
"""The name of the form."""


def lack_calls(messages: Iterable[Message]) -> bool:
    """Return whether a result among the messages answers a call that no message before the result has."""
    called: set[str] = set()
    for message in messages:
        called |= {str(call_id_of(call)) for call in _calls(message)}
        if _is_result(message) and message.get("tool_call_id") not in called:
            return True
    return False


def with_ids_of_calls(messages: Sequence[Message], before: Sequence[Message] = ()) -> list[Message]:
    """Return messages in which each result has the id of its call. Results that named no existing call are changed.

    Args:
        messages: the messages in order. Messages that need no other id are returned unchanged.
        before: the messages before them, from the last answer on.
    """
    calls = _Calls()
    for message in before:
        calls.note(message)
    with_ids = list[Message]()
    for message in messages:
        with_id = calls.answered_by(message)
        calls.note(with_id)
        with_ids.append(with_id)
    return with_ids


class _Calls:
    """The calls of the last answer that has calls, and earlier calls without a result."""

    def __init__(self) -> None:
        self._calls: list[Mapping[str, Any]] = []
        self._answered: list[str] = []
        """The ids of the results since the last answer that has calls."""

    def note(self, message: Message) -> None:
        """Note the calls of an answer, or the call that a result answers."""
        calls = _calls(message)
        if calls:
            open_calls = [call for call in self._calls if call["id"] not in self._answered]
            self._calls = [*open_calls, *calls]
            self._answered = []
        elif message.get("role") == "tool":
            self._answered.append(str(message.get("tool_call_id")))

    def answered_by(self, message: Message) -> Message:
        """Return a result with the id of the call that it answers; any other message unchanged."""
        if not _is_result(message):
            return message
        calls = [call for call in self._calls if call_name_of(call) == message.get("name")]
        form_keys = beside(message)
        has_own_id = not form_keys.get("unnamed")
        if has_own_id:
            if any(call["id"] == message["tool_call_id"] for call in self._calls):
                return message
            calls = [call for call in calls if call.get("unnamed")]
        if not calls:
            return message
        # if all calls of this name are answered, the result is another one of the call that was answered least often
        call_id = min((call["id"] for call in calls), key=self._answered.count)
        if call_id == message["tool_call_id"]:
            return message
        if has_own_id:
            form_keys = {**form_keys, "id": message["tool_call_id"]}
        return marked({**message, "tool_call_id": call_id}, GEMINI, beside=form_keys)


def _calls(message: Message) -> list[Mapping[str, Any]]:
    if message.get("role") != "assistant":
        return []
    return [call for call in items(message.get("tool_calls")) if isinstance(call, Mapping) and text(call.get("id"))]


def _is_result(message: Message) -> bool:
    return message.get("role") == "tool" and form_of(message) == GEMINI
