"""Values that another program encoded in its own way: large numbers, ids that are numbers, JSON in a text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.log.record_line import decode
from amplifier_module_context_persistent.toolbox.transfer.importers.lines import parse_json
from tests.support.imports import imported, imported_history, texts, write_jsonl

LARGE = [2**64, -(10**30), 12345678901234567890123, 2**63, 10**18, 1.5e300]


def claude(number: int, kind: str, content: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, "id": f"m{number}"}
    above = f"u{number - 1}" if number else None
    return {"type": kind, "uuid": f"u{number}", "parentUuid": above, "sessionId": "s", "message": message}


TALK = [claude(0, "user", "Go."), claude(1, "assistant", [{"type": "text", "text": "Gone."}])]


def test_large_numbers_stay_as_they_are(tmp_path: Path) -> None:
    """Those of more than 64 bits, too."""
    call = {"type": "tool_use", "id": "c", "name": "add", "input": {"numbers": LARGE}}
    report = imported(write_jsonl(tmp_path / "s.jsonl", [TALK[0], claude(1, "assistant", [call])]))
    messages = [decode(line) for line in Path(report.path).read_bytes().splitlines()]
    (called,) = next(one["tool_calls"] for one in messages if "tool_calls" in one)
    assert called["arguments"]["numbers"] == LARGE


@pytest.mark.parametrize("before", range(20))
def test_a_large_number_is_found_wherever_it_is(before: int) -> None:
    for number in (2**64, -(2**64), 10**40):
        assert parse_json(b'{"a":"%s","b":%d}' % (b"x" * before, number))["b"] == number


async def test_lines_and_entries_that_were_encoded_twice_are_read(tmp_path: Path) -> None:
    twice = [json.dumps(entry) for entry in TALK]
    (tmp_path / "list.json").write_text(json.dumps(twice))
    report = imported(tmp_path / "list.json")
    assert (report.format, report.messages) == ("claude-code", 2)
    _, history, _ = await imported_history(tmp_path / "lines.jsonl", [json.dumps(line) for line in twice])
    assert texts(history) == ["user: Go.", "assistant: Gone."]


@pytest.mark.parametrize("agent", ["codex", "pi", "copilot-cli"])
async def test_ids_of_calls_that_are_numbers_name_their_results(tmp_path: Path, agent: str) -> None:
    time = {"timestamp": "2026-09-01T08:00:00.000Z"}
    called = {"type": "toolCall", "id": 7, "name": "sh", "arguments": {}}
    given = {"role": "toolResult", "toolCallId": 7, "content": [{"type": "text", "text": "out"}]}
    asked = {"content": "", "toolRequests": [{"toolCallId": 7, "name": "sh", "arguments": {}}]}
    entries: dict[str, list[Any]] = {
        "codex": [
            {"type": "response_item", "payload": {"type": "function_call", "name": "sh", "call_id": 7}},
            {"type": "response_item", "payload": {"type": "function_call_output", "call_id": 7, "output": "out"}},
        ],
        "pi": [
            {"type": "message", "id": "a", "message": {"role": "assistant", "content": [called]}},
            {"type": "message", "id": "b", "parentId": "a", "message": given},
        ],
        "copilot-cli": [
            {"type": "assistant.message", "data": asked},
            {
                "type": "tool.execution_complete",
                "data": {"toolCallId": 7, "success": True, "result": {"content": "out"}},
            },
        ],
    }
    report, history, _ = await imported_history(tmp_path / "s.jsonl", [time | one for one in entries[agent]])
    assert report.format == agent
    assert history[0]["tool_calls"][0]["id"] == history[1]["tool_call_id"] == "7"
    assert texts(history)[1] == "tool: out"


def test_a_message_of_an_unknown_role_is_lost_by_name(tmp_path: Path) -> None:
    """And a part that names no type and has a text is one."""
    body = {"messages": [{"role": "robot", "content": "?"}, {"role": "user", "content": {"text": "Go."}}]}
    (tmp_path / "s.json").write_text(json.dumps(body))
    report = imported(tmp_path / "s.json")
    assert [loss.reason for loss in report.account.lost] == ["no message: its role is 'robot'"]
    assert b'"content":"Go."' in Path(report.path).read_bytes()
