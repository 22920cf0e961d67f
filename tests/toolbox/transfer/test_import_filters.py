"""Filters of an import: they mean the sessions that they mean in every other command."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.claude_entries import answers, calls, results, says
from tests.support.commands import run
from tests.support.imports import write_jsonl
from tests.support.sweeps import spread

OLD, NEW = "2026-01-05T10:00:00.000Z", "2026-03-05T10:00:00.000Z"


def session(name: str, time: str, model: str, tool: str, output: str, **more: Any) -> list[dict[str, Any]]:
    answer = answers("a", "u", f"m-{name}", calls("c1", tool))
    answer["message"]["model"] = model
    entries = [says("u", None, "go"), answer, results("r", "a", ("c1", output))]
    shared = {"sessionId": name, "cwd": "/w/app", "timestamp": time, **more}
    return [entry | shared | {key: f"{name}-{entry[key]}" for key in ("uuid", "parentUuid")} for entry in entries]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with three sessions and a sub-agent; the command is run elsewhere."""
    place = tmp_path / "source"
    title = {"type": "custom-title", "customTitle": "The rounding bug", "sessionId": "s-old"}
    write_jsonl(place / "s-old.jsonl", [*session("s-old", OLD, "claude-opus-4-5", "Bash", "Error: no"), title])
    write_jsonl(place / "s-new.jsonl", session("s-new", NEW, "claude-sonnet-4-5", "Read", "fine"))
    agent = session("s-new", NEW, "claude-haiku-4-5", "Grep", "fine", isSidechain=True, agentId="a1")
    write_jsonl(place / "s-new" / "subagents" / "agent-a1.jsonl", agent)
    other = session("s-lib", "2026-02-05T10:00:00.000Z", "claude-sonnet-4-5", "Bash", "fine")
    write_jsonl(place / "s-lib.jsonl", [entry | {"cwd": "/w/lib"} for entry in other])
    return place


def listed(*arguments: object) -> set[str]:
    """The sessions that `list` names, a sub-agent by its session."""
    sessions = json.loads(run("list", "--all", *map(str, arguments), "--json").stdout)["sessions"]
    return {one["session"].partition("_")[0] for one in sessions}


FILTERS = [
    ["--project", "app"],
    ["--project", "/w/lib"],
    ["--since", "2026-02-01"],
    ["--until", "2026-02-01"],
    ["--since", "2026-02-01", "--until", "2026-03-01"],
    ["--model", "OPUS"],
    ["--model", "haiku"],
    ["--tool", "bash"],
    ["--tool", "bash", "--model", "sonnet"],
    ["--failed"],
    ["--name", "rounding"],
    ["--name", "s-l"],
    ["--tag", "release"],
    ["-n", "1", "--project", "app"],
    ["-n", "2", "--tool", "Bash"],
]


@pytest.mark.parametrize("asked", list(spread(FILTERS, 3)), ids=" ".join)
def test_an_import_takes_what_a_list_of_all_would_name(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str]
) -> None:
    """Also with its sub-agents; files that are left out are told."""
    monkeypatch.setenv("HOME", str(tmp_path / "all"))
    run("import", str(place))
    expected = listed(*asked)
    monkeypatch.setenv("HOME", str(tmp_path / "some"))
    told = json.loads(run("import", str(place), *asked, "--json").stdout)
    assert listed() == expected
    assert {Path(path).stem for path in told["left_out"]} == {"s-old", "s-new", "s-lib"} - expected
    assert ("s-new_a1" in json.dumps(told["imports"])) == ("s-new" in expected)


def test_what_a_file_is_left_out_for(place: Path) -> None:
    """One file whose session is not meant is an error; nothing is written. So is a filter that would be ignored."""
    done = run("import", str(place / "s-new.jsonl"), "--failed", "--dry-run", code=2)
    assert "the filters mean no session of it" in done.output
    run("import", str(place / "s-old.jsonl"), "--failed")
    assert listed() == {"s-old"}
    assert "--watch" in run("import", "--watch", "claude-code", "--failed", code=2).output


def test_a_file_that_is_older_is_not_read(place: Path) -> None:
    """It is written no earlier than its messages."""
    (place / "s-old.jsonl").write_text("damaged")
    os.utime(place / "s-old.jsonl", (1_767_000_000, 1_767_000_000))
    told = json.loads(run("import", str(place), "--since", "2026-02-01", "--json").stdout)
    assert [Path(path).stem for path in told["left_out"]] == ["s-old"]
    assert told["skipped"] == told["errors"] == []


def test_a_log_is_chosen_by_its_own_names(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tags that a person gave it, models, tools."""
    run("import", str(place / "s-old.jsonl"))
    run("tag", "s-old", "release")
    home = tmp_path / "elsewhere"
    run("copy", "s-old", str(tmp_path / "copy.jsonl"))
    monkeypatch.setenv("HOME", str(home))
    for asked, code in (
        (["--tag", "other"], 2),
        (["--model", "sonnet"], 2),
        (["--tag", "release", "--tool", "Bash"], 0),
    ):
        run("import", str(tmp_path / "copy.jsonl"), *asked, code=code)
    assert listed() == {"s-old"}


def test_one_conversation_of_many(tmp_path: Path) -> None:
    """The newest of an export that has several; it gets the id that it has without a filter."""
    chats = [
        {
            "uuid": f"chat-{month}",
            "name": f"chat {month}",
            "created_at": f"2026-0{month}-01T00:00:00Z",
            "chat_messages": [
                {"uuid": f"m{month}", "sender": "human", "text": "hi", "created_at": f"2026-0{month}-01T00:00:00Z"}
            ],
        }
        for month in (1, 3, 2)
    ]
    (tmp_path / "conversations.json").write_text(json.dumps(chats))
    run("import", str(tmp_path / "conversations.json"), "-n", "2")
    assert listed() == {"chat-3", "chat-2"}
    run("import", str(tmp_path), "-n", "1", "--name", "chat 1")
    assert listed() == {"chat-3", "chat-2", "chat-1"}
