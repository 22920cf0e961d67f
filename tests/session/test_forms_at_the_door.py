"""`add_message`, `add_messages` and `set_messages` take messages in the forms of providers and kits."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import (
    InMemoryContextManager,
    PersistentContextManager,
    to_anthropic,
    to_bedrock,
    to_gemini,
    to_openai,
    to_openai_responses,
)
from amplifier_module_context_persistent.errors import RecordError
from amplifier_module_context_persistent.log.filesystem import FileSystem
from tests.support.checker import anthropic_violations, openai_violations
from tests.support.foreign_messages import ANTHROPIC, BEDROCK, BY_FORM, OPENAI_CHAT, OPENAI_RESPONSES, PNG, Message
from tests.support.sweeps import proof

TOMORROW: Message = {"type": "hologram", "points": "QUJD" * 400}
CALL: Message = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "tool": "ls", "arguments": {}}]}


def user(content: Any) -> Message:
    return {"role": "user", "content": content}


async def shown(*messages: Message, **options: Any) -> list[Message]:
    async with InMemoryContextManager(max_tokens=100_000) as manager:
        for message in messages:
            await manager.add_message(message, **options)
        return await manager.get_messages_for_request()


def roles(messages: list[Message]) -> list[str]:
    return [message["role"] for message in messages]


async def test_results_in_a_users_message_are_results() -> None:
    """Each is the result of its call; the words beside them are the person's."""
    view = await shown(*ANTHROPIC[:3], user("next"))
    assert roles(view) == ["user", "assistant", "tool", "tool", "user", "user"]
    assert [message.get("tool_call_id") for message in view[2:4]] == ["toolu_1", "toolu_2"]
    assert view[3]["metadata"]["is_error"] is True
    assert view[4]["content"] == [{"type": "text", "text": "Go on."}]
    assert "interrupted" not in json.dumps(view)


@proof(quick=1)
@pytest.mark.parametrize("form", [form for form in BY_FORM if form != "mcp"])
async def test_a_history_is_given_back_in_its_own_form(form: str, tmp_path: Path) -> None:
    """Item for item as it was added, also by the next process."""
    given = copy.deepcopy(BY_FORM[form])
    async with PersistentContextManager(tmp_path / "log.jsonl") as manager:
        await manager.add_messages(given)
    assert given == BY_FORM[form]
    async with PersistentContextManager(tmp_path / "log.jsonl") as manager:
        assert await manager.messages_as(form) == [_with_bytes(message) for message in BY_FORM[form]]


def _with_bytes(value: Any, key: str = "") -> Any:
    """A message as Bedrock's client takes it."""
    import base64

    if isinstance(value, dict):
        return {name: _with_bytes(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_bytes(item) for item in value]
    return base64.b64decode(value) if key == "bytes" else value


@proof
@pytest.mark.parametrize("form", BY_FORM)
async def test_the_same_list_again_adds_nothing(form: str, tmp_path: Path) -> None:
    """Set, or added by a process that does not know what the one before it stored."""
    path, given = tmp_path / "log.jsonl", [user("go"), *BY_FORM[form]]
    async with PersistentContextManager(path) as manager:
        await manager.add_messages(given)
        stored = await manager.get_messages()
    async with PersistentContextManager(path) as manager:
        await manager.add_messages(given)
        await manager.set_messages(given)
        assert await manager.get_messages() == stored


async def test_a_list_that_was_stored_in_part_is_completed(tmp_path: Path) -> None:
    """Only the rest is added."""
    path = tmp_path / "log.jsonl"
    async with PersistentContextManager(path) as manager:
        await manager.add_messages(ANTHROPIC[:2])
    async with PersistentContextManager(path) as manager:
        await manager.add_messages(ANTHROPIC)
        assert await manager.messages_as("anthropic") == ANTHROPIC


async def test_what_a_person_says_twice_is_stored_twice(tmp_path: Path) -> None:
    """Something else was added since the log was opened."""
    path = tmp_path / "log.jsonl"
    async with PersistentContextManager(path) as manager:
        await manager.add_messages([user("go"), {"role": "assistant", "content": "ok"}])
        await manager.add_messages([user("go"), {"role": "assistant", "content": "ok"}])
        assert len(await manager.get_messages()) == 4


async def test_a_list_is_stored_together_or_not_at_all(tmp_path: Path) -> None:
    """One message that cannot be stored refuses them all, in one foreign message too."""
    bad = user([{"type": "tool_result", "tool_use_id": "t1", "content": "a"}, {"type": "tool_result", "content": "b"}])
    async with PersistentContextManager(tmp_path / "log.jsonl") as manager:
        with pytest.raises(RecordError, match=r"message\.content\[1\]\.tool_use_id: is missing; a result needs the id"):
            await manager.add_message(bad)
        with pytest.raises(RecordError, match=r"message\.role is missing"):
            await manager.add_messages([user("a"), {"content": "b"}])
        assert await manager.get_messages() == []


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("anthropic", {"role": "assistant", "content": [{"type": "text", "text": "Look:"}, TOMORROW]}),
        ("openai_responses", {**TOMORROW, "id": "h_1"}),
        ("gemini", {"role": "model", "parts": [{"text": "Look:"}, {"hologram": {"points": "QUJD" * 400}}]}),
        ("bedrock", {"role": "assistant", "content": [{"text": "Look:"}, {"hologram": {"points": "QUJD" * 400}}]}),
    ],
)
async def test_a_block_of_tomorrow_goes_back_to_its_maker_alone(form: str, message: Message) -> None:
    """Unaltered; any other reader gets one line with kind, size and reference."""
    view = await shown(user("go"), message, user("next"))
    bodies = {
        "anthropic": to_anthropic(view),
        "openai_chat": to_openai(view),
        "openai_responses": to_openai_responses(view),
        "gemini": to_gemini(view),
        "bedrock": to_bedrock(view),
    }
    for name, body in bodies.items():
        text = json.dumps(body)
        assert ("QUJDQUJD" in text) is (name == form), name
        assert name == form or "[hologram: 1,6" in text
    block = message["content"][1] if form in ("anthropic", "bedrock") else message.get("parts", [0, message])[1]
    assert json.dumps(block)[1:-1] in json.dumps(bodies[form])
    assert f"recall {view[1]['metadata']['message_id']}" in json.dumps(bodies["openai_chat"])


@proof
async def test_a_block_of_tomorrow_in_a_list_and_after_a_resume(tmp_path: Path) -> None:
    """It is stored once, and goes back as it came."""
    given = [user("go"), {"role": "assistant", "content": [{"type": "text", "text": "Look:"}, TOMORROW]}, user("next")]
    for _ in range(2):
        async with PersistentContextManager(tmp_path / "log.jsonl") as manager:
            await manager.set_messages(given)
            view = await manager.get_messages_for_request()
        assert roles(view) == ["user", "assistant", "user"]
        assert to_anthropic(view, cache=False)["messages"][1]["content"][1] == TOMORROW
        assert view[1]["metadata"]["form"] == {"name": "anthropic", "guessed": True}


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}],
        [{"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}],
        [{"inline_data": {"mime_type": "image/png", "data": PNG}}],
        [{"image": {"format": "png", "source": {"bytes": PNG}}}],
    ],
)
async def test_an_image_reaches_every_model_that_takes_one(content: list[Message]) -> None:
    """In whatever form it came."""
    view = await shown(user([{"type": "text", "text": "What?"}, *content] if "type" in content[0] else content))
    assert view[0]["content"][-1]["type"] == "image"
    for body in (to_anthropic(view), to_openai(view), to_openai_responses(view), to_gemini(view)):
        assert PNG in json.dumps(body)
    assert b"\x89PNG" in to_bedrock(view)["messages"][0]["content"][-1]["image"]["source"]["bytes"]


@pytest.mark.parametrize(
    ("result", "seen"),
    [
        ({"content": [{"type": "resource", "resource": {"uri": "a", "text": "EMBEDDED " * 500}}]}, "EMBEDDED EMBEDDED"),
        ({"content": [{"type": "resource_link", "uri": "f://q3", "name": "q3"}]}, "[link to q3: f://q3]"),
        ({"content": [], "structuredContent": {"rows": [1]}}, '{"rows":[1]}'),
        ({"content": [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]}, "[audio: audio/wav, 3 bytes"),
    ],
)
async def test_results_of_mcp_tools_are_seen(result: Message, seen: str) -> None:
    """What they say is text, what they are is told."""
    view = await shown(user("go"), CALL, {"role": "tool", "tool_call_id": "c1", **result}, user("next"))
    assert seen in json.loads(json.dumps(view[2]["content"][0]["text"]))
    assert anthropic_violations(to_anthropic(view)) == []
    assert openai_violations(to_openai(view)) == []


async def test_an_ambiguous_shape_is_what_the_caller_says() -> None:
    """Else what the messages before it were; a guess is noted."""
    async with InMemoryContextManager() as manager:
        await manager.add_message(user([{"text": "go"}]))
        await manager.add_message(user([{"text": "go"}]), form="bedrock")
        first, second = await manager.get_messages()
        with pytest.raises(ValueError, match="form 'no' is not known; there are amplifier, anthropic"):
            await manager.add_message(user("a"), form="no")
    assert first["metadata"]["form"] == {"name": "bedrock", "guessed": True}
    assert second["metadata"]["form"] == {"name": "bedrock"}


async def test_amplifiers_own_form_stays_as_it_was_given() -> None:
    """With OpenAI's calls in it too: hosts use them."""
    given = [
        user([{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]),
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "h", "signature": "s"}], **_calls("c1")},
        {"role": "tool", "tool_call_id": "c1", "content": "b"},
        OPENAI_CHAT[1],
        OPENAI_CHAT[2],
    ]
    async with InMemoryContextManager() as manager:
        await manager.add_messages(given)
        stored = await manager.get_messages()
    assert [{key: value for key, value in message.items() if key != "metadata"} for message in stored] == given
    assert all(message["metadata"].keys() == {"timestamp", "message_id"} for message in stored)


def _calls(call_id: str) -> Message:
    return {"tool_calls": [{"id": call_id, "tool": "ls", "arguments": {"a": 1}}]}


async def test_arguments_that_are_no_object_are_shown_as_one() -> None:
    """History keeps what was given."""
    broken = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"a": "half'}}
    listed = {"id": "c2", "tool": "ls", "arguments": [1, 2]}
    nothing = {"id": "c3", "tool": "ls", "arguments": None}
    message = {"role": "assistant", "content": "", "tool_calls": [broken, listed, nothing]}
    async with InMemoryContextManager() as manager:
        await manager.add_messages([user("go"), message])
        view = await manager.get_messages_for_request()
        assert (await manager.get_messages())[1]["tool_calls"] == message["tool_calls"]
    first, second, third = view[1]["tool_calls"]
    assert json.loads(first["function"]["arguments"]) == {"arguments": '{"a": "half'}
    assert second["arguments"] == {"arguments": [1, 2]}
    assert third["arguments"] == {}


async def test_items_of_one_answer_are_one_message() -> None:
    """As many calls as it asks for, each with its result."""
    async with InMemoryContextManager(max_tokens=100_000) as manager:
        await manager.add_messages(OPENAI_RESPONSES[:6])
        view = await manager.get_messages_for_request()
    assert roles(view) == ["user", "assistant", "tool", "tool"]
    assert to_openai_responses(view)["input"][1:] == OPENAI_RESPONSES[1:6]


async def test_strands_messages_are_a_request_again() -> None:
    """Block for block."""
    view = await shown(*BEDROCK, user([{"text": "next"}]))
    assert json.loads(json.dumps(to_bedrock(view)["messages"][:4], default=lambda data: "")) == json.loads(
        json.dumps([_with_bytes(message) for message in BEDROCK], default=lambda data: "")
    )


@proof
async def test_a_cut_leaves_out_what_a_line_tells_of_and_keeps_the_line() -> None:
    """A long result with a PDF, in a view that is too large: no line is elided, and the PDF is not sent."""
    pdf = ANTHROPIC[0]["content"][2]
    async with InMemoryContextManager(max_tokens=9_000) as manager:
        for turn in range(12):
            call = {"type": "tool_use", "id": f"t{turn}", "name": "ls", "input": {}}
            given = [{"type": "text", "text": "r " * 500}, pdf]
            await manager.add_message(user(f"turn {turn}"))
            await manager.add_message({"role": "assistant", "content": [call]})
            await manager.add_message(user([{"type": "tool_result", "tool_use_id": f"t{turn}", "content": given}]))
            view = await manager.get_messages_for_request()
            assert anthropic_violations(to_anthropic(view)) == []
    blocks = [block for message in view if message["role"] == "tool" for block in message["content"]]
    lines = [block for block in blocks if block["text"].startswith("[PDF")]
    cut = [block for block in blocks if "elided" in block["text"]]
    assert lines
    assert cut
    assert all("PDF" not in block["text"] for block in cut)
    assert any("original" not in block for block in lines)


def test_reasoning_at_the_end_of_an_answer_is_not_sent() -> None:
    """OpenAI needs the item that follows it."""
    given = [user("go"), OPENAI_RESPONSES[7], OPENAI_RESPONSES[1], {"role": "user", "content": "next"}]
    kinds = [item.get("type") for item in to_openai_responses(given)["input"]]
    assert "reasoning" not in kinds
    assert kinds[1] == "message"


async def test_a_message_that_became_several_is_added_again(tmp_path: Path) -> None:
    """By a process that does not know whether the one before it stored them."""
    path = tmp_path / "log.jsonl"
    async with PersistentContextManager(path) as manager:
        await manager.add_messages(ANTHROPIC[:3])
        stored = await manager.get_messages()
    async with PersistentContextManager(path) as manager:
        await manager.add_message(ANTHROPIC[2])
        assert await manager.get_messages() == stored
        await manager.add_message({"role": "assistant", "content": "Done."})
        await manager.add_message(ANTHROPIC[2])
        assert len(await manager.get_messages()) == len(stored) + 4


async def test_a_list_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And so is a message that becomes several."""
    written: list[int] = []

    def write(fd: int, data: bytes) -> int:
        written.append(bytes(data).count(b'{"role"'))
        return os.write(fd, data)

    monkeypatch.setattr(FileSystem, "write", staticmethod(write))
    async with PersistentContextManager(tmp_path / "log.jsonl") as manager:
        await manager.add_messages(ANTHROPIC[:2])
        await manager.add_message(ANTHROPIC[2])
    assert [count for count in written if count] == [2, 3]


async def test_an_answer_that_paused_is_gone_on_with() -> None:
    """It is sent back as it is; its search and the result in the next answer are one answer from then on."""
    asked = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
    paused = {"role": "assistant", "stop_reason": "pause_turn", "usage": {}, "content": [asked]}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    said = {"type": "text", "text": "Found."}
    async with InMemoryContextManager() as manager:
        await manager.add_messages([user("go"), paused])
        body = to_anthropic(await manager.get_messages_for_request(), cache=False)
        assert body["messages"][1:] == [{"role": "assistant", "content": [asked]}]
        await manager.add_messages([{"role": "assistant", "content": [found, said]}, user("next")])
        body = to_anthropic(await manager.get_messages_for_request(), cache=False)
        assert body["messages"][1] == {"role": "assistant", "content": [asked, found, said]}
        assert anthropic_violations(body) == []
