"""Sessions of Goose: messages, calls and results of MCP tools, compactions, usage of the whole session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.imports import history_and_view, imported, imported_history, records, texts

SEEN = {"userVisible": True, "agentVisible": True}
HIDDEN = {"userVisible": True, "agentVisible": False}
AGENTS = {"userVisible": False, "agentVisible": True}


def message(role: str, *content: Any, number: int = 1, metadata: Any = SEEN) -> dict[str, Any]:
    return {"id": f"g{number}", "role": role, "created": 1_740_171_566 + number, "content": list(content)} | {
        "metadata": metadata
    }


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def asked(call_id: str, **arguments: Any) -> dict[str, Any]:
    value = {"name": "developer__shell", "arguments": arguments}
    return {"type": "toolRequest", "id": call_id, "toolCall": {"status": "success", "value": value}}


def answered(call_id: str, value: Any) -> dict[str, Any]:
    return {"type": "toolResponse", "id": call_id, "toolResult": {"status": "success", "value": value}}


TALK = [
    message("user", text("list it"), {"type": "image", "data": "AAAA", "mimeType": "image/png"}, number=1),
    message(
        "assistant",
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        text("looking"),
        asked("c1", command="ls"),
        asked("c2", command="cat"),
        asked("c3", command="no"),
        {"type": "toolRequest", "id": "c4", "toolCall": {"status": "error", "error": "-32602: bad arguments"}},
        number=2,
    ),
    message(
        "user",
        answered("c1", [{"type": "text", "text": "a.txt", "annotations": {"audience": ["assistant"]}}]),
        answered("c2", {"content": [text("no file"), {"type": "image", "data": "BBBB", "mimeType": "image/png"}]}),
        answered("c3", {"content": [text("denied")], "isError": True}),
        {"type": "toolResponse", "id": "c4", "toolResult": {"status": "error", "error": "-32602: bad arguments"}},
        number=3,
    ),
    message("assistant", text("there is a.txt"), number=4),
    message(
        "assistant", {"type": "systemNotification", "notificationType": "inlineMessage", "msg": "compacting"}, number=5
    ),
]
SESSION = {
    "id": "20260201_3",
    "working_dir": "/w/app",
    "name": "A listing",
    "created_at": "2026-02-01T00:00:00Z",
    "provider_name": "anthropic",
    "model_config": {"model_name": "claude-sonnet-4-5"},
    "accumulated_input_tokens": 900,
    "accumulated_output_tokens": 40,
    "accumulated_cost": 0.25,
    "message_count": 5,
    "conversation": TALK,
}
SHORT = [
    "user: list it image",
    "assistant: thinking looking developer__shell developer__shell developer__shell unknown",
    "tool: a.txt",
    "tool: no file image",
    "tool: denied",
    "tool: -32602: bad arguments",
    "assistant: there is a.txt",
]


async def test_an_exported_session(tmp_path: Path) -> None:
    """All that was said, called and answered; what the whole session took is at its last answer."""
    path = tmp_path / "session.json"
    path.write_text(json.dumps(SESSION, indent=2))
    report = imported(path)
    history, _ = await history_and_view(report.path)
    assert report.format == "goose"
    assert texts(history) == SHORT
    assert [one["metadata"].get("is_error") for one in history if one["role"] == "tool"] == [None, None, True, True]
    assert [one["tool_call_id"] for one in history if one["role"] == "tool"] == ["c1", "c2", "c3", "c4"]
    assert [one["id"] for one in history[1]["tool_calls"]] == ["c1", "c2", "c3", "c4"]
    usage = {"input_tokens": 900, "output_tokens": 40, "cost_usd": 0.25, "requests": 2}
    assert history[-1]["metadata"]["usage"] == usage
    assert (history[-1]["metadata"]["model"], history[-1]["metadata"]["timestamp"][:4]) == ("claude-sonnet-4-5", "2025")
    source = records(report.path, "header")[0]["source"]
    assert (source["cwd"], source["title"]) == ("/w/app", "A listing")
    assert [one["type"] for one in records(report.path, "source")] == ["systemNotification"]
    assert report.account.metadata == {"assistant without content": 1}


async def test_a_file_of_lines_of_an_older_version(tmp_path: Path) -> None:
    """The first line tells of the session; a message may have neither id nor metadata; others are lost by name."""
    old = [{key: value for key, value in one.items() if key not in ("id", "metadata")} for one in TALK[:4]]
    head = {"working_dir": "/w", "description": "Old", "message_count": 4, "accumulated_input_tokens": 7}
    report, history, _ = await imported_history(tmp_path / "20250101_1.jsonl", [head, *old, {"role": "narrator"}])
    assert report.format == "goose"
    assert texts(history) == SHORT
    assert records(report.path, "header")[0]["source"]["title"] == "Old"
    assert [(one.line, one.reason) for one in report.account.lost] == [(6, "no message: its role is 'narrator'")]


async def test_a_compaction(tmp_path: Path) -> None:
    """What the agent sees no more is history; its summary is what the model was given, with what stayed visible."""
    talk = [
        message("user", text("first"), number=1, metadata=HIDDEN),
        message("assistant", text("long work"), number=2, metadata=HIDDEN),
        message("user", text("The work so far: done."), number=3, metadata=AGENTS),
        message("user", text("Go on with what you were doing."), number=4, metadata=AGENTS),
        message("user", text("and now?"), number=5),
    ]
    path = tmp_path / "session.json"
    path.write_text(json.dumps({**SESSION, "conversation": talk}))
    report = imported(path)
    history, view = await history_and_view(report.path)
    assert texts(history) == [
        "user: first",
        "assistant: long work",
        "user: Go on with what you were doing.",
        "user: and now?",
    ]
    assert history[2]["metadata"]["source"] == "goose:agent"
    assert "The work so far: done." in texts(view)[0]
    assert not any("long work" in said for said in texts(view))
