"""The repair that a host makes before each turn: taken at once each time, without a reset, with the prefix kept."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amplifier_module_context_persistent import InMemoryContextManager, PersistentContextManager
from amplifier_module_context_persistent.messages.host_order import with_place
from amplifier_module_context_persistent.messages.replace_in_message import redact_message
from amplifier_module_context_persistent.paths import LOG_NAME
from amplifier_module_context_persistent.sessions.transcript import Transcript
from amplifier_module_context_persistent.toolbox.transfer.host_files.write_host_files import write_host_files
from tests.support.checker import assert_valid, common_prefix
from tests.support.host_repair import CLOSING, diagnose, repair
from tests.support.message_shapes import says
from tests.support.messages import Message, fill, user
from tests.support.real_sessions import Host
from tests.support.resumed_sessions import calling, result, transcript_of, without_stamps
from tests.support.stored_logs import stored_bytes
from tests.support.sweeps import proof, some

QUICK = {"durability": "write", "tokenizer": "estimate"}


def open_session(path: Path, **config: Any) -> PersistentContextManager:
    return PersistentContextManager(path, session_id="s1", **{**QUICK, **config})


async def repaired_by_host(manager: PersistentContextManager) -> bool:
    """Do what the host does before a turn; whether there was something to repair."""
    history = await manager.get_messages()
    found = diagnose(history)
    if found.healthy:
        return False
    await manager.set_messages(repair(history, found, by_position=True))
    return True


async def after_resume(path: Path, *messages: Message) -> list[Message]:
    """The history after messages were added, the process was killed, and the host has repaired what it found."""
    await fill(open_session(path), messages)
    manager = open_session(path)
    assert await repaired_by_host(manager)
    history = await manager.get_messages()
    assert diagnose(history).healthy
    await manager.close()
    return history


def results_in(history: Sequence[Message]) -> list[str]:
    return [message["tool_call_id"] for message in history if message["role"] == "tool"]


def resets_in(path: Path) -> int:
    return stored_bytes(path).count(b'"_record":"reset_begin"')


@pytest.fixture
def path(tmp_path: Path, each_log: None) -> Path:
    return tmp_path / "log.jsonl"


@proof
async def test_every_repair_of_a_session_is_taken_at_once(path: Path) -> None:
    """The host closes each interrupted turn with the same words, and the log holds them already."""
    for number in range(4):
        history = await after_resume(path, user(f"q{number}"), calling(f"c{number}"))
        assert [message["role"] for message in history[-3:]] == ["assistant", "tool", "assistant"]
    assert sum(message["content"] == CLOSING["content"] for message in history) == 4
    assert resets_in(path) == 0


@proof
async def test_a_turn_that_only_lacks_its_end_is_closed_each_time(path: Path) -> None:
    """All results are there, and the process was killed before the answer."""
    for number in range(3):
        history = await after_resume(path, user(f"q{number}"), calling(f"c{number}"), result(f"c{number}"))
        assert history[-1]["content"] == CLOSING["content"]
    assert resets_in(path) == 0


@proof
@pytest.mark.parametrize("stored", [(), ("c1",), ("c2",), ("c3",), ("c1", "c3"), ("c2", "c3")])
async def test_results_are_in_the_order_of_their_calls(path: Path, stored: tuple[str, ...]) -> None:
    """Whichever of parallel calls had ended; a view has them in that order too, after this resume and the next."""
    history = await after_resume(path, user("go"), calling("c1", "c2", "c3"), *map(result, stored))
    assert results_in(history) == ["c1", "c2", "c3"]
    assert resets_in(path) == 0
    for _ in range(2):
        manager = open_session(path)
        assert await manager.get_messages() == history
        await manager.add_message(user("on"))
        view = await manager.get_messages_for_request()
        assert results_in(view) == ["c1", "c2", "c3"]
        assert "interrupted: this call has no result" not in str(view)
        assert not await repaired_by_host(manager)
        history = await manager.get_messages()
        await manager.close()


@proof
async def test_a_repair_in_the_middle_is_for_the_host_and_changes_no_view(path: Path) -> None:
    """The model has answered without the result: what it was shown stays, to the byte, and the host is content."""
    manager = open_session(path)
    await fill(manager, [user("go"), calling("c1", "c2"), result("c1"), user("still there?"), says("yes"), user("on")])
    before = await manager.get_messages_for_request()
    await manager.close()
    manager = open_session(path)
    assert await repaired_by_host(manager)
    history = await manager.get_messages()
    assert [message["role"] for message in history] == [
        *("user", "assistant", "tool", "tool", "assistant"),
        *("user", "assistant", "user"),
    ]
    assert await manager.get_messages_for_request() == before
    assert_valid(before, history=history)
    assert not await repaired_by_host(manager)
    assert resets_in(path) == 0
    await manager.close()


@proof
async def test_what_the_host_stored_after_a_repair_is_known_at_the_next_resume(path: Path) -> None:
    """With or without metadata, the list changes nothing, and a turn made elsewhere after it is appended."""
    await fill(open_session(path), [user("go"), calling("c1", "c2"), result("c2"), user("so?"), says("yes")])
    manager = open_session(path)
    await repaired_by_host(manager)
    history = await manager.get_messages()
    await manager.close()
    for listed in (transcript_of(history), without_stamps(history)):
        manager = open_session(path)
        await manager.set_messages(listed)
        assert await manager.get_messages() == history
        await manager.close()
    manager = open_session(path)
    await manager.set_messages([*transcript_of(history), user("elsewhere"), says("there")])
    assert without_stamps(await manager.get_messages()) == [
        *without_stamps(history),
        user("elsewhere"),
        says("there"),
    ]
    await manager.close()


@proof
async def test_a_repeated_tail_does_not_keep_a_missing_result_out(path: Path) -> None:
    """Each part of a list is judged by itself."""
    await fill(open_session(path), [user("go"), says("done"), user("go"), calling("c1"), user("go")])
    manager = open_session(path)
    history = await manager.get_messages()
    await manager.set_messages([*repair(history, diagnose(history)), user("go"), says("done")])
    after = await manager.get_messages()
    assert results_in(after) == ["c1"]
    assert len(after) == len(history) + 2
    await manager.close()


@proof
async def test_words_of_a_repair_that_was_rewound_are_taken_again(path: Path) -> None:
    """The closing words of an earlier repair are hidden; those of the next one are the same, and new."""
    await after_resume(path, user("go"), calling("c1"))
    manager = open_session(path)
    await manager.clear()
    await fill(manager, [user("again"), calling("c1")])
    await manager.close()
    manager = open_session(path)
    assert await repaired_by_host(manager)
    assert not await repaired_by_host(manager)
    assert [message["role"] for message in await manager.get_messages()] == ["user", "assistant", "tool", "assistant"]
    await manager.close()


@proof
async def test_an_answer_that_was_taken_back_is_no_closing_message(path: Path) -> None:
    """A host that resumes from an old list does not bring back what another one took out of the history."""
    manager = open_session(path)
    await fill(manager, [user("go"), calling("c1"), result("c1"), says("wrong")])
    old = await manager.get_messages()
    await manager.set_messages(old[:-1])
    await manager.close()
    manager = open_session(path)
    await manager.set_messages(without_stamps(old))
    assert without_stamps(await manager.get_messages()) == without_stamps(old[:-1])
    await manager.close()


@proof
async def test_kept_ephemerals_stay_where_they_are_when_a_late_result_is_moved(path: Path) -> None:
    """The move is a reset; a message that the host does not know stays in the history all the same."""
    reminder = {**user("mind the gap"), "metadata": {"ephemeral": True}}
    first = open_session(path, keep_ephemerals=True)
    await fill(first, [user("go"), calling("c1"), reminder, user("stop"), result("c1"), says("late")])
    manager = open_session(path, keep_ephemerals=True)
    assert await repaired_by_host(manager)
    assert "mind the gap" in str(await manager.get_messages_for_request())
    assert results_in(await manager.get_messages()) == ["c1"]
    assert resets_in(path) == 1
    await manager.close()


@proof
async def test_a_host_file_has_the_order_that_the_host_knows(tmp_path: Path) -> None:
    """Also where the log has a repaired result behind what followed it."""
    path = tmp_path / "sessions" / "s1" / LOG_NAME
    path.parent.mkdir(parents=True)
    history = await after_resume(path, user("go"), calling("c1"), user("so?"), says("yes"))
    write_host_files(path, created="2026-05-01T12:00:00Z")
    lines = (path.parent / "transcript.jsonl").read_text().splitlines()
    assert [json.loads(line)["content"] for line in lines] == [message["content"] for message in history]
    with Transcript(path) as transcript:
        assert [message["role"] for message in transcript.messages()][-2:] == ["tool", "assistant"]


def test_a_redaction_leaves_places_alone() -> None:
    """The id of a message is a name, whatever pattern it has."""
    placed = with_place(result("c1"), "m0", unseen=True)
    redacted = redact_message(placed, lambda _: "x")
    assert redacted["metadata"] == placed["metadata"]


# -- a session that nobody has resumed yet -----------------------------------------------------------------------------


@proof
async def test_a_repair_in_a_new_session_makes_no_reset(path: Path) -> None:
    """A person interrupts a tool, and the host repairs the history in the same process."""
    manager = open_session(path)
    for number in range(3):
        await fill(manager, [user(f"q{number}"), calling(f"c{number}", f"d{number}"), result(f"d{number}")])
        assert await repaired_by_host(manager)
        assert diagnose(await manager.get_messages()).healthy
        assert results_in(await manager.get_messages())[-2:] == [f"c{number}", f"d{number}"]
    assert resets_in(path) == 0
    await manager.close()


@proof(quick=1)
@pytest.mark.parametrize(
    "change",
    [
        lambda history: history[:-1],
        lambda history: history[::-1],
        lambda history: [*history[:1], {**history[1], "content": "another"}, *history[2:]],
        lambda history: [{"role": "system", "content": "first"}, *history],
        lambda history: [*history[:1], says("between"), *history[1:]],
        lambda history: [*history, *history[:1]],
        lambda history: [*without_stamps(history), *turn_elsewhere()],
    ],
    ids=["less", "order", "altered", "system", "inserted", "again", "more"],
)
async def test_any_list_replaces_the_history_of_a_new_session(path: Path, change: Any) -> None:
    """What the host sets is what it gets, whether that took a reset or not."""
    manager = open_session(path)
    await fill(manager, [user("go"), says("done"), user("go on"), says("done too")])
    listed = change(await manager.get_messages())
    await manager.set_messages(listed)
    assert without_stamps(await manager.get_messages()) == without_stamps(listed)
    await manager.close()


def turn_elsewhere() -> list[Message]:
    return [user("elsewhere"), says("there")]


@proof(quick=1)
@pytest.mark.parametrize("after", [[], [user("q2")], [user("q2"), says("a2")]], ids=["end", "asked", "answered"])
async def test_a_repair_between_parallel_calls_makes_no_reset(path: Path, after: list[Message]) -> None:
    """In the session's first process: the host's closing text is kept, results are in the order of their calls."""
    manager = open_session(path)
    await fill(manager, [user("q1"), calling("c1", "c2", "c3"), result("c2"), *after])
    before = await manager.get_messages_for_request()
    assert await repaired_by_host(manager)
    history = await manager.get_messages()
    assert diagnose(history).healthy
    assert results_in(history) == ["c1", "c2", "c3"]
    assert history[5]["content"] == CLOSING["content"]
    if len(after) > 1:
        assert await manager.get_messages_for_request() == before
    await manager.close()
    assert resets_in(path) == 0


@proof
async def test_a_session_in_memory_takes_repairs_too() -> None:
    """Without a file, as with one."""
    manager = InMemoryContextManager(tokenizer="estimate")
    for number in range(2):
        await fill(manager, [user(f"q{number}"), calling(f"c{number}")])
        assert await repaired_by_host(manager)
        assert not await repaired_by_host(manager)


# -- turns and kills ---------------------------------------------------------------------------------------------------


class KilledSession:
    """A host that runs turns in one session, is killed, and repairs the history before each turn."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.dice = path, random.Random(seed)
        self.told, self.views, self.breaks, self.repairs, self.calls = Host(), 0, 0, 0, 0
        self.manager = self._open()
        self.before: list[Message] = []
        self.plans = 0

    def _open(self) -> PersistentContextManager:
        config = {"coordinator": self.told, "max_tokens": 12_000}
        return open_session(self.path, **config)

    async def run(self, turns: int, kills: int) -> None:
        killed = set(self.dice.sample(range(turns), kills))
        for number in range(turns):
            self.repairs += await repaired_by_host(self.manager)
            assert diagnose(await self.manager.get_messages()).healthy
            steps = self._turn(number)
            if number in killed:
                steps = steps[: self.dice.randrange(1, len(steps))]
            for step in steps:
                await self.manager.add_message(step)
                if step["role"] != "assistant":
                    await self._look()
            if number in killed:
                self.manager = self._open()
        await self.manager.close()

    def _turn(self, number: int) -> list[Message]:
        steps = [user(f"question {number}")]
        for _ in range(self.dice.randrange(3)):
            ids = [f"c{self.calls + one}" for one in range(self.dice.randint(1, 3))]
            self.calls += len(ids)
            ended = self.dice.sample(ids, len(ids))
            steps += [calling(*ids), *(result(one, "line\n" * 40) for one in ended)]
        return [*steps, says(f"answer {number}")]

    async def _look(self) -> None:
        view = await self.manager.get_messages_for_request()
        planned = sum(event == "context:compaction" for event, _ in self.told.events)
        if planned == self.plans:
            self.breaks += common_prefix(self.before, view) < len(self.before) and self._is_settled()
        self.before, self.plans = view, planned
        self.views += 1

    def _is_settled(self) -> bool:
        """Whether the view before had no stand-in for a result that has come since."""
        return "interrupted: this call has no result" not in str(self.before[-4:])


@proof
async def test_150_turns_with_25_kills_make_no_reset_and_keep_the_prefix(tmp_path: Path) -> None:
    """Every repair is appended, and every view is the one before it with more at its end, but for plans."""
    session = KilledSession(tmp_path / "log.jsonl", seed=7)
    await session.run(turns=150, kills=25)
    assert session.repairs >= 10
    assert session.plans >= 1
    assert session.breaks == 0
    assert resets_in(session.path) == 0
    ignored = [payload for event, payload in session.told.events if event == "context:set_messages_ignored"]
    assert ignored == []


KINDS = st.lists(st.sampled_from(["user", "says", "call", "calls", "result", "result", "kill"]), max_size=24)


@proof
@settings(max_examples=some(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(KINDS)
async def test_any_number_of_repairs_is_taken(tmp_path_factory: Any, kinds: list[str]) -> None:
    """However a session is interrupted again and again, one repair is enough each time, and nothing is lost."""
    path = tmp_path_factory.mktemp("any") / "log.jsonl"
    manager = open_session(path, receipts=False)
    waiting: list[str] = []
    ever: set[str] = set()
    for number, kind in enumerate([*kinds, "kill"]):
        if kind == "user":
            await manager.add_message(user(f"words {number}"))
        elif kind == "says":
            await manager.add_message(says(f"said {number}"))
        elif kind == "result" and waiting:
            await manager.add_message(result(waiting.pop()))
        elif kind in ("call", "calls"):
            ids = [f"c{number}", f"d{number}"][: 1 + (kind == "calls")]
            waiting += ids
            await manager.add_message(calling(*ids))
        elif kind == "kill":
            waiting.clear()
            manager = open_session(path, receipts=False)
            await repaired_by_host(manager)
            history = await manager.get_messages()
            assert diagnose(history).healthy
            ids_now = {message["metadata"]["message_id"] for message in history}
            assert ever <= ids_now
            ever = ids_now
            assert_valid(await manager.get_messages_for_request(provider="somebody"), history=history)
    await manager.close()
