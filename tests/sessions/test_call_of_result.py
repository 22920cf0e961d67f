"""Which call a result answers, how long it took, and which calls have no result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.messages.metadata import REPAIR_SOURCE
from amplifier_module_context_persistent.search.tool_names import NEAR
from amplifier_module_context_persistent.sessions.call_of_result import subject_of
from amplifier_module_context_persistent.sessions.statistics import outline
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.toolbox.report.write_report import report
from tests.support.commands import run
from tests.support.counted_sessions import collect
from tests.support.pages import read_page
from tests.support.sessions_of_a_home import write


def call(*call_ids: str) -> dict[str, Any]:
    calls = [{"id": call_id, "tool": "bash", "arguments": {"command": call_id}} for call_id in call_ids]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def result(call_id: str, role: str = "tool") -> dict[str, Any]:
    return {"role": role, "tool_call_id": call_id, "content": "done"}


def pairs(path: Path, messages: list[dict[str, Any]]) -> list[Any]:
    """For each message: of a result the number of its call's message, of a call its ids without a result."""
    with Transcript(write(path / "log.jsonl", messages)) as transcript:
        found: list[Any] = []
        for placed in transcript.placed():
            if placed.call_outcome is None:
                found.append(sorted(placed.open_calls))
            else:
                found.append(placed.call_outcome.call.number if placed.call_outcome.call is not None else None)
        return found


def test_parallel_calls_and_results_are_paired(tmp_path: Path) -> None:
    """In any order, also where a message stands between, and by both roles of results."""
    messages = [call("a", "b"), result("b", "function"), {"role": "user", "content": "hm"}, result("a")]
    assert pairs(tmp_path, messages) == [[], 1, [], 1]


def test_the_newest_call_with_an_id_is_meant(tmp_path: Path) -> None:
    """Providers use ids again."""
    assert pairs(tmp_path, [call("a"), result("a"), call("a"), result("a"), call("a")]) == [[], 1, [], 3, ["a"]]


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    """A result without a call, a call without a result, and a pair that is too far apart."""
    talk = [{"role": "user", "content": str(number)} for number in range(NEAR)]
    assert pairs(tmp_path, [result("x"), call("y")]) == [None, ["y"]]
    far = pairs(tmp_path, [call("a"), *talk, result("a")])
    assert (far[0], far[-1]) == (["a"], None)


@pytest.mark.parametrize(
    ("arguments", "subject"),
    [
        ('{"note": "x", "path": "src/a.py"}', "src/a.py"),
        ('{"other": "what it says"}', "what it says"),
        ('{"command": "make\\nmake test"}', "make..."),
        ('{"command": "%s"}' % ("x" * 100), "x" * 60 + "..."),
        ('{"count": 3, "path": ["a"]}', ""),
        ('{"path": "  "}', ""),
        ("[1]", ""),
        ("no JSON", ""),
        ("[" * 100_000, ""),
    ],
)
def test_a_calls_subject_is_its_main_argument(arguments: str, subject: str) -> None:
    """A path, a command or the first text; one line, and not a long one."""
    assert subject_of(arguments) == subject


def ran(number: int, command: str, result: str) -> list[dict[str, Any]]:
    call = {"id": f"c{number}", "tool": "bash", "arguments": {"command": command}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


MESSAGES = [
    {"role": "user", "content": "go"},
    *ran(0, "cd src && grep -rn name .", "Command exited with code 1"),
    *ran(1, "make", "exit code: 1"),
    *ran(2, "diff a b", "diff: b: No such file or directory\nexit code: 2"),
    *ran(3, "diff a c", '{"stdout": "1c1", "returncode": 1}'),
    {"role": "tool", "tool_call_id": "gone", "content": "exit code: 1"},
]


def test_a_search_that_finds_nothing_did_not_fail(tmp_path: Path) -> None:
    """Nor did a comparison that finds a difference; exit code 1 of anything else, or without its call, is a failure."""
    path = write(tmp_path / "log.jsonl", MESSAGES)
    with Transcript(path) as transcript:
        failed = [bool(placed.call_outcome and placed.call_outcome.is_error) for placed in transcript.placed()]
        assert [place for place, is_failed in enumerate(failed) if is_failed] == [4, 6, 9]
        (line,) = outline(transcript, EstimateCounter())
        assert line.errors == 3
        statistics = collect(transcript.reader, EstimateCounter())
        assert {name: tool.errors for name, tool in statistics.tools.items()} == {"bash": 2, "unknown": 1}
        report(transcript, tmp_path / "page.html")
    assert read_page(tmp_path / "page.html").head["history"]["calls"]["state"] == ".ff."
    (listed,) = json.loads(run("list", "--long", "--json", path.parent).output)["sessions"]
    assert listed["failed_calls"] == 3


def test_a_call_is_found_as_far_as_it_is_looked_for(tmp_path: Path) -> None:
    """From both sides alike."""
    talk = [{"role": "user", "content": str(number)} for number in range(NEAR - 1)]
    found = pairs(tmp_path, [call("a"), *talk, result("a")])
    assert (found[0], found[-1]) == ([], 1)


def test_a_hosts_repair_says_nothing_of_how_long_a_call_took(tmp_path: Path) -> None:
    """It was written when the session was resumed."""
    called = {**call("a"), "metadata": {"timestamp": "2026-01-01T10:00:00+00:00"}}
    for source, duration_s in (("", 172_800.0), (REPAIR_SOURCE, None)):
        ending = {**result("a"), "metadata": {"timestamp": "2026-01-03T10:00:00+00:00", "source": source}}
        with Transcript(write(tmp_path / f"{source}log.jsonl", [called, ending])) as transcript:
            (found,) = [placed.call_outcome for placed in transcript.placed() if placed.call_outcome is not None]
        assert found.duration_s == duration_s
