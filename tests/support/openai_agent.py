"""An agent of the OpenAI Agents SDK with a made-up model: each turn asks some tools, then answers."""

from __future__ import annotations

import itertools
import random
from typing import Any

from agents import Agent, Usage, function_tool, set_tracing_disabled
from agents.items import ModelResponse
from agents.models.interface import Model
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
)

from tests.support.kit_requests import Part, StrictService, words

set_tracing_disabled(True)


class MadeUpModel(Model):
    """Asks `calls` tools in each turn, one after the other, then answers; hands each request to a service.

    Args:
        service: gets each request.
        calls: how many calls a turn has.
        reasons: whether an answer begins with reasoning.
        result_words: the length of a tool's result.
    """

    def __init__(
        self, service: StrictService, *, calls: int = 2, reasons: bool = False, result_words: int = 150
    ) -> None:
        self.service, self._calls, self._reasons = service, calls, reasons
        self._words, self._ids = result_words, itertools.count()
        self._done = 0
        self._unique = random.Random().getrandbits(32)

    def agent(self) -> Agent[Any]:
        """Make the agent."""
        rng, count = random.Random(1), self._words

        def look(number: int) -> str:
            """Look something up."""
            return f"result {number}: {words(rng, count)}"

        return Agent(name="a", instructions="Be brief.", model=self, tools=[function_tool(look)])

    async def get_response(self, *args: Any, **given: Any) -> ModelResponse:
        items = [dict(item) for item in given["input"]]
        self.service.ask(list(map(part_of, items)))
        if items[-1].get("type") != "function_call_output":
            self._done = 0
        done = self._done
        self._done += 1
        own = f"{self._unique:x}_{next(self._ids)}"
        output: list[Any] = []
        if self._reasons:
            output.append(
                ResponseReasoningItem(id=f"rs_{own}", type="reasoning", summary=[], encrypted_content="abcd" * 40)
            )
        if done < self._calls:
            output.append(
                ResponseFunctionToolCall(
                    id=f"fc_{own}",
                    call_id=f"call_{own}",
                    name="look",
                    arguments=f'{{"number": {done}}}',
                    type="function_call",
                )
            )
        else:
            said = ResponseOutputText(text=f"answer {own} after {done}", type="output_text", annotations=[])
            output.append(
                ResponseOutputMessage(
                    id=f"msg_{own}", content=[said], role="assistant", status="completed", type="message"
                )
            )
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kw: Any) -> Any:
        raise NotImplementedError


def part_of(item: dict[str, Any]) -> Part:
    """What the service sees of an item."""
    kind, call_id = item.get("type"), str(item.get("call_id"))
    return Part(
        item,
        calls=[call_id] if kind == "function_call" else (),
        answers=[call_id] if kind == "function_call_output" else (),
    )
