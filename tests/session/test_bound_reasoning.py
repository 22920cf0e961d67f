"""Reasoning that a provider binds to what came before it, by Amplifier's loop and providers that enforce the rule.

The long proofs: `python -m tests.support.reasoning_sessions --sessions 10000` and
`python -m tests.support.reasoning_kills --kills 200`.
"""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent.view import bound_reasoning
from amplifier_module_context_persistent.view.bound_reasoning import sent_hash
from tests.support.agent_loop import inject
from tests.support.enforcing_provider import Service
from tests.support.messages import Message
from tests.support.places import ROOT
from tests.support.real_sessions import RecordEvents, named
from tests.support.reasoning_rules import find_invalid
from tests.support.reasoning_sessions import GeneratedSession, play, turn
from tests.support.sweeps import proof, spread

WIDE: dict[str, Any] = {"durability": "write", "tokenizer": "estimate", "max_tokens": 100_000}


@proof
def test_no_request_of_generated_sessions_is_refused() -> None:
    """Whatever changes: nothing refused, nothing invalid, nothing dropped, and nothing lost that is still valid."""
    outcomes = [play(seed) for seed in spread(range(1, 5), 2)]
    totals = sum((one.counts for one in outcomes), Counter[str]())
    faults = [f"seed {one.seed}: {fault}" for one in outcomes for fault in one.faults]
    assert not faults, "\n".join(faults[:20])
    assert totals["requests with blocks"] > totals["requests"] / 3
    assert totals["continued"] > 35


@proof
def test_views_with_all_reasoning_are_refused() -> None:
    """Where nothing is left out, the provider refuses requests and drops reasoning, and the checker finds the same."""
    found = [play(seed, everything=True).counts for seed in range(10, 13)]
    totals = sum(found, Counter[str]())
    assert all(counts["refused"] and counts["invalid"] for counts in found)
    assert totals["refused"] > 10
    assert totals["invalid"] > 20
    assert totals["dropped"] > 3


@proof
def test_views_without_reasoning_lose_it() -> None:
    """A rule that leaves all reasoning out would be found: what continues a request lacks the answer's reasoning."""
    totals = play(1, bare=True).counts
    assert totals["requests with blocks"] < totals["requests"] / 10
    assert totals["lost"] > 25


@proof
def test_a_killed_session_is_never_refused() -> None:
    """Killed in the middle of turns and resumed, each time with everything that changes in between."""
    command = [sys.executable, "-m", "tests.support.reasoning_kills", "--kills", "2", "--seed", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = {name: int(number) for name, number in re.findall(r"([a-z ]+?) ([\d]+),", done.stdout)}
    assert counts["kills"] == 2
    assert counts[" requests with blocks"] > 0


@proof
@pytest.mark.parametrize("to_result", [False, True], ids=["a message of its own", "in the last result"])
async def test_a_host_that_adds_to_views_is_told_and_refused_once(
    tmp_path: Path, record_events: RecordEvents, to_result: bool
) -> None:
    """After the first refusal views have no reasoning, whoever is asked, and none is refused any more."""
    session = Steady(tmp_path)
    process = await session.start(resumed=False)
    events = record_events(process.session.coordinator)
    stop = inject(process.session, lambda: f"It is {session.text(2)}.", to_result=to_result)
    for _ in range(6):
        await session.ask(process, f"Question {session.text(3)}", 2)
    assert [one.error.partition(": ")[2][:44] for one in session.service.refusals] == [
        "Invalid `signature` in `thinking` block. The"
    ]
    assert [told["provider"] for told in named(events, "context:reasoning_refused")] == ["anthropic"]
    after = session.service.exchanges[session.service.refusals[0].number + 1 :]
    assert len(after) > 10
    assert not any(part.mark for one in after for part in one.sent.parts)
    stop()
    session.provider = "anthropic-work"
    await session.turns(3)
    assert session.shown() == 0
    assert len(session.service.refusals) == 1
    await process.session.cleanup()
    session.provider = "anthropic"
    process = await session.start(resumed=True)
    events = record_events(process.session.coordinator)
    inject(process.session, lambda: f"It is {session.text(2)}.", to_result=to_result)
    await session.turns(4)
    assert len(session.service.refusals) == 1  # the log remembers
    assert named(events, "context:reasoning_refused") == named(events, "context:reasoning_left_out") == []
    await process.session.cleanup()


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
        assert (self.service.refusals, self.service.dropped) == ([], [])
        assert find_invalid(self.service.exchanges, self.service.bound_requests) == []
        assert self.outcome.faults == []


@proof
async def test_a_host_that_does_not_keep_still_is_told_what_changed(
    tmp_path: Path, record_events: RecordEvents
) -> None:
    """Once for each change of its own within a process; a plan and another model are none."""
    session = Steady(tmp_path)
    process = await session.start(resumed=False)
    events = record_events(process.session.coordinator)
    await session.turns(3)
    session.prompt = "You are bold."
    await session.turns(3)
    session.tool_words["look"] = "Looks."
    await session.mount_tools(process)
    await session.turns(3)
    await process.context.compact()
    await session.turns(2)
    session.model = "claude-sonnet-5-5"
    await session.turns(2)
    told = named(events, "context:reasoning_left_out")
    assert [(one["provider"], one["changed"]) for one in told] == [("anthropic", ["system"]), ("anthropic", ["tools"])]
    assert all(one["answers"] > 0 for one in told)
    for one in session.processes:
        await one.session.cleanup()


@proof(quick=1)
@pytest.mark.parametrize(
    "change", list(spread(["nothing", "fork", "resume", "second process", "copy", "rewind to the end"], 2, 1))
)
async def test_reasoning_stays_where_nothing_before_it_changes(change: str, tmp_path: Path) -> None:
    """Every block is shown in every request: to the next process, another one, and the session's copies too."""
    session = Steady(tmp_path)
    await session.start(resumed=False)
    await session.turns(4)
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


@proof
async def test_each_message_is_hashed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request hashes what is new and its head text, however long the session is (I8)."""
    session = Steady(tmp_path, max_tokens=2_000_000)  # no plan: one hashes its view anew
    hashed, of_each = 0, list[int]()

    def count(message: Message) -> bytes:
        nonlocal hashed
        hashed += 1
        return bytes(sent_hash(message))

    monkeypatch.setattr(bound_reasoning, "sent_hash", count)
    await session.start(resumed=False)
    seen = 0
    for _ in range(12):
        await session.turns(1)
        of_each.append(hashed - seen)
        seen = hashed
    requests = len(session.service.exchanges)
    messages = len(await session.processes[-1].context.get_messages())
    assert messages > 50
    assert hashed <= 2 * messages + 4 * requests  # answers with and without their reasoning; the head of each view
    assert sum(of_each[8:]) < 1.7 * sum(of_each[:4])
    await session.end()
