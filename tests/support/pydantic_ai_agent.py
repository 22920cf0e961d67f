"""An agent of Pydantic AI with a made-up model: each turn asks some tools, then answers."""

from __future__ import annotations

import itertools
import random
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.support.kit_requests import Part, StrictService, words

_messages: TypeAdapter[Any] = TypeAdapter(ModelMessage)


def made_up_agent(
    service: StrictService, view: Any = None, *, calls: int = 2, result_words: int = 150
) -> Agent[None, str]:
    """Make an agent whose model asks `calls` tools in each turn, and hands each request to a service."""
    rng, ids, unique, done = random.Random(1), itertools.count(), random.Random().getrandbits(32), 0

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        nonlocal done
        service.ask([part for message in messages for part in parts_of(message)])
        kinds = [part.part_kind for part in messages[-1].parts]
        done = done + 1 if "tool-return" in kinds else 0
        own = f"{unique:x}_{next(ids)}"
        if done < calls:
            call = ToolCallPart("look", {"number": done}, tool_call_id=f"call_{own}")
            return ModelResponse(parts=[ThinkingPart(f"thought {own}"), call])
        return ModelResponse(parts=[TextPart(f"answer {own} after {done}")])

    capabilities = [view] if view is not None else []
    agent = Agent(FunctionModel(answer), capabilities=capabilities, instructions="Be brief.")

    @agent.tool_plain
    def look(number: int) -> str:
        """Look something up."""
        return f"result {number}: {words(rng, result_words)}"

    return agent


def parts_of(message: ModelMessage) -> list[Part]:
    """What the service sees of a message."""
    found: list[Part] = []
    for part in _messages.dump_python(message, mode="json")["parts"]:
        kind, call_id = part["part_kind"], str(part.get("tool_call_id"))
        value = {
            "role": "user" if kind == "user-prompt" else kind,
            "said": part.get("content"),
            "args": part.get("args"),
        }
        found.append(
            Part(
                value,
                calls=[call_id] if kind == "tool-call" else (),
                answers=[call_id] if kind == "tool-return" else (),
            )
        )
    return found
