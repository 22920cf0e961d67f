"""A stand-in for the model that writes summaries: excerpts of the text, so that a replay needs no provider."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from ...messages.message import Message, call_arguments_of, call_name_of, given_calls, text_of

_LINE_CHARS = 200


_CHARS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class SummaryExchange:
    """A request for a summary, and the answer of the stand-in for a provider."""

    messages: list[Message]
    answer: str


class Excerpts:
    """A stand-in for a provider that writes summaries. It stores its requests until `take` is called."""

    def __init__(self) -> None:
        self._asked: list[SummaryExchange] = []

    async def complete(self, request: Any) -> Any:
        """Return an answer to a `ChatRequest`, with excerpts of its messages."""
        return SimpleNamespace(content=self._answer(request), tool_calls=None)

    def take(self) -> list[SummaryExchange]:
        """Return the requests since the last call, with their answers."""
        taken = self._asked
        self._asked = []
        return taken

    def _answer(self, request: Any) -> str:
        messages = [message.model_dump(exclude_unset=True) for message in request.messages]
        lines: list[str] = []
        most_tokens = request.max_output_tokens or 0
        room = _CHARS_A_TOKEN * most_tokens
        is_single_text = len(messages) == 1
        quotable = messages if is_single_text else messages[:-1]  # the last message is the instruction
        for message in quotable:  # the oldest first, because a summary replaces the oldest
            line = _first_line(message)
            if not line or not (message["role"] == "assistant" or is_single_text):
                continue
            room -= len(line) + 1
            if room < 0:
                break
            lines.append(line)
        answer = "\n".join(lines) or "nothing was said"
        self._asked.append(SummaryExchange(messages, answer))
        return answer


def _first_line(message: Message) -> str:
    """Return the first line of a message's text, or else the names and argument values of its calls."""
    text = text_of(message).strip()
    line, _, _ = text.partition("\n")
    if not line:
        descriptions = []
        for call in given_calls(message).values():
            words = [call_name_of(call), *map(str, call_arguments_of(call).values())]
            descriptions.append(" ".join(words))
        line, _, _ = "; ".join(descriptions).partition("\n")
    return line[:_LINE_CHARS]


class ExcerptItems(Excerpts):
    """A stand-in for a provider that compacts by itself: its items are excerpts (see docs/native_compaction.md)."""

    name, model = "stand-in", "excerpts"

    def supports_native_compaction(self) -> bool:
        """Return True."""
        return True

    def validate_compacted_context(self, _message: Message) -> bool:
        """Return True: the stand-in accepts the items that it made."""
        return True

    async def compact_context(self, request: Any) -> dict[str, Any]:
        """Return an item that replaces the beginning of a view."""
        return {"kind": "native", "message": {"role": "user", "content": self._answer(request)}}
