"""ATIF trajectories, sessions of GitHub Copilot CLI and of OpenCode."""

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import (
    ImportRefusedError,
    import_session,
)
from tests.support.imports import history_and_view, imported, imported_history, records, texts, write_jsonl
from tests.support.sweeps import proof

AGENT = {"name": "a", "version": "1", "model_name": "m", "tool_definitions": [{"type": "function"}]}
STEPS: list[dict[str, Any]] = [
    {"step_id": 1, "source": "system", "message": "Be brief."},
    {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "go"}], "timestamp": "2026-01-01T00:00:00Z"},
    {
        "step_id": 3,
        "source": "agent",
        "message": "Going",
        "reasoning_content": "hm",
        "tool_calls": [{"tool_call_id": "c", "function_name": "ls", "arguments": {"p": 1}}],
        "observation": {
            "results": [
                {"source_call_id": "c", "content": "a", "subagent_trajectory_ref": [{"trajectory_id": "sub"}]},
                {"content": "the terminal blinks"},
            ]
        },
        "metrics": {"prompt_tokens": 100, "completion_tokens": 5, "cached_tokens": 80, "cost_usd": 0.1},
    },
    {
        "step_id": 4,
        "source": "system",
        "message": "What was done: ls",
        "extra": {"context_management": {"type": "compaction", "boundary": "replace"}},
    },
    {"step_id": 5, "source": "user", "message": "on"},
    {"step_id": 6, "source": "system", "message": "a late note"},
]


async def test_an_atif_trajectory(tmp_path: Path) -> None:
    """Steps are messages, observations results or notes, a replacing step a compaction, inner trajectories children."""
    inner = {"schema_version": "ATIF-v1.7", "trajectory_id": "sub", "agent": AGENT, "steps": STEPS[:2]}
    document = {"schema_version": "ATIF-v1.7", "agent": AGENT, "steps": STEPS, "subagent_trajectories": [inner]}
    source = tmp_path / "t.json"
    source.write_text(json.dumps(document))
    report = imported(source)
    history, view = await history_and_view(report.path)
    assert texts(history) == [
        "system: Be brief.",
        "user: go",
        "assistant: thinking Going ls",
        "tool: a",
        "user: the terminal blinks",
        "user: on",
        "user: a late note",
    ]
    assert texts(view) == [
        "system: Be brief.",
        "user: <summary>\nWhat was done: ls\n</summary>",
        "user: on",
        "user: a late note",
    ]
    assert history[2]["metadata"]["usage"]["cost_usd"] == 0.1
    assert [session.kind for session in report.sessions] == ["session", "subagent"]
    assert records(report.sessions[1].path, "header")[0]["source"]["spawned_by"] == "c"
    assert records(report.path, "header")[0]["source"]["tools"] == [{"type": "function"}]
    assert (report.account.unit, report.account.lines) == ("entry", 8)


async def test_a_session_of_copilot_cli(tmp_path: Path) -> None:
    """Messages, calls and results by their events; what is not known is kept as metadata."""

    def event(kind: str, number: int, **data: Any) -> dict[str, Any]:
        return {"type": kind, "data": data, "id": f"e{number}", "timestamp": "2026-01-01T00:00:00Z", "parentId": None}

    report, history, _ = await imported_history(
        tmp_path / "events.jsonl",
        [
            event("session.start", 1, sessionId="cop-1", copilotVersion="1.0", context={"cwd": "/w"}),
            event("user.message", 2, content="go", attachments=[]),
            event("assistant.turn_start", 3, turnId="0"),
            event(
                "assistant.message",
                4,
                content="",
                toolRequests=[{"toolCallId": "t", "name": "bash", "arguments": {"c": 1}}],
            ),
            event("tool.execution_start", 5, toolCallId="t", toolName="bash"),
            event("tool.execution_complete", 6, toolCallId="t", success=False, error={"message": "denied"}),
            event("assistant.message", 7, content="It was denied.", reasoningText="hm"),
            event("session.something_new", 8, x=1),
            {**event("assistant.message", 9, content="inner"), "agentId": "sub1"},
        ],
    )
    assert texts(history) == ["user: go", "assistant: bash", "tool: denied", "assistant: thinking It was denied."]
    assert history[2]["metadata"]["is_error"] is True
    assert [session.kind for session in report.sessions] == ["session", "subagent"]
    assert report.account.metadata == {"session.start": 1, "session.something_new": 1}


async def test_images_clears_and_sub_agents_of_copilot_cli(tmp_path: Path) -> None:
    """As versions of 2026 write them: an image's data is in its event, or in an event of its own."""

    def event(kind: str, number: int, agent: str = "", **data: Any) -> dict[str, Any]:
        whole = {"type": kind, "data": data, "id": f"e{number}", "timestamp": "2026-08-01T00:00:00Z"}
        return {**whole, "agentId": agent} if agent else whole

    png = {"type": "blob", "mimeType": "image/png"}
    asset = {"type": "image", "mimeType": "image/png", "byteLength": 3}
    report, history, _ = await imported_history(
        tmp_path / "events.jsonl",
        [
            event("session.start", 1, sessionId="cop-1"),
            event("session.title_changed", 2, title="See it"),
            event("user.message", 3, content="before"),
            event("assistant.message", 4, content="yes"),
            event("session.context_cleared", 5, messagesCleared=2),
            event("session.binary_asset", 6, assetId="sha256:a", data="QUJD", **asset),
            event("session.binary_asset", 7, assetId="sha256:unused", data="REVG", **asset),
            event(
                "user.message", 8, content="look", attachments=[{**png, "data": "R0hJ"}, {"type": "file", "path": "/f"}]
            ),
            event("user.message", 9, content="", attachments=[{**png, "assetId": "sha256:a"}]),
            event(
                "assistant.message", 10, content="", toolRequests=[{"toolCallId": "t", "name": "shot", "arguments": {}}]
            ),
            event(
                "tool.execution_complete",
                11,
                toolCallId="t",
                success=True,
                result={"content": "a shot", "binaryResultsForLlm": [{**asset, "assetId": "sha256:a"}]},
            ),
            event("user.message", 12, content="and", attachments=[{**png, "omittedReason": "too_large"}]),
            event("subagent.started", 13, "sub1", toolCallId="t", agentName="Explore", agentDescription="looks"),
            event("assistant.message", 14, "sub1", content="inner"),
            event("assistant.message", 15, content="done"),
            event("session.context_cleared", 16, messagesCleared=9),
        ],
    )
    media = [
        [block["source"]["data"] for block in message["content"] if block["type"] == "image"]
        for message in history
        if isinstance(message["content"], list)
    ]
    assert media == [["R0hJ"], ["QUJD"], ["QUJD"]]
    assert [message["content"] for message in history if isinstance(message["content"], str)] == ["", "and", "done"]
    assert history[0]["metadata"]["imported"] == {"attachments": [{"type": "file", "path": "/f"}]}
    assert [loss.reason for loss in report.not_carried] == ["an attachment of the type 'image/png': too_large"]
    assert report.account.mapped["session.binary_asset"] == report.account.metadata["session.binary_asset"] == 1
    source = records(report.path, "header")[0]["source"]
    assert (source["title"], source["subagent_tasks"]) == ("See it", ["Explore: looks"])
    assert records(report.sessions[1].path, "header")[0]["source"]["spawned_by"] == "t"


@proof
async def test_a_compaction_and_a_rewind_of_copilot_cli(tmp_path: Path) -> None:
    """The summary is what the model was given; what a rewind took away is a branch."""

    def event(kind: str, number: int, **data: Any) -> dict[str, Any]:
        return {"type": kind, "data": data, "id": f"e{number}", "timestamp": "2026-01-01T00:00:00Z", "parentId": None}

    report, history, view = await imported_history(
        tmp_path / "events.jsonl",
        [
            event("session.start", 1, sessionId="cop-1"),
            event("user.message", 2, content="go"),
            event("assistant.message", 3, content="half"),
            event("session.compaction_complete", 4, success=False, error="no answer"),
            event(
                "session.compaction_complete", 5, success=True, summaryContent="Half is done.", preCompactionTokens=9
            ),
            event("user.message", 6, content="wrong way"),
            event("assistant.message", 7, content="lost work"),
            event("session.snapshot_rewind", 8, upToEventId="e6", eventsRemoved=2),
            event("session.snapshot_rewind", 9, upToEventId="not there", eventsRemoved=2),
            event("user.message", 10, content="on"),
            event("assistant.message", 11, content="done"),
        ],
    )
    assert texts(history) == ["user: go", "assistant: half", "user: on", "assistant: done"]
    assert "Half is done." in texts(view)[0]
    assert [one.kind for one in report.sessions] == ["session", "branch"]
    branch, _ = await history_and_view(report.sessions[1].path)
    assert texts(branch) == ["user: go", "assistant: half", "user: wrong way", "assistant: lost work"]


@proof
async def test_a_session_of_opencode(tmp_path: Path) -> None:
    """Steps of an answer are messages, each followed by its results; a call that runs still stays open."""
    told = {
        "id": "msg_2",
        "role": "assistant",
        "time": {"created": 1_770_000_000_000},
        "modelID": "m",
        "providerID": "p",
    }
    tool = {
        "type": "tool",
        "callID": "c",
        "tool": "bash",
        "state": {"status": "error", "input": {"x": 1}, "error": "no"},
    }
    runs = {"type": "tool", "callID": "d", "tool": "bash", "state": {"status": "running", "input": {}}}
    document = {
        "info": {"id": "ses_1", "directory": "/w", "title": "T"},
        "messages": [
            {
                "info": {"id": "msg_1", "role": "user", "time": {"created": 1}},
                "parts": [{"type": "text", "text": "go"}],
            },
            {
                "info": {
                    **told,
                    "tokens": {"input": 10, "output": 2, "reasoning": 1, "cache": {"read": 5, "write": 1}},
                },
                "parts": [
                    {"type": "step-start"},
                    {"type": "text", "text": "try"},
                    tool,
                    {"type": "text", "text": "again"},
                    runs,
                ],
            },
            {"info": {"role": "robot"}, "parts": []},
        ],
    }
    source = tmp_path / "export.json"
    source.write_text(json.dumps(document))
    report = imported(source)
    history, view = await history_and_view(report.path)
    assert texts(history) == ["user: go", "assistant: try bash", "tool: no", "assistant: again bash"]
    assert history[1]["metadata"]["timestamp"] == "2026-02-02T02:40:00.000Z"
    assert history[3]["metadata"]["usage"]["input_tokens"] == 15
    assert "interrupted" in json.dumps(view[-1])
    assert [loss.line for loss in report.not_carried] == [3]
    assert "_" not in (import_session(source, working_dir=str(tmp_path)).session_id or "_")


async def test_a_call_of_opencode_without_output_stays_open(tmp_path: Path) -> None:
    """No result is no result; an empty one that was given is one."""
    states = [{"status": "completed", "input": {}}, {"status": "completed", "output": ""}, {"status": "running"}]
    parts = [{"type": "tool", "callID": f"c{n}", "tool": "ls", "state": state} for n, state in enumerate(states)]
    document = {"info": {"id": "s"}, "messages": [{"info": {"id": "1", "role": "assistant"}, "parts": parts}]}
    (tmp_path / "s.json").write_text(json.dumps(document))
    history, _ = await history_and_view(imported(tmp_path / "s.json").path)
    assert [(m["tool_call_id"], m["content"]) for m in history if m["role"] == "tool"] == [("c1", "")]


def test_an_event_of_copilot_cli_that_a_file_has_twice(tmp_path: Path) -> None:
    """A file may be joined from copies. An event is imported once; another one with its id, of another time, stays."""
    asked = {"type": "user.message", "id": "e1", "timestamp": "2026-01-01T00:00:00Z", "data": {"content": "go"}}
    later = {**asked, "timestamp": "2026-01-01T00:00:01Z", "data": {"content": "on"}}
    report = imported(write_jsonl(tmp_path / "events.jsonl", [asked, asked, later]))
    assert report.roles == {"user": 2}
    assert [(loss.line, loss.reason) for loss in report.not_carried] == [
        (2, "an earlier event has the same id, time and type")
    ]


@proof(quick=2)
@pytest.mark.parametrize(
    "name", ["atif", "opencode", "gemini-cli", "codex", "claude-code", "pi", "copilot-cli", "openai"]
)
def test_a_format_that_is_forced_on_another_file_is_refused(tmp_path: Path, name: str) -> None:
    """With a reason, and nothing is written."""
    source = tmp_path / "in"
    source.write_text('{"some": "thing"}\n{"other": 1}\n')
    with pytest.raises(ImportRefusedError):
        import_session(source, path=tmp_path / "new", source_format=name)
    assert not (tmp_path / "new").exists()


def opencode(tmp_path: Path, *messages: tuple[dict[str, Any], list[dict[str, Any]]]) -> Path:
    """An export of OpenCode."""
    listed = [{"info": {"id": f"m{n}", **info}, "parts": parts} for n, (info, parts) in enumerate(messages, 1)]
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"info": {"id": "s"}, "messages": listed}))
    return path


async def test_what_opencode_shows_and_does_not_send_is_no_message(tmp_path: Path) -> None:
    """An `ignored` text; the files of a message are its media, but for those whose content is added as text."""
    pdf = {"type": "file", "mime": "application/pdf", "filename": "a.pdf", "url": "data:application/pdf;base64,AAAA"}
    parts = [
        {"type": "text", "text": "go"},
        {"type": "text", "text": "shown alone", "ignored": True},
        pdf,
        {"type": "file", "mime": "text/plain", "url": "file:///a.txt"},
    ]
    report = imported(
        opencode(tmp_path, ({"role": "user"}, parts), ({"role": "user"}, [{"type": "text", "text": "on"}]))
    )
    history, _ = await history_and_view(report.path)
    assert texts(history) == ["user: go document", "user: on"]
    assert [one["type"] for one in records(report.path, "source")] == ["ignored text", "file"]


async def test_results_of_opencode_have_their_attachments(tmp_path: Path) -> None:
    """Images are images; a call that was stopped has what it had written so far."""
    image = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,iVBORw0KGgo="}
    states = [
        {"status": "completed", "output": "seen", "attachments": [image]},
        {"status": "error", "error": "aborted", "metadata": {"interrupted": True, "output": "half"}},
    ]
    tools = [{"type": "tool", "callID": f"c{n}", "tool": "t", "state": state} for n, state in enumerate(states)]
    asked = ({"role": "user"}, [{"type": "text", "text": "go"}])
    history, _ = await history_and_view(imported(opencode(tmp_path, asked, ({"role": "assistant"}, tools))).path)
    assert texts(history)[2:] == ["tool: seen image", "tool: half"]
    assert history[3]["metadata"]["is_error"] is True


async def test_a_summary_of_opencode_is_a_compaction(tmp_path: Path) -> None:
    """Views go on from it and from what it kept; its request is paid, and so is one that failed without a word."""
    tokens = {"input": 10, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    path = opencode(
        tmp_path,
        ({"role": "user"}, [{"type": "text", "text": "one"}]),
        ({"role": "assistant"}, [{"type": "text", "text": "1"}]),
        ({"role": "user"}, [{"type": "text", "text": "two"}]),
        ({"role": "assistant", "error": {"name": "APIError"}, "tokens": tokens}, []),
        ({"role": "user"}, [{"type": "compaction", "auto": True, "tail_start_id": "m3"}]),
        ({"role": "assistant", "summary": True, "tokens": tokens}, [{"type": "text", "text": "Summed up."}]),
        ({"role": "user"}, [{"type": "text", "text": "three"}]),
    )
    report = imported(path)
    history, view = await history_and_view(report.path)
    assert texts(history) == ["user: one", "assistant: 1", "user: two", "assistant: ", "assistant: ", "user: three"]
    assert texts(view) == ["user: <summary>\nSummed up.\n</summary>", "user: two", "user: three"]
    assert [one["metadata"]["usage"]["input_tokens"] for one in history[3:5]] == [10, 10]
