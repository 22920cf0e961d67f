"""An agent without a host sets its own list again and again; a kill may come at any place of it."""

from __future__ import annotations

import copy
import logging
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import InMemoryContextManager, PersistentContextManager, to_openai
from tests.support.sweeps import proof

Message = dict[str, Any]

PARALLEL: dict[str, list[Message]] = {
    "anthropic": [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "c1", "name": "ls", "input": {}},
                {"type": "tool_use", "id": "c2", "name": "ls", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c2", "content": "b"},
                {"type": "tool_result", "tool_use_id": "c1", "content": "a"},
                {"type": "text", "text": "and hurry"},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
    ],
    "openai_chat": [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": one, "type": "function", "function": {"name": "ls", "arguments": "{}"}} for one in ("c1", "c2")
            ],
        },
        {"role": "tool", "tool_call_id": "c2", "content": "b"},
        {"role": "tool", "tool_call_id": "c1", "content": "a"},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "done"},
    ],
    "openai_responses": [
        {"role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "ls", "arguments": "{}"},
        {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "ls", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c2", "output": "b"},
        {"type": "function_call_output", "call_id": "c1", "output": "a"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "done", "annotations": []}],
        },
    ],
}


def without_stamps(messages: list[Message]) -> list[Message]:
    return [{key: value for key, value in message.items() if key != "metadata"} for message in messages]


@proof(quick=1)
@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("form", PARALLEL)
async def test_a_list_that_grows_after_kills_is_the_history(form: str, step: int, tmp_path: Path) -> None:
    """Nothing is lost, put elsewhere or made up, wherever the list ended, also between calls and their results."""
    whole = PARALLEL[form]
    for end in [*range(1, len(whole), step), len(whole), len(whole)]:
        async with PersistentContextManager(tmp_path / "log.jsonl", durability="write") as manager:
            await manager.set_messages(copy.deepcopy(whole[:end]))
            assert await manager.messages_as(form) == whole[:end]
            assert not any(one["metadata"].get("source") for one in await manager.get_messages())


@proof
async def test_a_list_in_amplifiers_form_grows_too(tmp_path: Path) -> None:
    """Results and answers that come after a kill are no host's repair, and repeated words are words."""
    call = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "tool": "ls", "arguments": {}}]}
    turn: list[Message] = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "done"}]
    result = {"role": "tool", "tool_call_id": "c1", "content": "a"}
    whole = [turn[0], call, result, turn[1], *turn, *turn]
    for end in range(1, len(whole) + 1):
        async with PersistentContextManager(tmp_path / "log.jsonl", durability="write") as manager:
            await manager.set_messages(copy.deepcopy(whole[:end]))
            stored = await manager.get_messages()
            assert without_stamps(stored) == whole[:end]
            assert not any(one["metadata"].get("source") for one in stored)


async def test_a_list_that_is_not_taken_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Without a host nobody hears the event."""
    async with PersistentContextManager(tmp_path / "log.jsonl", durability="write") as manager:
        await manager.set_messages([{"role": "user", "content": "one"}])
    async with PersistentContextManager(tmp_path / "log.jsonl", durability="write") as manager:
        with caplog.at_level(logging.WARNING):
            await manager.set_messages([{"role": "user", "content": "another"}])
    assert "1 of 1 messages are not in the log" in caplog.text


@proof
@pytest.mark.parametrize(
    ("form", "given"),
    [
        ("bedrock", {"role": "user", "content": [{"text": "Hello"}]}),
        ("gemini", {"role": "user", "parts": [{"text": "Hello"}]}),
        ("anthropic", {"role": "user", "content": [{"type": "hologram", "points": 4}]}),
    ],
)
async def test_a_list_is_in_the_form_that_is_named(form: str, given: Message) -> None:
    """Nothing of it is guessed."""
    async with InMemoryContextManager() as manager:
        await manager.set_messages([copy.deepcopy(given)], form=form)
        assert await manager.messages_as(form) == [given]
        assert not any(one["metadata"].get("form", {}).get("guessed") for one in await manager.get_messages())
        with pytest.raises(ValueError, match="form"):
            await manager.set_messages([], form="nothing")


async def test_empty_arguments_are_none() -> None:
    """Some servers give no text where a function takes nothing; it goes back as an empty object."""
    function = {"name": "ls", "arguments": ""}
    async with InMemoryContextManager() as manager:
        await manager.add_message({"role": "user", "content": "go"})
        calls = [{"id": "c1", "type": "function", "function": function}]
        await manager.add_message({"role": "assistant", "content": None, "tool_calls": calls})
        await manager.add_message({"role": "tool", "tool_call_id": "c1", "content": "a"})
        body = to_openai(await manager.get_messages_for_request())
    assert body["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"


@proof
@pytest.mark.parametrize("message", [PARALLEL["anthropic"][0], PARALLEL["anthropic"][1]], ids=["words", "calls"])
async def test_one_message_is_added_again_as_a_list_or_by_its_id(message: Message, tmp_path: Path) -> None:
    """As docs/forms.md says for who does not know whether it was stored."""
    for name in ("list", "id"):
        for _ in range(2):
            async with PersistentContextManager(tmp_path / f"{name}.jsonl", durability="write") as manager:
                if name == "list":
                    await manager.add_messages([message])
                else:
                    await manager.add_message({**message, "metadata": {"message_id": "mine"}})
                assert len(await manager.get_messages()) == 1


@pytest.mark.parametrize("form", PARALLEL)
async def test_a_list_that_is_set_twice_is_written_once(tmp_path: Path, form: str) -> None:
    """An agent that sets its list before each request may have said nothing new since."""
    path = tmp_path / "log.jsonl"
    async with PersistentContextManager(path) as manager:
        await manager.set_messages(PARALLEL[form], form=form)
        before = path.read_bytes()
        await manager.set_messages(PARALLEL[form], form=form)
        assert path.read_bytes() == before


async def test_changed_metadata_replaces_the_history(tmp_path: Path) -> None:
    async with PersistentContextManager(tmp_path / "log.jsonl") as manager:
        await manager.set_messages([{"role": "user", "content": "go"}])
        await manager.set_messages([{"role": "user", "content": "go", "metadata": {"source": "hook"}}])
        assert (await manager.get_messages())[0]["metadata"]["source"] == "hook"


@pytest.mark.parametrize("field", ["thinking_text", "content_blocks"])
async def test_a_changed_field_beside_the_content_replaces_the_history(tmp_path: Path, field: str) -> None:
    answer = {"role": "assistant", "content": "ok"}
    more = {"thinking_text": "hm", "content_blocks": [{"type": "text", "text": "ok"}]}[field]
    async with PersistentContextManager(tmp_path / "log.jsonl") as manager:
        for message in (answer, {**answer, field: more}, answer):
            await manager.set_messages([{"role": "user", "content": "go"}, message])
            assert (field in (await manager.get_messages())[1]) == (field in message)
