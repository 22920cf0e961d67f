"""Answers as three providers give them, with what only their maker understands, and what of it a view still holds."""

import json
from types import SimpleNamespace
from typing import Any

from fixtures.providers import FAMILIES, answer, secret
from tests.support.messages import Message

__all__ = ["FAMILIES", "ChainingProvider", "answer", "foreign_to", "provider", "result", "secret"]


def provider(name: str, model: str = "") -> Any:
    return SimpleNamespace(name=name, default_model=model)


def result(number: int, text: str = "Done.") -> Message:
    return {"role": "tool", "tool_call_id": f"c{number}", "name": "look", "content": text}


def foreign_to(maker: str, view: list[Message]) -> list[str]:
    """The providers other than one whose bonds a view holds."""
    written = json.dumps(view)
    return [other for other in FAMILIES if other != maker and f"bound-to-{other}-" in written]


class ChainingProvider:
    """Takes the id of the last answer that has one as the response to go on from, as OpenAI's module does.

    Every other answer has no reasoning: nothing but its id is bound.
    """

    name = "openai"

    def __init__(self) -> None:
        self.number = 0
        self.continued: list[str | None] = []
        """For each request, the id that it went on from."""

    def complete(self, view: list[Message]) -> Message:
        ids = [(message.get("metadata") or {}).get("openai:response_id") for message in view]
        self.continued.append(next((found for found in reversed(ids) if found), None))
        self.number += 1
        if self.number % 2:
            return answer("openai", self.number)
        return {"role": "assistant", "content": "Yes.", "metadata": {"openai:response_id": f"resp_{self.number}"}}
