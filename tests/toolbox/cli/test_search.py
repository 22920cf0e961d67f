"""`context-persistent search`: what is found where, and how it is told."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.catalogue.session_list_cache import Glances
from amplifier_module_context_persistent.paths import project_slug
from tests.support.commands import refused, run
from tests.support.sessions_of_a_home import CONVERSATION, TERMINAL, log_of, stamp_of, write


@pytest.fixture(autouse=True)
def project(project: Path) -> Path:
    """Two sessions of this project, the one of the conversation being the older one, and one of another project."""
    write(log_of("talk"))
    write(log_of("short"), [{"role": "user", "content": "The total again."}])
    write(log_of("far", "../other"), [{"role": "user", "content": "Another total."}])
    for age, log in enumerate([log_of("far", "../other"), log_of("short"), log_of("talk")], 1):
        os.utime(log, (10_000 - age, 10_000 - age))
    return project


def found(*arguments: Any) -> list[tuple[str, int]]:
    """The sessions and numbers of the messages that are found."""
    done = run("search", *arguments, "--json", code=None)
    assert done.exit_code in (0, 1), done.output
    assert (done.exit_code == 0) == bool(done.output)
    return [(one["session"], one["number"]) for one in map(json.loads, done.output.splitlines())]


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["total"], [("short", 1), ("talk", 2), ("talk", 3)]),
        (["total", "--all"], [("far", 1), ("short", 1), ("talk", 2), ("talk", 3)]),
        (["total", "--last"], [("short", 1)]),
        (["total", "talk"], [("talk", 2), ("talk", 3)]),
        (["total", "talk", "short", "talk"], [("talk", 2), ("talk", 3), ("short", 1)]),
        (["TOTAL"], []),
        (["TOTAL", "-i"], [("short", 1), ("talk", 2), ("talk", 3)]),
        (["t.tal"], [("short", 1), ("talk", 2), ("talk", 3)]),
        (["-F", "t.tal"], []),
        (["-F", "**code**."], [("talk", 3)]),
        (["-F", "-i", "BE BRIEF."], [("talk", 1)]),
        (["^And"], [("talk", 6)]),
        (["total", "--role", "user"], [("short", 1), ("talk", 2)]),
        (["line 1$", "--tool", "read_file"], [("talk", 4)]),
        (["total", "--tool", "read_file"], [("talk", 3)]),
        (["total", "--tool", "Read_FILE"], [("talk", 3)]),
        (["code", "--tool", "read_file"], []),  # beside the call, not in it
        (["-F", "path: src/total.py"], [("talk", 3)]),  # as `show` prints it
        (["msg-3"], []),
        (["-w", "TOTAL wrong"], [("talk", 2)]),
        (["-w", '"one cent" tot*'], [("talk", 2)]),
        (["-w", "tot"], []),
    ],
)
def test_messages_are_found(arguments: list[str], messages: list[tuple[str, int]]) -> None:
    """By expression or text, case, role and tool, in this project's sessions or others; ids are not searched."""
    assert found(*arguments) == messages


def test_matches_are_shown_with_their_lines() -> None:
    """Below the message's head each line with its number, and around it as many as are asked for."""
    done = run("search", "line 50$", "talk", "-C", "1")
    assert done.output == (
        "[4] tool read_file src/total.py, of [3]  2026-01-05 09:00:00  msg-4\n"
        "   49- line 49\n   50: line 50\n   51- line 51\n"
    )
    gap = run("search", "line [15]0$", "talk")
    assert gap.output.splitlines()[1:] == ["   10: line 10", "   --", "   50: line 50"]


def test_sessions_are_named_where_there_are_several() -> None:
    """Each before what was found in it."""
    lines = run("search", "total").output.splitlines()
    assert (lines[0], lines[4]) == ("short", "talk")
    assert [line for line in lines if not line.startswith((" ", "["))] == ["short", "", "talk", ""]
    assert max(map(len, lines)) <= 80


def test_matches_stand_out_in_a_terminal() -> None:
    """They are bold there, under NO_COLOR too, and nothing is added in a pipe."""
    assert "\x1b[1;31mtotal\x1b[0m" in run("search", "total", "short", env=TERMINAL).output
    assert "\x1b[1mtotal\x1b[0m" in run("search", "total", "short", env={**TERMINAL, "NO_COLOR": "1"}).output
    assert "\x1b" not in run("search", "total", "short").output


def test_only_sessions_or_counts() -> None:
    """`-l` names the sessions with date, project and title, `-c` counts the lines; one without any is not named."""
    listed = [line.split("\t") for line in run("search", "o", "-l").output.splitlines()]
    assert [cells[0] for cells in listed] == ["short", "talk"]
    assert [cells[2:] for cells in listed][1] == [project_slug("."), "Why is the total wrong?"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", listed[1][1])
    assert run("search", "o", "-l", "--no-catalogue").output == run("search", "o", "-l").output
    assert run("search", "refunds|rounds", "-c").output == "talk: 2\n"
    assert run("search", "line", "-c", "talk").output == "talk: 100\n"
    told = [json.loads(line) for line in run("search", "total", "-c", "--json").output.splitlines()]
    assert [(one["session"], one["lines"]) for one in told] == [("short", 1), ("talk", 2)]
    told = [json.loads(line) for line in run("search", "total", "-l", "--json").output.splitlines()]
    assert [(one["session"], one["path"]) for one in told] == [(name, str(log_of(name))) for name in ("short", "talk")]
    assert told[1]["first_line"] == "Why is the total wrong?"


def test_json_lines_say_where() -> None:
    """Which message of which session, and in each line the places of the matches, in characters."""
    done = run("search", "-F", "line 50", "talk", "--json")
    (told,) = map(json.loads, done.output.splitlines())
    assert told == {
        "session": "talk",
        "name": "",
        "path": str(log_of("talk")),
        "number": 4,
        "role": "tool",
        "tools": ["read_file"],
        "time": stamp_of(log_of("talk")),
        "id": "msg-4",
        "lines": [{"line": 50, "text": "line 50", "spans": [[0, 7]]}],
    }


def test_a_long_line_is_cut_around_the_match() -> None:
    """What is left out on either side is marked; JSON has the whole line."""
    write(log_of("long"), [{"role": "user", "content": "x" * 5_000 + "NEEDLE" + "y" * 5_000}])
    line = run("search", "NEEDLE", "long").output.splitlines()[1]
    assert line == f"    1: ...{'x' * 100}NEEDLE{'y' * 194}..."
    (told,) = map(json.loads, run("search", "NEEDLE", "long", "--json").output.splitlines())
    assert told["lines"][0]["spans"] == [[5_000, 5_006]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["("], "not a regular expression"),
        (["[[]x"], "ambiguous: Possible nested set at position 1; put a backslash"),
        (["(?:a{999}){999}"], "its counted repeats"),
        (["(a)\\2"], "not a regular expression"),
        (["x" * 300], "at most 200 characters"),
        ([""], "PATTERN is empty"),
        (["-w", "..."], "it holds no word"),
        (["-w", "-F", "a"], "one of --fixed and --words"),
        (["a", "--all", "--last"], "give it without SESSION or --last"),
        (["a", "talk", "--last"], "give either SESSION or --last"),
        (["a", "nobody"], "no such file or session"),
        (["a", "--role", "human"], "'human' is not one of"),
        (["a", "-C", "-1"], "-C"),
    ],
)
def test_what_cannot_be_searched_is_an_error(arguments: list[str], said: str) -> None:
    """It says why and what to do; the exit code is 2."""
    done = run("search", *arguments, code=2)
    assert done.stdout == ""
    assert said in done.stderr


@pytest.mark.parametrize("pattern", ["(", "(a+)+$", "x" * 300])
def test_a_text_may_be_anything(pattern: str) -> None:
    """With `--fixed` nothing is refused."""
    write(log_of("odd"), [{"role": "user", "content": f"here: {pattern}"}])
    assert found("-F", pattern, "odd") == [("odd", 1)]


def test_one_log_that_cannot_be_read_does_not_hide_the_others() -> None:
    """They are searched, the error is told, and the exit code is 2."""
    log_of("broken").mkdir(parents=True)
    done = run("search", "total", code=2)
    assert "talk" in done.stdout
    assert "it is a directory" in done.stderr


def test_without_sessions_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That is an error, as nothing was searched."""
    (tmp_path / "new").mkdir()
    monkeypatch.chdir(tmp_path / "new")
    for arguments in ([], ["--last"]):
        done = run("search", "a", *arguments, code=2)
        assert done.stdout == ""
        assert "this project has no session" in done.stderr


def test_damaged_lines_are_searched_too() -> None:
    """Those that fail their checksums, and those that another program wrote in its own way."""
    lines = write(log_of("odd"), CONVERSATION[:2]).read_bytes()
    escaped = b'{"role": "user", "content": "d\\u0069fferent"}\n'
    log_of("odd").write_bytes(lines.replace(b"one cent", b"two cent") + escaped)
    assert found("two cent", "odd") == [("odd", 2)]
    assert found("different", "odd") == [("odd", 3)]


def test_an_unknown_tool_lists_those_that_there_are() -> None:
    """Of the sessions that were searched."""
    done = run("search", "total", "--tool", "bash", code=2)
    assert "no call of a tool 'bash'; there are read_file" in done.stderr


def test_names_that_were_read_are_kept_for_the_next_search() -> None:
    """So the next one does not read the logs for them."""
    for name in ("one", "two"):
        write(log_of(name), [{"role": "user", "content": "refund " + "word " * 5_000}] * 4)
        log_of(name).chmod(0o600)
    run("rename", "one", "The rounding bug")
    assert run("search", "refund").stdout.count("The rounding bug") == 1
    assert [Glances().of(str(log_of(name))) is not None for name in ("one", "two")] == [True, True]


@pytest.mark.parametrize("pattern", ["^", "$", r"\b", "(?=total)", "^$"])
@pytest.mark.parametrize("options", [["-c"], ["-l"], []], ids=" ".join)
def test_an_expression_that_matches_no_character_is_refused(pattern: str, options: list[str]) -> None:
    """It would find nothing in any message; `.` finds each line."""
    write(log_of("one"))
    assert "matches no character; `.` matches each line" in refused("search", *options, pattern)
    assert run("search", "-c", ".", "one").stdout != ""
