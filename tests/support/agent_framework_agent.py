"""An agent of the Microsoft Agent Framework with a made-up client: each turn asks some tools, then answers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
    UsageDetails,
)

from tests.support.kit_requests import Part, StrictService, words


class MadeUpClient(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Asks `calls` tools in each turn, one after the other, then answers; hands each request to a service."""

    def __init__(self, service: StrictService, calls: int, usage: UsageDetails | None = None) -> None:
        super().__init__()
        self._usage = usage
        self.function_invocation_configuration["max_iterations"] = 1_000
        self._asked, self._service, self._calls, self._ids = 0, service, calls, itertools.count()
        self._unique = random.Random().getrandbits(32)

    def _inner_get_response(self, *, messages: Sequence[Message], **more: Any) -> Any:
        async def answer() -> ChatResponse:
            self._service.ask([part for message in messages for part in parts_of(message)])
            self._asked = self._asked + 1 if str(messages[-1].role) == "tool" else 0
            own = f"{self._unique:x}_{next(self._ids)}"
            if self._asked < self._calls:
                call = Content.from_function_call(f"call_{own}", "look", arguments={"number": self._asked})
                thought = Content.from_text_reasoning(text=f"thought {own}")
                asks = Message("assistant", [thought, call])
                return ChatResponse(messages=[asks], usage_details=self._usage, model="gpt-5")
            said = Message("assistant", [f"answer {own} after {self._asked}"])
            return ChatResponse(messages=[said], usage_details=self._usage, model="gpt-5")

        return answer()


def made_up_agent(
    service: StrictService, *, calls: int = 2, result_words: int = 150, usage: UsageDetails | None = None, **more: Any
) -> Agent:
    """Make an agent, each request of which reports `usage`; `more` are its providers and its strategy."""
    rng = random.Random(1)

    def look(number: int) -> str:
        """Look something up."""
        return f"result {number}: {words(rng, result_words)}"

    client = MadeUpClient(service, calls, usage)
    return Agent(client=client, name="a", instructions="Be brief.", tools=[look], **more)


def parts_of(message: Message) -> list[Part]:
    """What the service sees of a message."""
    found: list[Part] = []
    for content in message.contents:
        kind, call_id = content.type, str(content.call_id)
        said = content.text or content.result
        found.append(
            Part(
                {"role": str(message.role), "said": said, "args": content.arguments, "call_id": call_id},
                calls=[call_id] if kind == "function_call" else (),
                answers=[call_id] if kind == "function_result" else (),
            )
        )
    return found
