"""A task that is cancelled at any step of an append: nothing is lost, and no record is written twice."""

import asyncio
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from amplifier_module_context_persistent import PersistentContextManager
from amplifier_module_context_persistent.log.file_log import FileLog
from tests.support.fakefs import FakeFiles
from tests.support.forks import records
from tests.support.logs import assert_sound
from tests.support.messages import user
from tests.support.sweeps import proof, spread


class PausingFiles(FakeFiles):
    """A file system that has a task cancelled before the n-th call from now on, and goes on once the task has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None
        self.ended = threading.Event()

    def cancel_before(self, nth: int, task: "asyncio.Task[Any]") -> None:
        self.left, self.task, self.loop = nth, task, task.get_loop()
        self.ended.clear()
        task.add_done_callback(lambda _: self.ended.set())

    def _call(self, op: str, path: str) -> int | None:
        if self.left is not None:
            self.left -= 1
            if self.left == 0:
                self.loop.call_soon_threadsafe(self.task.cancel)
                assert self.ended.wait(30)
        return super()._call(op, path)


async def check_session(manager: PersistentContextManager, path: Path, views: int) -> None:
    """Go on and close; each view has one receipt in the log."""
    await manager.add_message(user("the last one"))
    await manager.close()
    found = Counter(record["id"] for record in records(path, "view"))
    assert (len(found), set(found.values())) == (views, {1})
    assert_sound(str(path))


@pytest.mark.parametrize("nth", list(spread(range(1, 10), 2)))
async def test_a_cancellation_at_any_call_to_the_disk_doubles_no_receipt(tmp_path: Path, nth: int) -> None:
    """The receipt of the view before is written with the append; what was begun completes."""
    files, path = PausingFiles(), tmp_path / "log.jsonl"
    manager = PersistentContextManager(log=FileLog(path, files=files), tokenizer="estimate")
    for number in range(3):
        await manager.add_message(user(f"question {number}"))
        await manager.get_messages_for_request()
        task = asyncio.ensure_future(manager.add_message(user(f"answer {number}")))
        files.cancel_before(nth, task)
        await asyncio.wait([task])
        files.left = None
    await check_session(manager, path, 3)


@proof(quick=6)
@pytest.mark.parametrize("durability", ["fsync", "write"])
@pytest.mark.parametrize("steps", range(12))
async def test_a_cancellation_at_any_step_of_the_loop_doubles_no_receipt(
    tmp_path: Path, durability: Any, steps: int
) -> None:
    """Whether the append was queued, taken or done by then; one that was withdrawn leaves its receipts to the next."""
    path = tmp_path / "log.jsonl"
    manager = PersistentContextManager(path, tokenizer="estimate", durability=durability)
    for number in range(6):
        await manager.add_message(user(f"question {number}"))
        await manager.get_messages_for_request()
        task = asyncio.ensure_future(manager.add_message(user(f"answer {number}")))
        for _ in range(steps):
            await asyncio.sleep(0.0002 * (number % 3))
        task.cancel()
        await asyncio.wait([task])
    await check_session(manager, path, 6)


async def test_a_close_that_is_cancelled_leaves_the_receipts_to_the_next(tmp_path: Path) -> None:
    """They are written once, whether the append of the close was taken or withdrawn."""
    for nth in range(1, 8):
        files, path = PausingFiles(), tmp_path / f"log{nth}.jsonl"
        manager = PersistentContextManager(log=FileLog(path, files=files), tokenizer="estimate")
        await manager.add_message(user("question"))
        await manager.get_messages_for_request()
        task = asyncio.ensure_future(manager.close())
        files.cancel_before(nth, task)
        await asyncio.wait([task])
        files.left = None
        await check_session(manager, path, 1)
