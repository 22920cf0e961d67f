"""`context-persistent show`: all messages or some, by number, turn, role and tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from tests.support.sessions_of_a_home import CONVERSATION, run, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A session of two turns."""
    return write(tmp_path / "log.jsonl")


def numbers(*arguments: Any) -> list[int]:
    done = run("show", *arguments, "--json")
    assert done.exit_code == 0, done.output
    return [json.loads(line)["number"] for line in done.output.splitlines()]


def test_a_session_is_shown(path: Path) -> None:
    """Each message has a line with number, role, time and id; a turn's first one names the turn."""
    done = run("show", path)
    assert done.exit_code == 0, done.output
    heads = [line for line in done.output.splitlines() if line.startswith("[")]
    assert heads == [
        "[1] system, turn 1  2026-01-05 09:00:00  msg-1",
        "[2] user  2026-01-05 09:00:00  msg-2",
        "[3] assistant  2026-01-05 09:00:00  msg-3",
        "[4] tool read_file  2026-01-05 09:00:00  msg-4",
        "[5] assistant  2026-01-05 09:00:00  msg-5",
        "[6] user, turn 2  2026-01-05 09:00:00  msg-6",
        "[7] assistant  2026-01-05 09:00:00  msg-7",
    ]
    assert "I look at the **code**.\n-> read_file  call-1\n    path: src/total.py\n" in done.output
    assert max(map(len, done.output.splitlines())) <= 80


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ([], [1, 2, 3, 4, 5, 6, 7]),
        (["--range", "3"], [3]),
        (["--range", "-1"], [7]),
        (["--range", "2:4"], [2, 3, 4]),
        (["--range", "6:"], [6, 7]),
        (["--range", ":2"], [1, 2]),
        (["--range", "-2:"], [6, 7]),
        (["--range", "-99:-6"], [1, 2]),
        (["--range", "5:99"], [5, 6, 7]),
        (["--range", ":"], [1, 2, 3, 4, 5, 6, 7]),
        (["--turn", "1"], [1, 2, 3, 4, 5]),
        (["--turn", "-1"], [6, 7]),
        (["--turn", "-99:-2"], [1, 2, 3, 4, 5]),
        (["--turn", "1:2"], [1, 2, 3, 4, 5, 6, 7]),
        (["--role", "user"], [2, 6]),
        (["--tool", "read_file"], [3, 4]),
        (["--tool", "bash"], []),
        (["--role", "tool", "--tool", "read_file", "--turn", "1"], [4]),
        (["--turn", "2", "--role", "tool"], []),
    ],
)
def test_a_part_is_shown(path: Path, asked: list[str], shown: list[int]) -> None:
    """Ranges hold both ends, count from 1 or from the end, and may reach beyond the ends."""
    assert numbers(path, *asked) == shown


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--turn", "3"], "there is no turn 3: the session has 2"),
        (["--range", "8"], "there is no message 8: the session has 7"),
        (["--range", "-8"], "there is no message -8: the session has 7"),
        (["--range", "8:9"], "there is no message 8:9: the session has 7"),
        (["--range", "5:3"], "there is no message 5:3: the session has 7"),
        (["--range", ":-8"], "there is no message :-8: the session has 7"),
        (["--range", "0"], "numbers begin at 1"),
        (["--range", ""], "numbers begin at 1"),
        (["--range", "1-3"], "numbers begin at 1"),
        (["--range", "9" * 40], "numbers begin at 1"),
        (["--turn", "x"], "numbers begin at 1"),
        (["--turn", "1", "--range", "1"], "either --turn or --range"),
        (["--role", "human"], "'human' is not one of"),
    ],
)
def test_what_is_not_there_is_an_error_that_says_what_is(path: Path, asked: list[str], said: str) -> None:
    """Nothing is printed, and the exit code is 2."""
    done = run("show", path, *asked)
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_json_lines_hold_the_messages(path: Path) -> None:
    """One a message: its number, its tools and the message as it is stored."""
    done = run("show", path, "--range", "3:4", "--json")
    calling, result = map(json.loads, done.output.splitlines())
    assert (calling["number"], calling["tools"], calling["message"]["tool_calls"]) == (
        3,
        ["read_file"],
        CONVERSATION[2]["tool_calls"],
    )
    assert (result["tools"], result["message"]["content"]) == (["read_file"], CONVERSATION[3]["content"])
    assert done.output.isascii()


async def test_only_the_live_history_is_shown(tmp_path: Path) -> None:
    """What was cleared is not; where nothing is left it is said how much is hidden."""
    manager = PersistentContextManager(tmp_path / "log.jsonl")
    await manager.add_message({"role": "user", "content": "before"})
    await manager.clear()
    done = run("show", tmp_path / "log.jsonl")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "no messages; a clear or a reset hides 1\n"
    await manager.add_message({"role": "user", "content": "behind"})
    await manager.close()
    assert "before" not in run("show", tmp_path / "log.jsonl").output
    assert numbers(tmp_path / "log.jsonl") == [1]


def test_an_empty_log_has_nothing_to_show(tmp_path: Path) -> None:
    """That is no error, but a turn of it is."""
    (tmp_path / "log.jsonl").write_bytes(b"")
    assert run("show", tmp_path / "log.jsonl").stderr == "no messages\n"
    assert run("show", tmp_path / "log.jsonl", "--turn", ":").exit_code == 0
    assert run("show", tmp_path / "log.jsonl", "--turn", "1").exit_code == 2


def test_it_begins_before_all_is_read_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages are printed one by one: where the log changes meanwhile, what stood before it was printed."""
    from amplifier_module_context_persistent.transcript.transcript import LogReader

    read = LogReader.read

    def failing(self: LogReader, ordinals: Any) -> Any:
        for place, message in enumerate(read(self, ordinals)):
            if place == 3:
                raise ValueError("the bytes changed")
            yield message

    monkeypatch.setattr(LogReader, "read", failing)
    done = run("show", path)
    assert (done.exit_code, done.stderr) == (2, "Error: the bytes changed\n")
    assert "I look at the" in done.stdout
