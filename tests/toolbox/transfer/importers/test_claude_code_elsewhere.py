"""Claude Code sessions that tell things elsewhere: sub-agents by progress, clears, lost lines with a uuid, copies."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from amplifier_module_context_persistent.toolbox.cli import main
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import (
    ImportRefusedError,
    import_session,
)
from tests.support.claude_entries import Entry, answers, calls, entry, results, says, text
from tests.support.imports import contents, history_and_view, imported, imported_history, records, texts, write_jsonl
from tests.support.sweeps import proof


def progress(uuid: str, parent: str, agent: str, inner: Entry, **more: Any) -> Entry:
    data = {"type": "agent_progress", "agentId": agent, "prompt": "look", "message": inner, "normalizedMessages": []}
    return entry("progress", uuid, parent, data=data, parentToolUseID="task1", **more)


def told_of_an_agent() -> list[Entry]:
    """A session with a sub-agent of which only `progress` entries tell."""
    inner = [
        {"type": "user", "uuid": "i1", "timestamp": "2026-03-01T10:00:01.000Z", "message": {"content": "look"}},
        {key: answers("i2", None, "mi", calls("c9"))[key] for key in ("type", "uuid", "timestamp", "message")},
        {"type": "user", "uuid": "i3", "message": results("i3", "i2", ("c9", "seen"))["message"]},
    ]
    return [
        says("u1", None, "explore"),
        answers("a1", "u1", "m1", calls("task1", "Task")),
        progress("p1", "a1", "abc", inner[0]),
        progress("p2", "p1", "abc", inner[1]),
        progress("p3", "p2", "abc", inner[2]),
        progress("p4", "p3", "abc", inner[2]),
        results("r1", "p4", ("task1", "seen")),
    ]


@proof
async def test_progress_tells_of_a_sub_agent_that_has_no_file(tmp_path: Path) -> None:
    """Its prompt, calls, results and usage are a session below the one that started it; nothing is dropped."""
    report = import_session(
        write_jsonl(tmp_path / "s.jsonl", told_of_an_agent()), session_id="p", working_dir=str(tmp_path), strict=True
    )
    assert [(one.session_id, one.kind) for one in report.sessions] == [("p", "session"), ("p_abc", "subagent")]
    parent, agent = [(await history_and_view(one.path))[0] for one in report.sessions]
    assert texts(parent) == ["user: explore", "assistant: Task", "tool: seen"]
    assert texts(agent) == ["user: look", "assistant: Read", "tool: seen"]
    assert agent[1]["metadata"]["usage"]["cache_read_tokens"] == 900
    assert records(report.sessions[1].path, "header")[0]["source"]["spawned_by"] == "task1"
    assert report.account.mapped["progress of a sub-agent"] == 3
    assert report.account.not_conversational == {"copy of an earlier entry": 1}
    assert report.account.lines == report.account.accounted == 7


@proof
async def test_a_sub_agent_is_not_doubled(tmp_path: Path) -> None:
    """Where it has a file of its own, or stands in the session as a side chain, that says more than `progress`."""
    source = write_jsonl(tmp_path / "s.jsonl", told_of_an_agent())
    side = {"isSidechain": True, "agentId": "abc"}
    own = [says("i1", None, "look", **side), answers("i2", "i1", "mi", text("I look"), calls("c9"), **side)]
    write_jsonl(tmp_path / "s" / "subagents" / "agent-abc.jsonl", own)
    report = imported(source)
    assert [one.kind for one in report.sessions] == ["session", "subagent"]
    assert texts((await history_and_view(report.sessions[1].path))[0]) == ["user: look", "assistant: I look Read"]
    assert report.account.not_conversational == {"progress of a sub-agent that has a file of its own": 4}
    for name, entries in (("after", [*told_of_an_agent(), *own]), ("before", [*own, *told_of_an_agent()])):
        chained = imported(write_jsonl(tmp_path / f"{name}.jsonl", entries))
        assert [one.kind for one in chained.sessions] == ["session", "subagent"]
        said = texts((await history_and_view(chained.sessions[1].path))[0])
        assert sorted(said) == ["assistant: I look Read", "tool: seen", "user: look"]
        assert not chained.lost


CLEAR = "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>"


@proof
async def test_a_clear_hides_what_stands_before_it(tmp_path: Path) -> None:
    """As a clear of our own: it stays in the log, is no longer live, and no view has it."""
    report, history, view = await imported_history(
        tmp_path / "s.jsonl",
        [
            says("u1", None, "old"),
            answers("a1", "u1", "m1", text("old answer")),
            says("c", "a1", "in short", isCompactSummary=True),
            says("k", None, CLEAR),
            says("o", "k", "<local-command-stdout></local-command-stdout>"),
            says("u2", "o", "new"),
            answers("a2", "u2", "m2", text("new answer")),
        ],
    )
    assert texts(history)[1:] == ["user: new", "assistant: new answer"]
    assert "old" not in json.dumps(view)
    assert "short" not in json.dumps(view)
    assert (report.messages, report.account.metadata) == (5, {"clear": 1})
    (reset,) = records(report.path, "reset_commit")
    assert (reset["reason"], reset["upto"], reset["live"]) == ("clear", "a1", 0)
    assert [record["entry"]["uuid"] for record in records(report.path, "source")] == ["k"]


async def test_a_clear_after_which_nobody_went_on_hides_nothing(tmp_path: Path) -> None:
    """The session that was left ends with it; nor does one at the beginning, or a text that quotes one."""
    quoted = "what does <command-name>/clear</command-name> do?"
    entries = [says("k0", None, CLEAR), says("u1", "k0", quoted), answers("a1", "u1", "m1", text("It clears"))]
    history, _ = await history_and_view(
        imported(write_jsonl(tmp_path / "s.jsonl", [*entries, says("k", None, CLEAR)])).path
    )
    assert texts(history) == [f"user: {quoted}", "assistant: It clears"]


@proof
async def test_a_session_that_is_cleared_between_two_imports(tmp_path: Path) -> None:
    """Wherever the first import ended, the second one gives what one import of the whole gives."""
    entries = [
        says("u1", None, "old"),
        answers("a1", "u1", "m1", text("old answer")),
        says("c", "a1", "in short", isCompactSummary=True),
        says("k", None, CLEAR),
        says("o", "k", "<local-command-stdout></local-command-stdout>"),
        says("u2", "o", "new"),
        answers("a2", "u2", "m2", text("new answer")),
        says("k2", None, CLEAR),
        says("u3", "k2", "newest"),
    ]
    expected = await history_and_view(imported(write_jsonl(tmp_path / "whole.jsonl", entries)).path)
    for stop in range(1, len(entries)):
        source = write_jsonl(tmp_path / f"{stop}.jsonl", entries[:stop])
        imported(source)
        report = imported(write_jsonl(source, entries))
        assert await history_and_view(report.path) == expected, f"after {stop} entries"
        assert "imported-clear-2" in {reset["id"] for reset in records(report.path, "reset_commit")}


@proof(quick=1)
@pytest.mark.parametrize(
    "lost",
    [
        {"type": "user", "uuid": "u2"},
        {"type": "user", "uuid": "u2", "message": {"content": ""}},
        {"type": "progress", "uuid": "u2", "parentUuid": "a1", "data": {"type": "hook_progress"}},
    ],
    ids=["without a message", "without content", "progress"],
)
async def test_a_line_that_says_nothing_takes_no_message_its_uuid(tmp_path: Path, lost: Entry) -> None:
    """A real message with the uuid of such a line is a message."""
    report = imported(
        write_jsonl(
            tmp_path / "s.jsonl",
            [
                says("u1", None, "one"),
                answers("a1", "u1", "m1", text("1")),
                lost,
                says("u2", "a1", "two"),
                answers("a2", "u2", "m2", text("2")),
            ],
        )
    )
    assert texts((await history_and_view(report.path))[0]) == ["user: one", "assistant: 1", "user: two", "assistant: 2"]
    assert report.lost == ("message" not in lost and lost["type"] == "user")


@pytest.mark.parametrize("begins_with_hook", [False, True], ids=["", "hook first"])
def test_two_sessions_in_one_file_are_refused(tmp_path: Path, *, begins_with_hook: bool) -> None:
    """With the line that begins the other one."""
    one = [says("u1", None, "one"), answers("a1", "u1", "m1", text("1"))]
    other = [says("v1", None, "two", sessionId="other"), answers("b1", "v1", "m2", text("2"), sessionId="other")]
    if begins_with_hook:
        other[0]["parentUuid"] = "h1"
        other.insert(0, entry("progress", "h1", None, data={"type": "hook_progress"}, sessionId="other"))
    queued = {"type": "queue-operation", "operation": "enqueue", "sessionId": "other"}
    with pytest.raises(ImportRefusedError, match=r"line 4 begins another session \('other'"):
        import_session(write_jsonl(tmp_path / "both.jsonl", [*one, queued, *other]), path=tmp_path / "log")
    assert not (tmp_path / "log").exists()


def test_a_resumed_session_is_one(tmp_path: Path) -> None:
    """It begins with entries of the session that it goes on from; later roots, as after a clear, are its own."""
    entries = [
        {"type": "queue-operation", "operation": "enqueue", "sessionId": "new"},
        says("u1", None, "one", sessionId="old"),
        answers("a1", "u1", "m1", text("1"), sessionId="old"),
        says("u2", "a1", "two", sessionId="new"),
        answers("a2", "u2", "m2", text("2"), sessionId="new"),
        says("u3", None, "three", sessionId="new"),
        says("u4", "not-there", "four", sessionId="newest"),
    ]
    assert imported(write_jsonl(tmp_path / "resumed.jsonl", entries)).messages == 6


@proof
async def test_an_older_copy_of_a_session_takes_nothing_back(tmp_path: Path) -> None:
    """Neither the messages that it lacks, nor those that were not complete in it."""
    entries = [
        says("u1", None, "one"),
        answers("a1", "u1", "m1", text("part")),
        answers("a1b", "a1", "m1", text("whole")),
        says("u2", "a1b", "two"),
        answers("a2", "u2", "m2", text("2")),
    ]
    source = tmp_path / "s.jsonl"
    target = Path(imported(write_jsonl(source, entries)).path)
    before = contents(target)
    for stop in (1, 2, 3, 4):
        report = import_session(write_jsonl(source, entries[:stop]), path=target)
        assert (report.added, report.sessions[0].is_older) == (0, True), f"{stop} entries"
        assert contents(target) == before
    done = CliRunner().invoke(main, ["import", str(source), "-o", str(target)])
    assert "older than what was imported before" in done.stdout
    assert (await history_and_view(target))[0][-1]["content"] == "2"
