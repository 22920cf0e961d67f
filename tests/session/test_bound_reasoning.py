"""Reasoning that a provider binds to what came before it, by Amplifier's loop and providers that enforce the rule.

The long proofs: `python -m tests.support.reasoning_sessions --sessions 10000` and
`python -m tests.support.reasoning_kills --kills 200`.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.enforcing_provider import Service
from tests.support.reasoning_rules import find_invalid
from tests.support.reasoning_sessions import GeneratedSession, play, turn

WIDE: dict[str, Any] = {"durability": "write", "tokenizer": "estimate", "max_tokens": 100_000}


def test_views_with_all_reasoning_are_refused() -> None:
    """Where nothing is left out, the provider refuses requests and drops reasoning, and the checker finds the same."""
    totals, faulty = Counter[str](), 0
    for seed in range(1, 13):
        outcome = play(seed, everything=True)
        totals += outcome.counts
        faulty += bool(outcome.counts["refused"] and outcome.counts["invalid"])
    assert faulty >= 6
    assert totals["refused"] > 30
    assert totals["invalid"] > 60
    assert totals["dropped"] > 10


def test_views_without_reasoning_lose_it() -> None:
    """A rule that leaves all reasoning out would be found: what continues a request lacks the answer's reasoning."""
    totals = Counter[str]()
    for seed in range(1, 5):
        totals += play(seed, bare=True).counts
    assert totals["requests with blocks"] < totals["requests"] / 10
    assert totals["lost"] > 50


class Steady(GeneratedSession):
    """A session in which nothing changes unless a test changes it."""

    def __init__(self, directory: Path, **config: Any) -> None:
        super().__init__(8, directory)
        self.config, self.prompt, self.tells = {**WIDE, **config}, "You are careful.", True
        self.in_place = self.keeps_wire = False
        self.blank_share = 0.0
        self.service = Service(self.answer)

    async def turns(self, number: int) -> None:
        for _ in range(number):
            self.now = self.processes[-1]
            await turn(self)

    def shown(self) -> int:
        """How many blocks the newest request shows."""
        return sum(bool(part.mark) for part in self.service.exchanges[-1].sent.parts)

    def produced(self) -> int:
        """How many blocks all answers before the newest request have."""
        return sum(bool(part.mark) for one in self.service.exchanges[:-1] for part in one.answer)

    async def end(self) -> None:
        for process in self.processes:
            await process.session.cleanup()
        assert self.service.refusals == []
        assert self.service.dropped == []
        assert find_invalid(self.service.exchanges, self.service.bound_requests) == []


@pytest.mark.parametrize("change", ["nothing", "resume", "second process", "fork", "copy", "rewind to the end"])
async def test_reasoning_stays_where_nothing_before_it_changes(change: str, tmp_path: Path) -> None:
    """Every block is shown in every request: to the next process, another one, and the session's copies too."""
    session = Steady(tmp_path)
    await session.start(resumed=False)
    await session.turns(7)
    context, new = session.processes[-1].context, tmp_path / "new.jsonl"
    if change == "resume":
        await session.replace_log(session.log)
    elif change == "second process":
        await session.start(resumed=True)
    elif change == "fork":
        assert await session.run_command("fork", session.log, "-o", new, "--session", "new")
        await session.replace_log(new)
    elif change == "copy":
        await session.processes[-1].session.cleanup()
        assert await session.run_command("copy", session.log, new)
        await session.replace_log(new)
    elif change == "rewind to the end":
        last = (await context.get_messages())[-1]["metadata"]["message_id"]
        assert await session.run_command("rewind", session.log, "--to", last, "--yes")
    await session.turns(2)
    assert session.produced() > 10
    assert session.shown() == session.produced()
    await session.end()


async def test_a_fork_in_the_middle_keeps_the_reasoning_before_it(tmp_path: Path) -> None:
    """What was produced on the same beginning stays, and what is produced in the fork joins it."""
    session = Steady(tmp_path)
    await session.start(resumed=False)
    await session.turns(3)
    middle, kept = (await session.processes[-1].context.get_messages())[-1], session.produced()
    kept += sum(bool(part.mark) for part in session.service.exchanges[-1].answer)
    await session.turns(3)
    new = tmp_path / "new.jsonl"
    at = middle["metadata"]["message_id"]
    assert await session.run_command("fork", session.log, "--at", at, "-o", new, "--session", "new")
    await session.replace_log(new)
    first = len(session.service.exchanges)
    await session.turns(2)
    own = sum(bool(part.mark) for one in session.service.exchanges[first:-1] for part in one.answer)
    assert session.shown() == kept + own
    await session.end()
