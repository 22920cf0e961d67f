"""Sessions of pi: trees, compactions that keep the newest messages, older linear files, errors."""

from pathlib import Path
from typing import Any

from tests.support.imports import history_and_view, imported, imported_history, records, texts, write_jsonl
from tests.support.sweeps import proof

Entry = dict[str, Any]
HEAD = {"type": "session", "version": 3, "id": "pi-1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w"}


def entry(kind: str, entry_id: str, parent: str | None, **more: Any) -> Entry:
    return {"type": kind, "id": entry_id, "parentId": parent, "timestamp": "2026-01-01T00:00:01.000Z", **more}


def says(entry_id: str, parent: str | None, role: str, content: Any, **more: Any) -> Entry:
    return entry("message", entry_id, parent, message={"role": role, "content": content, **more})


def text(value: str) -> list[Entry]:
    return [{"type": "text", "text": value}]


async def test_messages_calls_thinking_usage_and_errors(tmp_path: Path) -> None:
    """All of it by pi's own names; an answer that failed without content is kept as metadata."""
    blocks = [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
        {"type": "thinking", "thinking": "", "thinkingSignature": "secret", "redacted": True},
        *text("Reading"),
        {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}},
    ]
    usage = {"input": 5, "output": 6, "cacheRead": 90, "cacheWrite": 4, "totalTokens": 105, "cost": {"total": 0.5}}
    report, history, _ = await imported_history(
        tmp_path / "s.jsonl",
        [
            HEAD,
            says("u1", None, "user", text("read")),
            says("a1", "u1", "assistant", blocks, model="m", provider="anthropic", usage=usage, stopReason="toolUse"),
            says("r1", "a1", "toolResult", text("gone"), toolCallId="c1", toolName="read", isError=True),
            says("a2", "r1", "assistant", [], stopReason="error", errorMessage="overloaded"),
            says("b1", "a2", "bashExecution", None, command="ls", output="a", exitCode=2),
            entry("model_change", "m1", "b1", provider="p", modelId="q"),
        ],
    )
    assert texts(history) == [
        "user: read",
        "assistant: thinking redacted_thinking Reading read",
        "tool: gone",
        "user: $ ls\na\nexit code 2",
    ]
    given = history[1]["metadata"]
    assert given["usage"] == {
        "input_tokens": 95, "output_tokens": 6, "cache_read_tokens": 90, "cache_write_tokens": 4, "cost_usd": 0.5,
    }  # fmt: skip
    assert (given["stop_reason"], history[2]["metadata"]["is_error"]) == ("toolUse", True)
    assert history[3]["metadata"]["source"] == "pi:bashExecution"
    assert report.account.metadata == {"session": 1, "message without content": 1, "model_change": 1}
    kept = [record["entry"] for record in records(report.path, "source")]
    assert kept[0]["message"]["errorMessage"] == "overloaded"


@proof
async def test_the_last_lines_path_is_the_session(tmp_path: Path) -> None:
    """What hangs elsewhere is a branch, with its summary as a note; a branch without messages is none."""
    report = imported(
        write_jsonl(
            tmp_path / "s.jsonl",
            [
                HEAD,
                says("u1", None, "user", "one"),
                says("a1", "u1", "assistant", text("1")),
                says("u2", "a1", "user", "two"),
                entry("label", "l1", "u1", label="here"),
                entry("branch_summary", "s1", "a1", fromId="u2", summary="two was tried"),
                says("u3", "s1", "user", "three"),
            ],
        )
    )
    assert [(session.kind, session.messages) for session in report.sessions] == [("session", 4), ("branch", 3)]
    live, left = [(await history_and_view(session.path))[0] for session in report.sessions]
    assert texts(live) == ["user: one", "assistant: 1", "user: two was tried", "user: three"]
    assert texts(left) == ["user: one", "assistant: 1", "user: two"]


@proof
async def test_a_compaction_keeps_the_newest_messages(tmp_path: Path) -> None:
    """By id, or as older files say it by the number of the entry; the summary stands before what was kept."""
    for number, kept in enumerate(({"firstKeptEntryId": "u2"}, {"firstKeptEntryIndex": 3})):
        source = write_jsonl(
            tmp_path / f"{number}.jsonl",
            [
                HEAD,
                says("u1", None, "user", "one"),
                says("a1", "u1", "assistant", text("1")),
                says("u2", "a1", "user", "two"),
                says("a2", "u2", "assistant", text("2")),
                entry("compaction", "k", "a2", summary="one was done", tokensBefore=999, **kept),
                says("u3", "k", "user", "three"),
            ],
        )
        report = imported(source)
        history, view = await history_and_view(report.path)
        assert len(history) == 5
        assert texts(view) == ["user: <summary>\none was done\n</summary>", "user: two", "assistant: 2", "user: three"]
        assert records(report.path, "plan")[0]["tokens_before"] == 999


async def test_older_files_are_linear(tmp_path: Path) -> None:
    """Without ids and parents the lines follow each other; a second entry of one id is lost."""
    bare = [
        {key: value for key, value in says("", None, "user", str(n)).items() if key not in ("id", "parentId")}
        for n in range(3)
    ]
    report = imported(
        write_jsonl(
            tmp_path / "s.jsonl",
            [
                {k: v for k, v in HEAD.items() if k != "version"},
                *bare,
                says("x", None, "user", "x"),
                says("x", None, "user", "y"),
            ],
        )
    )
    assert texts((await history_and_view(report.path))[0]) == ["user: 0", "user: 1", "user: 2", "user: x"]
    assert [loss.line for loss in report.not_carried] == [6]


async def test_a_line_that_is_lost_takes_no_message_its_id(tmp_path: Path) -> None:
    """A message with the id of one whose role is unknown is a message."""
    entries = [
        HEAD,
        says("u1", None, "user", "one"),
        says("a1", "u1", "ghost", "?"),
        says("a1", "u1", "assistant", text("1")),
        says("u2", "a1", "user", "two"),
    ]
    report = imported(write_jsonl(tmp_path / "s.jsonl", entries))
    assert texts((await history_and_view(report.path))[0]) == ["user: one", "assistant: 1", "user: two"]
    assert [loss.line for loss in report.not_carried] == [3]
    assert [session.kind for session in report.sessions] == ["session"]


async def test_a_message_with_a_summary_is_a_compaction(tmp_path: Path) -> None:
    """Forks of pi write what `compaction` says as a message; one that repeats the entry before it is metadata."""
    summary = {"role": "compactionSummary", "summary": "All was read.", "tokensBefore": 900}
    report, history, view = await imported_history(
        tmp_path / "s.jsonl",
        [
            HEAD,
            says("u1", None, "user", text("read it")),
            says("a1", "u1", "assistant", text("Read.")),
            entry("message", "k1", "a1", message=summary),
            entry("message", "k2", "k1", message=summary),
            says("u2", "k2", "user", text("and now?")),
        ],
    )
    assert texts(history) == ["user: read it", "assistant: Read.", "user: and now?"]
    assert [one.compactions for one in report.sessions] == [1]
    assert report.account.metadata == {"session": 1, "compactionSummary": 1}
    assert "All was read." in str(view)
    assert "Read." not in texts(view)


async def test_a_message_that_would_be_a_compaction_and_says_nothing_is_none(tmp_path: Path) -> None:
    """Nor is a message of another role one, although it has a summary."""
    empty = {"role": "compactionSummary", "summary": "", "tokensBefore": 900}
    lines = [
        HEAD,
        says("u1", None, "user", text("go")),
        entry("message", "c1", "u1", message=empty),
        says("a1", "c1", "assistant", text("done"), summary="All was read."),
    ]
    report, history, _ = await imported_history(tmp_path / "s.jsonl", lines)
    assert [one.compactions for one in report.sessions] == [0]
    assert texts(history) == ["user: go", "assistant: done"]


async def test_a_request_that_failed_has_its_usage(tmp_path: Path) -> None:
    """An error without content may have cost tokens: it is an answer that says nothing; without usage it is none."""
    usage = {"input": 10, "output": 5, "cacheRead": 100, "cacheWrite": 7, "cost": {"total": 1.5}}
    failed = {"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "overloaded", "model": "m"}
    report, history, view = await imported_history(
        tmp_path / "s.jsonl",
        [
            HEAD,
            says("a", None, "user", "go"),
            says("b", "a", **failed, usage=usage),
            says("c", "b", **failed, usage=dict.fromkeys(usage, 0)),
            says("d", "c", "assistant", "done", usage={**usage, "cost": {"total": 0}}),
        ],
    )
    assert texts(history) == ["user: go", "assistant: ", "assistant: done"]
    answer = history[1]["metadata"]
    assert (answer["is_error"], answer["error"], answer["usage"]["cost_usd"]) == (True, "overloaded", 1.5)
    assert answer["usage"]["input_tokens"] == 110
    assert "cost_usd" not in history[2]["metadata"]["usage"]
    assert texts(view) == ["user: go", "assistant: done"]
    assert report.account.metadata["message without content"] == 1
