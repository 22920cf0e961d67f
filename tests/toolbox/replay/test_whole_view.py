"""The view of a whole history in sums: what making each view would give, with little of the history held."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.tokens.counter import EstimateCounter, count_message
from amplifier_module_context_persistent.toolbox.replay import open_transcript, play_session, replay
from amplifier_module_context_persistent.toolbox.replay.play_session import WholeView
from amplifier_module_context_persistent.toolbox.replay.policies import POLICIES
from tests.support.replays import plain
from tests.support.sweeps import proof

BUDGET = 4_000


def interrupted() -> list[dict[str, Any]]:
    """A session in which calls were interrupted, for good and until later, and ids were used twice."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for number in range(6):
        call = {"id": f"call_{number % 2}", "tool": "bash", "arguments": {"x": number}}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        if number != 2:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": f"result {number}"})
        if number in (2, 4):
            messages.append({"role": "user", "content": f"what now? {number}"})
    messages.append({"role": "assistant", "content": "  "})
    messages.append({"role": "assistant", "content": "so far, and more"})
    messages.append({"role": "assistant", "content": "", "tool_calls": [{"id": "x", "tool": "bash", "arguments": {}}]})
    messages.append({"role": "tool", "tool_call_id": "x", "content": "last"})
    messages.append({"role": "assistant", "content": "done"})
    return messages


@proof(quick=4)
@pytest.mark.parametrize("at_once", [1, 2, 5, 256])
@pytest.mark.parametrize("late", [False, True])
def test_sending_everything_is_measured_alike_both_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bool, at_once: int
) -> None:
    """The short way to measure `none` gives what making each of its views gives, however few are looked at together."""
    monkeypatch.setattr(play_session, "_AT_ONCE", at_once)
    messages = interrupted()
    if late:
        messages[8], messages[9] = messages[9], messages[8]
    with open_transcript(plain(tmp_path / "plain.jsonl", messages)) as transcript:
        short = replay(transcript, "none", budget_tokens=BUDGET, tokenizer="estimate")
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(POLICIES, "none", type("Slow", (POLICIES["none"],), {}))
            made = replay(transcript, "none", budget_tokens=BUDGET, tokenizer="estimate")
    assert short.requests == made.requests
    assert short.measures.inserted_tokens == made.measures.inserted_tokens > 0


def sums(messages: list[dict[str, Any]]) -> WholeView | None:
    counter = EstimateCounter()
    return WholeView.of(
        [{**message, "metadata": {"message_id": f"m{at}"}} for at, message in enumerate(messages)],
        counter,
        lambda message, _known: (count_message(message, counter), 0),
    )


@pytest.mark.parametrize("at_once", [1, 3, 256])
def test_sums_reach_to_each_request(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """What comes before it makes the view of it; a call that was interrupted has its stand-in there."""
    expected = sums(interrupted())
    monkeypatch.setattr(play_session, "_AT_ONCE", at_once)
    whole = sums(interrupted())
    assert (whole.before, whole.tokens) == (expected.before, expected.tokens)
    assert len(whole.before) == len(interrupted())
    assert list(whole.before) == sorted(whole.before)
    requests = [at for at, message in enumerate(interrupted()) if message["role"] == "assistant"]
    for position in requests:
        shown = whole.before[position]
        alone = sums(interrupted()[:position])
        assert alone.tokens[-1] == whole.tokens[shown]


@pytest.mark.parametrize("at_once", [1, 3, 256])
@pytest.mark.parametrize("end", [10, 19])
def test_a_late_result_is_not_summed_up(monkeypatch: pytest.MonkeyPatch, at_once: int, end: int) -> None:
    """It changes a place in the views before it, so they are no beginnings of the last one."""
    monkeypatch.setattr(play_session, "_AT_ONCE", at_once)
    call = {"id": "late", "tool": "bash", "arguments": {}}
    messages = [*interrupted()[:1], {"role": "assistant", "content": "", "tool_calls": [call]}, *interrupted()[:end]]
    assert sums(messages) is not None
    assert sums([*messages, {"role": "tool", "tool_call_id": "late", "content": "at last"}]) is None
