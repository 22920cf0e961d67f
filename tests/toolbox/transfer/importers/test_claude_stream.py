"""What `claude -p --output-format stream-json` prints, as a session with its sub-agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.imports import history_and_view, imported_history, records, texts
from tests.support.sweeps import proof

ID = "5f0e0000-0000-4000-8000-000000000001"


def line(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "session_id": ID, **more}


def answer(message_id: str, *content: Any, parent: str | None = None, read: int = 5) -> dict[str, Any]:
    usage = {"input_tokens": read, "cache_read_input_tokens": 7, "output_tokens": 3}
    message = {"id": message_id, "role": "assistant", "model": "claude-sonnet-4-5", "content": content, "usage": usage}
    return line("assistant", message=message, parent_tool_use_id=parent, uuid=f"uuid-{message_id}-{len(str(content))}")


def said(*content: Any, parent: str | None = None, **more: Any) -> dict[str, Any]:
    return line("user", message={"role": "user", "content": content}, parent_tool_use_id=parent, **more)


def text(told: str) -> dict[str, Any]:
    return {"type": "text", "text": told}


def use(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, told: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": told}


INIT = line("system", subtype="init", cwd="/w", tools=["Bash"], model="claude-sonnet-4-5", claude_code_version="2.1.9")
RUN = [
    INIT,
    line("stream_event", event={"type": "message_start"}, parent_tool_use_id=None),
    answer("msg_1", {"type": "thinking", "thinking": "hm", "signature": "s"}),
    answer("msg_1", text("I ask somebody.")),
    answer("msg_1", use("toolu_1", "Task", prompt="look"), use("toolu_2", "Bash", command="ls")),
    said(text("look"), parent="toolu_1"),
    answer("msg_2", text("looking"), use("toolu_3", "Read"), parent="toolu_1", read=11),
    said(result("toolu_3", "inner"), parent="toolu_1"),
    said(result("toolu_2", "a.txt")),
    answer("msg_3", text("seen"), parent="toolu_1"),
    said(result("toolu_1", "seen"), tool_use_result={"agentId": "x"}),
    answer("msg_4", text("done")),
    line("result", subtype="success", is_error=False, result="done", total_cost_usd=0.5, num_turns=2),
]


@proof
async def test_a_run_with_a_sub_agent(tmp_path: Path) -> None:
    """Records of one answer are one message; what a sub-agent does is its own session, started by the call."""
    report, history, _ = await imported_history(tmp_path / "out.jsonl", RUN)
    assert report.format == "claude-stream"
    assert texts(history) == [
        "assistant: thinking I ask somebody. Task Bash",
        "tool: a.txt",
        "tool: seen",
        "assistant: done",
    ]
    assert history[0]["metadata"]["usage"] == {"input_tokens": 12, "cache_read_tokens": 7, "output_tokens": 3}
    assert [session.kind for session in report.sessions] == ["session", "subagent"]
    inner, _ = await history_and_view(report.sessions[1].path)
    assert texts(inner) == ["user: look", "assistant: looking Read", "tool: inner", "assistant: seen"]
    assert records(report.sessions[1].path, "header")[0]["source"]["spawned_by"] == "toolu_1"
    source = records(report.path, "header")[0]["source"]
    assert (source["session_id"], source["cwd"], source["version"]) == (ID, "/w", "2.1.9")
    assert report.account.not_conversational == {"stream_event": 1}
    assert report.account.metadata == {"system": 1, "result": 1}


async def test_a_compaction_and_what_no_person_wrote(tmp_path: Path) -> None:
    """The summary after a boundary is what the model was given; other synthetic messages are the program's."""
    report, history, view = await imported_history(
        tmp_path / "out.jsonl",
        [
            INIT,
            said(text("go")),
            answer("msg_1", text("long work")),
            line("system", subtype="compact_boundary", compact_metadata={"trigger": "auto", "pre_tokens": 900}),
            said(text("What was done."), isSynthetic=True),
            said(text("Stop hook feedback"), isSynthetic=True),
            answer("msg_2", text("on")),
        ],
    )
    assert texts(history) == ["user: go", "assistant: long work", "user: Stop hook feedback", "assistant: on"]
    assert history[2]["metadata"]["source"] == "claude-code:meta"
    assert "What was done." in texts(view)[0]
    assert records(report.path, "plan")[0]["tokens_before"] == 900
