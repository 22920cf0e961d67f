"""How `context-persistent view` prints a view, and what differs from the one before."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.commands import run, shows
from tests.support.messages import user
from tests.support.recorded_sessions import Recorded


@pytest.fixture
async def compacted(tmp_path: Path) -> Recorded:
    """A request before a clear, and two after it with a compaction between them."""
    recorded = Recorded(tmp_path / "compacted.jsonl", max_tokens=3_000, tokenizer="estimate")
    call = {"id": "c1", "tool": "bash", "arguments": {"command": "make"}}
    asked = {"role": "assistant", "content": "", "tool_calls": [{**call, "arguments": {"command": "ls"}}]}
    await recorded.add(user("before the clear"), asked, {"role": "tool", "tool_call_id": "c1", "content": "a.c"})
    await recorded.view()
    await recorded.manager.clear()
    await recorded.add(
        user("Build it."),
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "line\n" * 800},
        {"role": "assistant", "content": "It is built."},
    )
    await recorded.view()
    await recorded.add(*(user(f"question {number} " + "word " * 60) for number in range(20)))
    await recorded.view()
    await recorded.manager.close()
    return recorded


async def test_a_view_is_rendered(compacted: Recorded) -> None:
    """Messages as `show` prints them, with their numbers; what is shortened or left out is marked in its place."""
    assert "[3] tool bash ls, of [2], " in run("view", compacted.path, "--request", "1").output  # of its history
    before = run("view", compacted.path, "--request", "2").output
    assert "[3] tool bash make, of [2], " in before
    assert "ELIDED" not in before
    assert "dropped" not in before
    after = run("view", compacted.path).output
    marked = [line for line in after.splitlines() if "ELIDED: " in line or line.startswith("---")]
    assert marked, after
    told = json.loads(run("view", compacted.path, "--json").output)
    heads = re.findall(r"^\[(?:\+|\d+)\] ", after, re.MULTILINE)
    assert len(heads) == len(told["messages"])


async def test_what_compaction_put_in_is_told_from_what_was_said(tmp_path: Path) -> None:
    """It has no number of the history."""
    recorded = Recorded(tmp_path / "dropped.jsonl", max_tokens=3_000, tokenizer="estimate")
    for number in range(80):
        answer = {"role": "assistant", "content": f"answer {number} " + "word " * 60}
        await recorded.add(user(f"question {number}"), answer)
    await recorded.view()
    await recorded.manager.close()
    output = run("view", recorded.path).output
    assert re.search(r"^\[\+\] user.*, INSERTED", output, re.MULTILINE), output
    assert "left out" in output


async def test_every_message_of_the_history_is_shown_or_named(compacted: Recorded) -> None:
    """The numbers of what is shown and of what is left out are together those of the history."""
    output = run("view", compacted.path).output
    numbers = [int(number) for number in re.findall(r"^\[(\d+)\] ", output, re.MULTILINE)]
    for first, last in re.findall(r"^--- .*: \[(\d+)\](?: to \[(\d+)\])? ---$", output, re.MULTILINE):
        numbers += range(int(first), int(last or first) + 1)
    assert sorted(numbers) == list(range(1, 25))


async def test_a_difference_shows_what_changed_alone(compacted: Recorded) -> None:
    """New messages, newly shortened ones and what was left out; nothing of what stayed."""
    output = run("view", compacted.path, "--diff").output
    shows(output, "beginning of the view", "question 19")
    assert "It is built." not in output or "newly dropped" in output
    first = run("view", compacted.path, "--request", "1", "--diff").output
    shows(first, "there is no request before this one", "before the clear")


async def test_a_difference_from_a_view_that_left_messages_out_shows_what_is_new(tmp_path: Path) -> None:
    """What both of them leave out is not told again."""
    recorded = Recorded(tmp_path / "dropped.jsonl", max_tokens=3_000, tokenizer="estimate")
    for number in range(80):
        await recorded.add(user(f"question {number} " + "word " * 60), {"role": "assistant", "content": "Yes."})
    await recorded.view()
    await recorded.add(user("Is that all?"))
    await recorded.view()
    await recorded.manager.close()
    assert "left out" in run("view", recorded.path).output
    shown = run("view", recorded.path, "--diff").output
    shows(shown, "at the beginning of the view are the same", "Is that all?")
    assert "newly" not in shown
    assert "question 79" not in shown


async def test_it_says_why_a_message_is_shown(compacted: Recorded) -> None:
    """By the promise that holds it; an id that nothing has is an error."""
    first = json.loads(run("view", compacted.path, "--json").output)["messages"][0]
    asked = first["metadata"]["message_id"]
    said = run("view", compacted.path, "--why", asked).output
    assert "Shown: first message. The first person's message stays whole up to a quarter of the room" in said
    assert json.loads(run("view", compacted.path, "--why", asked, "--json").output)["why"] == said.splitlines()
    unknown = run("view", compacted.path, "--why", "nobody", code=2)
    assert "no message of the history has the id nobody" in unknown.stderr
