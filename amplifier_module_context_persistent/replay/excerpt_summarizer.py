"""A stand-in for a provider that is asked for summaries, or to compact by itself: it answers with excerpts.

It repeats what the assistant said, the first line of each message, the newest that fit; a model's summary would say
more. So the tokens of request and answer can be measured and billed; the quality of the answer cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from ..messages.message import Message, text_of

_LINE_CHARS = 200
_CHARS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for a summary, and the answer."""

    messages: list[Message]
    answer: str


class Excerpts:
    """Answers requests for summaries, and keeps them until they are taken."""

    def __init__(self) -> None:
        self._asked: list[Asked] = []

    async def complete(self, request: Any) -> Any:
        """Answer a `ChatRequest`."""
        return SimpleNamespace(content=self._answer(request), tool_calls=None)

    def take(self) -> list[Asked]:
        """The requests since the last call."""
        taken, self._asked = self._asked, []
        return taken

    def _answer(self, request: Any) -> str:
        messages = [message.model_dump(exclude_unset=True) for message in request.messages]
        lines: list[str] = []
        room = _CHARS_A_TOKEN * (request.max_output_tokens or 0)
        for message in reversed(messages[:-1] or messages):
            line = text_of(message).strip().partition("\n")[0][:_LINE_CHARS]
            if line and (message["role"] == "assistant" or len(messages) == 1):
                room -= len(line) + 1
                if room < 0:
                    break
                lines.append(line)
        answer = "\n".join(reversed(lines)) or "nothing was said"
        self._asked.append(Asked(messages, answer))
        return answer


class ExcerptItems(Excerpts):
    """A provider's module that compacts: its items are excerpts, too (docs/compaction.md has the convention)."""

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
