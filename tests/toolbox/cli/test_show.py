"""`context-persistent show`: all messages or some, by number, turn, role and tool."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.sessions.statistics import TurnLine
from amplifier_module_context_persistent.tokens.on_demand import named_counter
from amplifier_module_context_persistent.toolbox.cli.show import show_outline
from tests.support.commands import refused, run, shows
from tests.support.sessions_of_a_home import CONVERSATION, write
from tests.support.sweeps import proof
from tests.support.terminals import Terminal, posix


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A session of two turns."""
    return write(tmp_path / "log.jsonl")


def numbers(*arguments: Any) -> list[int]:
    return [json.loads(line)["number"] for line in run("show", *arguments, "--json").output.splitlines()]


def test_a_session_is_shown(path: Path) -> None:
    """Each message has a line with number, role, time and id; a turn's first one names the turn."""
    done = run("show", path)
    heads = [line for line in done.output.splitlines() if line.startswith("[")]
    assert heads == [
        "[1] system, turn 1  2026-01-05 09:00:00  msg-1",
        "[2] user  2026-01-05 09:00:00  msg-2",
        "[3] assistant  2026-01-05 09:00:00  msg-3",
        "[4] tool read_file src/total.py, of [3], 395 tokens  2026-01-05 09:00:00  msg-4",
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
        (["--tool", "Read_File"], [3, 4]),
        (["--tool", "read_file", "--turn", "2"], []),
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
    done = run("show", path, *asked, code=2)
    assert done.stdout == ""
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
    async with PersistentContextManager(tmp_path / "log.jsonl") as manager:
        await manager.add_message({"role": "user", "content": "before"})
        await manager.clear()
        done = run("show", tmp_path / "log.jsonl")
        assert (done.stdout, done.stderr) == ("", "no messages; a clear or a reset hides 1\n")
        await manager.add_message({"role": "user", "content": "after"})
    assert "before" not in run("show", tmp_path / "log.jsonl").output
    assert numbers(tmp_path / "log.jsonl") == [1]


def test_an_empty_log_has_nothing_to_show(tmp_path: Path) -> None:
    """That is no error, but a turn of it is."""
    (tmp_path / "log.jsonl").write_bytes(b"")
    assert run("show", tmp_path / "log.jsonl").stderr == "no messages\n"
    run("show", tmp_path / "log.jsonl", "--turn", ":")
    run("show", tmp_path / "log.jsonl", "--turn", "1", code=2)


def test_it_begins_before_all_is_read_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages are printed one by one: where the log changes meanwhile, what stood before it was printed."""
    from amplifier_module_context_persistent.log.reader import LogReader

    read = LogReader.read

    def failing(self: LogReader, ordinals: Any) -> Any:
        for place, message in enumerate(read(self, ordinals)):
            if place == 3:
                raise ValueError("the bytes changed")
            yield message

    monkeypatch.setattr(LogReader, "read", failing)
    done = run("show", path, code=2)
    assert done.stderr == "Error: the bytes changed\n"
    assert "I look at the" in done.stdout


def call(call_id: str, tool: str = "bash", **arguments: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": [{"id": call_id, "tool": tool, "arguments": arguments}]}


def result(call_id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def at(second: int, message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "metadata": {"timestamp": f"2026-01-05T09:00:{second:02}.500Z"}}


@pytest.fixture
def troubled(tmp_path: Path) -> Path:
    """A session with a failed call, a rejected one, one without a result, and a result without a call."""
    return write(
        tmp_path / "troubled.jsonl",
        [
            at(0, {"role": "user", "content": "\n  Fix it.\nPlease."}),
            at(1, call("a", command="make test\nmake lint")),
            at(4, result("a", "Error: 2 tests failed")),
            at(5, {"role": "user", "content": "Go on."}),
            at(6, call("b", path="a.py")),
            at(6, result("b", "The user rejected this call.")),
            at(7, call("c", "read", path="b.py")),
            at(7, result("elsewhere", "")),
            at(9, {"role": "user", "content": "And?"}),
        ],
    )


def test_a_result_says_what_it_answers_and_how_it_ended(troubled: Path) -> None:
    """The call's message, its main argument, how long it took, its tokens; failures, missing results and empty ones."""
    output = run("show", troubled).output
    assert re.search(
        r"^\[3\] tool bash make test\.\.\., of \[2\], 3\.0 s, \d+ tokens, FAILED  2026", output, re.MULTILINE
    )
    assert re.search(r"^\[6\] tool bash a\.py, of \[5\], \d+ tokens, REJECTED  2026", output, re.MULTILINE)
    shows(output, "-> read  c  NO RESULT\n", "[8] tool, of no call, ")
    assert output.count("(empty result)") == 1
    told = [json.loads(line) for line in run("show", troubled, "--json").output.splitlines()]
    assert (told[2]["answers"], told[2]["outcome"], told[2]["duration_s"]) == (2, "failed", 3.0)
    assert (told[7]["answers"], told[6]["open_calls"]) == (None, ["c"])
    assert "outcome" not in told[0]


def test_errors_alone(troubled: Path) -> None:
    """Results of calls that failed or were rejected, and messages whose calls have no result."""
    assert numbers(troubled, "--errors") == [3, 6, 7]
    assert numbers(troubled, "--errors", "--turn", "1") == [3]
    assert numbers(write(troubled.parent / "fine.jsonl"), "--errors") == []


def test_the_outline_has_a_line_for_each_turn(troubled: Path) -> None:
    """Number, time, duration, calls, errors (calls without a result too), tokens, and what the person wrote first."""
    rows = run("show", troubled, "--outline").output.splitlines()
    assert rows[0].split() == ["turn", "began", "took", "calls", "errors", "tokens", "first", "line"]
    first = rows[1].split()
    assert (first[:7], first[8:]) == (["1", "2026-01-05", "09:00", "4.0", "s", "1", "1"], ["Fix", "it."])
    assert rows[2].split()[5:7] == ["2", "2"]
    assert rows[3].rstrip().endswith("And?")
    told = [json.loads(line) for line in run("show", troubled, "--outline", "--json").output.splitlines()]
    assert [(row["first"], row["last"]) for row in told] == [(1, 3), (4, 8), (9, 9)]
    assert [(row["calls"], row["errors"], row["open_calls"]) for row in told] == [(1, 1, 0), (2, 1, 1), (0, 0, 0)]
    assert [row["duration_s"] for row in told] == [4.0, 2.0, 0.0]
    counter = named_counter("auto").name
    assert {row["tokenizer"] for row in told} == {counter}
    assert f"tokens are counted by: {counter}" in run("show", troubled, "--outline").stderr


def test_the_outline_of_some_turns_or_of_none(troubled: Path, tmp_path: Path) -> None:
    """With --turn the others are left out; an empty session has no line."""
    assert len(run("show", troubled, "--outline", "--turn", "-1").stdout.splitlines()) == 2
    first = run("show", troubled, "--outline", "--turn", "1", "--json").stdout.splitlines()
    assert [json.loads(line)["number"] for line in first] == [1]
    done = run("show", write(tmp_path / "empty.jsonl", []), "--outline")
    assert done.stdout == ""
    assert "no messages" in done.stderr


def test_the_outline_takes_no_filter(troubled: Path) -> None:
    """It is about whole turns."""
    run("show", troubled, "--outline", "--errors", code=2)


@pytest.mark.parametrize(
    "command",
    [["show"], ["show", "--json"], ["export"], ["export", "-o", "new"], ["report", "-o", "new"]],
    ids=" ".join,
)
def test_a_damaged_log_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    """On the error stream, with the command that tells more: what is shown may not be all. A sound log is not."""
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "damaged.jsonl")
    assert "verify" not in run(*command, path).stderr
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b"no record\n", *lines[3:], b"torn"]))
    done = run(*command, path, *["--force"] * ("new" in command), code=None)
    said = "damaged.jsonl: 1 finding of damage and a torn end of 4 bytes; `context-persistent verify` tells what and"
    assert said in done.stderr
    assert "Why is the total wrong?" in (done.stdout if "new" not in command else (tmp_path / "new").read_text())


@proof
@posix
def test_a_terminal_gets_a_pager(path: Path, tmp_path: Path) -> None:
    """The output goes through $PAGER, with colours; leaving it early is no failure, nor is a missing one."""
    copy = tmp_path / "copy"
    terminal = Terminal("show", str(path), PAGER=f"tee {copy}")
    assert terminal.end() == 0
    assert "It rounds too early." in terminal.shown
    assert copy.read_text(encoding="utf-8") == terminal.shown.replace("\r\n", "\n")
    assert "\x1b[" in terminal.shown
    large = write(tmp_path / "large.jsonl", [{"role": "user", "content": f"{number}"} for number in range(4_000)])
    assert Terminal("show", str(large), PAGER="head -n 1").end() == 0
    terminal = Terminal("show", str(path), PAGER="no-such-program-here")
    assert terminal.end() == 0
    assert "It rounds too early." in terminal.shown


@proof
@posix
def test_json_and_pipes_get_no_pager(path: Path, tmp_path: Path) -> None:
    """Programs read those."""
    copy = tmp_path / "copy"
    assert Terminal("show", str(path), "--json", PAGER=f"tee {copy}").end() == 0
    run("show", path, env={"PAGER": f"tee {copy}"})
    assert not copy.exists()


def test_an_unknown_tool_lists_those_that_there_are(path: Path, tmp_path: Path) -> None:
    """A name that was never called is a mistake, not an empty answer."""
    assert "no call of a tool 'bash'; there are read_file" in run("show", path, "--tool", "bash", code=2).stderr
    done = run("show", write(tmp_path / "quiet.jsonl", CONVERSATION[:1]), "--tool", "bash", code=2)
    assert "no tool was called" in done.stderr


LINES = [
    TurnLine(1, 1, 5, "2026-01-05T09:00:00Z", 4.0, "Fix it.", calls=1, tokens=1_200),
    TurnLine(2, 6, 9, "2026-01-05T09:10:00Z", 125.0, "\x1b[31mred " + "word " * 40, calls=12, errors=1, open_calls=1),
]


def printed(lines: list[TurnLine], *, width: int = 80, terminal: bool = False) -> list[str]:
    file = io.StringIO()
    show_outline(lines, Console(file=file, width=width, force_terminal=terminal, color_system=None))
    return file.getvalue().splitlines()


def test_columns_without_a_value_are_left_out() -> None:
    """A session without times and errors needs none for them."""
    head, *_ = printed([TurnLine(1, 1, 2, line="Hello.", calls=0, tokens=3)])
    assert head.split() == ["turn", "calls", "tokens", "first", "line"]
    assert printed([]) == []


def test_a_terminal_cuts_what_a_pipe_shows_whole() -> None:
    """And marks it."""
    for width in (80, 120):
        rows = printed(LINES, width=width, terminal=True)
        assert max(map(len, rows)) <= width
        assert rows[2].rstrip().endswith("...")
    assert ("word " * 40).strip() in printed(LINES)[2]


def test_the_filter_for_failed_sessions_is_not_taken_for_failed_calls(tmp_path: Path) -> None:
    write(tmp_path / "log", CONVERSATION)
    assert "--errors shows the failed calls of one" in refused("show", tmp_path / "log", "--failed")
