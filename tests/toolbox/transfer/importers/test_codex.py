"""Codex rollouts: items and what events tell of them, roll-backs, compactions, sub-agents, compressed files."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.toolbox.transfer.importers.lines import MOST_LINE_BYTES
from amplifier_module_context_persistent.toolbox.transfer.imports.import_directory import session_paths
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import (
    ImportRefusedError,
    import_session,
)
from tests.support.imports import history_and_view, imported, imported_history, records, texts, write_jsonl
from tests.support.sweeps import proof

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Entry = dict[str, Any]


def line(kind: str, **payload: Any) -> Entry:
    return {"timestamp": "2026-04-01T08:00:00.000Z", "type": kind, "payload": payload}


def item(role: str, text: str, **more: Any) -> Entry:
    part = "output_text" if role == "assistant" else "input_text"
    return line("response_item", type="message", role=role, content=[{"type": part, "text": text}], **more)


def told(text: str) -> Entry:
    return line("event_msg", type="user_message", message=text)


META = line(
    "session_meta",
    id="0199-a",
    cwd="/w",
    cli_version="0.200.1",
    model_provider="openai",
    base_instructions={"text": "Be brief."},
    git={"branch": "dev"},
)


SUMMARY = [{"type": "summary_text", "text": "hm"}]
FAILED = {"content": "no", "success": False}
USAGE = {"last_token_usage": {"input_tokens": 50, "cached_input_tokens": 40}}


async def test_items_become_messages_and_events_tell_of_them(tmp_path: Path) -> None:
    """Reasoning, text and calls are one answer; usage, model and who spoke come from the lines around."""
    report, history, view = await imported_history(
        tmp_path / "r.jsonl",
        [
            META,
            item("developer", "<permissions>ask</permissions>"),
            item("user", "<environment_context>\n/w\n</environment_context>"),
            line("turn_context", model="gpt-5-codex", cwd="/w", turn_id="1"),
            item("user", "<b>list</b> the files"),
            told("<b>list</b> the files"),
            line("response_item", type="reasoning", summary=SUMMARY, encrypted_content="E"),
            line("response_item", type="function_call", name="shell", arguments='{"cmd":["ls"]}', call_id="c1"),
            line("response_item", type="custom_tool_call", name="apply_patch", input="*** patch", call_id="c2"),
            line("response_item", type="function_call_output", call_id="c1", output="a.py"),
            line("response_item", type="custom_tool_call_output", call_id="c2", output=FAILED),
            line("event_msg", type="token_count", info=USAGE),
            line("event_msg", type="agent_message", message="There is one."),
            item("assistant", "There is one."),
        ],
    )
    assert texts(history) == [
        "system: Be brief.",
        "developer: <permissions>ask</permissions>",
        "user: <environment_context>\n/w\n</environment_context>",
        "user: <b>list</b> the files",
        "assistant: thinking shell apply_patch",
        "tool: a.py",
        "tool: no",
        "assistant: There is one.",
    ]
    assert [message["metadata"].get("source") for message in history[2:4]] == ["codex:context", None]
    answer = history[4]
    assert answer["content"] == [{"type": "thinking", "thinking": "hm", "signature": None, "content": ["E", None]}]
    assert [call["arguments"] for call in answer["tool_calls"]] == [{"cmd": ["ls"]}, {"input": "*** patch"}]
    assert (answer["metadata"]["model"], answer["metadata"]["usage"]["input_tokens"]) == ("gpt-5-codex", 50)
    assert [message.get("name") for message in history[5:7]] == ["shell", "apply_patch"]
    assert history[6]["metadata"]["is_error"] is True
    assert report.account.not_conversational == {"event agent_message": 1}
    (header,) = records(report.path, "header")
    assert (header["source"]["git_branch"], header["source"]["version"]) == ("dev", "0.200.1")
    assert any(message["content"] == "<b>list</b> the files" for message in view)


@proof
async def test_turns_that_were_rolled_back_are_a_branch(tmp_path: Path) -> None:
    """The live session goes on before them; where no event tells who speaks, tags do."""
    report = imported(
        write_jsonl(
            tmp_path / "r.jsonl",
            [
                META,
                item("user", "<user_instructions>x</user_instructions>"),
                item("user", "one"),
                item("assistant", "1"),
                item("user", "two"),
                item("assistant", "2"),
                line("event_msg", type="thread_rolled_back", num_turns=1),
                item("user", "three"),
            ],
        )
    )
    live, left = [(await history_and_view(session.path))[0] for session in report.sessions]
    assert texts(live)[2:] == ["user: one", "assistant: 1", "user: three"]
    assert texts(left)[2:] == ["user: one", "assistant: 1", "user: two", "assistant: 2"]
    assert report.sessions[1].kind == "branch"


async def test_a_compaction_keeps_what_the_provider_was_given(tmp_path: Path) -> None:
    """A person's messages of the replacement are kept, its last other text is the summary."""
    replacement = [item("user", "one")["payload"], item("user", "In short: one was done")["payload"]]
    _, history, view = await imported_history(
        tmp_path / "r.jsonl",
        [
            item("user", "one"),
            item("assistant", "long answer"),
            line("compacted", message="", replacement_history=replacement),
            item("user", "two"),
        ],
    )
    assert texts(history) == ["user: one", "assistant: long answer", "user: two"]
    assert texts(view) == ["user: <summary>\nIn short: one was done\n</summary>", "user: one", "user: two"]


async def test_items_without_a_type_and_calls_without_arguments(tmp_path: Path) -> None:
    """They are what they look like; a call has its summary instead, and arguments that are no JSON stay text."""
    report, history, _ = await imported_history(
        tmp_path / "r.jsonl",
        [
            line("response_item", role="user", content=[{"type": "input_text", "text": "go"}]),
            line("response_item", type="function_call", name="a", summary="Running", call_id="1"),
            line("response_item", type="function_call", name="b", arguments="{broken", call_id="2"),
            line("response_item", type="function_call", name="c", arguments={"k": 1}, call_id="3"),
            line("response_item", type="ghost_snapshot", id="g"),
        ],
    )
    arguments = [call["arguments"] for call in history[1]["tool_calls"]]
    assert arguments == [{"summary": "Running"}, {"arguments": "{broken"}, {"k": 1}]
    assert report.account.metadata == {"ghost_snapshot": 1}


async def test_a_sub_agents_rollout_names_its_parent(tmp_path: Path) -> None:
    """Its id is its parent's and its own."""
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "0199-p", "agent_role": "explorer"}}}
    report = import_session(
        write_jsonl(tmp_path / "r.jsonl", [line("session_meta", id="0199-c", source=spawned), item("user", "look")]),
        working_dir=str(tmp_path),
    )
    assert report.session_id == "0199-p_0199-c"
    (header,) = records(report.path, "header")
    assert header["parent_id"] == "0199-p"


@proof
def test_compressed_files_and_bombs(tmp_path: Path) -> None:
    """Files of several frames are read whole; a bomb, a cut file and an empty one are refused; nothing is written."""
    plain = write_jsonl(tmp_path / "plain", [META, item("user", "one"), item("assistant", "1")]).read_bytes()
    packed = tmp_path / "r.jsonl.zst"
    packed.write_bytes(zstd.compress(plain[:100]) + zstd.compress(plain[100:]))
    assert imported(packed, tmp_path / "log").messages == 3
    bomb = tmp_path / "bomb"
    bomb.write_bytes(zstd.compress(b" " * MOST_LINE_BYTES) * 5)
    assert bomb.stat().st_size < 100_000
    cut = tmp_path / "cut"
    cut.write_bytes(packed.read_bytes()[:20])
    for path in (bomb, cut):
        with pytest.raises(ImportRefusedError, match=r"becomes more|is cut"):
            import_session(path, path=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_file_without_a_message_is_no_session(tmp_path: Path) -> None:
    """The error names the first line that cannot be read."""
    source = write_jsonl(tmp_path / "r.jsonl", [META | {"payload": {"id": "x"}}, told(""), json.dumps(7)])
    with pytest.raises(ImportRefusedError, match="line 3"):
        import_session(source, path=tmp_path / "new")


def reasoned(text: str, **item: Any) -> Entry:
    return line(
        "response_item", type="reasoning", summary=[{"type": "summary_text", "text": text}] * bool(text), **item
    )


def event(text: str) -> Entry:
    return line("event_msg", type="agent_reasoning", text=text)


@proof
@pytest.mark.parametrize("order", ["before", "after"])
async def test_what_was_reasoned_is_kept_where_the_item_is_encrypted(tmp_path: Path, order: str) -> None:
    """An event repeats an item only if the item says the same; its text belongs to the encrypted state beside it."""
    hidden = [event("Plan **it**"), reasoned("", encrypted_content="E1")]
    told = [event("Look"), reasoned("Look", encrypted_content="E2")]
    call = line("response_item", type="function_call", name="ls", arguments="{}", call_id="c1")
    output = line("response_item", type="function_call_output", call_id="c1", output="a")
    if order == "after":
        hidden, told = hidden[::-1], told[::-1]
    entries = [META, item("user", "go"), *hidden, call, output, *told, item("assistant", "Done")]
    report, history, _ = await imported_history(tmp_path / "r.jsonl", entries)
    first, second = (message["content"][0] for message in history if message["role"] == "assistant")
    assert first == {"type": "thinking", "thinking": "Plan **it**", "signature": None, "content": ["E1", None]}
    assert second == {"type": "thinking", "thinking": "Look", "signature": None, "content": ["E2", None]}
    assert report.account.mapped["event agent_reasoning"] == 1
    assert report.account.not_conversational == {"event agent_reasoning": 1}


async def test_what_was_reasoned_is_kept_without_an_item(tmp_path: Path) -> None:
    """Where the turn was interrupted before the item, and where two events tell of one."""
    entries = [META, item("user", "go"), event("One"), event("Two"), reasoned("", encrypted_content="E")]
    entries += [item("user", "again"), event("Three")]
    report, history, _ = await imported_history(tmp_path / "r.jsonl", entries)
    thoughts = [[b["thinking"] for b in message["content"]] for message in history if message["role"] == "assistant"]
    assert thoughts == [["One", "Two"], ["Three"]]
    assert report.account.mapped["event agent_reasoning"] == 3


def test_a_fork_names_the_session_that_it_goes_on_from(tmp_path: Path) -> None:
    """Its rollout holds the `session_meta` of the other one, which began earlier: it is one session."""
    early = {**META["payload"], "id": "0199-0", "timestamp": "2026-01-01T00:00:00Z"}
    late = {**META["payload"], "timestamp": "2026-01-02T00:00:00Z"}
    entries = [META | {"payload": late}, META | {"payload": early}, item("user", "go")]
    report = imported(write_jsonl(tmp_path / "r.jsonl", entries))
    assert records(report.path, "header")[0]["source"]["session_id"] == "0199-a"


async def test_a_search_by_the_server_is_a_part_of_its_answer(tmp_path: Path) -> None:
    """It does not end the answer; what the agent notes for itself is kept as metadata."""
    search = {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}}
    source = write_jsonl(
        tmp_path / "rollout.jsonl",
        [
            line("session_meta", id="s"),
            line("response_item", type="message", role="user", content=[{"type": "input_text", "text": "look"}]),
            line("response_item", type="ghost_snapshot", ghost_commit={"id": "g"}),
            line("response_item", **search),
            line("response_item", type="message", role="assistant", content=[{"type": "output_text", "text": "it"}]),
        ],
    )
    report = imported(source)
    assert report.account.metadata["ghost_snapshot"] == 1
    history, _ = await history_and_view(report.path)
    assert [message["role"] for message in history] == ["user", "assistant"]
    assert history[1]["content"] == [search, {"type": "text", "text": "it"}]
    assert history[1]["metadata"]["form"] == {"name": "openai_responses"}


async def test_a_search_for_tools_and_an_output_of_mcp_are_calls_and_results(tmp_path: Path) -> None:
    """So they are shown and found as any other; a search that the server ran has no call's id, and is metadata."""
    tool = {"type": "function", "name": "calendar"}
    found = {"content": [{"type": "text", "text": "mcp said"}], "isError": True}
    _, history, _ = await imported_history(
        tmp_path / "r.jsonl",
        [
            META,
            item("user", "go"),
            line("response_item", type="tool_search_call", call_id="c1", arguments={"query": "dates"}),
            line("response_item", type="function_call", name="mcp__a__b", arguments="{}", call_id="c2"),
            line("response_item", type="tool_search_output", call_id="c1", tools=[tool]),
            line("response_item", type="mcp_tool_call_output", call_id="c2", output=found),
            line("response_item", type="tool_search_call", call_id=None, execution="server", arguments={}),
        ],
    )
    assert texts(history)[2:] == [
        "assistant: tool_search mcp__a__b",
        'tool: [{"type":"function","name":"calendar"}]',
        "tool: mcp said",
    ]
    assert history[2]["tool_calls"][0]["arguments"] == {"query": "dates"}
    assert [bool(message["metadata"].get("is_error")) for message in history[3:]] == [False, True]


def rollout_of(directory: Path, thread: str, parent: str, *more: Entry, **meta: Any) -> Path:
    """A rollout of a thread, which another one started unless `parent` is empty."""
    by = {"parent_thread_id": parent} if parent else {}
    start = line("session_meta", id=thread, cwd="/w/app", timestamp="2026-01-01T00:00:00Z", **by, **meta)
    return write_jsonl(
        directory / f"rollout-2026-01-01T00-00-00-{thread}.jsonl", [start, item("user", f"to {thread}"), *more]
    )


def spawns(thread: str) -> list[Entry]:
    call = line("response_item", type="function_call", name="spawn_agent", arguments="{}", call_id=f"call-{thread}")
    said = json.dumps({"agent_id": thread})
    return [call, line("response_item", type="function_call_output", call_id=f"call-{thread}", output=said)]


@pytest.mark.parametrize("named", ["file", "directory"])
def test_sub_agents_come_with_their_session(tmp_path: Path, named: str) -> None:
    """Also those of sub-agents, from one file or its directory, with type and name, and the call that started each."""
    main = rollout_of(tmp_path, "t1", "", *spawns("t2"))
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "t1", "agent_nickname": "Ada", "agent_role": "look"}}}
    rollout_of(tmp_path, "t2", "", source=spawned)
    rollout_of(tmp_path, "t3", "t2")
    rollout_of(tmp_path, "t4", "gone")
    if named == "directory":
        assert [path.rpartition("-")[2] for path in session_paths(tmp_path)] == ["t1.jsonl", "t4.jsonl"]
    report = import_session(main, working_dir=str(tmp_path), strict=True)
    assert report.account.lines == report.account.accounted == 8
    assert [one.session_id for one in report.sessions] == ["t1", "t1_t2", "t1_t3"]
    parent, child, _ = (records(one.path, "header")[0] for one in report.sessions)
    assert parent["source"]["subagents"] == ["t1_t2", "t1_t3"]
    assert parent["source"]["subagent_tasks"] == ["look: Ada", ""]
    assert (child["parent_id"], child["source"]["spawned_by"]) == ("t1", "call-t2")
    assert import_session(main, working_dir=str(tmp_path)).added == 0


def test_a_sub_agent_that_was_imported_alone_stays_one_session(tmp_path: Path) -> None:
    """It is known when its session comes."""
    child = rollout_of(tmp_path, "t2", "t1")
    alone = import_session(child, working_dir=str(tmp_path))
    main = rollout_of(tmp_path, "t1", "")
    report = import_session(main, working_dir=str(tmp_path))
    assert [(one.path, one.added) for one in report.sessions][1:] == [(alone.path, 0)]


def test_hostile_files_beside_a_rollout(tmp_path: Path) -> None:
    """Rollouts that name each other come alone; links, a FIFO and damaged first lines are passed over, also many."""
    for thread, parent in (("a", "b"), ("b", "a"), ("c", "c")):
        rollout_of(tmp_path, thread, parent)
    (tmp_path / "rollout-zero.jsonl").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "rollout-fifo.jsonl")
    (tmp_path / "rollout-cut.jsonl").write_text('{"type": "session_meta", "payload": {"id"')
    main = rollout_of(tmp_path, "t", "")
    for number in range(40):
        rollout_of(tmp_path, f"n{number}", "t")
    assert [path.rpartition("-")[2] for path in session_paths(tmp_path)] == [
        *("a.jsonl", "b.jsonl", "c.jsonl"),
        *("t.jsonl", "cut.jsonl"),
    ]
    assert len(import_session(main, path=tmp_path / "log").sessions) == 41


def test_a_thread_has_the_name_that_it_was_given_last(tmp_path: Path) -> None:
    """A fork's copy of what another thread was named does not count."""
    names = [("0199-a", "First"), ("0199-a", "Second"), ("0199-b", "Another")]
    named = [line("event_msg", type="thread_name_updated", thread_id=id_, thread_name=name) for id_, name in names]
    report = imported(write_jsonl(tmp_path / "r.jsonl", [META, item("user", "hello"), *named]))
    [header, *_] = records(report.path, "header")
    assert header["source"]["title"] == "Second"
    assert report.account.metadata["event thread_name_updated"] == 3


async def test_an_answer_goes_on_after_an_entry_of_an_unknown_type(tmp_path: Path) -> None:
    """Versions of 2026 write states of the program between the items of an answer; these are kept."""
    summary = [{"type": "summary_text", "text": "hm"}]
    entries = [
        META,
        item("user", "go"),
        line("response_item", type="reasoning", summary=summary, encrypted_content="E"),
        line("world_state", full=True),
        line("response_item", type="function_call", name="shell", arguments="{}", call_id="c1"),
    ]
    report, history, _ = await imported_history(tmp_path / "r.jsonl", entries)
    assert texts(history)[-1] == "assistant: thinking shell"
    assert [record["type"] for record in records(report.path, "source")] == ["world_state"]


@pytest.mark.parametrize(
    "told",
    [
        {"type": "collab_agent_spawn_end", "call_id": "k", "new_thread_id": "t2"},
        {"type": "sub_agent_activity", "kind": "started", "event_id": "k", "agent_thread_id": "t2"},
    ],
    ids=["spawn end", "activity"],
)
def test_an_event_tells_which_call_started_a_sub_agent(tmp_path: Path, told: Entry) -> None:
    """The result of the call may have only a nickname."""
    main = rollout_of(tmp_path, "t1", "", {**line("event_msg"), "payload": told})
    rollout_of(tmp_path, "t2", "t1")
    report = import_session(main, working_dir=str(tmp_path), strict=True)
    assert records(report.sessions[1].path, "header")[0]["source"]["spawned_by"] == "k"
