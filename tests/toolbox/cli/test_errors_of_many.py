"""`context-persistent show --errors` without SESSION: the calls that failed in many sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.busy_homes import BusyHome
from tests.support.commands import is_harmless, run, shows
from tests.support.sessions_of_a_home import log_of, write
from tests.support.sweeps import proof

CALLS = [{"id": "a", "tool": "bash", "arguments": {}}, {"id": "b", "tool": "grep", "arguments": {}}]
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Go on."},
    {"role": "assistant", "content": "", "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "a", "content": "Error: \x1b[31mno"},
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session of this project in which one call failed and one has no result, a sound one, and one elsewhere."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write(log_of("failed"), MESSAGES)
    write(log_of("sound"), MESSAGES[:1])
    write(log_of("elsewhere", tmp_path / "there"), MESSAGES)
    return tmp_path


def shown(*arguments: str) -> list[tuple[str, int]]:
    told = [json.loads(line) for line in run("show", "--errors", "--json", *arguments).stdout.splitlines()]
    return sorted((one["session"], one["number"]) for one in told)


def test_they_are_those_of_this_project_or_of_all() -> None:
    assert shown() == [("failed", 2), ("failed", 3)]
    assert shown("--all") == [("elsewhere", 2), ("elsewhere", 3), ("failed", 2), ("failed", 3)]
    assert shown("--tool", "BASH") == [("failed", 3)]
    assert shown("--since", "2026-01-06") == []


def test_the_text_names_the_sessions() -> None:
    """What cannot be printed is escaped; from which sessions it is, is said on the error stream."""
    done = run("show", "--errors")
    assert done.stdout.splitlines()[0].startswith("failed  ")
    shows(done.stdout, "FAILED", "NO RESULT")
    assert is_harmless(done.stdout)
    assert done.stderr.startswith("2 messages in 1 of 2 sessions, up to 2026-01-05 ")


@proof(quick=1)
@pytest.mark.parametrize("seed", range(3))
def test_they_are_the_same_without_a_catalogue(home: Path, seed: int) -> None:
    BusyHome(home, seed, damage=0.2).grow()
    assert shown("--all") == shown("--all", "--no-catalogue")


@pytest.mark.parametrize(
    "arguments",
    [[], ["--all"], ["--errors", "--turn", "1"]],
)
def test_one_session_or_many(arguments: list[str]) -> None:
    assert "many sessions" in " ".join(run("show", *arguments, code=2).output.split())


@pytest.mark.parametrize("filters", [["--all"], ["--errors", "--since", "1d"], ["--model", "opus"], ["-n", "1"]])
def test_a_filter_beside_a_session_is_an_error(filters: list[str]) -> None:
    assert "give it without SESSION or --last" in run("show", "failed", *filters, code=2).output


def test_an_unknown_tool_lists_those_that_there_are() -> None:
    assert "there are bash, grep" in run("show", "--errors", "--tool", "nothing", code=2).output


COMMAND = "for each in one two three four five six seven eight; do\n  echo $each of all of them; done; false"


@pytest.mark.parametrize("arguments", [["called"], ["--all"]], ids=["one", "many"])
def test_a_failed_call_has_its_command(arguments: list[str]) -> None:
    """All of its arguments in JSON, and in text what the head cuts; with --full every argument."""
    call = {"id": "a", "tool": "bash", "arguments": {"command": COMMAND, "timeout": 5}}
    write(log_of("called"), [MESSAGES[0], {"role": "assistant", "content": "", "tool_calls": [call]}, MESSAGES[2]])
    told = [json.loads(line) for line in run("show", *arguments, "--errors", "--json").stdout.splitlines()]
    assert {"command": COMMAND, "timeout": 5} in [one.get("arguments") for one in told]
    for full in ([], ["--full"]):
        shows(run("show", *arguments, "--errors", *full).stdout, "-> bash\n", "echo $each of all of them; done; false")


def test_a_short_command_stands_in_the_head_alone() -> None:
    call = {"id": "a", "tool": "bash", "arguments": {"command": "false", "timeout": 5}}
    write(log_of("called"), [MESSAGES[0], {"role": "assistant", "content": "", "tool_calls": [call]}, MESSAGES[2]])
    short, full = run("show", "called", "--errors").stdout, run("show", "called", "--errors", "--full").stdout
    shows(short, "tool bash false, of [2]")
    assert "timeout" not in short
    shows(full, "timeout: 5")
