"""Keeping in step with another agent: each session once, what is new as it comes, and nothing of what was erased."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.paths import project_slug
from amplifier_module_context_persistent.toolbox.transfer.imports.import_directory import ImportedFile
from amplifier_module_context_persistent.toolbox.transfer.imports.watch_imports import WatchedPlace
from tests.support.commands import run
from tests.support.imports import write_jsonl
from tests.support.sessions_of_a_home import start
from tests.support.sweeps import proof

KEY = "hunter2-zebrastripes"
SECONDS: Iterator[float] = itertools.count(0.0, 2.0)


def says(session: str, number: int, text: str) -> dict[str, Any]:
    return {
        "type": "user",
        "sessionId": session,
        "uuid": f"{session}-{number}",
        "parentUuid": f"{session}-{number - 1}" if number else None,
        "cwd": "/w/app",
        "message": {"role": "user", "content": text},
    }


@pytest.fixture
def source(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a session of Claude Code."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    return tmp_path / "claude" / "projects" / "-w-app" / "s1.jsonl"


def place_of(source: Path) -> WatchedPlace:
    return WatchedPlace(source.parent.parent, "claude-code")


def look(place: WatchedPlace) -> list[ImportedFile]:
    return list(place.look(next(SECONDS)))


def texts() -> list[str]:
    shown = run("show", "s1", "--json", code=None).stdout.splitlines()
    return [json.loads(line)["message"]["content"] for line in shown]


def test_a_session_is_imported_once_and_then_what_is_new(source: Path) -> None:
    """A file is looked at again only if it changed, and has stayed so for a look."""
    lines = [says("s1", number, f"text {number}") for number in range(6)]
    write_jsonl(source, lines[:2])
    place = place_of(source)
    assert [file.report.added for file in look(place) if file.report] == [2]
    assert look(place) == []
    write_jsonl(source, lines[:4])
    assert look(place) == []
    assert [file.report.added for file in look(place) if file.report] == [2]
    assert texts() == [f"text {number}" for number in range(4)]
    assert look(place_of(source)) == [], "a second watcher finds it imported"


@proof
def test_a_file_that_changes_all_the_while_is_imported_all_the_same(source: Path) -> None:
    """After half a minute."""
    lines = [says("s1", number, f"text {number}") for number in range(40)]
    write_jsonl(source, lines[:1])
    place = place_of(source)
    look(place)
    added = 0
    for count in range(2, 40):
        write_jsonl(source, lines[:count])
        added += sum(file.report.added for file in look(place) if file.report)
    assert added > 10


@proof
@pytest.mark.parametrize("purge", [("--redact", KEY), ("--everything",)], ids=["redacted", "emptied"])
def test_what_was_purged_does_not_come_back(source: Path, purge: tuple[str, ...]) -> None:
    """Not a byte of it, though the source still has it and grows."""
    lines = [says("s1", 0, f"my password is {KEY}"), says("s1", 1, "thanks")]
    write_jsonl(source, lines)
    place = place_of(source)
    look(place)
    run("search", "--best", "3", KEY, "--all")
    run("purge", "s1", *purge, "--yes")
    for number in range(2, 5):
        is_said_again = number == 3 and purge[0] == "--redact"
        lines.append(says("s1", number, f"again {number}: {KEY}" if is_said_again else f"text {number}"))
        write_jsonl(source, lines)
        look(place)
        look(place)
    look(place_of(source))
    run("search", "--best", "3", "password", "--all", code=None)
    kept = Path.home() / ".amplifier"
    if purge[0] == "--redact":
        assert len(texts()) == 5
    files = [path for path in kept.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert (
        json.loads(run("search", "--best", "3", "zebrastripes", "--all", "--json", code=None).stdout or "null") is None
    )


@proof
def test_what_was_deleted_does_not_come_back(source: Path) -> None:
    """Also as it grows. That it is left out is said once."""
    write_jsonl(source, [says("s1", 0, "one")])
    place = place_of(source)
    look(place)
    run("delete", "s1", "--yes")
    write_jsonl(source, [says("s1", 0, "one"), says("s1", 1, "two")])
    told = [file for _ in range(3) for file in look(place)]
    assert [(file.path, file.is_erased) for file in told] == [(str(source), True)]
    assert "deleted here" in told[0].error
    write_jsonl(source, [says("s1", 0, "one"), says("s1", 1, "two"), says("s1", 2, "three")])
    assert look(place) == look(place) == []
    assert len(look(place_of(source))) == 1
    assert not (Path.home() / ".amplifier" / "projects" / project_slug("/w/app") / "sessions" / "s1").exists()


@proof
def test_the_command_goes_on_until_it_is_interrupted(source: Path) -> None:
    """It says what it added."""
    write_jsonl(source, [says("s1", 0, "one")])
    process = start("import", "--watch", "claude-code", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == f"s1: 1 message added{os.linesep}".encode()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert errors.startswith(b"watching ")
    run("delete", "s1", "--yes")
    process = start("import", "--watch", "claude-code", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline().startswith(f"left out: {source}: this session was deleted here on ".encode())
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    run("import", "--watch", "claude-code", "--again", code=2)
    run("import", "--watch", "claude-code", str(source), code=2)
