"""The manager as a Python object: how it is made, shown, opened and closed."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from amplifier_module_context_persistent import (
    InMemoryContextManager,
    LogUnreadableError,
    PersistentContextManager,
)

MESSAGE = {"role": "user", "content": "hello"}


async def test_a_manager_shows_where_its_log_lies_and_how_many_messages_are_live(tmp_path: Path) -> None:
    """Before the log is opened, showing the manager reads and creates nothing."""
    path = tmp_path / "log.jsonl"
    manager = PersistentContextManager(path)
    assert repr(manager) == f"<PersistentContextManager {path}: not opened>"
    assert not path.exists()
    await manager.add_message(MESSAGE)
    assert repr(manager) == f"<PersistentContextManager {path}: 1 messages>"
    await manager.clear()
    assert repr(manager) == f"<PersistentContextManager {path}: 0 messages>"
    await manager.close()


async def test_a_manager_in_memory_says_so() -> None:
    """It has no file to name."""
    async with InMemoryContextManager() as manager:
        await manager.add_message(MESSAGE)
        assert repr(manager) == "<InMemoryContextManager in memory: 1 messages>"


async def test_async_with_closes_the_manager(tmp_path: Path) -> None:
    """What waits for the next append is in the file after the statement, also where its body failed."""
    path = tmp_path / "log.jsonl"

    async def fail() -> None:
        async with PersistentContextManager(path) as manager:
            await manager.add_message(MESSAGE)
            await manager.get_messages_for_request()
            assert b'"_record":"view"' not in path.read_bytes()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert b'"_record":"view"' in path.read_bytes()


async def test_async_with_opens_the_log(tmp_path: Path) -> None:
    """A log that cannot be read is an error at the statement, not at the first message."""
    with pytest.raises(LogUnreadableError):
        async with PersistentContextManager(tmp_path):
            pytest.fail("the body of the statement ran")


async def test_a_path_by_position_wins_over_one_by_name(tmp_path: Path) -> None:
    """And every key of the configuration is an argument."""
    manager = PersistentContextManager(tmp_path / "log.jsonl", storage_path="elsewhere", durability="write")
    assert manager.log_path == str(tmp_path / "log.jsonl")
    assert manager.config.durability == "write"
    await manager.close()


@pytest.mark.parametrize("manager", [PersistentContextManager, InMemoryContextManager])
def test_the_arguments_are_typed_one_by_one(manager: type) -> None:
    """An editor can complete them: what stands for `**options` is a typed dictionary, not `Any`."""
    options = inspect.signature(manager).parameters["options"]
    assert "Options]" in str(options.annotation)
    assert "Unpack[" in str(options.annotation)
