"""Results of Gemini that do not say which call they answer: by the name of the function, in the order of the calls.

An API that gives calls ids takes responses without them too, which `Part.from_function_response` of `google-genai`
makes (ai.google.dev/gemini-api/docs/function-calling, read 2026-11): they are given in the order of the calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..messages.message import Message, call_id_of, call_name_of
from .canonical import beside, form_of, items, marked, text

GEMINI = "gemini"
"""The name of the form."""


def lack_calls(messages: Iterable[Message]) -> bool:
    """Return whether a result among messages answers a call that is not among them."""
    called: set[str] = set()
    for message in messages:
        called |= {str(call_id_of(call)) for call in _calls(message)}
        if _is_result(message) and message.get("tool_call_id") not in called:
            return True
    return False


def with_ids_of_calls(messages: Sequence[Message], before: Sequence[Message] = ()) -> list[Message]:
    """Return each result that names no call, or none that there is, the id of the call that it answers.

    Args:
        messages: in order; the same object is returned for any that needs no other id.
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
    """The calls of the last answer that calls, and those before it that have no result."""

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
        """Return a result with the id of its call."""
        if not _is_result(message):
            return message
        named = [call for call in self._calls if call_name_of(call) == message.get("name")]
        if not beside(message).get("unnamed"):
            if any(call["id"] == message["tool_call_id"] for call in self._calls):
                return message
            named = [call for call in named if call.get("unnamed")]
        if not named:
            return message
        # one that is given again, when all are answered, is that of the call which was answered the least
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
