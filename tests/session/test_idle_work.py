"""Work in slices while a session waits: begun by a view, ended by a close."""

import asyncio
from collections.abc import Callable

import pytest

from amplifier_module_context_persistent.log.group_commit import GroupCommit
from amplifier_module_context_persistent.log.memory import MemoryLog
from amplifier_module_context_persistent.session import idle_work
from amplifier_module_context_persistent.session.idle_work import IdleWork


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_work, "FIRST_PAUSE_S", 0.0)
    monkeypatch.setattr(idle_work, "PAUSE_S", 0.0)


class Queue(GroupCommit):
    """A way to a log's thread on which jobs wait until they are called."""

    def __init__(self) -> None:
        super().__init__(MemoryLog(), inline=True)
        self.jobs: list[Callable[..., None]] = []

    def call(self, function: Callable[..., None]) -> None:
        self.jobs.append(function)


async def ticks() -> None:
    """Let the event loop do all that is due."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_slice_asks_for_the_next_one() -> None:
    """As long as there is more, and at most so many after one view."""
    queue, done = Queue(), []
    work = IdleWork(queue, lambda: bool(done.append(1)) or len(done) < 3)
    work.begin()
    await ticks()
    while queue.jobs:
        queue.jobs.pop()(None)
        await ticks()
    assert len(done) == 3


async def test_there_is_an_end_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that has very much to catch up does it over many views."""
    monkeypatch.setattr(idle_work, "MOST_SLICES", 4)
    queue, done = Queue(), []
    work = IdleWork(queue, lambda: bool(done.append(1)) or True)
    for _ in range(2):
        work.begin()
        await ticks()
        while queue.jobs:
            queue.jobs.pop()(None)
            await ticks()
    assert len(done) == 8


async def test_after_a_stop_nothing_is_queued() -> None:
    """Neither by a timer nor by a slice that was under way."""
    queue = Queue()
    work = IdleWork(queue, lambda: True)
    work.begin()
    work.stop()
    await ticks()
    assert not queue.jobs
    work.begin()
    await ticks()
    work.stop()
    queue.jobs.pop()(None)
    await ticks()
    assert not queue.jobs


def test_a_loop_that_was_closed_ends_it() -> None:
    """A slice that ends after the loop raises nothing on the log's thread."""
    queue = Queue()
    work = IdleWork(queue, lambda: True)

    async def session() -> None:
        work.begin()
        await ticks()

    asyncio.run(session())
    queue.jobs.pop()(None)
    assert not queue.jobs
