"""Responses of functions in Gemini's form: media in them, and which call they answer if they do not say so."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import (
    InMemoryContextManager,
    PersistentContextManager,
    to_anthropic,
    to_gemini,
)
from amplifier_module_context_persistent.forms import gemini
from tests.support.checker import anthropic_violations
from tests.support.foreign_messages import PDF, PNG, Message
from tests.support.sweeps import proof

GO: Message = {"role": "user", "parts": [{"text": "go"}]}
NEXT: Message = {"role": "user", "parts": [{"text": "next"}]}
IMAGE: Message = {"inlineData": {"mimeType": "image/png", "data": PNG, "displayName": "x.png"}}
DOCUMENT: Message = {"inlineData": {"mimeType": "application/pdf", "data": PDF}}
VIDEO: Message = {"fileData": {"fileUri": "gs://bucket/v.mp4", "mimeType": "video/mp4"}}


def calls(*functions: Message) -> Message:
    return {"role": "model", "parts": [{"functionCall": function} for function in functions]}


def responses(*functions: Message, role: str = "user") -> Message:
    return {"role": role, "parts": [{"functionResponse": function} for function in functions]}


def call(name: str, call_id: str | None = None, **args: Any) -> Message:
    return {**({"id": call_id} if call_id else {}), "name": name, "args": args}


def response(name: str, said: str, call_id: str | None = None) -> Message:
    return {**({"id": call_id} if call_id else {}), "name": name, "response": {"output": said}}


SHOT = calls(call("shot", "f1"))
ANSWERED: dict[str, list[Message]] = {
    "media": [SHOT, responses({**response("shot", "two", "f1"), "parts": [IMAGE, DOCUMENT, VIDEO]})],
    "media that the response refers to": [
        SHOT,
        responses({"id": "f1", "name": "shot", "response": {"image": {"$ref": "x.png"}}, "parts": [IMAGE]}),
    ],
    "no ids": [
        calls(call("ls", a=1), call("cat"), call("ls", a=2)),
        responses(*map(response, ("ls", "cat", "ls"), "123")),
    ],
    "no ids, a content each": [
        calls(call("ls", a=1), call("ls", a=2)),
        responses(response("ls", "1")),
        responses(response("ls", "2")),
    ],
    "ids of calls alone": [
        calls(call("ls", "f1"), call("cat", "f2"), call("ls", "f3")),
        responses(*map(response, ("ls", "cat", "ls"), "123")),
    ],
    "ids of responses alone": [calls(call("ls")), responses(response("ls", "1", "f9"))],
    "two turns": [calls(call("ls")), responses(response("ls", "1")), calls(call("ls")), responses(response("ls", "2"))],
    "the older roles": [calls(call("ls")), responses(response("ls", "1"), role="function")],
    "a call without arguments": [
        {"role": "model", "parts": [{"functionCall": {"name": "ls"}}]},
        responses({"name": "ls", "response": {}}, role="tool"),
    ],
    "more keys": [calls(call("ls", "f1")), responses({**response("ls", "1", "f1"), "scheduling": "WHEN_IDLE"})],
    "a signature of no text": [
        {"role": "model", "parts": [{"text": "ok"}, {"text": "", "thoughtSignature": "c2ln"}]},
    ],
}


@proof(quick=1)
@pytest.mark.parametrize(
    ("name", "how"),
    [
        (name, how)
        for name in ANSWERED
        for how in ("a list", "one by one", "again")
        if (name, how) != ("no ids, a content each", "again")  # it may be the response of the other call
    ],
)
async def test_each_call_has_its_response(name: str, how: str, tmp_path: Path) -> None:
    """In the order of the calls, as it was given; added again by a process that knows nothing, it is there once."""
    given, path = [GO, *ANSWERED[name], NEXT], tmp_path / "log.jsonl"
    for added in [given] if how == "a list" else [[content] for content in given]:
        for _ in range(1 + (how == "again")):
            async with PersistentContextManager(path) as memory:
                await memory.add_messages(copy.deepcopy(added))
    async with PersistentContextManager(path) as memory:
        await memory.set_messages(copy.deepcopy(given))
        view = await memory.get_messages_for_request()
        assert await memory.messages_as("gemini") == given
    written = to_gemini(view)["contents"]
    parts = [part for content in written for part in content["parts"]]
    assert parts == [part for content in given for part in content["parts"]]
    assert anthropic_violations(to_anthropic(view)) == []


async def test_responses_in_another_order_answer_their_own_calls() -> None:
    """A name tells which."""
    async with InMemoryContextManager() as memory:
        await memory.add_message(GO)
        await memory.add_message(calls(call("a", "f1"), call("b", "f2"), call("a", "f3")))
        await memory.add_message(responses(response("b", "B"), response("a", "first"), response("a", "second")))
        results = (await memory.get_messages())[2:]
    assert [(one["tool_call_id"], one["content"]) for one in results] == [
        ("f2", "B"),
        ("f1", "first"),
        ("f3", "second"),
    ]


@pytest.mark.parametrize(
    ("given", "content"),
    [
        ({"output": "done"}, "done"),
        ({"result": "done"}, "done"),
        ({"error": "no"}, "no"),
        ({"output": 5}, '{"output":5}'),
        ({"text": "done"}, '{"text":"done"}'),
        ({"output": "done", "more": 1}, '{"output":"done","more":1}'),
        ({}, "{}"),
        ("x", '"x"'),
        (["x"], '["x"]'),
        (None, "null"),
    ],
)
def test_the_words_of_a_response_are_its_one_text_or_its_json(given: Any, content: str) -> None:
    """Whatever it is, it is given back."""
    function = {"name": "f", "id": "c1", "response": given}
    asked = [GO, calls(call("f", "c1"))]
    *_, result = gemini.read([*asked, responses(function)])
    assert result["content"] == content
    assert gemini.write([*gemini.read([*asked, responses(function)])])[-1] == responses(function)
