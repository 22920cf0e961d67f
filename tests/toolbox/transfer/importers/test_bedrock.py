"""Messages of Bedrock's Converse API, and sessions of Strands, which has a file for each message."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.forms import bedrock
from amplifier_module_context_persistent.toolbox.transfer.imports.import_directory import session_paths
from tests.support.imports import history_and_view, imported, imported_history, texts
from tests.support.sweeps import proof

PIXEL = "iVBORw0KGgo="
USE = {"toolUse": {"toolUseId": "t1", "name": "read", "input": {"path": "a"}}}
RESULTS = [
    {"toolResult": {"toolUseId": "t1", "status": "success", "content": [{"text": "out"}, {"json": {"a": 1}}]}},
    {"toolResult": {"toolUseId": "t2", "status": "error", "content": [{"text": "no"}]}},
]
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": [{"text": "go"}, {"image": {"format": "png", "source": {"bytes": PIXEL}}}]},
    {
        "role": "assistant",
        "content": [
            {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
            {"text": "looking"},
            USE,
            {"toolUse": {"toolUseId": "t2", "name": "read", "input": {}}},
        ],
    },
    {"role": "user", "content": RESULTS},
    {"role": "assistant", "content": [{"text": "done"}]},
]
SHORT = ["user: go image", "assistant: thinking looking read read", 'tool: out {"a":1}', "tool: no", "assistant: done"]


@proof(quick=1)
@pytest.mark.parametrize("shape", ["list", "body", "lines"])
async def test_messages_in_their_shapes(tmp_path: Path, shape: str) -> None:
    """A list, a request's body, lines; written again by their form they are what they were."""
    body = {"modelId": "m", "messages": TALK, "system": [{"text": "Be brief."}], "toolConfig": {"tools": [{"x": 1}]}}
    documents = {"list": json.dumps(TALK), "body": json.dumps(body), "lines": "\n".join(map(json.dumps, TALK))}
    path = tmp_path / "talk.json"
    path.write_text(documents[shape])
    report = imported(path)
    history, _ = await history_and_view(report.path)
    assert report.format == "bedrock"
    assert texts(history) == ["system: Be brief."] * (shape == "body") + SHORT
    said = [one for one in history if one["role"] != "system"]
    assert with_base64(bedrock.write(said, exact=True)) == TALK
    assert [one["metadata"].get("is_error") for one in said] == [None, None, None, True, None]


async def test_what_is_malformed_is_lost_by_name(tmp_path: Path) -> None:
    broken = {"role": "user", "content": [{"toolResult": {"content": [{"text": "x"}]}}]}
    report, history, _ = await imported_history(tmp_path / "t.jsonl", [*TALK, broken, {"role": "x", "content": []}])
    assert texts(history) == SHORT
    assert [one.line for one in report.account.lost] == [5, 6]
    assert "toolUseId" in report.account.lost[0].reason


def with_base64(value: Any) -> Any:
    """A value with bytes as base64, as JSON has them."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {key: with_base64(item) for key, item in value.items()}
    return [with_base64(item) for item in value] if isinstance(value, list) else value


def strands(home: Path, agent: str = "default", count: int = 4) -> Path:
    """A session as Strands stores it."""
    session = home / "session_s-1"
    directory = session / "agents" / f"agent_{agent}"
    (directory / "messages").mkdir(parents=True)
    (session / "session.json").write_text('{"session_id": "s-1", "session_type": "AGENT"}')
    (directory / "agent.json").write_text(json.dumps({"agent_id": agent, "state": {}}))
    encoded = {"__bytes_encoded__": True, "data": PIXEL}
    for number, message in enumerate(TALK[:count]):
        stored = json.loads(json.dumps(message))
        if not number:
            stored["content"][1]["image"]["source"]["bytes"] = encoded
        given = {"message": stored, "message_id": number, "created_at": f"2026-02-01T00:00:0{number}+00:00"}
        (directory / "messages" / f"message_{number}.json").write_text(json.dumps(given, indent=2))
    return directory / "messages"


@proof
async def test_a_session_of_strands(tmp_path: Path) -> None:
    """Its first file stands for all; the files of other messages, and of the session, come with it."""
    messages = strands(tmp_path / "sessions")
    strands_of_other = strands(tmp_path / "more", "helper", 2)
    report = imported(messages / "message_0.json", tmp_path / "log.jsonl")
    history, _ = await history_and_view(report.path)
    assert texts(history) == SHORT
    assert history[0]["metadata"]["timestamp"] == "2026-02-01T00:00:00+00:00"
    assert with_base64(bedrock.write(history, exact=True)) == TALK
    found = session_paths(tmp_path)
    assert [Path(path) for path in found if path.endswith(".json")] == [
        strands_of_other / "message_0.json",
        messages / "message_0.json",
    ]


@proof
async def test_a_redacted_message_is_what_it_was_redacted_to(tmp_path: Path) -> None:
    messages = strands(tmp_path, count=1)
    stored = json.loads((messages / "message_0.json").read_text())
    stored["redact_message"] = {"role": "user", "content": [{"text": "[removed]"}]}
    (messages / "message_0.json").write_text(json.dumps(stored))
    (messages / "message_1.json").symlink_to("/dev/zero")
    report = imported(messages / "message_0.json", tmp_path / "log.jsonl")
    history, _ = await history_and_view(report.path)
    assert texts(history) == ["user: [removed]"]
