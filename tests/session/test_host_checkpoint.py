"""`restore_host_checkpoint`: the newest command line hands over its own transcript by it, in place of `set_messages`.

The calls have the shape of amplifier-app-cli of 2026-10 (its `session_runner.py` and `session_spawner.py` at 43b6f4a).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import InMemoryContextManager, PersistentContextManager, RecordError
from tests.support.host_repair import diagnose
from tests.support.message_shapes import says
from tests.support.messages import Message, fill, user
from tests.support.real_sessions import Host
from tests.support.resumed_sessions import calling, result, transcript_of, without_stamps
from tests.support.stored_logs import stored_bytes
from tests.support.sweeps import proof

pytestmark = pytest.mark.usefixtures("each_log")

TURN = [user("go"), calling("c1"), result("c1"), says("done")]
ELSEWHERE = [user("elsewhere"), says("there")]


class Checkpoint(list[Message]):
    """A transcript of the host's own store; a class of its own says so."""


async def resume(context: Any, transcript: list[Message]) -> None:
    """Hand over a transcript as the command line does."""
    restore = getattr(context, "restore_host_checkpoint", None)
    if isinstance(transcript, Checkpoint) and callable(restore):
        await restore(transcript)
    else:
        await context.set_messages(transcript)


def open_session(path: Path, told: Host | None = None) -> PersistentContextManager:
    config = {"tokenizer": "estimate", "durability": "write", "session_id": "s1"}
    return PersistentContextManager(path, coordinator=told, **config)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


async def stored(path: Path, messages: list[Message]) -> list[Message]:
    """The history of a session that ends."""
    manager = open_session(path)
    await fill(manager, messages)
    history = await manager.get_messages()
    await manager.close()
    return history


async def test_a_resume_returns_nothing_and_changes_nothing(path: Path) -> None:
    """The log has all that the host stored; it stays as it is, to the byte."""
    history = await stored(path, TURN)
    before = stored_bytes(path)
    manager = open_session(path)
    assert await manager.restore_host_checkpoint(Checkpoint(transcript_of(history))) is None
    assert await manager.get_messages() == history
    await manager.close()
    assert stored_bytes(path) == before


@proof
async def test_turns_that_the_log_never_held_are_appended_once(path: Path) -> None:
    """However often the session is resumed; what the host does not have stays."""
    history = await stored(path, TURN)
    for _ in range(3):
        manager = open_session(path)
        await resume(manager, Checkpoint([*transcript_of(history), *ELSEWHERE]))
        assert without_stamps(await manager.get_messages()) == [*TURN, *ELSEWHERE]
        await manager.close()
    manager = open_session(path)
    await resume(manager, Checkpoint(transcript_of(history)[:2]))
    assert without_stamps(await manager.get_messages()) == [*TURN, *ELSEWHERE]
    await manager.close()


@proof
async def test_a_session_of_another_module_begins_with_the_hosts_history(path: Path) -> None:
    """An empty log takes the whole list, its system messages too, and decides from then on."""
    told = Host()
    listed = Checkpoint([{"role": "system", "content": "You are careful."}, *TURN])
    manager = open_session(path, told)
    await resume(manager, listed)
    history = await manager.get_messages()
    assert without_stamps(history) == list(listed)
    await resume(manager, Checkpoint(ELSEWHERE))
    assert await manager.get_messages() == history
    await manager.close()
    assert told.of("context:set_messages_ignored")[-1]["unknown_messages"] == 2


async def test_what_was_added_before_the_resume_stays(path: Path) -> None:
    """A host that adds a message to a new session first does not lose it: a resume replaces nothing."""
    manager = open_session(path)
    await manager.add_message(user("first"))
    await resume(manager, Checkpoint(TURN))
    assert without_stamps(await manager.get_messages()) == [user("first")]
    await manager.close()


async def test_an_interrupted_turn_is_repaired_after_the_resume(path: Path) -> None:
    """The transcript has the interruption; the host repairs what it gets back."""
    history = await stored(path, TURN[:2])
    manager = open_session(path)
    await resume(manager, Checkpoint(transcript_of(history)))
    assert diagnose(await manager.get_messages()).missing == ("c1",)
    await manager.close()


async def test_a_bad_message_is_refused_and_nothing_is_changed(path: Path) -> None:
    """As `set_messages` does it."""
    history = await stored(path, TURN)
    manager = open_session(path)
    with pytest.raises(RecordError, match="role"):
        await manager.restore_host_checkpoint([*history, {"role": "nobody", "content": "x"}])
    assert await manager.get_messages() == history
    await manager.close()


@proof
async def test_a_session_in_memory_takes_the_hosts_history() -> None:
    """It begins with it, and further lists replace nothing."""
    manager = InMemoryContextManager(tokenizer="estimate")
    await manager.restore_host_checkpoint(Checkpoint(TURN))
    await manager.restore_host_checkpoint(Checkpoint([*TURN, *ELSEWHERE]))
    assert without_stamps(await manager.get_messages()) == [*TURN, *ELSEWHERE]
