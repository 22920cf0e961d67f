"""A block that nobody knows yet, in sessions that are played again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from amplifier_module_context_persistent import to_anthropic, to_openai
from amplifier_module_context_persistent.toolbox.replay import compare, open_transcript, requests
from tests.support.messages import Message, user
from tests.support.replays import BUDGET, record
from tests.support.sweeps import proof

TOMORROW: Message = {"type": "hologram", "points": "QUJD" * 400}


def session() -> list[Message]:
    """Turns whose answers and results have such a block."""
    messages: list[Message] = []
    for turn in range(12):
        asked = {"type": "tool_use", "id": f"t{turn}", "name": "ls", "input": {"n": turn}}
        given = [{"type": "text", "text": "row " * 200}, TOMORROW]
        messages += [
            user(f"turn {turn}: " + "and so on " * 100),
            {"role": "assistant", "content": [{"type": "text", "text": "Look:"}, TOMORROW, asked]},
            user([{"type": "tool_result", "tool_use_id": f"t{turn}", "content": given}]),
            {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        ]
    return messages


@proof
async def test_views_are_given_back_with_it(tmp_path: Path) -> None:
    """Proved; it goes back to its maker unaltered, and another model gets a line about it."""
    views = await record(tmp_path / "log.jsonl", session())
    with open_transcript(tmp_path / "log.jsonl") as transcript:
        seen = list(requests(transcript))
    assert [one.view for one in seen] == views
    assert all(one.proof.is_proved for one in seen)
    for one in seen[1:]:
        blocks = [
            block for message in to_anthropic(one.view or (), cache=False)["messages"] for block in message["content"]
        ]
        assert TOMORROW in blocks
        other = json.dumps(to_openai(one.view or ()))
        assert "QUJDQUJD" not in other
        assert "[hologram: 1,6" in other


@proof(quick=1)
@pytest.mark.parametrize("policy", ["none", "default", "truncate", "sliding"])
async def test_policies_play_it(policy: str, tmp_path: Path) -> None:
    """Every request is counted, none is refused."""
    views = await record(tmp_path / "log.jsonl", session())
    with open_transcript(tmp_path / "log.jsonl") as transcript:
        (played,) = compare(transcript, [policy], budget_tokens=BUDGET, tokenizer="estimate").replayed
    assert played.measures.requests == len(views)
    assert played.measures.refused == 0
    assert policy == "none" or played.measures.over == 0
