"""Pins that are records of the log: by `manager.pin()` and by the tool `pin`."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from amplifier_core.llm_errors import ContextLengthError
from hypothesis import given
from hypothesis import strategies as st

from amplifier_module_context_persistent import InMemoryContextManager, PersistentContextManager, PinError
from amplifier_module_context_persistent.log.reader import LogReader
from amplifier_module_context_persistent.log.record_line import encode_control
from amplifier_module_context_persistent.session.model_tools import PinTool
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from amplifier_module_context_persistent.toolbox.maintenance.verify import verify_log
from tests.support.checker import assert_valid, same
from tests.support.counters import count
from tests.support.logs import assert_sound, body, reset_bodies, sealed
from tests.support.messages import Message, answers, calls, result, user
from tests.support.played_sessions import Session
from tests.support.recorded_sessions import Recorded, controls
from tests.support.scans import scan
from tests.support.sweeps import proof
from tests.support.view_properties import INTERRUPTED, batches, checked, examples, pauses, policies, run, stories

LONG = "line of code that matters\n" * 120


class Pinning(Recorded):
    async def ids(self) -> list[str]:
        return [message["metadata"]["message_id"] for message in await self.manager.get_messages()]

    async def begin(self) -> list[str]:
        """A question, a call of two tools, and both results; their ids."""
        calls = [{"id": f"c{n}", "tool": "read", "arguments": {}} for n in (1, 2)]
        await self.add(
            user("begin"),
            {"role": "assistant", "content": "", "tool_calls": calls},
            result("c1", LONG),
            result("c2", LONG),
        )
        return await self.ids()

    async def fill(self, turns: int = 30) -> None:
        for number in range(turns):
            await self.add(
                user(f"question {number} " + "word " * 80),
                {"role": "assistant", "content": f"answer {number} " + "word " * 80},
            )

    async def shows(self, places: range) -> bool:
        """Whether the view shows messages as history has them."""
        history = await self.manager.get_messages()
        view = await self.view()
        assert_valid(view, history=history, budget_tokens=4_000, count=count)
        return all(any(same(history[place], message) for message in view) for place in places)


@pytest_asyncio.fixture
async def session(tmp_path: Path) -> AsyncIterator[Pinning]:
    """In the end every view is proved."""
    async with Pinning(tmp_path / "log.jsonl") as session:
        yield session


@proof
async def test_a_pin_holds_its_whole_tool_group(session: Pinning) -> None:
    """Over many plans and a restart; without it the group is shortened or left out."""
    ids = await session.begin()
    await session.manager.pin(ids[2], reason="the specification")
    for _ in range(4):
        await session.fill(10)
        assert await session.shows(range(4))
        await session.restart()
    assert await session.shows(range(4))
    (record,) = controls(session.path, "pin")
    assert (record["message_id"], record["pinned"], record["reason"]) == (ids[2], True, "the specification")
    assert_sound(str(session.path))


@proof
async def test_what_was_left_out_before_comes_back_with_the_next_plan(session: Pinning) -> None:
    """Not earlier: until then views go on as they were."""
    ids = await session.begin()
    await session.fill()
    assert not await session.shows(range(1, 4))
    await session.manager.pin(ids[3])
    before = session.views[-1]
    assert await session.view() == before
    await session.fill(20)
    assert await session.shows(range(1, 4))


@proof
async def test_a_call_that_comes_back_takes_no_later_calls_result(session: Pinning) -> None:
    """Also where the later call, which has the same id, is left out; the views are proved all the same."""
    await session.add(user("begin"), calls("call_0"), user("again"), calls("call_0"))
    await session.fill()
    assert not await session.shows(range(1, 2))
    await session.manager.pin((await session.ids())[1])
    await session.add(answers("call_0"))
    for _ in range(3):
        await session.fill(10)
        await session.view()
        await session.restart()
    assert await session.shows(range(1, 2))
    assert [m["content"] for m in session.views[-1] if m["role"] == "tool"] == [INTERRUPTED]


@proof
async def test_letting_go(session: Pinning) -> None:
    """From the next plan on the message is like any other."""
    ids = await session.begin()
    await session.manager.pin(ids[2])
    await session.manager.pin(ids[2])
    await session.fill()
    assert await session.shows(range(1, 4))
    await session.manager.pin(ids[2], pinned=False)
    await session.fill()
    assert not await session.shows(range(1, 4))
    assert [record["pinned"] for record in controls(session.path, "pin")] == [True, False]


@proof
async def test_a_pin_in_a_far_history_without_a_plan(session: Pinning) -> None:
    """The first plan of a long history keeps it."""
    ids = await session.begin()
    await session.fill(300)
    await session.manager.pin(ids[2])
    assert await session.shows(range(1, 4))


@proof
async def test_the_pins_of_another_process_hold(session: Pinning) -> None:
    """As soon as they stand in the log."""
    ids = await session.begin()
    await session.view()
    async with PersistentContextManager(session.path, **session.config) as other:
        await other.pin(ids[2])
    await session.fill()
    assert await session.shows(range(1, 4))


def pins(path: Path) -> set[int]:
    """The pinned messages, as another process finds them in the log."""
    with closing(LogReader(path)) as reader:
        reader.follow()
        return set(reader.index.session.pins)


@proof
async def test_a_pin_ends_with_a_reset_that_drops_its_message(session: Pinning) -> None:
    """And stays where the reset keeps it."""
    ids = await session.begin()
    await session.manager.pin(ids[0])
    await session.manager.pin(ids[2])
    history = await session.manager.get_messages()
    await session.manager.set_messages(history[:1])
    assert pins(session.path) == {0}
    await session.manager.clear()
    assert pins(session.path) == set()


@pytest.mark.parametrize("message_id", ["nothing", ""])
async def test_what_is_not_live_cannot_be_pinned(session: Pinning, message_id: str) -> None:
    """The error says what can; nothing is stored."""
    await session.add(user("one"))
    with pytest.raises(PinError, match="no message of this session has the id"):
        await session.manager.pin(message_id)
    (first,) = await session.ids()
    await session.manager.clear()
    with pytest.raises(PinError):
        await session.manager.pin(first)
    assert not controls(session.path, "pin")


@proof
async def test_pins_that_no_longer_fit_are_an_error_until_one_is_let_go(session: Pinning) -> None:
    """No view is handed out in the meantime, and no other plan is tried."""
    ids = await session.begin()
    await session.add(user(LONG * 8))
    (*_, large) = await session.ids()
    await session.fill(3)
    await session.manager.pin(ids[2])
    await session.manager.pin(large)
    for _ in range(2):
        with pytest.raises(ContextLengthError, match="pin"):
            await session.view()
    await session.manager.pin(large, pinned=False)
    assert await session.shows(range(1, 4))


@proof
@examples(24)
@given(stories, policies, pauses, st.lists(st.tuples(st.booleans(), st.integers(0, 60), st.booleans()), max_size=8))
def test_views_with_pins_and_hidden_turns_are_valid(
    history: list[Message], policy: Message, sizes: list[int], steps: list[tuple[bool, int, bool]]
) -> None:
    """Whatever is pinned, hidden and let go of: each view is valid and fits, or the error says why not."""

    async def play() -> None:
        session, asked = Session(**policy), list(steps)
        for part in batches(history, sizes):
            await session.add(*part)
            stored = await session.manager.get_messages()
            if asked and stored:
                pins, which, on = asked.pop()
                message_id = stored[which % len(stored)]["metadata"]["message_id"]
                with suppress(PinError):
                    if pins:
                        await session.manager.pin(message_id, pinned=on)
                    else:
                        await session.manager.hide(message_id, hidden=on)
            await checked(session)

    run(play)


# -- in the log --------------------------------------------------------------------------------------------------------


def pin(number: int, *, pinned: Any = True) -> bytes:
    return encode_control("pin", id="p", message_id=f"id-{number}", pinned=pinned, time="T")


@pytest.mark.parametrize(
    ("bodies", "pins"),
    [
        ([body(0), body(1), pin(1)], {1}),
        ([body(0), pin(0), pin(0, pinned=False)], set()),
        ([body(0), pin(0), pin(0, pinned=1)], set()),
        ([body(0), pin(3), pin(0)], {0}),
        ([pin(0), body(0)], set()),
        (
            [
                body(0),
                body(1),
                pin(0),
                pin(1),
                *reset_bodies("r", encode_control("keep", **{"from": "id-1", "to": "id-1"})),
            ],
            {1},
        ),
        ([body(0), *reset_bodies("r"), pin(0)], set()),
        ([body(0), encode_control("pin", message_id=["id-0"], pinned=True), encode_control("pin")], set()),
    ],
)
def test_which_pins_are_in_force(bodies: list[bytes], pins: set[int]) -> None:
    """The last record of a live message counts."""
    assert scan(sealed(bodies)).index.session.pins == pins


async def purged(session: Pinning, purge: Purge) -> list[str]:
    """What is pinned after a purge, by message id."""
    await session.manager.close()
    purge_log(str(session.path), purge, now=lambda: "T")
    assert_sound(str(session.path))
    report = verify_log(str(session.path))
    assert report.is_sound
    records = controls(session.path, "pin")
    assert report.controls.get("pin", 0) == len(records)
    return [record["message_id"] for record in records]


async def test_a_purge_removes_the_pins_of_what_it_removes(session: Pinning) -> None:
    """The others stay, also those that stand before what is kept."""
    ids = await session.begin()
    await session.manager.pin(ids[0])
    await session.manager.pin(ids[2], reason="mine")
    await session.add(user("last"))
    assert await purged(session, Purge(before=ids[1])) == [ids[2]]
    await session.restart()
    await session.manager.set_messages(list((await session.manager.get_messages())[1:2]))
    assert await purged(session, Purge(cleared=True)) in ([], [ids[2]])


@proof
async def test_a_pin_of_a_message_that_a_reset_moved_stays(session: Pinning) -> None:
    """A purge of what stood before a message leaves the pins of messages after it, wherever their records stand."""
    await session.add(user("a"), user("b"))
    first, second = await session.ids()
    await session.manager.pin(first)
    history = await session.manager.get_messages()
    await session.manager.set_messages([*history[1:], user("c"), *history[:1]])
    _, third, _ = await session.ids()
    assert await purged(session, Purge(before=third)) == [first]
    assert second not in session.path.read_text(encoding="utf-8")


async def test_a_redaction_leaves_pins_in_force(session: Pinning) -> None:
    """Their reasons are redacted, their names are not."""
    ids = await session.begin()
    await session.manager.pin(ids[0], reason="sesame")
    assert await purged(session, Purge(redact=lambda text: re.sub(f"sesame|{ids[0]}", "[redacted]", text))) == [ids[0]]
    assert "sesame" not in session.path.read_text(encoding="utf-8")


# -- the tool ----------------------------------------------------------------------------------------------------------


async def test_the_model_cannot_pin_so_much_that_no_request_is_left(tmp_path: Path) -> None:
    """What it pins may hold half of the target; what a host pins has no limit but the error."""
    async with PersistentContextManager(tmp_path / "log.jsonl", max_tokens=10_000, tokenizer="estimate") as manager:
        for number in range(4):
            await manager.add_message(user(f"message {number} " + "word " * 1_000))
        await manager.get_messages_for_request()
        ids = [message["metadata"]["message_id"] for message in await manager.get_messages()]
        tool = PinTool(manager)
        assert [(await tool.execute({"reference": one})).success for one in ids[:3]] == [True, True, False]
        refused = await tool.execute({"reference": ids[2]})
        assert "the limit is 2,500" in str(refused.output)
        assert (await tool.execute({"reference": ids[0], "pinned": False})).success
        assert (await tool.execute({"reference": ids[2]})).success
        await manager.pin(ids[3])
    assert {record["message_id"] for record in controls(tmp_path / "log.jsonl", "pin")} == set(ids)


async def test_the_model_pins_by_reference(session: Pinning) -> None:
    """What a tool of that name gives back says what happens, and lets go again."""
    ids = await session.begin()
    tool = PinTool(session.manager)
    answer = await tool.execute({"reference": ids[2], "reason": "a rule"})
    assert answer.success
    assert ids[2] in str(answer.output)
    await session.fill()
    assert await session.shows(range(1, 4))
    assert "no longer" in str((await tool.execute({"reference": ids[2], "pinned": False})).output)
    assert [record.get("reason") for record in controls(session.path, "pin")] == ["a rule", None]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, "reference: must be the id"),
        ({"reference": 3}, "reference: must be the id"),
        ({"reference": "nothing"}, "no message of this session has the id 'nothing'"),
        ({"reference": "x", "pinned": "yes"}, "pinned: must be true or false"),
        ({"reference": "x", "reason": "r" * 501}, "reason: must be a text of at most 500"),
        ({"reference": "x", "id": 1}, "id: there is no such parameter; allowed: reference, pinned, reason"),
        ("m1", "the input must be an object, not str"),
    ],
)
async def test_what_is_wrong_is_an_answer(given: Any, error: str) -> None:
    """The result says that it failed, and why."""
    answer = await PinTool(InMemoryContextManager()).execute(given)
    assert not answer.success
    assert error in answer.get_serialized_output()
