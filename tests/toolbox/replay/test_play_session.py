"""Playing a session under a policy: its views, and what they cost."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.toolbox.replay import open_transcript, play, requests
from amplifier_module_context_persistent.toolbox.replay.evidence import PlayedSession
from amplifier_module_context_persistent.toolbox.replay.play_session import Player, common_prefix
from tests.support.checker import prefix_breaks
from tests.support.counters import count
from tests.support.messages import user
from tests.support.replays import BUDGET, MESSAGES, call, record, result
from tests.support.sweeps import proof


@proof
async def test_a_policy_plays_what_the_manager_would_hand_out(tmp_path: Path) -> None:
    """The default policy on the plain messages makes the views that the session's manager made."""
    views = await record(tmp_path / "log.jsonl", MESSAGES)
    with open_transcript(tmp_path / "log.jsonl") as transcript:
        seen = list(play(transcript, budget_tokens=BUDGET, tokenizer="estimate"))
        recorded = list(requests(transcript))
    texts = [[message["content"] for message in view] for view in views]
    assert [[message["content"] for message in one.view or ()] for one in seen] == texts
    assert [(one.marks, one.tokens) for one in seen] == [(one.marks, one.tokens) for one in recorded]
    assert {one.proof.is_proved for one in seen} == {None}


class Recorded:
    """A policy that hands out given views."""

    def __init__(self, views):
        self.views = iter(views)

    async def add(self, message):
        pass

    async def view(self):
        return next(self.views)

    def asked(self):
        return []

    async def recalls(self, term, inserted):
        return False

    async def close(self):
        pass


def played(messages, views, budget=1_000_000):
    session = PlayedSession.of("s", messages, count)
    player = Player(session, EstimateCounter())
    shown = views(session.messages)
    return asyncio.run(player.play("recorded", lambda *_: Recorded(shown), budget, {})), shown


def test_prefix_and_bill_are_counted_in_whole_messages():
    """What the request before began with is cached; the first message that differs and all after it is not."""
    messages = [user("one"), call("1", x="1"), result("1", "r1"), call("2", x="2"), result("2", "r2"), call("3", x="3")]
    measures, shown = played(messages, lambda m: [m[:1], m[:3], [m[0], m[3], m[4]]])
    sizes = [count(message) for message in shown[1]]
    assert measures.requests == 3
    assert measures.breaks == prefix_breaks(shown) == 1
    assert measures.request_tokens == [sum(map(count, view)) for view in shown]
    assert measures.cached_tokens == 2 * sizes[0]
    uncached = sum(measures.request_tokens) - 2 * sizes[0]
    assert measures.billed == pytest.approx(1.25 * uncached + 0.1 * 2 * sizes[0])
    assert measures.over == 0


def test_oversized_and_refused_views_are_counted():
    """A view over the budget is over it, and None is a refusal."""
    messages = [user("one"), call("1", x="1"), result("1", "r1"), call("2", x="2"), result("2", "r2"), call("3", x="3")]
    measures, _ = played(messages, lambda m: [m[:1], [m[0], m[2]], None], budget=8)
    assert (measures.over, measures.refused, measures.requests) == (1, 1, 3)


def test_evidence_in_original_and_in_inserted_text_are_told_apart():
    """What only a notice names is a gain by placeholders; a refused view shows nothing."""
    filler = [user(f"word {n}") for n in range(21)]
    names = "kept_name and lost_name and told_name and said_name"
    messages = [user(names), *filler, call("1", x=names)]

    def views(m):
        notice = user("told_name is in the log", source="context-compaction")
        return [[{**m[0], "content": "kept_name and\n[said_name is left out]"}, notice, m[-2]]]

    measures, _ = played(messages, views)
    assert (measures.evidence.total, measures.evidence.original, measures.evidence.shown) == (4, 1, 3)
    assert measures.far == pytest.approx(1 / 4)
    assert measures.far_gain == pytest.approx(1 / 2)
    assert 0 < measures.inserted_share < 1
    refused, _ = played(messages, lambda m: [None])
    assert (refused.evidence.total, refused.far) == (4, 0)


def test_common_prefix_is_byte_by_byte():
    """Two equal beginnings are common up to the first difference or the shorter end."""
    assert common_prefix([b"a", b"b", b"c"], [b"a", b"b", b"d"]) == 2
    assert common_prefix([], [b"a"]) == 0
    assert common_prefix([b"a"], [b"a", b"b"]) == 1
