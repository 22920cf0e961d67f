"""The messages of a session that is played: read as they are needed, and few of them held."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.toolbox.replay import open_transcript, play_session
from amplifier_module_context_persistent.toolbox.replay.api import StoredMessages
from amplifier_module_context_persistent.toolbox.replay.evidence import PlayedSession, far_evidence, with_id
from amplifier_module_context_persistent.toolbox.replay.policies import POLICIES, CachedCounter
from benchmarks import scale
from tests.support.replays import MESSAGES, plain
from tests.support.sweeps import proof

BUDGET = 4_000


def test_they_are_those_of_the_transcript(tmp_path: Path) -> None:
    """As a sequence, also from its end and in parts."""
    with open_transcript(plain(tmp_path / "plain.jsonl", MESSAGES)) as transcript:
        stored, expected = StoredMessages(transcript), list(transcript.messages())
        assert list(stored) == list(stored) == expected
        assert len(stored) == len(expected)
        assert [stored[at] for at in range(-len(expected), len(expected))] == expected * 2
        assert stored[2:5] == expected[2:5]
        for beyond in (len(expected), -len(expected) - 1):
            with pytest.raises(IndexError):
                stored[beyond]


def test_an_id_that_is_no_text_is_replaced(tmp_path: Path) -> None:
    """By the same one, whether the messages are gone through or one is looked up."""
    messages = [{"role": "user", "content": "a", "metadata": {"message_id": 7}}, {"role": "assistant", "content": "b"}]
    with open_transcript(plain(tmp_path / "plain.jsonl", messages)) as transcript:
        stored = StoredMessages(transcript)
        ids = [message["metadata"]["message_id"] for message in stored]
        assert all(isinstance(one, str) and one for one in ids)
        assert [stored[at]["metadata"]["message_id"] for at in (0, 1)] == ids


class Held(dict[str, Any]):
    """A message that counts how many of its kind there are."""

    now = most = 0

    def __init__(self, message: dict[str, Any]) -> None:
        super().__init__(message)
        Held.now += 1
        Held.most = max(Held.most, Held.now)

    def __del__(self) -> None:
        Held.now -= 1


class Counted(Sequence[dict[str, Any]]):
    """Messages that are made anew whenever they are asked for, and counted."""

    def __init__(self, count: int) -> None:
        made = enumerate(scale.messages(count))
        self._messages = [with_id("session", *numbered) for numbered in made]

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(Held, self._messages)

    def __getitem__(self, position: Any) -> Any:
        return Held(self._messages[position])


@proof(quick=1)
@pytest.mark.parametrize("policy", ["sliding", "truncate"])
def test_few_are_held(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three times the messages of a session do not make more of them be held at once than a view has."""
    monkeypatch.setattr(play_session, "_AT_ONCE", 32)
    most = []
    for count in (50, 150):
        messages = Counted(count)
        Held.now = Held.most = 0
        session = PlayedSession("session", messages, 0, far_evidence(messages))
        playing = play_session.Player(session, CachedCounter(EstimateCounter()))
        measures = asyncio.run(playing.play(policy, POLICIES[policy], BUDGET, {}))
        assert measures.requests > count / 4
        most.append(Held.most)
        del playing, session
    assert most[1] <= most[0] + 60 < 300
