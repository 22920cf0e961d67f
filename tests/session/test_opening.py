"""Opening a session by many calls at once."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.errors import LogUnreadableError
from amplifier_module_context_persistent.log.file_log import FileLog
from tests.support.sweeps import proof


class CountingLog(FileLog):
    """A log that counts how often it was asked for what is new."""

    follows = 0

    def follow(self) -> None:
        self.follows += 1
        super().follow()


def said(number: int) -> dict[str, object]:
    return {"role": "user", "content": f"message {number}"}


@pytest.mark.parametrize("durability", ["write", "fsync"])
async def test_messages_that_are_added_at_once_open_the_log_once_and_keep_their_order(
    tmp_path: Path, durability: str
) -> None:
    log = CountingLog(tmp_path / "log.jsonl", durability=durability)
    manager = PersistentContextManager(log=log, tokenizer="estimate")
    await asyncio.gather(*(manager.add_message(said(number)) for number in range(200)))
    assert log.follows == 1
    assert [message["content"] for message in await manager.get_messages()] == [
        said(number)["content"] for number in range(200)
    ]
    await manager.close()


async def test_a_caller_that_is_cancelled_leaves_the_opening_to_the_others(tmp_path: Path) -> None:
    manager = PersistentContextManager(tmp_path / "log.jsonl", tokenizer="estimate")
    tasks = [asyncio.create_task(manager.add_message(said(number))) for number in range(3)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in done] == [asyncio.CancelledError, type(None), type(None)]
    assert [message["content"] for message in await manager.get_messages()] == ["message 1", "message 2"]
    await manager.close()


async def test_an_opening_that_fails_is_told_to_all_and_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.mkdir()
    manager = PersistentContextManager(path, tokenizer="estimate")
    done = await asyncio.gather(*(manager.add_message(said(number)) for number in range(3)), return_exceptions=True)
    assert [type(one) for one in done] == [LogUnreadableError] * 3
    path.rmdir()
    await manager.add_message(said(4))
    assert len(await manager.get_messages()) == 1
    await manager.close()


def test_a_session_that_one_event_loop_left_while_it_opened_is_opened_by_the_next(tmp_path: Path) -> None:
    manager = PersistentContextManager(tmp_path / "log.jsonl", tokenizer="estimate")

    async def leave() -> None:
        asyncio.get_running_loop().create_task(manager.add_message(said(1)))
        await asyncio.sleep(0)

    async def go_on() -> int:
        await manager.add_message(said(2))
        await manager.close()
        return len(await manager.get_messages())

    asyncio.run(leave())
    assert asyncio.run(go_on()) >= 1


@proof(quick=1)
@pytest.mark.parametrize("is_open", [True, False], ids=["open", "opening"])
async def test_a_task_that_waits_for_its_append_keeps_few_objects(tmp_path: Path, is_open: bool) -> None:
    """The garbage collector visits the objects of all that wait; a bare task that awaits a future keeps eight."""
    count = 500
    async with PersistentContextManager(tmp_path / "log.jsonl", tokenizer="estimate") as manager:
        if is_open:
            await manager.add_message(said(0))
        gc.collect()
        gc.disable()
        try:
            before = len(gc.get_objects())
            tasks = [asyncio.create_task(manager.add_message(said(number))) for number in range(count)]
            await asyncio.sleep(0)
            kept = len(gc.get_objects()) - before
        finally:
            gc.enable()
        await asyncio.gather(*tasks)
    assert kept <= 18 * count
