"""Files that are damaged, cut, mixed, empty or hostile: an account or a clear error, nothing half done."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent.errors import ContextPersistentError
from amplifier_module_context_persistent.toolbox.transfer.importers.branches import split_tree
from amplifier_module_context_persistent.toolbox.transfer.importers.registry import FORMATS
from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import (
    ImportRefusedError,
    import_session,
)
from tests.support.imports import history_and_view, imported, texts, write_jsonl
from tests.support.sweeps import proof, some

SAYS = {"type": "user", "uuid": "u", "message": {"role": "user", "content": "hi"}}
BARE = {"role": "user", "content": "hi", "metadata": {"message_id": "m"}}
CODEX = {"type": "response_item", "payload": {"type": "message", "role": "user", "content": "hi"}}
PI = {"type": "message", "id": "p", "timestamp": "x", "message": {"role": "user", "content": "hi"}}


def deep(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


@proof
async def test_deep_nesting_is_lost_and_named(tmp_path: Path) -> None:
    """Too deep to be stored, to be parsed, or just not: the rest is imported."""
    called = {**SAYS, "uuid": "d", "message": {"role": "user", "content": [{"type": "x", "y": json.loads(deep(230))}]}}
    entries = [
        SAYS,
        called,
        deep(5_000),
        {"type": "attachment", "attachment": json.loads(deep(230))},
        {**SAYS, "uuid": "e"},
    ]
    report = imported(write_jsonl(tmp_path / "in.jsonl", entries))
    assert texts((await history_and_view(report.path))[0]) == ["user: hi", "user: hi"]
    assert [loss.line for loss in report.not_carried] == [2, 3, 4]


@proof
def test_a_line_that_memory_may_not_hold(tmp_path: Path) -> None:
    """Its text is passed over without being held; the rest of it and all around it is imported, within 200 MB."""
    source = tmp_path / "in.jsonl"
    with source.open("wb") as file:
        file.write(json.dumps(SAYS).encode() + b'\n{"type":"user","message":{"content":"')
        file.seek(200 << 20, os.SEEK_CUR)
        file.write(b'"}}\n' + json.dumps({**SAYS, "uuid": "v"}).encode() + b"\n")
    told, peak_kb = import_alone(source)
    assert told == "3 [2]"
    assert peak_kb < 200_000


@proof
@pytest.mark.parametrize(("entry", "most_kb"), [(SAYS, 190_000), (BARE, 360_000)], ids=["Claude Code", "bare"])
def test_the_only_line_of_a_file_is_in_memory_once(tmp_path: Path, entry: dict[str, Any], most_kb: int) -> None:
    """The line by which the format is recognised is not held until the end."""
    line = json.dumps(entry).replace('"hi"', f'"{"word " * 12_000_000}"')
    source = tmp_path / "in.jsonl"
    source.write_text(line + "\n")
    told, peak_kb = import_alone(source)
    assert told == "1 []"
    assert peak_kb < most_kb


def import_alone(source: Path) -> tuple[str, int]:
    """Import a file in a process of its own. Return its report, and the most memory of the process in kB."""
    script = (
        "import sys\n"
        "from amplifier_module_context_persistent.toolbox.transfer.imports.import_session import import_session\n"
        "report = import_session(sys.argv[1], path=sys.argv[2])\n"
        "print(report.messages, [loss.line for loss in report.not_carried])\n"
        "status = open('/proc/self/status').read() if sys.platform == 'linux' else 'VmHWM: 0 kB'\n"
        "print(status.split('VmHWM:')[1].split()[0])\n"  # `ru_maxrss` begins with that of the process that started it
    )
    command = [sys.executable, "-c", script, str(source), str(source.parent / "log")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told, peak = done.stdout.splitlines()
    return told, int(peak)


@proof(quick=5)
@pytest.mark.parametrize("name", sorted({*FORMATS, "auto"}))
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"\0" * 10_000,
        b"plain\n" * 9,
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"messages": []}',
        b'{"steps": [1, null]}',
        b"[1, [2]]",
    ],
    ids=repr,
)
def test_what_holds_no_session_is_refused(tmp_path: Path, content: bytes, name: str) -> None:
    """By every importer, with a reason; nothing is written."""
    (tmp_path / "in").write_bytes(content)
    with pytest.raises(ImportRefusedError):
        import_session(tmp_path / "in", path=tmp_path / "made" / "new", source_format=name)
    assert os.listdir(tmp_path) == ["in"]


async def test_a_block_without_a_proper_type_is_kept(tmp_path: Path) -> None:
    """As it is; no reader stumbles over it."""
    blocks = [{"type": ["x"]}, {"text": "no type"}, {"type": "text", "text": "hi"}]
    report = imported(write_jsonl(tmp_path / "in", [{**SAYS, "message": {"role": "user", "content": blocks}}]))
    history, _ = await history_and_view(report.path, is_well_formed=False)
    assert history[0]["content"] == blocks


COPILOT = {"type": "user.message", "data": {"content": "hi"}, "id": "c"}
GEMINI = {"type": "user", "id": "g", "content": "hi"}
BARE = {"role": "user", "content": "hi"}
LINES = {"claude-code": SAYS, "codex": CODEX, "pi": PI, "copilot-cli": COPILOT, "gemini-cli": GEMINI}


@proof(quick=2)
@pytest.mark.parametrize("other", [*LINES, "jsonl"])
@pytest.mark.parametrize("name", LINES)
def test_two_formats_in_one_file_are_refused(tmp_path: Path, name: str, other: str) -> None:
    """With the line at which to cut it; what is only unknown is kept as metadata."""
    own = [{**LINES[name], "uuid": f"u{n}", "id": f"p{n}", "parentId": f"p{n - 1}"} for n in range(3)]
    own[0].pop("parentId")
    unknown = {"type": "from-the-future", "timestamp": "x"}
    source = write_jsonl(tmp_path / "in", [*own, unknown, LINES.get(other, BARE)])
    if name == other:
        assert imported(source).format == name
        return
    with pytest.raises(ImportRefusedError, match=rf"line 5 is of another format \({other}.*begins as {name}"):
        import_session(source, path=tmp_path / "new")
    assert os.listdir(tmp_path) == ["in"]


@proof(quick=1)
@pytest.mark.parametrize(
    "entries",
    [
        [{"sessionId": name, "projectHash": "h"} for name in "ab"] + [GEMINI],
        [{"type": "session", "id": name, "cwd": "/w"} for name in "ab"] + [PI],
        [{"type": "session.start", "data": {"sessionId": name}} for name in "ab"] + [COPILOT],
        [
            {"type": "session_meta", "payload": {"id": name, "timestamp": f"2026-01-0{day}T00:00:00Z"}}
            for name, day in (("a", 1), ("b", 2))
        ]
        + [CODEX],
    ],
    ids=["gemini-cli", "pi", "copilot-cli", "codex"],
)
def test_two_sessions_in_one_file_are_refused(tmp_path: Path, entries: list[dict[str, Any]]) -> None:
    """With the line that begins the other one; the same id again is no other session."""
    with pytest.raises(ImportRefusedError, match="line 2 begins another session"):
        import_session(write_jsonl(tmp_path / "in", entries), path=tmp_path / "new")
    assert not (tmp_path / "new").exists()
    assert imported(write_jsonl(tmp_path / "one", [entries[0], *entries[::2]])).messages == 1


def test_strict_refuses_what_would_be_lost(tmp_path: Path) -> None:
    """Before anything is written, naming the line."""
    source = write_jsonl(tmp_path / "in", [SAYS, "damaged"])
    with pytest.raises(ImportRefusedError, match="line 2"):
        import_session(source, path=tmp_path / "new", strict=True)
    assert os.listdir(tmp_path) == ["in"]
    write_jsonl(source, [SAYS, {"type": "progress"}])
    assert import_session(source, path=tmp_path / "new", strict=True).messages == 1


def test_nothing_is_half_imported(tmp_path: Path) -> None:
    """Where one of the sessions cannot be written, those that were written are taken back."""
    source = write_jsonl(tmp_path / "in.jsonl", [SAYS, {**SAYS, "uuid": "s", "isSidechain": True, "agentId": "x"}])
    (tmp_path / "out.jsonl").write_text("something else")
    with pytest.raises(FileExistsError):
        import_session(source, path=tmp_path / "out.jsonl")
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "log_x.jsonl").mkdir()
    with pytest.raises(FileExistsError):
        import_session(source, path=tmp_path / "made" / "log.jsonl")
    assert sorted(os.listdir(tmp_path)) == ["in.jsonl", "made", "out.jsonl"]
    assert os.listdir(tmp_path / "made") == ["log_x.jsonl"]


@given(st.lists(st.integers(-1, 12), max_size=12), st.integers(0, 2**12))
def test_any_parents_make_sessions(named: list[int], speaks: int) -> None:
    """Each entry is live or in one branch, and what a branch has in common with the session is in order."""
    parents = [parent if parent < at else -1 for at, parent in enumerate(named)]
    live, left = split_tree(parents, lambda at: bool(speaks >> at & 1))
    branches = list(left)
    assert sorted([*live, *(at for _, own in branches for at in own)]) == list(range(len(parents)))
    assert live or not parents
    for common, own in branches:
        assert speaks >> own[0] & 1
        assert parents[own[0]] not in own
        assert common == sorted(set(common) - set(own))


@proof
@settings(max_examples=some(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.randoms(use_true_random=False), st.sampled_from([SAYS, CODEX, PI]), st.integers(1, 30))
async def test_any_damage_has_an_account(
    tmp_path_factory: pytest.TempPathFactory, chance: random.Random, entry: dict[str, Any], flips: int
) -> None:
    """Bytes are changed, cut and doubled: every line is accounted for, and what is imported has a valid view."""
    directory = tmp_path_factory.mktemp("damage")
    entries = [{**entry, "uuid": f"u{n}", "id": f"p{n}", "parentUuid": f"u{n - 1}"} for n in range(8)]
    content = bytearray(write_jsonl(directory / "in", entries).read_bytes())
    for _ in range(flips):
        at = chance.randrange(len(content))
        content[at : at + chance.choice([0, 1, 1, 9])] = bytes([chance.randrange(256)] * chance.choice([0, 1, 2]))
    (directory / "in").write_bytes(content)
    try:
        report = imported(directory / "in", directory / "log")
    except ContextPersistentError:
        assert not (directory / "log").exists()
        return
    for session in report.sessions:
        await history_and_view(session.path)


def step(source: str, **more: Any) -> dict[str, Any]:
    return {"step_id": 1, "source": source, **more}


SILENT: dict[str, tuple[Any, Any]] = {
    "claude-code": (SAYS, {**SAYS, "uuid": "z", "message": {"role": "user", "content": [None]}}),
    "codex": (CODEX, {**CODEX, "payload": {"type": "message", "role": "user", "content": []}}),
    "codex reasoning": (CODEX, {**CODEX, "payload": {"type": "reasoning", "summary": []}}),
    "pi": (PI, {**PI, "id": "q", "message": {"role": "assistant", "content": [None]}}),
    "pi user": (PI, {**PI, "id": "q", "message": {"role": "user", "content": [{"type": "text", "text": ""}]}}),
    "gemini-cli": (GEMINI, {**GEMINI, "id": "h", "content": [{"text": ""}]}),
    "copilot-cli": (COPILOT, {"type": "assistant.message", "data": {"content": ""}, "id": "d"}),
    "openai": ({"role": "user", "content": "hi"}, {"type": "reasoning", "summary": []}),
    "atif": (step("user", message="hi"), step("agent", message="", extra={"seen": 1})),
}


@proof(quick=1)
@pytest.mark.parametrize("name", SILENT)
async def test_what_says_nothing_is_no_message_and_is_noted_so(tmp_path: Path, name: str) -> None:
    """Only one line becomes a message; the other one is kept as it is, or said to have no content."""
    says, silent = SILENT[name]
    entries = [json.dumps({"agent": {}, "steps": [says, silent]})] if name == "atif" else [says, silent]
    report = imported(write_jsonl(tmp_path / "in.jsonl", entries), source_format=name.partition(" ")[0])
    assert texts((await history_and_view(report.path))[0]) == ["user: hi"]
    account = report.account
    assert (account.mapped.total(), account.lost_lines) == (1, 0)
    assert (account.metadata + account.not_conversational).total() == 1


@proof(quick=1)
@pytest.mark.parametrize(
    "content",
    [
        json.dumps(
            {"info": {}, "messages": [{"info": {"role": "assistant"}, "parts": [{"type": "tool", "tool": "run"}]}]}
        ),
        json.dumps({**COPILOT, "type": "assistant.message", "data": {"toolRequests": [{"name": "run"}]}}),
        json.dumps({**PI, "message": {"role": "assistant", "content": [{"type": "toolCall", "name": "run"}]}}),
    ],
    ids=["opencode", "copilot-cli", "pi"],
)
def test_a_call_without_an_id_is_imported(tmp_path: Path, content: str) -> None:
    """It gets an id, or stays a block."""
    report = imported(write_jsonl(tmp_path / "in.jsonl", [content]))
    assert b'"run"' in Path(report.path).read_bytes().splitlines()[1]
    assert report.roles["assistant"] == 1
