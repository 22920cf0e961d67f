"""Answers as three providers give them, with what only their maker understands, and what of it a view still holds."""

import json
from types import SimpleNamespace
from typing import Any

from tests.support.messages import Message

FAMILIES = ("anthropic", "openai", "gemini")


def provider(name: str, model: str = "") -> Any:
    return SimpleNamespace(name=name, default_model=model)


def secret(maker: str, number: int) -> str:
    """What nobody but the maker of an answer may get to see again."""
    return f"bound-to-{maker}-{number}-end"


def answer(maker: str, number: int, *, calls: bool = False, text: str = "") -> Message:
    """The answer of a provider: thinking in its way, text, perhaps a call."""
    said, bound = {"type": "text", "text": text or f"Answer {number}."}, secret(maker, number)
    thinking: Message = {"type": "thinking", "thinking": f"Thought {number} of {maker}.", "signature": bound}
    message: Message = {"role": "assistant", "content": [thinking, said]}
    if maker == "openai":
        thinking |= {"signature": None, "content": [bound, f"rs_{number}"]}
        items = [{"id": f"rs_{number}", "encrypted_content": bound}]
        message["metadata"] = {"openai:response_id": f"resp_{number}", "openai:reasoning_items": items}
    elif maker == "anthropic":
        message["content"].insert(1, {"type": "redacted_thinking", "data": bound})
        message["thinking_block"] = dict(thinking)
        message["metadata"] = {"anthropic": {"wire_content": [thinking], "stop_reason": "end_turn"}}
    if calls:
        call: Message = {"id": f"c{number}", "tool": "look", "arguments": {"at": number}}
        message["tool_calls"] = [call | ({"signature": bound} if maker == "gemini" else {})]
    return message


def result(number: int, text: str = "Done.") -> Message:
    return {"role": "tool", "tool_call_id": f"c{number}", "name": "look", "content": text}


def foreign_to(maker: str, view: list[Message]) -> list[str]:
    """The providers other than one whose bonds a view holds."""
    written = json.dumps(view)
    return [other for other in FAMILIES if other != maker and f"bound-to-{other}-" in written]


class ChainingProvider:
    """Takes the id of the last answer that has one as the response to go on from, as OpenAI's module does."""

    name = "openai"

    def __init__(self) -> None:
        self.number = 0
        self.continued: list[str | None] = []
        """For each request, the id that it went on from."""

    def complete(self, view: list[Message]) -> Message:
        ids = [(message.get("metadata") or {}).get("openai:response_id") for message in view]
        self.continued.append(next((found for found in reversed(ids) if found), None))
        self.number += 1
        return answer("openai", self.number)
