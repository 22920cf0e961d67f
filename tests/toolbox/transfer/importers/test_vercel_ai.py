"""Messages of Vercel's AI SDK: those that go to a model, and those that chats store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.imports import history_and_view, imported, imported_history, records, texts
from tests.support.sweeps import proof

PNG = "iVBORw0KGgo="


def call(call_id: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool-call", "toolCallId": call_id, "toolName": name, **given}


def output(call_id: str, kind: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool-result", "toolCallId": call_id, "toolName": "w", "output": {"type": kind, **given}}


SIGNED = {"type": "reasoning", "text": "hm", "providerOptions": {"anthropic": {"signature": "signed"}}}
MODEL_MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "go"}, {"type": "image", "image": PNG}]},
    {
        "role": "assistant",
        "content": [
            SIGNED,
            {"type": "text", "text": "I look."},
            call("a", "w", input={"city": "Rome"}),
            call("b", "w", input={}),
            call("c", "w", input={}),
            call("d", "w", input={}),
        ],
    },
    {
        "role": "tool",
        "content": [
            output("a", "text", value="42"),
            output("b", "error-json", value={"code": 7}),
            output("c", "execution-denied", reason="not now"),
            output("d", "content", value=[{"type": "text", "text": "seen"}, {"type": "image-data", "data": PNG}]),
        ],
    },
    {"role": "assistant", "content": "Done."},
]


@proof(quick=1)
@pytest.mark.parametrize("is_document", [True, False], ids=["list", "lines"])
async def test_model_messages(tmp_path: Path, *, is_document: bool) -> None:
    """Calls are calls with their arguments; results have the value of their output, and those that failed say so."""
    path = tmp_path / "messages.json"
    lines = "".join(json.dumps(one) + "\n" for one in MODEL_MESSAGES)
    path.write_text(json.dumps(MODEL_MESSAGES) if is_document else lines)
    report, history, _ = await _read(path)
    assert report.format == "vercel-ai"
    assert texts(history) == [
        "system: Be brief.",
        "user: go image",
        "assistant: thinking I look. w w w w",
        "tool: 42",
        'tool: {"code":7}',
        "tool: not now",
        "tool: seen image",
        "assistant: Done.",
    ]
    assert history[2]["content"][0]["signature"] == "signed"
    assert history[2]["tool_calls"][0] == {"id": "a", "tool": "w", "arguments": {"city": "Rome"}}
    assert [one["metadata"].get("is_error", False) for one in history[3:7]] == [False, True, True, False]
    assert history[1]["content"][1]["source"] == {"type": "base64", "media_type": "image/png", "data": PNG}


async def _read(path: Path) -> Any:
    report = imported(path)
    return report, *await history_and_view(report.path)


def tool(name: str, call_id: str, state: str, **given: Any) -> dict[str, Any]:
    return {"type": f"tool-{name}", "toolCallId": call_id, "state": state, "input": {"q": call_id}, **given}


UI_MESSAGES = [
    {
        "id": "u1",
        "role": "user",
        "parts": [
            {"type": "text", "text": "go"},
            {
                "type": "file",
                "mediaType": "application/pdf",
                "filename": "a.pdf",
                "url": "data:application/pdf;base64,AAAA",
            },
        ],
    },
    {
        "id": "a1",
        "role": "assistant",
        "metadata": {"model": "m", "createdAt": 1_770_000_000_000},
        "parts": [
            {"type": "step-start"},
            {"type": "reasoning", "text": "hm"},
            tool("weather", "a", "output-available", output={"t": 1}),
            tool("weather", "b", "output-error", errorText="no net"),
            {"type": "dynamic-tool", "toolName": "ask", "toolCallId": "c", "state": "input-available", "input": {}},
            {"type": "step-start"},
            {"type": "text", "text": "It rains."},
            {"type": "source-url", "sourceId": "s", "url": "https://example.org"},
            {"type": "data-note", "data": {"x": 1}},
        ],
    },
    {"id": "e", "role": "assistant", "parts": [{"type": "step-start"}]},
    {"id": "u2", "role": "user", "parts": [{"type": "text", "text": "Thanks."}]},
]


async def test_ui_messages(tmp_path: Path) -> None:
    """Each step is an answer with its results; a call that waits is open; what no model gets is kept as metadata."""
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"id": "chat", "messages": UI_MESSAGES}))
    report, history, _ = await _read(path)
    assert texts(history) == [
        "user: go document",
        "assistant: thinking weather weather ask",
        'tool: {"t":1}',
        "tool: no net",
        "assistant: It rains.",
        "user: Thanks.",
    ]
    assert [one["tool_call_id"] for one in history if one["role"] == "tool"] == ["a", "b"]
    assert history[3]["metadata"]["is_error"] is True
    assert history[1]["metadata"]["model"] == "m"
    assert history[4]["metadata"]["timestamp"] == "2026-02-02T02:40:00.000Z"
    assert [one["type"] for one in records(report.path, "source")] == ["source-url", "data-note"]
    assert report.account.not_conversational == {"assistant without content": 1}


async def test_messages_of_an_older_version(tmp_path: Path) -> None:
    """With `args` and `result`, and calls beside the text."""
    invoked = {"state": "result", "toolCallId": "a", "toolName": "w", "args": {"q": 1}, "result": {"t": 1}}
    waits = {**invoked, "toolCallId": "b", "state": "call"}
    lines = [
        {"id": "1", "role": "user", "content": "go"},
        {"id": "2", "role": "assistant", "content": "It rains.", "toolInvocations": [invoked, waits]},
        {"id": "3", "role": "assistant", "content": [{**call("c", "w"), "args": {"q": 2}}]},
        {
            "id": "4",
            "role": "tool",
            "content": [{**call("c", "w"), "type": "tool-result", "result": "sun", "isError": True}],
        },
    ]
    _, history, _ = await imported_history(tmp_path / "m.jsonl", lines)
    assert texts(history) == [
        "user: go",
        "assistant: w w",
        'tool: {"t":1}',
        "assistant: It rains.",
        "assistant: w",
        "tool: sun",
    ]
    assert history[4]["tool_calls"][0]["arguments"] == {"q": 2}
    assert history[5]["metadata"]["is_error"] is True


async def test_what_a_provider_ran_divides_its_answer(tmp_path: Path) -> None:
    said = [call("a", "search", input={}), output("a", "json", value=[1]), {"type": "text", "text": "Found."}]
    lines = [{"role": "user", "content": "find"}, {"role": "assistant", "content": said}]
    _, history, _ = await imported_history(tmp_path / "m.jsonl", lines)
    assert texts(history) == ["user: find", "assistant: search", "tool: [1]", "assistant: Found."]


async def test_a_task_of_roo_code(tmp_path: Path) -> None:
    """Its second version stores model messages; a summary is a compaction, and keeps what it did not replace."""
    replaced = {"condenseParent": "s1"}
    messages = [
        {"role": "user", "content": "task", "ts": 1_770_000_000_000},
        {"role": "assistant", "content": [call("a", "read", input={})], **replaced},
        {"role": "tool", "content": [output("a", "text", value="out")], **replaced},
        {"role": "user", "content": "What was done.", "isSummary": True, "condenseId": "s1"},
        {"role": "user", "content": "on"},
    ]
    path = tmp_path / "api_conversation_history.json"
    path.write_text(json.dumps({"version": 2, "messages": messages}))
    _, history, view = await _read(path)
    assert texts(history) == ["user: task", "assistant: read", "tool: out", "user: on"]
    assert texts(view) == ["user: <summary>\nWhat was done.\n</summary>", "user: task", "user: on"]
