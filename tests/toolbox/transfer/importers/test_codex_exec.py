"""What `codex exec --json` prints: items, calls with results, usage of each turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import ImportRefusedError
from tests.support.imports import imported, imported_history, records, texts, write_jsonl

STARTED = {"type": "thread.started", "thread_id": "th-1"}


def done(number: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": f"item_{number}", "type": kind, **more}}


def ended(given: int, cached: int, written: int) -> dict[str, Any]:
    usage = {"input_tokens": given, "cached_input_tokens": cached, "output_tokens": written}
    return {"type": "turn.completed", "usage": usage}


async def test_a_run_of_two_turns(tmp_path: Path) -> None:
    """Each item is a part of an answer, or a call with its result; a turn's usage is what the thread took since."""
    command = {"command": "ls", "aggregated_output": "", "status": "in_progress"}
    report, history, _ = await imported_history(
        tmp_path / "out.jsonl",
        [
            STARTED,
            {"type": "turn.started"},
            {"type": "item.started", "item": {"id": "item_0", "type": "command_execution", **command}},
            done(0, "command_execution", command="ls", aggregated_output="a", exit_code=2, status="failed"),
            done(1, "reasoning", text="hm"),
            done(2, "mcp_tool_call", server="s", tool="t", arguments={"q": 1}, status="completed", error=None)
            | {"x": 1},
            done(3, "file_change", changes=[{"path": "a", "kind": "add"}], status="completed"),
            done(4, "todo_list", items=[{"text": "x", "completed": True}]),
            done(5, "agent_message", text="first"),
            ended(100, 40, 5),
            {"type": "turn.started"},
            {"type": "item.started", "item": {"id": "item_6", "type": "command_execution", **command}},
            {"type": "turn.failed", "error": {"message": "killed"}},
            {"type": "turn.started"},
            done(0, "agent_message", text="second"),
            ended(150, 60, 8),
        ],
    )
    assert texts(history) == [
        "assistant: shell",
        "tool: a\nexit code 2",
        "assistant: thinking mcp__s__t",
        "tool: ",
        "assistant: apply_patch",
        "tool: completed",
        "assistant: first",
        "assistant: shell",
        "assistant: second",
    ]
    assert history[1]["metadata"]["is_error"] is True
    usages = [one["metadata"]["usage"] for one in history if "usage" in one["metadata"]]
    assert usages == [
        {"input_tokens": 100, "output_tokens": 5, "cache_read_tokens": 40},
        {"input_tokens": 50, "output_tokens": 3, "cache_read_tokens": 20},
    ]
    assert report.account.metadata == {"thread.started": 1, "todo_list": 1, "turn.completed": 2, "turn.failed": 1}


async def test_results_of_mcp_tools(tmp_path: Path) -> None:
    """Content, structured content, or the error."""
    content = {"content": [{"type": "text", "text": "out"}], "structured_content": {"a": 1}}
    _, history, _ = await imported_history(
        tmp_path / "out.jsonl",
        [
            STARTED,
            done(0, "mcp_tool_call", server="s", tool="t", result=content, status="completed"),
            done(1, "mcp_tool_call", server="s", tool="t", error={"message": "no"}, status="failed"),
            done(2, "mcp_tool_call", server="s", tool="t", result={"content": [], "structured_content": {"a": 1}}),
        ],
    )
    assert [one["content"] for one in history if one["role"] == "tool"][:2] == ["out", "no"]
    assert '"a"' in str(history[-1]["content"])


def test_two_threads_are_refused(tmp_path: Path) -> None:
    path = write_jsonl(
        tmp_path / "out.jsonl", [STARTED, done(0, "agent_message", text="x"), STARTED | {"thread_id": "b"}]
    )
    with pytest.raises(ImportRefusedError, match="line 3 begins another session"):
        imported(path)


def older(kind: str, **told: Any) -> dict[str, Any]:
    return {"id": "0", "msg": {"type": kind, **told}}


OLDER: list[dict[str, Any]] = [
    {"workdir": "/home/u/app", "model": "gpt-5-codex", "provider": "openai", "sandbox": "read-only"},
    {"prompt": "list the files"},
    older("task_started", model_context_window=1),
    older("token_count", info=None, rate_limits={}),
    older("agent_reasoning", text="hm"),
    older("exec_command_begin", call_id="c1", command=["bash", "-lc", "ls"], cwd="/home/u/app"),
    older("exec_command_output_delta", call_id="c1", chunk="YQ=="),
    older("exec_command_end", call_id="c1", stdout="a.py\n", stderr="", exit_code=0),
    older("token_count", info={"total_token_usage": {"input_tokens": 10}, "last_token_usage": {"input_tokens": 10}}),
    older("patch_apply_begin", call_id="c2", changes={"a.py": {"delete": {}}}),
    older("patch_apply_end", call_id="c2", stdout="", stderr="cannot", success=False),
    older("mcp_tool_call_begin", call_id="c3", invocation={"server": "s", "tool": "t", "arguments": {"k": 1}}),
    older("mcp_tool_call_end", call_id="c3", invocation={"server": "s", "tool": "t"}, result={"Err": "no server"}),
    older("exec_approval_request", call_id="c4"),
    older("agent_message", message="There is one."),
    older("token_count", info={"total_token_usage": {"input_tokens": 30}, "last_token_usage": {"input_tokens": 20}}),
    older("token_count", info={"total_token_usage": {"input_tokens": 30}, "last_token_usage": {"input_tokens": 20}}),
    older("task_complete", last_agent_message="There is one."),
]


async def test_events_of_earlier_versions_are_read(tmp_path: Path) -> None:
    """With the prompt, which later versions do not tell, and the usage of each request."""
    report, history, _ = await imported_history(tmp_path / "out.jsonl", OLDER)
    assert report.format == "codex-exec"
    assert texts(history) == [
        "user: list the files",
        "assistant: thinking shell",
        "tool: a.py",
        "assistant: apply_patch",
        "tool: cannot",
        "assistant: mcp__s__t",
        "tool: no server",
        "assistant: There is one.",
    ]
    assert history[1]["tool_calls"][0]["arguments"] == {"command": "bash -lc ls"}
    assert [one["metadata"].get("is_error") for one in history if one["role"] == "tool"] == [None, True, True]
    answers = [one["metadata"] for one in history if one["role"] == "assistant"]
    assert [facts.get("usage", {}).get("input_tokens") for facts in answers] == [10, None, None, 20]
    assert {facts["model"] for facts in answers} == {"gpt-5-codex"}
    (header,) = records(report.path, "header")
    assert header["source"]["cwd"] == "/home/u/app"
    assert not report.lost


async def test_usage_of_single_requests_is_added_up(tmp_path: Path) -> None:
    """Versions before August 2025 report each request by itself."""
    told = [older("agent_message", message="A."), older("token_count", input_tokens=5, output_tokens=1)]
    _, history, _ = await imported_history(tmp_path / "out.jsonl", [OLDER[1], *told, *told])
    assert [one["metadata"].get("usage") for one in history[1:]] == [{"input_tokens": 5, "output_tokens": 1}] * 2


async def test_usage_of_a_request_without_an_answer_is_billed_with_the_answer_before(tmp_path: Path) -> None:
    told = [older("agent_message", message="A."), older("token_count", input_tokens=5, output_tokens=1)]
    alone = older("token_count", input_tokens=20, output_tokens=7)
    _, history, _ = await imported_history(tmp_path / "out.jsonl", [OLDER[1], *told, alone])
    assert history[1]["metadata"]["usage"] == {"input_tokens": 25, "output_tokens": 8}
