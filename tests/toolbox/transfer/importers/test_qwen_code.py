"""Sessions of Qwen Code: records in a tree, with contents of Gemini's API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.imports import history_and_view, imported, imported_history, records, texts, write_jsonl
from tests.support.sweeps import proof

Entry = dict[str, Any]


def record(kind: str, own: str, parent: str | None, *parts: Entry, **more: Any) -> Entry:
    role = "model" if kind == "assistant" else "user"
    message = {"message": {"role": role, "parts": list(parts)}} if parts else {}
    place = {"uuid": own, "parentUuid": parent, "sessionId": "q-1", "timestamp": "2026-01-01T00:00:00.000Z"}
    return {**place, "type": kind, "cwd": "/w", "version": "0.9", "gitBranch": "m", **message, **more}


CALL = {"functionCall": {"id": "c", "name": "ls", "args": {"p": 1}}}
OUTPUT = {"functionResponse": {"id": "c", "name": "ls", "response": {"output": "a b"}}}
USAGE = {"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "cachedContentTokenCount": 4}
TALK = [
    record("user", "1", None, {"text": "list"}),
    record("assistant", "2", "1", {"text": "hm", "thought": True}, CALL, model="qwen3", usageMetadata=USAGE),
    record("tool_result", "3", "2", OUTPUT, toolCallResult={"callId": "c", "status": "error"}),
    record("system", "4", "3", subtype="ui_telemetry", systemPayload={"uiEvent": {}}),
    record("assistant", "5", "4", {"text": "Done."}, model="qwen3"),
]


@proof
async def test_a_session(tmp_path: Path) -> None:
    """Thoughts, calls and results are such, with usage; what no person wrote has a source."""
    lines = [
        *TALK,
        record("user", "6", "5", {"text": "A task ended."}, subtype="notification", provenance="system"),
        record("system", "7", "6", subtype="custom_title", systemPayload={"customTitle": "Listing"}),
    ]
    report, history, _ = await imported_history(tmp_path / "q-1.jsonl", lines)
    assert (report.format, report.account.metadata) == ("qwen-code", {"ui_telemetry": 1, "custom_title": 1})
    assert texts(history) == [
        "user: list",
        "assistant: thinking ls",
        "tool: a b",
        "assistant: Done.",
        "user: A task ended.",
    ]
    assert history[1]["metadata"]["usage"] == {"input_tokens": 10, "output_tokens": 7, "cache_read_tokens": 4}
    assert history[1]["metadata"]["model"] == "qwen3"
    assert history[1]["tool_calls"][0]["arguments"] == {"p": 1}
    assert history[2]["metadata"]["is_error"] is True
    assert history[4]["metadata"]["source"] == "qwen-code:notification"
    source = records(report.path, "header")[0]["source"]
    assert (source["cwd"], source["title"]) == ("/w", "Listing")


async def test_a_compression_keeps_what_its_history_repeats(tmp_path: Path) -> None:
    contents = [
        {"role": "user", "parts": [{"text": "What was done."}]},
        {"role": "model", "parts": [{"text": "Got it."}]},
    ]
    kept = TALK[4]["message"]
    payload = {"info": {}, "compressedHistory": [*contents, kept]}
    lines = [
        *TALK,
        record("system", "6", "5", subtype="chat_compression", systemPayload=payload),
        record("user", "7", "6", {"text": "on"}),
    ]
    _, history, view = await imported_history(tmp_path / "q-1.jsonl", lines)
    assert texts(history)[-2:] == ["assistant: Done.", "user: on"]
    assert texts(view) == ["user: <summary>\nWhat was done.\n</summary>", "assistant: Done.", "user: on"]


async def test_a_rewind_is_a_branch_and_a_sub_agent_a_session(tmp_path: Path) -> None:
    """A person's message with a sibling begins another branch; a side chain is a sub-agent's."""
    inner = {"isSidechain": True, "agentId": "explore-1"}
    lines = [
        *TALK,
        record("user", "6", "5", {"text": "left"}),
        record("user", "7", "5", {"text": "live"}),
        record("user", "8", None, {"text": "look"}, **inner),
        record("assistant", "9", "8", {"text": "seen"}, **inner),
    ]
    report = imported(write_jsonl(tmp_path / "q-1.jsonl", lines))
    assert [(one.kind, one.messages) for one in report.sessions] == [("session", 5), ("branch", 5), ("subagent", 2)]
    branch, _ = await history_and_view(report.sessions[1].path)
    assert texts(branch)[-1] == "user: left"
