"""Blocks of Bedrock's Converse as boto3 has them: what comes back out is what went in, bytes as bytes."""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager, to_anthropic, to_bedrock, to_openai
from tests.support.checker import anthropic_violations
from tests.support.commands import run
from tests.support.foreign_messages import PNG, Message
from tests.support.sweeps import proof

IMAGE: Message = {"image": {"format": "png", "source": {"bytes": base64.b64decode(PNG)}}}
PDF: Message = {"document": {"format": "pdf", "name": "q3", "source": {"bytes": b"%PDF-1.4"}}}
CHUNKS: Message = {"document": {"format": "md", "name": "c", "source": {"content": [{"text": "chunk"}]}}}
STORED: Message = {"s3Location": {"uri": "s3://bucket/v.mp4", "bucketOwner": "1"}}
LOOK: Message = {"text": "Look."}


def call(call_id: str, **more: Any) -> Message:
    return {"toolUse": {"toolUseId": call_id, "name": "ls", "input": {"path": "."}, **more}}


def result(call_id: str, *content: Message, **more: Any) -> Message:
    return {"toolResult": {"toolUseId": call_id, "content": list(content), **more}}


def user(*content: Message) -> Message:
    return {"role": "user", "content": list(content)}


def answer(*content: Message) -> Message:
    return {"role": "assistant", "content": list(content)}


CITED = {"title": "t", "sourceContent": [{"text": "s"}], "location": {"documentChar": {"documentIndex": 0}}}
TURNS: dict[str, list[Message]] = {
    "media": [user(LOOK, IMAGE, PDF, CHUNKS, {"video": {"format": "mp4", "source": STORED}})],
    "cache points": [user(LOOK, {"cachePoint": {"type": "default", "ttl": "1h"}})],
    "guarded": [user({"guardContent": {"text": {"text": "x", "qualifiers": ["query"]}}}, {"guardContent": IMAGE})],
    "reasoning": [
        user(LOOK),
        answer(
            {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
            {"reasoningContent": {"redactedContent": b"\x01\x02"}},
            {"text": "I look."},
            call("t1"),
            call("t2"),
            call("t3"),
        ),
        user(
            result("t1", {"json": {"rows": [1]}}, status="success"),
            result("t2", {"text": "gone"}, status="error"),
            result("t3", {"text": "two"}, IMAGE, PDF, {"video": {"format": "mp4", "source": STORED}}),
        ),
    ],
    "citations": [user(LOOK), answer({"citationsContent": {"content": [{"text": "so"}], "citations": [CITED]}})],
    "a tool of the service": [
        user(LOOK),
        answer(
            call("st1", type="server_tool_use"),
            result("st1", {"json": {"found": 1}}, status="success", type="nova_grounding_result"),
            {"text": "Found."},
        ),
    ],
    "search results": [user({"searchResult": {"source": "https://e.org", "title": "t", "content": [LOOK]}}, LOOK)],
    "of tomorrow": [user(LOOK), answer({"hologram": {"source": {"bytes": b"\x00\x01"}}}, {"text": "There."})],
}


@proof(quick=2)
@pytest.mark.parametrize("messages", TURNS.values(), ids=TURNS)
async def test_blocks_go_back_as_they_came(messages: list[Message], tmp_path: Path) -> None:
    """Also by the next process; every other reader can read the view, and no call lacks its result."""
    given = [*messages, *([answer({"text": "Done."})] if messages[-1]["role"] == "user" else []), user(LOOK)]
    path = tmp_path / "log.jsonl"
    for message in given:
        async with PersistentContextManager(path) as memory:
            await memory.add_message(copy.deepcopy(message))
    async with PersistentContextManager(path) as memory:
        view = await memory.get_messages_for_request()
        assert await memory.messages_as("bedrock") == given
    assert to_bedrock(view)["messages"] == given
    assert anthropic_violations(to_anthropic(view)) == []
    assert "interrupted" not in json.dumps(to_openai(view))
    assert "without a result" not in run("stats", path).output


async def test_usage_that_strands_notes_is_counted(tmp_path: Path) -> None:
    """It is at the message, by the service's names."""
    path = tmp_path / "log.jsonl"
    noted = {**answer({"text": "Done."}), "metadata": {"usage": {"inputTokens": 7, "outputTokens": 2}}}
    async with PersistentContextManager(path) as memory:
        await memory.add_messages([user(LOOK), noted])
        assert (await memory.get_messages())[1]["metadata"]["usage"] == {"input_tokens": 7, "output_tokens": 2}


def test_messages_that_were_never_stored_are_bedrocks() -> None:
    """A text without a type is one."""
    assert to_bedrock([user(LOOK)])["messages"] == [user(LOOK)]
