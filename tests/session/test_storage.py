"""Sessions whose log is in a database: chosen by `storage`, resumed from another process, shared by two."""

from pathlib import Path

import pytest

from amplifier_module_context_persistent import ConfigError, PersistentContextManager
from tests.support.checker import assert_valid
from tests.support.messages import fill, user
from tests.support.postgres import TestServer
from tests.support.real_sessions import texts
from tests.support.sweeps import proof


async def test_sessions_and_children_are_apart(storage: str) -> None:
    """By their ids, and by their projects."""
    async with (
        PersistentContextManager(storage=storage, session_id="parent") as parent,
        PersistentContextManager(storage=storage, session_id="child", parent_id="parent") as child,
    ):
        await parent.add_message(user("of the parent"))
        await child.add_message(user("of the child"))
        assert texts(await parent.get_messages()) == ["of the parent"]
        assert texts(await child.get_messages()) == ["of the child"]


async def test_two_managers_share_a_session(storage: str) -> None:
    """Each sees what the other added; a replayed message is not stored twice."""
    async with (
        PersistentContextManager(storage=storage, session_id="s") as one,
        PersistentContextManager(storage=storage, session_id="s") as other,
    ):
        for number in range(6):
            await (one, other)[number % 2].add_message(user(f"message {number}"))
        stored = await one.get_messages()
        assert texts(stored) == [f"message {number}" for number in range(6)]
        await fill(other, stored)
        assert await other.get_messages() == stored
        assert_valid(await other.get_messages_for_request())


async def test_storage_and_a_path_exclude_each_other(storage: str, tmp_path: Path) -> None:
    """The error says which keys."""
    with pytest.raises(ConfigError, match=r"storage.*transcript_path"):
        PersistentContextManager(tmp_path / "log", storage=storage, session_id="s")
    with pytest.raises(ConfigError, match="session"):
        PersistentContextManager(storage=storage)


@proof
async def test_a_server_that_is_away_is_no_empty_session(server: TestServer, storage: str) -> None:
    """The session does not continue in memory; it raises, and works once the server is back."""
    async with PersistentContextManager(storage=storage, session_id="s", lock_timeout_s=1) as manager:
        await manager.add_message(user("one"))
        server.kill()
        with pytest.raises(OSError, match=r"server|stored"):
            await manager.add_message(user("two"))
        server.start()
        await manager.add_message(user("three"))
        assert [text for text in texts(await manager.get_messages()) if text != "two"] == ["one", "three"]
