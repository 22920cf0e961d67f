"""Reasoning of OpenAI's Responses: it goes with the items that are bound to it, and they go without it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import (
    InMemoryContextManager,
    PersistentContextManager,
    from_openai,
    to_anthropic,
    to_openai_responses,
)
from amplifier_module_context_persistent.messages.metadata import COMPACTION_SOURCE
from tests.support.checker import anthropic_violations
from tests.support.foreign_messages import PNG_URL, Message


def reasoning(number: int) -> Message:
    said = [{"type": "summary_text", "text": f"Thought {number}."}]
    return {"type": "reasoning", "id": f"rs_{number}", "summary": said, "encrypted_content": "RW5j"}


def function(number: int) -> Message:
    call: Message = {"type": "function_call", "call_id": f"call_{number}", "name": "ls", "arguments": "{}"}
    return {**call, "id": f"fc_{number}", "status": "completed"}


def output(number: int) -> Message:
    return {"type": "function_call_output", "call_id": f"call_{number}", "output": f"{number}.py"}


SAID: Message = {
    "type": "message",
    "id": "msg_1",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Seen.", "annotations": []}],
}
COMPUTER: Message = {
    "type": "computer_call",
    "call_id": "call_9",
    "id": "cu_9",
    "action": {"type": "screenshot"},
    "pending_safety_checks": [],
    "status": "completed",
}
SCREEN: Message = {
    "type": "computer_call_output",
    "call_id": "call_9",
    "output": {"type": "computer_screenshot", "image_url": PNG_URL},
}
SHELL: Message = {
    "type": "local_shell_call",
    "call_id": "call_8",
    "id": "lsh_8",
    "action": {"type": "exec", "command": ["ls"], "env": {}},
    "status": "completed",
}
SHELL_OUTPUT: Message = {"type": "local_shell_call_output", "id": "call_8", "output": "a"}
SEARCH: Message = {
    "type": "web_search_call",
    "id": "ws_7",
    "status": "completed",
    "action": {"type": "search", "query": "q"},
}
GO: Message = {"role": "user", "content": "go"}
NEXT: Message = {"role": "user", "content": "next"}
ONE_BY_ONE = [
    GO,
    reasoning(1),
    function(1),
    output(1),
    reasoning(2),
    COMPUTER,
    SCREEN,
    reasoning(3),
    SEARCH,
    reasoning(4),
    SAID,
    NEXT,
]


async def test_items_that_are_added_one_by_one_keep_their_reasoning(tmp_path: Path) -> None:
    """As if they were added together, whenever the process is killed; the history has each of them once."""
    for number, item in enumerate(ONE_BY_ONE):
        memory = PersistentContextManager(tmp_path / "log.jsonl")  # the one before it is not closed
        await memory.add_message(copy.deepcopy(item))
        if number % 2:
            memory = PersistentContextManager(tmp_path / "log.jsonl")
            await memory.add_messages([copy.deepcopy(item)])  # nobody told whether it was stored
    view = await memory.get_messages_for_request()
    assert to_openai_responses(view)["input"] == ONE_BY_ONE
    assert await memory.messages_as("openai_responses") == ONE_BY_ONE
    assert anthropic_violations(to_anthropic(view)) == []


def test_two_answers_in_a_row_have_nothing_between_them() -> None:
    """A view may put a line there, which providers of other forms need."""
    line = {"role": "user", "content": "[continued]", "metadata": {"source": COMPACTION_SOURCE}}
    one, two = (from_openai({"output": [{**SAID, "id": f"msg_{number}"}], "model": "gpt-5"}) for number in (1, 2))
    written = to_openai_responses([GO, one, line, two, line, NEXT])["input"]
    assert [item.get("id") or item["role"] for item in written] == ["user", "msg_1", "msg_2", "user", "user"]


def without_reasoning(view: list[Message]) -> list[Message]:
    """A view that leaves reasoning out, as one for another model does."""
    kept = []
    for message in view:
        content = message.get("content")
        if isinstance(content, list):
            message = {**message, "content": [block for block in content if block.get("type") != "thinking"]}
        kept.append(message)
    return kept


@pytest.mark.parametrize("together", [True, False])
async def test_what_is_bound_to_reasoning_that_is_left_out_has_no_id(together: bool) -> None:
    """What needs one is a call of a function, or a line; every output has the kind of its call."""
    items = [GO, reasoning(1), COMPUTER, SCREEN, reasoning(2), SHELL, SHELL_OUTPUT, reasoning(3), SEARCH, SAID, NEXT]
    async with InMemoryContextManager() as memory:
        for run in [items] if together else [[item] for item in items]:
            await memory.add_messages(copy.deepcopy(run))
        view = await memory.get_messages_for_request()
    written = to_openai_responses(without_reasoning(view))["input"]
    text = json.dumps(written)
    assert not [name for name in ("rs_", "cu_9", "lsh_8", "ws_7", "msg_1") if name in text]
    kinds = [item.get("type") or item["role"] for item in written]
    pair = ["function_call", "function_call_output"]
    assert kinds[:5] == ["user", *pair, *pair]
    assert [part["type"] for part in written[2]["output"]] == ["input_image"]
    assert written[1]["name"] == "computer"
    assert "[web search call" in text


async def test_a_model_that_does_not_reason_keeps_its_items() -> None:
    """Added one by one, too."""
    items = [GO, SEARCH, SAID, NEXT, COMPUTER, SCREEN, SHELL, SHELL_OUTPUT]
    async with InMemoryContextManager() as memory:
        for item in items:
            await memory.add_message(item)
        written = to_openai_responses(await memory.get_messages_for_request())["input"]
    assert [item.get("id") for item in written if "id" in item] == ["ws_7", "cu_9", "lsh_8", "call_8"]


async def test_a_computers_call_without_its_screenshot_is_a_functions() -> None:
    """A view has elided the image, or there is no result: the output of a computer is an image and nothing else."""
    async with InMemoryContextManager() as memory:
        await memory.add_messages([GO, COMPUTER, NEXT])
        written = to_openai_responses(await memory.get_messages_for_request())["input"]
    assert [item.get("type") for item in written[1:3]] == ["function_call", "function_call_output"]


def test_a_whole_response_is_not_split() -> None:
    """Reasoning, a search, a text: in the order in which they came."""
    response: dict[str, Any] = {"object": "response", "output": [reasoning(1), SEARCH, SAID], "model": "gpt-5.2"}
    assert to_openai_responses([GO, from_openai(response), NEXT])["input"][1:-1] == response["output"]
