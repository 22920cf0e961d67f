"""What the real clients give: final messages of streams, and structured outputs, which they parse."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest
from pydantic import BaseModel

from amplifier_module_context_persistent import (
    InMemoryContextManager,
    to_anthropic,
    to_openai,
    to_openai_responses,
)
from tests.support.foreign_messages import Message
from tests.support.kit_agents import http_module
from tests.support.typed_shapes import misfits

SAID = '{"name":"Paris"}'
GO: Message = {"role": "user", "content": "go"}


class City(BaseModel):
    """What is asked for."""

    name: str


def client(package: str, kind: str, body: str) -> Any:
    """A client whose server answers with a body: a document, or events."""
    module = pytest.importorskip(package, reason=f"the package {package} is not installed (the extra `kits`)")
    httpx = http_module()
    is_document = body.startswith("{")
    headers = {"content-type": "application/json" if is_document else "text/event-stream"}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=body, headers=headers))
    return getattr(module, kind)(api_key="x", http_client=httpx.AsyncClient(transport=transport))


def events(*given: Message) -> str:
    return "".join(f"event: {one.get('type', '')}\ndata: {json.dumps(one)}\n\n" for one in given)


async def view_of(*messages: Any) -> list[Message]:
    async with InMemoryContextManager() as memory:
        for message in messages:
            await memory.add_message(message)
        return await memory.get_messages_for_request()


ENVELOPE: Message = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5-5",
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 10, "output_tokens": 1},
}
CALL: Message = {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"a": 1}}
CITED: Message = {
    "type": "char_location",
    "cited_text": "w",
    "document_index": 0,
    "document_title": None,
    "start_char_index": 0,
    "end_char_index": 1,
    "file_id": None,
}


def misfits_of(body: Message, module: str, name: str) -> list[str]:
    return misfits({**body, "model": "m"}, getattr(importlib.import_module(module), name))


async def test_the_final_message_of_anthropics_stream() -> None:
    """With thinking and a call, whether its text is parsed or not."""
    begin = {"type": "message_start", "message": {**ENVELOPE, "content": [], "stop_reason": None}}
    blocks = [
        ({"type": "thinking", "thinking": "", "signature": ""}, {"type": "thinking_delta", "thinking": "hm"}),
        ({"type": "text", "text": ""}, {"type": "text_delta", "text": SAID}),
        ({**CALL, "input": {}}, {"type": "input_json_delta", "partial_json": '{"a": 1}'}),
    ]
    told = [begin]
    for index, (block, delta) in enumerate(blocks):
        told += [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_delta", "index": index, "delta": delta},
        ]
        if not index:
            signed = {"type": "signature_delta", "signature": "c2ln"}
            told.append({"type": "content_block_delta", "index": index, "delta": signed})
        told.append({"type": "content_block_stop", "index": index})
    usage = {"output_tokens": 20}
    told += [
        {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    asked = client("anthropic", "AsyncAnthropic", events(*told))
    for more in ({}, {"output_format": City}):
        async with asked.messages.stream(model="m", max_tokens=10, messages=[GO], **more) as stream:
            final = await stream.get_final_message()
        result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
        view = await view_of(GO, final, {"role": "user", "content": [result]})
        assert view[1]["metadata"]["usage"]["output_tokens"] == 20
        body = to_anthropic(view, cache=False, max_tokens=10)
        thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
        assert body["messages"][1]["content"] == [thought, {"type": "text", "text": SAID}, CALL]
        assert misfits_of(body, "anthropic.types.message_create_params", "MessageCreateParamsNonStreaming") == []


async def test_a_parsed_message_of_anthropics_with_citations() -> None:
    """Without what was parsed, and without the keys that only answers have, null."""
    text = {"type": "text", "text": SAID, "citations": [CITED]}
    asked = client("anthropic", "AsyncAnthropic", json.dumps({**ENVELOPE, "content": [text]}))
    answer = await asked.messages.parse(model="m", max_tokens=10, messages=[GO], output_format=City)
    body = to_anthropic(await view_of(GO, answer, GO), cache=False, max_tokens=10)
    assert misfits_of(body, "anthropic.types.message_create_params", "MessageCreateParamsNonStreaming") == []
    assert "parsed" not in json.dumps(body)
    assert body["messages"][1]["content"][0]["citations"][0]["cited_text"] == "w"


async def test_what_chat_completions_stream_and_parse() -> None:
    """The model's own text, and nothing that the client made of it."""
    call = {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": '{"name": "a"}'}}
    message = {"role": "assistant", "content": SAID, "refusal": None, "tool_calls": [call]}
    choice = {"index": 0, "finish_reason": "tool_calls", "logprobs": None}
    whole: Message = {"id": "c1", "created": 1, "model": "gpt-5.2"}
    chunks = [
        {**whole, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in ({"role": "assistant", "content": SAID}, {"tool_calls": [{"index": 0, **call}]})
    ]
    chunks.append({**chunks[0], "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    document = json.dumps({**whole, "object": "chat.completion", "choices": [{**choice, "message": message}]})
    asked = client("openai", "AsyncOpenAI", document)
    tool = importlib.import_module("openai").pydantic_function_tool(City, name="ls")
    kinds = {"model": "m", "messages": [GO], "response_format": City, "tools": [tool]}
    answers = [await asked.chat.completions.parse(**kinds)]
    asked = client("openai", "AsyncOpenAI", events(*chunks))
    async with asked.chat.completions.stream(**kinds) as stream:
        answers.append(await stream.get_final_completion())
    for answer in (*answers, answers[0].choices[0].message):
        async with InMemoryContextManager() as memory:
            await memory.add_messages([GO, answer, {"role": "tool", "tool_call_id": "call_1", "content": "ok"}])
            history = await memory.messages_as("openai_chat")
            body = to_openai(await memory.get_messages_for_request())
        assert body["messages"][1] == {"role": "assistant", "content": SAID, "tool_calls": [call]}
        module = "openai.types.chat.completion_create_params"
        assert misfits_of(body, module, "CompletionCreateParamsNonStreaming") == []
        assert "parsed" not in json.dumps(history)


@pytest.mark.parametrize("how", ["whole", "its items", "one by one"])
async def test_what_responses_parse(how: str) -> None:
    """Items go back as the server gave them, and no word of a user is put between those of one answer."""
    text = {"type": "output_text", "text": SAID, "annotations": [], "logprobs": []}
    output: list[Message] = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "RW"},
        {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [text]},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "ls",
            "arguments": '{"name": "a"}',
            "status": "completed",
        },
    ]
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5.2",
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12, **details},
    }
    asked = client("openai", "AsyncOpenAI", json.dumps(whole))
    tool = {"type": "function", "name": "ls", "parameters": {}, "strict": True}
    answer = await asked.responses.parse(model="m", input="go", text_format=City, tools=[tool])
    assert answer.output_parsed == City(name="Paris")
    result = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
    async with InMemoryContextManager() as memory:
        await memory.add_message(GO)
        if how == "its items":
            await memory.add_messages(answer.output)
        else:
            for item in [answer] if how == "whole" else answer.output:
                await memory.add_message(item)
        await memory.add_message(result)
        body = to_openai_responses(await memory.get_messages_for_request())
    if how == "one by one":
        del output[2]["id"]  # it may be bound to reasoning that is in another message
    assert body["input"][1:] == [*output, result]
    module = "openai.types.responses.response_create_params"
    assert misfits_of(body, module, "ResponseCreateParamsNonStreaming") == []
