"""Reasoning that a request leaves out is told of each request: by receipts, and under another policy."""

import json
from pathlib import Path

from click.testing import CliRunner

from amplifier_module_context_persistent.toolbox.cli.main import main
from amplifier_module_context_persistent.toolbox.replay import compare, open_transcript, requests
from tests.support.messages import Message, user
from tests.support.recorded_sessions import Recorded
from tests.support.sweeps import proof

FILLER = "The order keeps its total until it was acknowledged. " * 20


def reply(number: int) -> Message:
    """An answer with signed thinking."""
    thinking = {"type": "thinking", "thinking": f"thought {number}", "signature": f"s{number}"}
    return {"role": "assistant", "content": [thinking, {"type": "text", "text": f"said {number}"}]}


async def recorded(path: Path) -> Recorded:
    """A session whose system prompt changes once, after three answers of six."""
    session = Recorded(path, max_tokens=100_000, recipient="somebody")
    for number in range(6):
        await session.head("Be brief." if number < 3 else "Be long.")
        await session.add(user(f"Question {number}. {FILLER}"))
        await session.view()
        await session.add(reply(number))
    await session.manager.close()
    return session


async def test_receipts_say_what_was_left_out(tmp_path: Path) -> None:
    """For each request, in `views`, `view` and `stats`."""
    session = await recorded(tmp_path / "log.jsonl")
    with open_transcript(session.path) as transcript:
        assert [one.unbound for one in requests(transcript)] == [0, 0, 0, 3, 3, 3]
    run = CliRunner()
    rows = json.loads(run.invoke(main, ["views", str(session.path), "--json"]).output)["requests"]
    assert [row["unbound"] for row in rows] == [0, 0, 0, 3, 3, 3]
    assert "3 answers without reasoning" in run.invoke(main, ["view", str(session.path)]).output
    assert "without reasoning" not in run.invoke(main, ["view", str(session.path), "--request", "3"]).output
    found = json.loads(run.invoke(main, ["stats", str(session.path), "--json"]).output)
    assert found["views"]["unbound"] == 3
    assert "3 views left out reasoning" in run.invoke(main, ["stats", str(session.path)]).output


@proof
async def test_a_policy_is_told_by_the_requests_that_it_makes(tmp_path: Path) -> None:
    """Not by what was sent when the session was recorded: without plans and with one head all of it is valid."""
    session = await recorded(tmp_path / "log.jsonl")
    with open_transcript(session.path) as transcript:
        wide = compare(transcript, ["default"], budget_tokens=100_000, tokenizer="estimate")
        narrow = compare(transcript, ["default"], budget_tokens=1_300, tokenizer="estimate")
    assert wide.replayed[0].measures.unbound == 0
    assert narrow.replayed[0].measures.unbound > 0
    assert narrow.replayed[0].requests[-1].unbound > 0
