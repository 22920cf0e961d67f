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
    """A request for a summary, and the answer."""

    messages: list[Message]
    answer: str


class Excerpts:
    """A stand-in for a provider that writes summaries. It keeps its requests until `take` is called."""

    def __init__(self) -> None:
        self._asked: list[SummaryExchange] = []

    async def complete(self, request: Any) -> Any:
        """Answer a `ChatRequest`."""
        return SimpleNamespace(content=self._answer(request), tool_calls=None)

    def take(self) -> list[SummaryExchange]:
        """The requests since the last call."""
        taken, self._asked = self._asked, []
        return taken

    def _answer(self, request: Any) -> str:
        messages = [message.model_dump(exclude_unset=True) for message in request.messages]
        lines: list[str] = []
        room = _CHARS_A_TOKEN * (request.max_output_tokens or 0)
        for message in messages[:-1] or messages:  # the oldest first: these are what a summary replaces
            line = _first_line(message)
            if line and (message["role"] == "assistant" or len(messages) == 1):
                room -= len(line) + 1
                if room < 0:
                    break
                lines.append(line)
        answer = "\n".join(lines) or "nothing was said"
        self._asked.append(SummaryExchange(messages, answer))
        return answer


def _first_line(message: Message) -> str:
    """The first line of what a message says; of one that only calls, what it calls with which values."""
    said = text_of(message).strip().partition("\n")[0]
    if not said:
        asked = [(call_name_of(one), *call_arguments_of(one).values()) for one in given_calls(message).values()]
        said = "; ".join(" ".join(map(str, words)) for words in asked).partition("\n")[0]
    return said[:_LINE_CHARS]


class ExcerptItems(Excerpts):
    """A provider's module that compacts: its items are excerpts, too (docs/native_compaction.md has the convention)."""

    name, model = "stand-in", "excerpts"

    def supports_native_compaction(self) -> bool:
        """It does."""
        return True

    def validate_compacted_context(self, _message: Message) -> bool:
        """It takes back what it made."""
        return True

    async def compact_context(self, request: Any) -> dict[str, Any]:
        """Make an item of the beginning of a view."""
        return {"kind": "native", "message": {"role": "user", "content": self._answer(request)}}
