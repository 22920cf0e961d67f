"""Sessions of Gemini CLI: one document, or JSON Lines with control lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.imports import history_and_view, imported, records, texts, write_jsonl
from tests.support.sweeps import proof

Entry = dict[str, Any]


def says(kind: str, message_id: str, content: Any, **more: Any) -> Entry:
    return {"id": message_id, "timestamp": "2026-02-02T02:02:02.000Z", "type": kind, "content": content, **more}


HEAD = {"sessionId": "g-1", "projectHash": "h", "startTime": "2026-02-02T02:00:00.000Z"}
CALL = {
    "name": "read_file",
    "args": {"path": "a"},
    "status": "error",
    "result": [{"functionResponse": {"id": "x", "name": "read_file", "response": {"error": "no such file"}}}],
}


async def test_a_document(tmp_path: Path) -> None:
    """Thoughts, calls without ids, results, tokens; notes of the program are kept as metadata."""
    messages = [
        says("user", "u1", [{"text": "read"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]),
        says(
            "gemini",
            "a1",
            "Reading",
            toolCalls=[CALL, {"name": "ls", "args": {}, "status": "success", "resultDisplay": "a b"}],
            thoughts=[{"subject": "Plan", "description": "read it"}],
            tokens={"input": 100, "output": 7, "cached": 60, "thoughts": 3, "tool": 0, "total": 110},
            model="gemini-2.5-pro",
        ),
        says("info", "i1", "Update available"),
        7,
    ]
    path = tmp_path / "s.json"
    path.write_text(json.dumps({**HEAD, "summary": "Reading", "messages": messages}, indent=1))
    report = imported(path)
    history, _ = await history_and_view(report.path)
    assert texts(history) == [
        "user: read image",
        "assistant: thinking Reading read_file ls",
        "tool: no such file",
        "tool: a b",
    ]
    answer = history[1]
    assert answer["content"][0]["thinking"] == "**Plan**\nread it"
    assert answer["metadata"]["usage"] == {"input_tokens": 100, "output_tokens": 10, "cache_read_tokens": 60}
    assert answer["tool_calls"][0]["id"] == history[2]["tool_call_id"]
    assert [message["metadata"].get("is_error") for message in history[2:]] == [True, None]
    assert report.account.metadata == {"info": 1}
    assert [(loss.line, report.account.unit) for loss in report.not_carried] == [(4, "entry")]
    assert records(report.path, "header")[0]["source"]["title"] == "Reading"


@proof
async def test_json_lines_with_later_versions_and_rewinds(tmp_path: Path) -> None:
    """The last version of a message counts; a rewind takes a message and all after it away, into a branch."""
    report = imported(
        write_jsonl(
            tmp_path / "s.jsonl",
            [
                HEAD,
                says("user", "u1", "one"),
                says("gemini", "a1", "par"),
                says("gemini", "a1", "partial, then whole"),
                says("user", "u2", "two"),
                says("gemini", "a2", "2"),
                {"$rewindTo": "u2"},
                says("user", "u3", "three"),
                {"$set": {"summary": "Counting"}},
            ],
        )
    )
    live, left = [(await history_and_view(session.path))[0] for session in report.sessions]
    assert texts(live) == ["user: one", "assistant: partial, then whole", "user: three"]
    assert texts(left) == ["user: one", "assistant: partial, then whole", "user: two", "assistant: 2"]
    assert report.account.not_conversational == {"replaced by a later version": 1}
    assert records(report.path, "header")[0]["source"]["title"] == "Counting"


async def test_no_result_is_no_result(tmp_path: Path) -> None:
    """A call that was interrupted stays open, with its status; an empty result that was given is one."""
    asked = [
        {"id": "c1", "name": "ls", "args": {}, "status": "success"},
        {"id": "c2", "name": "ls", "args": {}, "status": "cancelled", "result": None},
        {"id": "c3", "name": "ls", "args": {}},
        {"id": "c4", "name": "ls", "args": {}, "status": "success", "result": []},
        {"id": "c5", "name": "edit", "args": {}, "status": "success", "resultDisplay": {"fileDiff": "+x"}},
    ]
    history, _ = await history_and_view(
        imported(
            write_jsonl(tmp_path / "s.jsonl", [HEAD, says("user", "u", "go"), says("gemini", "a", "", toolCalls=asked)])
        ).path
    )
    results = {message["tool_call_id"]: message["content"] for message in history if message["role"] == "tool"}
    assert results == {"c4": "", "c5": '{"fileDiff": "+x"}'}
    assert history[1]["metadata"]["imported"] == {"open_calls": {"c1": "success", "c2": "cancelled"}}


async def test_parts_that_are_neither_text_nor_images(tmp_path: Path) -> None:
    """A PDF is a document, a thought is thinking; a part that only Gemini understands stays as it came."""
    pdf = {"inlineData": {"mimeType": "application/pdf", "data": "AAAA", "displayName": "a.pdf"}}
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    messages = [
        says("user", "u1", [{"text": "read"}, pdf]),
        says("gemini", "a1", [{"text": "hm", "thought": True}, {"type": "thinking"}, code, {"text": "done"}]),
        says("user", "u2", "go on"),
    ]
    path = tmp_path / "s.json"
    path.write_text(json.dumps({**HEAD, "messages": messages}))
    history, _ = await history_and_view(imported(path).path)
    document = history[0]["content"][1]
    assert (document["type"], document["title"]) == ("document", "a.pdf")
    assert document["source"]["media_type"] == "application/pdf"
    assert [block.get("thinking") for block in history[1]["content"]] == ["hm", "", None, None]
    assert history[1]["content"][2:] == [{"type": "part", **code}, {"type": "text", "text": "done"}]


@pytest.mark.parametrize(
    ("status", "failed"), [("success", False), ("error", True), ("cancelled", True), ("executing", False)]
)
async def test_a_call_that_did_not_go_well_has_failed(tmp_path: Path, status: str, failed: bool) -> None:
    """Also where its person cancelled it: what stands as its result says why, and nothing was done."""
    asked = {"id": "c1", "name": "ls", "args": {}, "status": status, "result": [{"text": "what came"}]}
    messages = [says("user", "u1", "list"), says("gemini", "a1", "", toolCalls=[asked])]
    path = tmp_path / "s.json"
    path.write_text(json.dumps({**HEAD, "messages": messages}))
    history, _ = await history_and_view(imported(path).path)
    assert (history[-1]["role"], history[-1]["metadata"].get("is_error", False)) == ("tool", failed)
