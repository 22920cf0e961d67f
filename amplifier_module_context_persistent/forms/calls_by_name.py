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
    """Return whether a result among the messages answers a call that is not among the messages before it."""
    called: set[str] = set()
    for message in messages:
        called |= {str(call_id_of(call)) for call in _calls(message)}
        if _is_result(message) and message.get("tool_call_id") not in called:
            return True
    return False


def with_ids_of_calls(messages: Sequence[Message], before: Sequence[Message] = ()) -> list[Message]:
    """Return the messages; results that name no existing call get the id of the call that they answer.

    Args:
        messages: the messages in order. Messages that need no other id are returned unchanged.
        before: the messages before them, from the last answer on.
    """
    asked = _Asked()
    for message in before:
        asked.note(message)
    written = []
    for message in messages:
        message = asked.answered_by(message)
        asked.note(message)
        written.append(message)
    return written


class _Asked:
    """The calls of the last answer that has calls, and earlier calls without a result."""

    def __init__(self) -> None:
        self._calls: list[Mapping[str, Any]] = []
        self._answered: list[str] = []

    def note(self, message: Message) -> None:
        if calls := _calls(message):
            open_calls = [call for call in self._calls if call["id"] not in self._answered]
            self._calls, self._answered = [*open_calls, *calls], []
        elif message.get("role") == "tool":
            self._answered.append(str(message.get("tool_call_id")))

    def answered_by(self, message: Message) -> Message:
        """Return a result with the id of the call that it answers; any other message unchanged."""
        if not _is_result(message):
            return message
        named = [call for call in self._calls if call_name_of(call) == message.get("name")]
        if not beside(message).get("unnamed"):
            if any(call["id"] == message["tool_call_id"] for call in self._calls):
                return message
            named = [call for call in named if call.get("unnamed")]
        if not named:
            return message
        # if all calls of this name are answered, the result is another one of the call that was answered least often
        call_id = min((call["id"] for call in named), key=self._answered.count)
        if call_id == message["tool_call_id"]:
            return message
        told_of = beside(message)
        given = {} if told_of.get("unnamed") else {"id": message["tool_call_id"]}
        return marked({**message, "tool_call_id": call_id}, GEMINI, beside={**told_of, **given})


def _calls(message: Message) -> list[Mapping[str, Any]]:
    if message.get("role") != "assistant":
        return []
    return [call for call in items(message.get("tool_calls")) if isinstance(call, Mapping) and text(call.get("id"))]


def _is_result(message: Message) -> bool:
    return message.get("role") == "tool" and form_of(message) == GEMINI
