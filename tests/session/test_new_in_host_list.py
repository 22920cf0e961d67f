"""Lists that a host sets over a history that was loaded: what is recognised, and that nothing else changes anything."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.session.align_host_list import align
from amplifier_module_context_persistent.session.known_messages import is_newer
from amplifier_module_context_persistent.sessions.statistics import outline
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.tokens.counter import EstimateCounter
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from amplifier_module_context_persistent.toolbox.transfer.rewind_session import rewind_session
from tests.support import real_sessions
from tests.support.checker import assert_valid
from tests.support.host_repair import CLOSING, diagnose, repair
from tests.support.message_shapes import says
from tests.support.messages import Message, fill, user
from tests.support.resumed_sessions import calling, result, transcript_of, without_stamps
from tests.support.stored_logs import place_of, stored_bytes
from tests.support.sweeps import proof, some

IGNORED, TAKEN = "context:set_messages_ignored", "context:set_messages_taken"
QUICK = {"durability": "write", "tokenizer": "estimate", "receipts": False}


def turn(number: int) -> list[Message]:
    return [user(f"question {number}"), says(f"answer {number}")]


def at(message: Message, time: str) -> Message:
    """A message as a host's transcript has it."""
    return {**message, "timestamp": time}


def contents(messages: Sequence[Message]) -> list[Any]:
    return [message["content"] for message in messages]


class Host:
    """A host that resumes one session again and again."""

    def __init__(self, path: Path, now: str = "2026-05-01T12:00:00.000Z") -> None:
        self.path, self.now, self.told = path, now, real_sessions.Host()
        self._ids = iter(range(10**6))

    def open(self, **config: Any) -> PersistentContextManager:
        return PersistentContextManager(
            self.path,
            coordinator=self.told,
            session_id="s1",
            now=lambda: self.now,
            new_id=lambda: f"m{next(self._ids):016x}",
            **{**QUICK, **config},
        )

    async def add(self, *messages: Message) -> list[Message]:
        """A process that adds messages; the history."""
        async with self.open() as manager:
            await fill(manager, messages)
            return await manager.get_messages()

    async def set(self, messages: Sequence[Message]) -> list[Message]:
        """A process that sets a list; the history."""
        async with self.open() as manager:
            await manager.set_messages(copy.deepcopy(list(messages)))
            return await manager.get_messages()

    async def clear(self) -> None:
        async with self.open() as manager:
            await manager.clear()

    def rewind(self) -> None:
        rewind_session(place_of(self.path), 1, now=lambda: self.now)

    def purge(self) -> None:
        purge_log(place_of(self.path), Purge(cleared=True), now=lambda: self.now)

    @property
    def bytes(self) -> bytes:
        return stored_bytes(self.path)


@pytest.fixture
def host(tmp_path: Path, each_log: None) -> Host:
    return Host(tmp_path / "log.jsonl")


# -- turns made elsewhere ----------------------------------------------------------------------------------------------


@proof
async def test_turns_made_under_another_module_are_appended_in_order(host: Host) -> None:
    """One here, two elsewhere, three here again gives all three in order, however often the list is set."""
    history = transcript_of(await host.add(*turn(1)))
    for _ in range(2):
        assert contents(await host.set([*history, *turn(2)])) == contents([*turn(1), *turn(2)])
    await host.add(*turn(3))
    stored = host.bytes
    history = await host.set([*history, *turn(2)])
    assert contents(history) == contents([*turn(1), *turn(2), *turn(3)])
    assert host.bytes == stored


@proof
async def test_a_host_that_keeps_no_metadata_is_understood(host: Host) -> None:
    """Without ids the history is recognised by its contents."""
    history = without_stamps(await host.add(*turn(1), calling("c1"), result("c1"), says("done")))
    assert contents(await host.set([*history, *turn(2)])) == contents([*history, *turn(2)])


@proof
async def test_system_messages_that_the_host_leaves_out_stay(host: Host) -> None:
    """And one that only the host has is not stored."""
    hooked = {"role": "system", "content": "mind the style", "metadata": {"source": "hook"}}
    history = await host.add(user("one"), hooked, says("yes"), hooked)
    listed = [{"role": "system", "content": "You are another."}, *transcript_of(history), *turn(2)]
    assert contents(await host.set(listed)) == [*contents(history), *contents(turn(2))]


@proof
async def test_what_is_taken_is_told(host: Host) -> None:
    """Counts only; and what is not taken is told with how much of it the log lacks."""
    history = await host.add(*turn(1))
    await host.set([*history, *turn(2)])
    await host.set(history)
    await host.set([*turn(7), history[0], *turn(8)])
    assert [one for one in host.told.events if one[0] in (IGNORED, TAKEN)] == [
        (TAKEN, {"given_messages": 4, "stored_messages": 2, "new_messages": 2, "repaired": False}),
        (IGNORED, {"ignored_messages": 2, "stored_messages": 4, "unknown_messages": 0}),
        (IGNORED, {"ignored_messages": 5, "stored_messages": 4, "unknown_messages": 4}),
    ]


@proof(quick=1)
@pytest.mark.parametrize(
    "listed",
    [
        lambda history: history[:1],
        lambda history: [],
        lambda history: [history[1], history[0]],
        lambda history: [history[0], *turn(2), history[1]],
        lambda history: [*turn(2), *history],
        lambda history: [history[0], {**history[1], "content": "another answer"}, *turn(2)],
        lambda history: [*history, *without_stamps(history)],
        lambda history: [*history, history[0]],
        lambda history: [*history[1:], *turn(2)],
        lambda history: [*history, {"role": "tool", "tool_call_id": "c1", "content": "for no call"}][:2],
    ],
    ids=["less", "nothing", "order", "inserted", "before", "altered", "twice", "again", "without-first", "same"],
)
async def test_any_other_list_changes_nothing(host: Host, listed: Any) -> None:
    """Neither the history nor a byte of the log."""
    history = await host.add(*turn(1))
    stored = host.bytes
    assert await host.set(listed(history)) == history
    assert host.bytes == stored


@proof
async def test_what_another_process_added_meanwhile_is_kept(host: Host) -> None:
    """A list that no longer begins with the whole history is not taken, and nothing is hidden."""
    history = await host.add(*turn(1))
    async with host.open() as manager:
        await manager.get_messages()
        await host.add(*turn(2))
        await manager.set_messages([*history, *turn(3)])
        assert contents(await manager.get_messages()) == contents([*turn(1), *turn(2)])


# -- what was taken out of the history ---------------------------------------------------------------------------------


@proof
async def test_a_stale_list_brings_nothing_back_after_clear_rewind_and_purge(host: Host) -> None:
    """With or without ids and times, before and after new messages were added."""
    one = await host.add(*turn(1))
    two = await host.add(*turn(2))
    host.rewind()
    for stale in (two, without_stamps(two), two[2:], transcript_of(two)):
        assert await host.set(stale) == one
    await host.clear()
    for stale in (two, one, without_stamps(two)):
        assert await host.set(stale) == []
    three = await host.add(*turn(3))
    for stale in ([*three, *two], [*three, *without_stamps(two)], two):
        assert await host.set(stale) == three
    host.purge()
    for stale in ([*three, *two], two, [*three, *one]):
        assert await host.set(stale) == three
    await host.clear()
    host.purge()
    for stale in (three, two, without_stamps(three)):
        assert await host.set(stale) == []


@proof
async def test_turns_that_are_newer_than_a_clear_are_taken(host: Host) -> None:
    """By their times; without one nothing is taken, and what is older is left out, until something is live again."""
    old = [at(message, "2026-05-01T11:00:00Z") for message in turn(1)]
    await host.add(*old)
    host.now = "2026-05-01T12:30:00.500Z"
    await host.clear()
    new = [at(message, "2026-05-01T12:31:00.100Z") for message in turn(2)]
    assert await host.set(turn(2)) == []
    assert await host.set([new[0], turn(2)[1]]) == []
    assert await host.set([*new, *old]) == []
    assert contents(await host.set([*old, *new])) == contents(new)
    history = await host.add(*turn(3))
    assert contents(await host.set([*history, *turn(4)])) == contents([*new, *turn(3), *turn(4)])


@proof
async def test_what_was_cleared_stays_so_though_its_times_are_ahead_of_the_clock(host: Host) -> None:
    """A host whose clock is ahead wrote them: the log holds them with the same times and words."""
    ahead = [at(message, "2026-05-01T13:00:00.123Z") for message in turn(1)]
    await host.add(*ahead)
    await host.clear()
    coarser = [at(message, "2026-05-01T13:00:00Z") for message in turn(1)]
    for stale in (ahead, coarser, transcript_of(ahead)):
        assert await host.set(stale) == []
    again = [at(message, "2026-05-01T13:00:01Z") for message in turn(1)]
    assert contents(await host.set(again)) == contents(again)


@pytest.mark.parametrize(
    ("time", "than", "newer"),
    [
        ("2026-05-01T12:30:01Z", "2026-05-01T12:30:00.900Z", True),
        ("2026-05-01T12:30:00Z", "2026-05-01T12:30:00.900Z", False),
        ("2026-05-01T12:30:00.95", "2026-05-01T12:30:00.900Z", False),
        ("2026-05-01T14:30:01+02:00", "2026-05-01T12:30:00.900Z", True),
        ("yesterday", "2026-05-01T12:30:00Z", False),
        ("2026-05-01T12:30:00Z", "", False),
    ],
)
def test_times_are_compared_by_whole_seconds(time: str, than: str, newer: bool) -> None:
    """Half a second after is not after for a clock that tells whole seconds."""
    assert is_newer(time, than) is newer


# -- the host's repair -------------------------------------------------------------------------------------------------


def kept_in_order(history: Sequence[Message], before: Sequence[Message]) -> bool:
    ids = [message["metadata"]["message_id"] for message in before]
    return [m["metadata"]["message_id"] for m in history if m["metadata"]["message_id"] in ids] == ids


async def repaired_by_host(host: Host) -> tuple[list[Message], int]:
    """Let the host look at the history before each of five turns; the history, and how often it was repaired."""
    times = 0
    for number in range(5):
        async with host.open() as manager:
            history = await manager.get_messages()
            found = diagnose(history)
            if not found.healthy:
                times += 1
                await manager.set_messages(repair(history, found))
                assert diagnose(await manager.get_messages()).healthy
            await fill(manager, turn(50 + number))
            assert_valid(await manager.get_messages_for_request(), history=await manager.get_messages())
            history = await manager.get_messages()
    return history, times


@proof
async def test_nobody_knows_how_long_a_repaired_call_took(tmp_path: Path) -> None:
    """The result was put in at the resume, hours after the tool was interrupted; its turn did not take hours either."""
    host = Host(tmp_path / "log.jsonl")
    await host.add(user("go"), calling("c1", "c2"), result("c1"))
    host.now = "2026-05-01T19:00:00.000Z"
    await repaired_by_host(host)
    with Transcript(host.path) as transcript:
        outcomes = [one.call_outcome for one in transcript.placed() if one.call_outcome is not None]
        turns = outline(transcript, EstimateCounter())
    assert [outcome.duration_s for outcome in outcomes] == [0.0, None]
    assert turns[0].duration_s == 0.0


PARALLEL = [user("both"), calling("c1", "c2"), result("c1")]
DONE = [user("go"), calling("d1", "d2"), result("d1"), result("d2"), says("done")]


@proof
@pytest.mark.parametrize(
    "interrupted",
    [
        [user("go"), calling("c1")],
        PARALLEL,
        [*DONE, user("go on"), calling("c1"), result("c1")],
        [*DONE, *PARALLEL, user("still there?"), says("yes")],
        [user("go"), calling("c1"), user("stop"), result("c1"), says("late")],
        [*PARALLEL, user("stop"), result("c2"), says("late"), *DONE],
        [user("a"), calling("c1"), user("b"), calling("c2"), result("c2"), user("c"), says("so")],
        [user("a"), calling("c1"), result("c1"), user("b"), calling("c2"), result("c2"), user("c")],
    ],
    ids=["open", "parallel", "no-end", "open-in-the-middle", "late", "late-of-two", "several", "no-ends"],
)
async def test_a_repair_is_diagnosed_once(host: Host, interrupted: list[Message]) -> None:
    """Not before each turn; all that was live stays, and the host then finds nothing to repair."""
    before = await host.add(*interrupted)
    assert not diagnose(before).healthy
    history, times = await repaired_by_host(host)
    assert times == 1
    texts = [str(message["content"]) for message in history]
    assert all(texts.count(str(message["content"])) == 1 for message in before if message["role"] != "assistant")
    late = set(diagnose(before).misplaced)
    assert kept_in_order(history, [m for m in before if m.get("tool_call_id") not in late])
    assert {m["metadata"]["message_id"] for m in before} <= {m["metadata"]["message_id"] for m in history}


@proof
async def test_closing_messages_are_taken_only_where_a_turn_lacks_its_end(host: Host) -> None:
    """The host puts one after every result; one says something."""
    history = await host.add(*DONE, user("go on"), calling("c1"), result("c1"))
    listed = repair(history, diagnose(history))
    assert len(listed) == len(history) + 3
    assert contents(await host.set(listed)) == [*contents(history), CLOSING["content"]]


@proof
async def test_a_repair_and_turns_made_elsewhere_come_in_one_list(host: Host) -> None:
    """As when another module repaired the history and went on."""
    history = await host.add(*DONE, *PARALLEL, user("still there?"), says("yes"))
    listed = [*repair(history, diagnose(history)), *turn(2)]
    after = await host.set(listed)
    assert contents(after)[-4:] == ["still there?", "yes", *contents(turn(2))]
    assert diagnose(after).healthy
    assert await host.set(listed) == after


@proof(quick=1)
@pytest.mark.parametrize(
    "insert",
    [
        {"role": "tool", "tool_call_id": "c9", "content": "of no call"},
        {"role": "tool", "tool_call_id": "d1", "content": "a second result"},
        says("out of place"),
        user("a person's words"),
        calling("c7"),
    ],
)
async def test_what_no_repair_puts_in_is_not_taken(host: Host, insert: Message) -> None:
    """A list with anything else between the live messages changes nothing."""
    history = await host.add(*DONE, *PARALLEL, user("next"), says("yes"))
    stored = host.bytes
    assert await host.set([*history[:6], insert, *history[6:]]) == history
    assert host.bytes == stored


# -- any history and any list ------------------------------------------------------------------------------------------

STEPS = st.lists(st.sampled_from(["turn", "tools", "clear", "rewind", "purge", "process"]), min_size=1, max_size=7)


async def live_through(host: Host, steps: Sequence[str]) -> tuple[list[Message], list[Message]]:
    """Build a history; the live messages, and all that were ever added."""
    ever: dict[str, Message] = {}
    for number, step in enumerate(steps):
        host.now = f"2026-05-01T12:{number:02}:00.000Z"
        if step in ("turn", "process"):
            await host.add(*turn(number))
        elif step == "tools":
            await host.add(user(f"go {number}"), calling(f"c{number}"), result(f"c{number}"), says(f"done {number}"))
        elif step == "clear":
            await host.clear()
        elif host.path.exists():
            async with host.open() as manager:
                live = await manager.get_messages()
            if step == "rewind" and sum(message["role"] == "user" for message in live) > 1:
                host.rewind()
            elif step == "purge":
                host.purge()
        if host.path.exists():
            async with host.open() as manager:
                ever.update({m["metadata"]["message_id"]: m for m in await manager.get_messages()})
    async with host.open() as manager:
        return await manager.get_messages(), list(ever.values())


@proof
@settings(max_examples=some(60), suppress_health_check=list(HealthCheck))
@given(STEPS, st.data())
async def test_no_list_of_old_messages_changes_a_history(tmp_path_factory: Any, steps: list[str], data: Any) -> None:
    """Whatever was cleared, rewound or purged: nothing of it comes back, nothing live goes, no byte is written."""
    host = Host(tmp_path_factory.mktemp("any") / "log.jsonl")
    live, ever = await live_through(host, steps)
    if not ever:
        return
    picked = data.draw(st.lists(st.sampled_from(ever), max_size=8))
    prefix = data.draw(st.sampled_from([0, len(live), len(live) // 2]))
    listed = data.draw(st.sampled_from([picked, [*live[:prefix], *picked], ever, [*live, *ever]]))
    stored = host.bytes
    assert await host.set(listed) == live
    assert host.bytes == stored


@proof
@settings(max_examples=some(40), suppress_health_check=list(HealthCheck))
@given(STEPS, st.integers(1, 3), st.booleans())
async def test_new_turns_are_stored_once(tmp_path_factory: Any, steps: list[str], count: int, bare: bool) -> None:
    """After any history, with the times that a host gives them, at the first and at every later resume."""
    host = Host(tmp_path_factory.mktemp("any") / "log.jsonl")
    live, ever = await live_through(host, steps)
    if not ever:
        return
    tail = [at(message, "2030-01-01T00:00:00Z") for number in range(count) for message in turn(70 + number)]
    listed = [*(without_stamps(live) if bare else transcript_of(live)), *tail]
    after = await host.set(listed)
    assert after[: len(live)] == live
    assert contents(after[len(live) :]) == contents(tail)
    stored = host.bytes
    assert await host.set(listed) == after
    assert host.bytes == stored


BROKEN = st.lists(
    st.sampled_from(["user", "says", "call", "calls", "result", "result", "result", "reminder"]),
    min_size=2,
    max_size=14,
)


@proof
@settings(max_examples=some(80), suppress_health_check=list(HealthCheck))
@given(BROKEN)
async def test_any_repair_is_taken_and_keeps_all(tmp_path_factory: Any, kinds: list[str]) -> None:
    """For any order of calls and results the host finds nothing more after one repair, and nothing live is lost."""
    host = Host(tmp_path_factory.mktemp("any") / "log.jsonl")
    messages: list[Message] = [user("begin")]
    waiting: list[str] = []
    for number, kind in enumerate(kinds):
        if kind == "user":
            messages.append(user(f"words {number}"))
        elif kind == "says":
            messages.append(says(f"said {number}"))
        elif kind == "reminder":
            messages.append(user(f"<system-reminder>{number}</system-reminder>"))
        elif kind == "result" and waiting:
            messages.append(result(waiting.pop(0)))
        elif kind in ("call", "calls"):
            ids = [f"c{number}", f"d{number}"][: 1 + (kind == "calls")]
            waiting += ids
            messages.append(calling(*ids))
    before = await host.add(*messages)
    found = diagnose(before)
    after = await host.set(repair(before, found))
    assert diagnose(after).healthy
    assert {m["metadata"]["message_id"] for m in before} <= {m["metadata"]["message_id"] for m in after}
    stored = host.bytes
    assert await host.set(repair(after, diagnose(after))) == after
    assert host.bytes == stored


def test_a_list_is_laid_on_the_history_in_one_pass() -> None:
    """Twice as long a list takes about twice as many comparisons, not four times."""

    class Counted(dict):  # type: ignore[type-arg]
        looks = 0

        def get(self, *args: Any) -> Any:
            Counted.looks += 1
            return super().get(*args)

    counts = []
    for size in (100, 200):
        Counted.looks = 0
        history = [Counted(message) for number in range(size) for message in turn(number)]
        assert align(history, [*history, *turn(9_999)]) is not None
        counts.append(Counted.looks)
    assert counts[1] < 2.5 * counts[0]
