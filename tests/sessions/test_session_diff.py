"""Where two sessions part, and what each did since."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.commands import refused, run, shows
from tests.support.sessions_of_a_home import CONVERSATION, log_of, write

pytestmark = pytest.mark.usefixtures("project")


def edited(path: str) -> list[dict[str, Any]]:
    call = {
        "id": f"edit {path}",
        "tool": "Edit",
        "arguments": {"file_path": path, "old_string": "a", "new_string": "b"},
    }
    paid = {"model": "claude-opus-4-5-20251101", "usage": {"input_tokens": 100_000, "output_tokens": 0}}
    return [
        {"role": "user", "content": f"Now {path}."},
        {"role": "assistant", "content": "", "tool_calls": [call], "metadata": paid},
        {"role": "tool", "tool_call_id": f"edit {path}", "content": "done"},
    ]


def test_two_sessions_part() -> None:
    """After what both have; each with its turns, calls, files and cost since."""
    write(log_of("one"), [*CONVERSATION[:5], *edited("a.py")])
    write(log_of("two"), [*CONVERSATION[:5], *edited("b.py"), *edited("c.py")])
    told = json.loads(run("diff", "one", "two", "--json").stdout)
    assert (told["common_messages"], told["common_turns"]) == (5, 1)
    assert [told[one]["files"] for one in ("one", "other")] == [
        {"a.py": ["changed"]},
        {"b.py": ["changed"], "c.py": ["changed"]},
    ]
    assert [(told[one]["turns"], told[one]["calls"]) for one in ("one", "other")] == [([2], 1), ([2, 3], 2)]
    assert [round(told[one]["cost"], 2) for one in ("one", "other")] == [0.5, 1.0]
    shows(
        run("diff", "one", "two").stdout,
        "The first 5 messages are the same, up to turn 1.",
        "turn 3: Now c.py.",
        "$1.00",
    )
    assert "the same" in run("diff", "one", "one", code=1).stdout
    write(log_of("three"), [CONVERSATION[0], *edited("d.py")])
    assert run("diff", "one", "three").stdout.startswith("The first message is the same.\n")


def test_a_cost_that_nobody_knows_is_no_zero() -> None:
    paid = {"model": "no-such-model", "usage": {"input_tokens": 100_000, "output_tokens": 10}}
    write(log_of("one"), CONVERSATION[:5])
    asked: list[dict[str, Any]] = [
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": "So.", "metadata": paid},
    ]
    write(log_of("two"), [*CONVERSATION[:5], *asked])
    told = json.loads(run("diff", "one", "two", "--json").stdout)
    assert [told[one]["cost"] for one in ("one", "other")] == [0.0, None]
    assert "cost not known" in run("diff", "one", "two").stdout


def test_a_fork_and_its_origin() -> None:
    """The origin need not be named; a session that is no fork says so."""
    write(log_of("one"))
    run("fork", "one", "--at", "1", "--session", "forked")
    told = json.loads(run("diff", "forked", "--json").stdout)
    assert (told["common_messages"], told["one"]["messages"], told["other"]["messages"]) == (5, 0, 2)
    assert "it was not forked from another session" in refused("diff", "one")
    run("delete", "one", "--yes")
    shows(refused("diff", "forked"), "forked: it was forked from one, which is not here any more")


def test_sessions_without_a_common_beginning() -> None:
    write(log_of("one"), edited("a.py"))
    write(log_of("two"), edited("b.py"))
    shows(run("diff", "one", "two").stdout, "Their first messages differ", "Now b.py.")
