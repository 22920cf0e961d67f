"""Sessions of Gemini CLI: one document, or JSON Lines with control lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.toolbox.transfer.imports.import_directory import import_all, session_paths
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session
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


def changed(*messages: Entry) -> Entry:
    return {"$set": {"messages": list(messages), "lastUpdated": "2026-02-02T03:00:00.000Z"}}


TALK = [
    HEAD,
    says("user", "u1", "one"),
    says("gemini", "a1", "1"),
    says("user", "u2", "two"),
    says("gemini", "a2", "2"),
]


@proof
async def test_a_history_that_replaces_what_was_said_is_a_compaction(tmp_path: Path) -> None:
    """What is in it no more stays in the session; views go on from its summary and from what it kept."""
    kept = [says("user", "u2", [{"text": "two"}]), says("gemini", "a2", [{"text": "2"}])]
    lines = [*TALK, changed(says("user", "s", "What was done."), says("gemini", "t", "Got it."), *kept)]
    report = imported(write_jsonl(tmp_path / "s.jsonl", [*lines, says("user", "u3", "three")]))
    history, view = await history_and_view(report.path)
    said = ["user: one", "assistant: 1", "assistant: Got it.", "user: two", "assistant: 2", "user: three"]
    assert texts(history) == said
    assert texts(view) == ["user: <summary>\nWhat was done.\n</summary>", *said[2:]]


async def test_a_message_that_was_written_over_stays_and_is_compacted(tmp_path: Path) -> None:
    """Its new version has an id of its own; a rewind to it finds it."""
    lines = [*TALK, changed(says("gemini", "a1", "1!"), *TALK[3:]), says("user", "u3", "three")]
    history, view = await history_and_view(imported(write_jsonl(tmp_path / "s.jsonl", lines)).path)
    assert texts(history) == ["user: one", "assistant: 1", "assistant: 1!", "user: two", "assistant: 2", "user: three"]
    assert texts(view)[-4:] == texts(history)[-4:]
    assert "assistant: 1" not in texts(view)
    back = imported(write_jsonl(tmp_path / "t.jsonl", [*lines, {"$rewindTo": "a1"}, says("user", "u4", "four")]))
    assert texts((await history_and_view(back.path))[0]) == ["user: one", "assistant: 1", "user: four"]


@proof(quick=1)
@pytest.mark.parametrize("masked", [False, True])
async def test_a_history_with_other_parts_says_the_same(tmp_path: Path, *, masked: bool) -> None:
    """Parts in place of a text, calls and results as parts, outputs that are masked: nothing is new in it."""
    call = {"id": "c", "name": "ls", "args": {}, "status": "success", "result": [{"text": "a b"}]}
    response = {"functionResponse": {"id": "c", "name": "ls", "response": {"output": "[masked]" if masked else "a b"}}}
    lines = [HEAD, says("user", "u", "list"), says("gemini", "a", "I look.", toolCalls=[call])]
    again = [
        says("user", "u", [{"text": "list"}]),
        says("gemini", "a", [{"text": "I look."}, {"functionCall": {"id": "c", "name": "ls", "args": {}}}]),
        says("user", "r", [response]),
    ]
    again[1]["toolCalls"] = [{**call, "result": [response]}]
    report = imported(write_jsonl(tmp_path / "s.jsonl", [*lines, changed(*again), says("gemini", "b", "Done.")]))
    history, _ = await history_and_view(report.path)
    assert texts(history) == ["user: list", "assistant: I look. ls", "tool: a b", "assistant: Done."]
    assert sum(one.compactions for one in report.sessions) == 0


async def test_a_file_that_has_only_the_history(tmp_path: Path) -> None:
    """Calls and results among its parts are such; what the program wrote is no person's."""
    listed = [
        says("user", "c", "<session_context>\nToday"),
        says("user", "u", "list"),
        says("gemini", "a", [{"functionCall": {"id": "c", "name": "ls", "args": {"p": 1}}}]),
        says("user", "r", [{"functionResponse": {"id": "c", "name": "ls", "response": {"output": "a b"}}}]),
    ]
    history, _ = await history_and_view(imported(write_jsonl(tmp_path / "s.jsonl", [HEAD, changed(*listed)])).path)
    assert texts(history) == ["user: <session_context>\nToday", "user: list", "assistant: ls", "tool: a b"]
    assert [one["metadata"].get("source") for one in history[:2]] == ["gemini-cli:context", None]
    assert history[3]["tool_call_id"] == history[2]["tool_calls"][0]["id"]


def chats(home: Path) -> Path:
    """A session with a sub-agent, and an older file of it."""
    directory = home / ".gemini/tmp/p/chats"
    called = {
        "id": "c",
        "name": "agent",
        "args": {},
        "status": "success",
        "agentId": "sub-1",
        "result": [{"text": "ok"}],
    }
    lines = [HEAD, says("user", "u", "go"), says("gemini", "a", "", toolCalls=[called])]
    write_jsonl(directory / "session-2026-02-02T02-00-g-1.jsonl", lines)
    (directory / "session-2026-02-02T02-00-g-1.json").write_text(json.dumps({**HEAD, "messages": lines[1:2]}))
    inner = {**HEAD, "sessionId": "sub-1", "kind": "subagent"}
    write_jsonl(directory / "g-1/sub-1.jsonl", [inner, says("user", "su", "look"), says("gemini", "sa", "seen")])
    return directory


def test_sub_agents_come_with_their_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are its children, with the call that started them; an older file of the session is left out."""
    monkeypatch.setenv("HOME", str(tmp_path))
    chats(tmp_path)
    paths = session_paths(tmp_path / ".gemini")
    assert [Path(path).name for path in paths] == ["session-2026-02-02T02-00-g-1.jsonl"]
    [done] = import_all(paths)
    assert done.report is not None
    assert [(one.kind, one.session_id) for one in done.report.sessions] == [
        ("session", "g-1"),
        ("subagent", "g-1_sub-1"),
    ]
    header = records(done.report.sessions[1].path, "header")[0]
    assert (header["parent_id"], header["source"]["spawned_by"]) == ("g-1", "c")
    assert done.report.account.lines == done.report.account.accounted


def test_a_sub_agents_file_alone_names_its_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its session was deleted; then it is found, and is a child of that session all the same."""
    monkeypatch.setenv("HOME", str(tmp_path))
    directory = chats(tmp_path)
    for path in directory.glob("session-*"):
        path.unlink()
    [path] = session_paths(tmp_path / ".gemini")
    report = import_session(path)
    assert report.session_id == "g-1_sub-1"
    assert records(report.path, "header")[0]["parent_id"] == "g-1"
