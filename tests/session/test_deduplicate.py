"""What hosts do at a resume: nothing that is stored is stored again, and nothing is lost."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.session.closing_messages import CLOSING_TEXT
from amplifier_module_context_persistent.toolbox.maintenance.purge_log import purge_log
from amplifier_module_context_persistent.toolbox.maintenance.purge_options import Purge
from tests.support.checker import assert_valid
from tests.support.histories import messages as any_histories
from tests.support.messages import Message, fill, user
from tests.support.resumed_sessions import (
    SYSTEM,
    bytes_of,
    calling,
    first_session,
    open_manager,
    repaired,
    result,
    sanitised,
    session_history,
    transcript_of,
    without_stamps,
)
from tests.support.stored_logs import place_of, stored_bytes
from tests.support.sweeps import proof, some

pytestmark = pytest.mark.usefixtures("each_log")


@proof
async def test_the_repair_before_a_turn_is_taken_once(path: Path) -> None:
    """The host sees a call without a result and sets a repaired history; only what it puts in is stored."""
    history, _ = await first_session(path, session_history())
    manager = open_manager(path)
    await manager.set_messages(repaired(history))
    with_result = await manager.get_messages()
    lost = {"role": "tool", "tool_call_id": "c3", "content": "[lost]", "metadata": {"source": "context-repair"}}
    closing = {"role": "assistant", "content": CLOSING_TEXT, "metadata": {"source": "context-repair"}}
    *before, done = session_history()
    assert without_stamps(with_result) == [*before, done, lost, closing]
    await manager.set_messages(repaired(with_result))
    assert await manager.get_messages() == with_result
    await fill(manager, [user("Go on."), calling("c9"), result("c9")])
    assert_valid(await manager.get_messages_for_request(), history=await manager.get_messages())


async def test_after_a_replay_new_messages_are_stored_as_ever(path: Path) -> None:
    """What is said after a replay is added, even if it was said before in the same words."""
    history, _ = await first_session(path, session_history())
    manager = open_manager(path)
    await fill(manager, sanitised(history))
    await fill(manager, [user("ok"), user("ok")])
    assert without_stamps(await manager.get_messages()) == [*session_history(), user("ok"), user("ok")]


@proof
@pytest.mark.parametrize("each_log", ["file"], indirect=True)
@settings(max_examples=some(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(any_histories(max_messages=14))
@example(session_history())
async def test_any_history_survives_resume_and_replay(tmp_path_factory: Any, drawn: list[Message]) -> None:
    """Whatever was stored: what hosts set and replay, at every resume, changes no byte, nor any view."""
    path = tmp_path_factory.mktemp("any") / "log.jsonl"
    drawn = [message for message in drawn if not (message.get("metadata") or {}).get("ephemeral")]
    history, view = await first_session(path, drawn, durability="write")
    stored = stored_bytes(path)
    for _ in range(2):
        async with open_manager(path, durability="write", receipts=False) as manager:
            if history:
                await manager.set_messages(transcript_of(history))
                await manager.set_messages([SYSTEM, *await manager.get_messages()])
            await fill(manager, [message for message in sanitised(history) if "role" in message])
            assert bytes_of(await manager.get_messages()) == bytes_of(history)
            resumed = await manager.get_messages_for_request()
            assert bytes_of(resumed) == bytes_of(view)
            assert_valid(resumed, history=history)
        assert stored_bytes(path) == stored


@proof
async def test_resume_by_set_messages_on_a_fresh_session_is_obeyed(path: Path) -> None:
    """Where the log holds no conversation, what the host sets is the history, and lies in the log."""
    async with open_manager(path) as manager:
        await manager.set_messages([user("one"), {"role": "assistant", "content": "two"}])
        await manager.set_messages([SYSTEM, *await manager.get_messages()])
        await manager.add_message(user("three"))
        expected = [SYSTEM, user("one"), {"role": "assistant", "content": "two"}, user("three")]
        assert without_stamps(await manager.get_messages()) == expected
    manager = open_manager(path)
    assert without_stamps(await manager.get_messages()) == expected
    await manager.set_messages([])
    assert without_stamps(await manager.get_messages()) == expected


@proof
async def test_an_id_that_is_taken_is_derived_the_same_way_at_every_resume(path: Path) -> None:
    """Other content under a known id, and a message that was cleared, are stored once, however often they come."""
    history, _ = await first_session(path, [user("one"), user("two")])
    async with open_manager(path) as manager:
        await manager.clear()
    other = {**history[1], "content": "two, edited"}
    stored = b""
    for resume in range(3):
        manager = open_manager(path)
        await fill(manager, [history[0], other, other])
        assert [message["content"] for message in await manager.get_messages()] == ["one", "two, edited"]
        await manager.close()
        assert resume == 0 or stored_bytes(path) == stored
        stored = stored_bytes(path)


async def test_what_a_host_adds_makes_another_message(path: Path) -> None:
    """Equality ignores what hosts drop, and not what they add."""
    history, _ = await first_session(path, [user("one"), {"role": "assistant", "content": "yes"}])
    manager = open_manager(path)
    await manager.add_message(
        {**history[1], "thinking_block": {"type": "thinking", "thinking": "new", "signature": "x"}}
    )
    assert len(await manager.get_messages()) == 3


async def test_a_purge_amid_a_replay_by_timestamps_changes_nothing(tmp_path: Path) -> None:
    """The rest of the replayed messages is recognised, none is stored twice, and new ones are stored."""
    path = str(tmp_path / "log.jsonl")
    stamps = [f"2026-01-05T09:00:{second:02}.000Z" for second in range(12)]
    given = [{"role": "user", "content": f"said {n}", "metadata": {"timestamp": t}} for n, t in enumerate(stamps)]
    async with PersistentContextManager(path) as manager:
        await fill(manager, given)
        held = [message["metadata"]["message_id"] for message in await manager.get_messages()]
    async with PersistentContextManager(path) as manager:
        await fill(manager, given[:6])
        purge_log(place_of(Path(path)), Purge(before=held[4]), now=lambda: stamps[0])
        await fill(manager, given[6:])
        await manager.add_message({"role": "user", "content": "new"})
        said = [message["content"] for message in await manager.get_messages()]
    assert said == [*(f"said {n}" for n in range(4, 12)), "new"]
