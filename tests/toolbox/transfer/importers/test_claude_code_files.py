"""Files beside a Claude Code session: large outputs and sub-agents, whatever paths a transcript names."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.log.record_line import decode
from amplifier_module_context_persistent.toolbox.transfer.importers import claude_code_files
from tests.support.claude_entries import answers, says
from tests.support.imports import history_and_view, imported, records, write_jsonl
from tests.support.sweeps import proof

CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat big"}}
WHOLE = "line 1\n" + "a line of the middle\n" * 5_000 + "the last line"


def test_a_sub_agent_keeps_its_session_whatever_its_records_lack(tmp_path: Path) -> None:
    """A summary names no session."""
    source = write_jsonl(tmp_path / "s.jsonl", [says("u1", None, "look")])
    told = {**says("k1", None, "prompt"), "isSidechain": True, "agentId": "abc"}
    write_jsonl(tmp_path / "s" / "subagents" / "agent-abc.jsonl", [told, {"type": "summary", "summary": "S"}])
    child = imported(source).sessions[1]
    assert records(child.path, "header")[0]["source"]["session_id"] == told["sessionId"]


def test_a_sub_agents_own_file_is_one_session_whatever_the_program_notes_in_it(tmp_path: Path) -> None:
    """Entries that name no sub-agent and say nothing belong to the file's."""
    directory = tmp_path / "s" / "subagents"
    told = {**says("k1", None, "prompt"), "isSidechain": True, "agentId": "abc"}
    setting = {"type": "agent-setting", "sessionId": told["sessionId"], "agentSetting": "x"}
    write_jsonl(directory / "agent-other.jsonl", [told])
    for number, entries in enumerate([[setting, told], [told, setting]]):
        source = write_jsonl(directory / "agent-abc.jsonl", entries)
        report = imported(source, tmp_path / f"{number}.jsonl")
        assert [(one.kind, one.messages) for one in report.sessions] == [("subagent", 1)]
        assert [record["type"] for record in records(report.path, "source")] == ["agent-setting"]


def persisted(path: str) -> str:
    preview = WHOLE[:100]
    return (
        f"<persisted-output>\nOutput too large (70.1KB). Full output saved to: {path}\n\n"
        f"Preview (first 2KB):\n{preview}\n...\n</persisted-output>"
    )


def session(directory: Path, path: str) -> Path:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": persisted(path)}
    entries = [says("u1", None, "read it"), answers("a1", "u1", "m1", CALL), says("r1", "a1", [result])]
    return write_jsonl(directory / "s.jsonl", entries)


async def result_of(source: Path) -> str:
    history, _ = await history_and_view(imported(source).path)
    return str(history[2]["content"])


@proof(quick=1)
@pytest.mark.parametrize(
    "path", ["/home/u/.claude/projects/-w/s/tool-results/t1.txt", r"C:\Users\me\tool-results\t1.txt"]
)
async def test_a_large_output_is_read_from_its_file(tmp_path: Path, path: str) -> None:
    """Wherever the program that wrote the session kept its files."""
    source = session(tmp_path, path)
    (tmp_path / "s" / "tool-results").mkdir(parents=True)
    (tmp_path / "s" / "tool-results" / "t1.txt").write_text(WHOLE)
    assert await result_of(source) == WHOLE
    assert imported(source).lost == 0


async def test_an_output_in_blocks_is_read_from_its_file(tmp_path: Path) -> None:
    """As newer versions write results."""
    blocks = [{"type": "text", "text": persisted("/x/t1.txt")}]
    result = {"type": "tool_result", "tool_use_id": "t1", "content": blocks}
    source = write_jsonl(
        tmp_path / "s.jsonl",
        [says("u1", None, "read it"), answers("a1", "u1", "m1", CALL), says("r1", "a1", [result])],
    )
    (tmp_path / "s" / "tool-results").mkdir(parents=True)
    (tmp_path / "s" / "tool-results" / "t1.txt").write_text(WHOLE)
    assert await result_of(source) == WHOLE


@proof
async def test_the_beginning_stays_if_the_file_is_gone(tmp_path: Path) -> None:
    """The rest is named as lost."""
    source = session(tmp_path, "/gone/t1.txt")
    assert await result_of(source) == persisted("/gone/t1.txt")
    (loss,) = imported(source).not_carried
    assert (loss.line, loss.is_part) == (3, True)
    assert "tool-results/t1.txt" in loss.reason


def make_link(place: Path, secret: Path) -> None:
    place.symlink_to(secret)


def make_device(place: Path, secret: Path) -> None:
    place.symlink_to("/dev/zero")


def make_fifo(place: Path, secret: Path) -> None:
    os.mkfifo(place)


def make_directory(place: Path, secret: Path) -> None:
    place.mkdir()


def make_large(place: Path, secret: Path) -> None:
    place.touch()
    os.truncate(place, claude_code_files.MOST_OUTPUT_BYTES + 1)


def make_linked_directory(place: Path, secret: Path) -> None:
    place.parent.rmdir()
    place.parent.symlink_to(secret.parent)
    (secret.parent / place.name).write_text(secret.read_text())


@proof(quick=1)
@pytest.mark.parametrize(
    "make",
    [make_link, make_device, make_fifo, make_directory, make_large, make_linked_directory],
    ids=lambda f: f.__name__,
)
async def test_only_a_regular_file_of_the_session_is_read(tmp_path: Path, make: Any) -> None:
    """No link is followed, nothing waits."""
    secret = tmp_path / "elsewhere" / "secret.txt"
    secret.parent.mkdir()
    secret.write_text("SECRET")
    source = session(tmp_path, "/x/t1.txt")
    (tmp_path / "s" / "tool-results").mkdir(parents=True)
    make(tmp_path / "s" / "tool-results" / "t1.txt", secret)
    assert "SECRET" not in await result_of(source)
    assert imported(source).lost == 1


@proof(quick=1)
@pytest.mark.parametrize("name", ["../../elsewhere/secret.txt", "/elsewhere/secret.txt", "..", ".", "a\0b", "x" * 300])
async def test_a_path_in_the_text_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    """Only its last component counts."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.txt").write_text("SECRET")
    source = session(tmp_path, name)
    (tmp_path / "s" / "tool-results").mkdir(parents=True)
    assert "SECRET" not in await result_of(source)


def test_sub_agents_of_workflows_are_found_and_named(tmp_path: Path) -> None:
    """With type and task; a file that is a link is not read."""
    directory = tmp_path / "s" / "subagents" / "workflows" / "wf_9"
    for place, agent in ((directory, "aw"), (directory.parents[1], "af")):
        told = answers(f"a{agent}", f"u{agent}", f"m{agent}", {"type": "text", "text": "ok"}, agentId=agent)
        entries = [says(f"u{agent}", None, "look", agentId=agent), told]
        write_jsonl(place / f"agent-{agent}.jsonl", [{**entry, "isSidechain": True} for entry in entries])
    meta = {"agentType": "Explore", "description": "look it up", "toolUseId": "t1"}
    (directory / "agent-aw.meta.json").write_text(json.dumps(meta))
    (directory.parents[1] / "agent-af.meta.json").write_text("{ not JSON")
    (directory / "agent-link.jsonl").symlink_to(directory / "agent-aw.jsonl")
    source = write_jsonl(tmp_path / "s.jsonl", [says("u1", None, "go"), answers("a1", "u1", "m1", CALL)])
    report = imported(source)
    assert [one.kind for one in report.sessions] == ["session", "subagent", "subagent"]
    header = decode(Path(report.path).read_bytes().splitlines()[0])
    assert header["source"]["subagents"] == [one.path for one in report.sessions[1:]]
    assert header["source"]["subagent_tasks"] == ["", "Explore: look it up"]
    alone = imported(directory / "agent-aw.jsonl")
    told = decode(Path(alone.path).read_bytes().splitlines()[0])["source"]
    assert (told["agent_type"], told["spawned_by"]) == ("Explore", "t1")
