"""Sessions of amplifier-agent from 1.0 on: what its engine committed, and nothing that it only began."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.config import Config
from amplifier_module_context_persistent.paths import LOG_NAME, log_path, project_slug
from amplifier_module_context_persistent.sessions.session_name import read_name
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session
from tests.support.commands import run, shows
from tests.support.imports import history_and_view, imported, texts, write_jsonl

pytestmark = pytest.mark.usefixtures("project")

ID = "0b7c1c1e-5a52-4c60-9d8e-0f1d2c3b4a59"
CALL = {"id": "call-1", "tool": "bash", "arguments": {"command": "ls"}}
COMMITTED: list[dict[str, Any]] = [
    {"role": "user", "content": "List the files."},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call-1", "name": "bash", "content": "a.txt", "metadata": {}},
    {"role": "assistant", "content": "There is a.txt."},
]
BEGUN = [{"role": "user", "content": "And now?"}, {"role": "assistant", "content": "Now"}]
FACTS = {
    "session_id": ID,
    "created": "2026-10-01T09:00:00+00:00",
    "persistence": "durable",
    "turn_count": 1,
    "provider": "anthropic",
    "model": "claude-sonnet-5",
    "inherited": False,
    "name": "Files of the week",
}


def turn(messages: Any) -> dict[str, Any]:
    """A line of `turns.jsonl`, as `CommittedTurn.dumps` of the engine writes it."""
    given = {"record": "TurnInput", "fields": {"mapping": {"content": [], "model": None, "history": None}}}
    fields = {"turn_id": "t1", "input": given, "result": None}
    return {"turn": {"record": "TurnRecord", "fields": {"mapping": fields}}, "messages": messages}


COMMITTED_TURNS = [turn(4)]


def session(storage: Path, *, working_dir: Path | None = None, turns: Any = COMMITTED_TURNS) -> Path:
    """A session as the engine leaves it, with the beginning of a turn that was not committed."""
    directory = storage / "workspaces" / "default" / "sessions" / ID
    path = write_jsonl(directory / "transcript.jsonl", COMMITTED + BEGUN)
    if turns is not None:
        write_jsonl(directory / "turns.jsonl", turns)
    where = {"working_dir": str(working_dir)} if working_dir is not None else {}
    (directory / "metadata.json").write_text(json.dumps(FACTS | where))
    write_jsonl(directory / "context-intelligence" / "events.jsonl", [{"event": "x", "data": {"role": "user"}}])
    (directory / "transcript.jsonl.backup").write_text(path.read_text())
    return path


async def test_what_was_committed_is_imported(tmp_path: Path) -> None:
    """The rest is named as lost, with its line and why; the session can go on."""
    report = imported(session(tmp_path))
    assert report.format == "amplifier-agent"
    history, _ = await history_and_view(report.path)
    assert texts(history) == ["user: List the files.", "assistant: bash", "tool: a.txt", "assistant: There is a.txt."]
    assert [(loss.line, "was not committed" in loss.reason) for loss in report.account.lost] == [(5, True), (6, True)]


def test_it_keeps_its_id_its_name_and_what_is_known_of_it(tmp_path: Path) -> None:
    report = import_session(session(tmp_path))
    assert report.session_id == ID
    assert report.path == str(log_path(Config(), session_id=ID))
    assert read_name(report.path).name == "Files of the week"
    with Transcript(report.path) as transcript:
        source = transcript.header["source"]
    assert (source["provider"], source["model"], source["created"]) == (
        "anthropic",
        "claude-sonnet-5",
        FACTS["created"],
    )


def test_a_turn_that_is_committed_later_is_added(tmp_path: Path) -> None:
    """As the engine goes on: it dropped what was not committed."""
    path = session(tmp_path)
    import_session(path)
    others = [{"role": "user", "content": "Another question."}, {"role": "assistant", "content": "An answer."}]
    write_jsonl(path, COMMITTED + others)
    write_jsonl(path.with_name("turns.jsonl"), [turn(4), turn(6)])
    report = import_session(path)
    assert (report.added, report.account.lost) == (2, [])


@pytest.mark.parametrize(
    ("turns", "backup", "messages"),
    [
        (["no JSON"], [turn(2)], 2),
        ([{"turn": {}}], [turn(2)], 2),
        ([turn(-1)], None, 6),
        ([turn("4")], None, 6),
        ([[]], None, 6),
        (None, None, 6),
        ([turn(99)], None, 6),
    ],
    ids=["damaged", "no count", "negative", "a text", "a list", "missing", "too many"],
)
def test_turns_that_cannot_be_read_hide_nothing(tmp_path: Path, turns: Any, backup: Any, messages: int) -> None:
    """Their backup counts, as it does to the engine; without it all messages are imported."""
    path = session(tmp_path, turns=turns)
    if backup is not None:
        write_jsonl(path.with_name("turns.jsonl.backup"), backup)
    assert imported(path).messages == messages


def test_a_session_without_a_turn_has_nothing_to_import(tmp_path: Path) -> None:
    """The engine would begin it anew."""
    path = session(tmp_path, turns=[])
    path.with_name("turns.jsonl").write_text("")
    done = run("import", path, code=2)
    assert "was not committed" in done.stderr


@pytest.mark.parametrize("name", ["turns.jsonl", "metadata.json"])
def test_a_fifo_beside_the_transcript_is_not_waited_for(tmp_path: Path, name: str) -> None:
    path = session(tmp_path)
    path.with_name(name).unlink()
    os.mkfifo(path.with_name(name))
    assert imported(path).messages in (4, 6)


def test_all_sessions_of_the_agent_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From its storage, to the projects in which they worked; what only describes a transcript is no session."""
    monkeypatch.setenv("AMPLIFIER_AGENT_STORAGE", str(tmp_path / "storage"))
    session(tmp_path / "storage", working_dir=tmp_path / "work")
    done = run("import", "--from", "amplifier-agent", code=1)  # something was lost
    assert "events.jsonl" not in done.output
    assert "/turns.jsonl" not in done.output
    assert "its turn was not committed" in done.output
    made = Path.home() / ".amplifier" / "projects" / project_slug(tmp_path / "work") / "sessions" / ID
    with Transcript(made / LOG_NAME) as transcript:
        assert len(transcript) == 4
    shows(run("list", "--all").stdout, ID, "Files of the week")


def test_a_transcript_of_the_command_line_is_none(tmp_path: Path) -> None:
    """It is a host's transcript, and has the host's name."""
    path = write_jsonl(tmp_path / "s1" / "transcript.jsonl", COMMITTED)
    path.with_name("metadata.json").write_text(json.dumps({"session_id": "s1", "bundle": "b", "name": "Mine"}))
    report = import_session(path)
    assert (report.format, report.messages, read_name(report.path).name) == ("transcript", 4, "Mine")
