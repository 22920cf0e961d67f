"""Which call a result answers, how long it took, and which calls have no result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.transcript.calls import NEAR, subject_of
from amplifier_module_context_persistent.transcript.transcript import Transcript
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
            if placed.ending is None:
                found.append(sorted(placed.open_calls))
            else:
                found.append(placed.ending.call.number if placed.ending.call is not None else None)
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
