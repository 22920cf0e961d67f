"""Exports of ChatGPT and of claude.ai: many conversations in a file, each a tree with a live branch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.toolbox.transfer.imports.drafts import ImportConflictError
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import (
    ImportRefusedError,
    import_session,
)
from tests.support.imports import history_and_view, imported, records, texts
from tests.support.sweeps import proof

Node = dict[str, Any]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def node(key: str, parent: str | None, children: str, role: str = "", content: Any = None, **more: Any) -> Node:
    message = None
    if role:
        given = content if isinstance(content, dict) else {"content_type": "text", "parts": [content]}
        author = {"role": role, "name": more.pop("name", None), "metadata": {}}
        message = {"id": f"m-{key}", "author": author, "create_time": 1_790_000_000.5, "content": given, **more}
    return {"id": key, "message": message, "parent": parent, "children": children.split()}


def conversation(name: str, *nodes: Node, current: str = "") -> Node:
    mapped = {one["id"]: one for one in nodes}
    return {"title": f"About {name}", "create_time": 1.79e9, "conversation_id": name, "current_node": current} | {
        "mapping": mapped
    }


IMAGE = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1", "width": 1}
MODEL = {"metadata": {"model_slug": "gpt-5"}}
CHAT = conversation(
    "one",
    node("root", None, "sys"),
    node("sys", "root", "q", "system", ""),
    node("q", "sys", "old new", "user", {"content_type": "multimodal_text", "parts": [IMAGE, "What is it?"]}),
    node(
        "new", "q", "call", "assistant", {"content_type": "thoughts", "thoughts": [{"summary": "S", "content": "hm"}]}
    ),
    node("call", "new", "out1", "assistant", {"content_type": "code", "language": "json", "text": '{"q": "x"}'}) | {},
    node("out1", "call", "out2", "tool", {"content_type": "execution_output", "text": "1"}, name="python"),
    node("out2", "out1", "recap", "tool", {"content_type": "execution_output", "text": "2"}, name="python"),
    node("recap", "out2", "end", "assistant", {"content_type": "reasoning_recap", "content": "Thought for 5s"}),
    node("end", "recap", "", "assistant", "A cat.", recipient="all", **MODEL),
    node("old", "q", "", "assistant", "A dog.", recipient="all", **MODEL),
    current="end",
)
CHAT["mapping"]["call"]["message"]["recipient"] = "python"


def export(path: Path, *conversations: Node) -> Path:
    path.write_text(json.dumps(list(conversations)))
    return path


async def test_a_conversation_of_chatgpt(home: Path) -> None:
    """The branch of the current node is the session; calls, results and thoughts are such; files are named as lost."""
    report = imported(export(home / "conversations.json", CHAT), home / "log.jsonl")
    history, _ = await history_and_view(report.path)
    assert report.format == "chatgpt"
    assert texts(history) == [
        "user: [image file-service://file-1] What is it?",
        "assistant: thinking python",
        "tool: 1 2",
        "assistant: A cat.",
    ]
    assert history[1]["tool_calls"][0] == {"id": "m-call", "tool": "python", "arguments": {"q": "x"}}
    assert history[2]["tool_call_id"] == "m-call"
    assert history[3]["metadata"]["model"] == "gpt-5"
    assert history[3]["metadata"]["timestamp"] == "2026-09-21T14:13:20.500Z"
    assert [one.kind for one in report.sessions] == ["session", "branch"]
    branch, _ = await history_and_view(report.sessions[1].path)
    assert texts(branch)[-1] == "assistant: A dog."
    assert [one.reason for one in report.account.lost] == ["image file-service://file-1 is not in the file"]


@proof
async def test_each_conversation_is_a_session(home: Path) -> None:
    """With its own title; a second import adds what is new in one; one id for all of them is refused."""
    other = conversation("two", node("a", None, "b", "user", "hello"), node("b", "a", "", "assistant", "hi"))
    path = export(home / "conversations.json", CHAT, other)
    report = import_session(path)
    assert [(one.session_id, one.messages) for one in report.sessions if one.kind == "session"] == [
        ("one", 4),
        ("two", 2),
    ]
    assert records(report.sessions[2].path, "header")[0]["source"]["title"] == "About two"
    assert "branches" in records(report.sessions[0].path, "header")[0]["source"]
    assert "branches" not in records(report.sessions[2].path, "header")[0]["source"]
    assert import_session(path).added == 0
    other["mapping"]["b"]["children"] = ["c"]
    other["mapping"]["c"] = node("c", "b", "", "user", "more")
    again = import_session(export(home / "conversations.json", CHAT, other))
    assert [one.added for one in again.sessions] == [0, 0, 1]
    with pytest.raises(ImportRefusedError, match="2 sessions"):
        import_session(path, session_id="x")


def test_a_ring_of_nodes_ends(home: Path) -> None:
    ring = conversation("r", node("a", "b", "b", "user", "one"), node("b", "a", "a", "assistant", "two"), current="a")
    report = imported(export(home / "conversations.json", ring), home / "log.jsonl")
    assert report.account.mapped.total() == 2


ROOT = "00000000-0000-4000-8000-000000000000"


def said(name: str, parent: str, sender: str, *content: Any, **more: Any) -> Node:
    given = {"uuid": name, "sender": sender, "created_at": "2026-01-01T00:00:00.1Z", "parent_message_uuid": parent}
    return {**given, "text": "", "content": list(content), "attachments": [], "files": [], **more}


def text(told: str) -> Node:
    return {"type": "text", "text": told, "start_timestamp": "x", "citations": []}


CLAUDE = {
    "uuid": "c-1",
    "name": "About it",
    "created_at": "2026-01-01T00:00:00Z",
    "chat_messages": [
        said(
            "q",
            ROOT,
            "human",
            text("What is it?"),
            attachments=[{"file_name": "a.txt", "file_type": "txt", "extracted_content": "hello"}],
            files=[{"file_name": "b.png"}],
        ),
        said("old", "q", "assistant", text("A dog.")),
        said(
            "new",
            "q",
            "assistant",
            {"type": "thinking", "thinking": "hm", "summaries": []},
            text("I look."),
            {"type": "tool_use", "name": "web_search", "input": {"q": "it"}},
            {
                "type": "tool_result",
                "name": "web_search",
                "content": [{"type": "text", "text": "found"}],
                "is_error": False,
            },
            {"type": "token_budget"},
            text("A cat."),
        ),
        said("thanks", "new", "human", text="Thanks."),
    ],
}


async def test_a_conversation_of_claude_ai(home: Path) -> None:
    """An answer's calls have results between its texts; attachments are documents; files are named as lost."""
    report = imported(export(home / "conversations.json", CLAUDE), home / "log.jsonl")
    history, _ = await history_and_view(report.path)
    assert report.format == "claude-ai"
    assert texts(history) == [
        "user: What is it? document",
        "assistant: thinking I look. web_search",
        "tool: found",
        "assistant: A cat.",
        "user: Thanks.",
    ]
    assert history[0]["content"][1]["source"]["data"] == "hello"
    assert history[1]["tool_calls"][0]["id"] == history[2]["tool_call_id"]
    assert [one.kind for one in report.sessions] == ["session", "branch"]
    assert [one.reason for one in report.account.lost] == ["the file 'b.png' is not in the export"]


async def test_one_conversation_alone(home: Path) -> None:
    """An older one has neither content nor parents."""
    old = {
        "uuid": "c-2",
        "name": "",
        "chat_messages": [
            {"uuid": "x", "sender": "human", "text": "hi"},
            {"sender": "?"},
            {"sender": "assistant", "text": "ho"},
        ],
    }
    path = home / "conversation.json"
    path.write_text(json.dumps(old))
    report = imported(path, home / "log.jsonl")
    history, _ = await history_and_view(report.path)
    assert texts(history) == ["user: hi", "assistant: ho"]
    assert [message["metadata"]["message_id"] for message in history] == ["x", "claude-ai-3"]
    assert [one.reason for one in report.account.lost] == ["a message of ?"]


async def test_blocks_of_claude_ai_are_taken_as_what_they_are(home: Path) -> None:
    """A block with a text that is none of its own kind stays, and one without its text says nothing."""
    chat = {
        "uuid": "c1",
        "name": "About",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        "account": {"uuid": "a"},
        "chat_messages": [
            said("q", ROOT, "human", text("go")),
            said("a", "q", "assistant", {"type": "text", "text": None}, text("done"), {"type": "odd", "text": "kept"}),
        ],
    }
    report = imported(export(home / "conversations.json", chat), home / "log.jsonl")
    history, _ = await history_and_view(report.path)
    kept = history[1]["content"]
    assert {"type": "text", "text": "done"} in kept
    assert {"type": "text", "text": "kept"} not in kept
    assert any(block.get("type") == "odd" and block.get("text") == "kept" for block in kept)


EMPTY = {"title": "nothing", "create_time": 1.0, "update_time": 1.0, "mapping": {}, "current_node": None, "id": "e"}
SILENT = conversation("silent", node("root", None, "s"), node("s", "root", "", "system", ""))


@proof(quick=1)
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (EMPTY, "says nothing"),
        (SILENT, "says nothing"),
        (7, "is no conversation"),
        ({**EMPTY, "mapping": "?"}, "are no messages"),
        ({"title": "odd"}, "has no 'mapping'"),
        (CHAT, "the same id"),
    ],
    ids=["empty", "silent", "no object", "no messages", "no mapping", "repeated"],
)
def test_one_conversation_of_chatgpt_does_not_cost_the_others(home: Path, bad: Any, told: str, place: int) -> None:
    """It is named, wherever it is in the export; a second import adds nothing."""
    other = conversation("two", node("a", None, "b", "user", "hello"), node("b", "a", "", "assistant", "hi"))
    listed = [CHAT, other]
    listed.insert(place, bad)
    report = import_session(export(home / "conversations.json", *listed))
    assert sorted(str(one.session_id) for one in report.sessions if one.kind == "session") == ["one", "two"]
    assert any(told in one.reason for one in (*report.notes, *report.not_carried))
    assert report.account.lines == report.account.accounted
    assert import_session(home / "conversations.json").added == 0


@pytest.mark.parametrize("bad", [{}, {"chat_messages": []}, {"chat_messages": None}, {"chat_messages": "?"}, None])
def test_one_conversation_of_claude_ai_does_not_cost_the_others(home: Path, bad: Any) -> None:
    given = {"uuid": "x", "name": "odd", **bad} if bad is not None else bad
    report = import_session(export(home / "conversations.json", given, CLAUDE))
    assert [one.kind for one in report.sessions] == ["session", "branch"]
    assert [one.reason for one in (*report.notes, *report.not_carried) if "conversation" in one.reason]
    assert report.account.lines == report.account.accounted


def test_an_empty_conversation_does_not_take_the_id_of_a_full_one(home: Path) -> None:
    report = import_session(export(home / "conversations.json", {**CHAT, "mapping": {}}, CHAT))
    assert [one.session_id for one in report.sessions if one.kind == "session"] == ["one"]
    assert not [one.reason for one in report.not_carried if "the same id" in one.reason]


def test_two_ids_that_become_one_are_two_sessions(home: Path) -> None:
    """`_` cannot be part of an id; a second import finds both."""
    talks = [conversation(name, node("a", None, "", "user", name)) for name in ("a_b", "a-b")]
    path = export(home / "conversations.json", *talks)
    report = import_session(path)
    assert len({one.session_id for one in report.sessions}) == 2
    assert import_session(path).added == 0


async def test_a_conversation_that_went_on_here_and_there_does_not_cost_the_others(home: Path) -> None:
    """It is left out, and named; alone it is refused."""
    talks = [conversation(name, node("a", None, "", "user", name)) for name in ("one", "two")]
    path = export(home / "conversations.json", *talks)
    first = import_session(path).sessions[0].path
    async with PersistentContextManager(first, durability="write") as manager:
        await manager.add_message({"role": "user", "content": "on, here"})
    for talk in talks:
        talk["mapping"]["a"]["children"] = ["b"]
        talk["mapping"]["b"] = node("b", "a", "", "assistant", "on, there")
    again = import_session(export(path, *talks))
    assert [(one.session_id, one.added) for one in again.sessions] == [("two", 1)]
    assert "went on here" in again.not_carried[0].reason
    with pytest.raises(ImportConflictError, match="went on here"):
        import_session(export(path, talks[0]))
