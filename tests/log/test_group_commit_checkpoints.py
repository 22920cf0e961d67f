"""What group commit does with a log while nobody waits: it writes checkpoints, on the log's own thread."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from amplifier_module_context_persistent.log.base import KeepsCheckpoint, Log, Outcome, Prepare
from amplifier_module_context_persistent.log.group_commit import GroupCommit
from amplifier_module_context_persistent.log.memory import MemoryLog
from tests.support.logs import body, giving


class CheckpointedLog(MemoryLog):
    """A log in memory that asks for a checkpoint after so many records, and notes on which thread it is written."""

    def __init__(self, every: int = 1) -> None:
        super().__init__()
        self.every, self.uncovered = every, 0
        self.gate = threading.Event()
        self.gate.set()
        self.begun = threading.Event()
        self.writings = threading.Semaphore(0)
        self.written_by: list[int] = []

    def append(self, batch: Sequence[Prepare], *, wait: bool = True) -> list[Outcome]:
        outcomes = super().append(batch, wait=wait)
        self.uncovered += sum(isinstance(outcome, range) for outcome in outcomes)
        return outcomes

    @property
    def wants_checkpoint(self) -> bool:
        return self.uncovered >= self.every

    def write_checkpoint(self) -> None:
        self.begun.set()
        assert self.gate.wait(60)
        self.uncovered = 0
        self.written_by.append(threading.get_ident())
        self.writings.release()


@pytest.mark.parametrize("inline", [False, True])
async def test_a_checkpoint_is_written_on_the_logs_thread_once_it_is_wanted(inline: bool) -> None:
    """After an append on the caller's thread, too; and not after each one."""
    log = CheckpointedLog(every=3)
    assert isinstance(log, KeepsCheckpoint)
    commit = GroupCommit(log, inline=inline)
    own = await commit.run(lambda _: threading.get_ident())
    for number in range(7):
        await commit.append(giving(body(number)))
        if number % 3 == 2:  # it is written once nobody waits
            assert await asyncio.to_thread(log.writings.acquire, timeout=60)
        assert log.written_by == [own] * ((number + 1) // 3)
    await commit.close()


@pytest.mark.parametrize("inline", [False, True])
async def test_nobody_waits_for_a_checkpoint(inline: bool) -> None:
    """The appends that it follows are answered before it is written."""
    log = CheckpointedLog()
    log.gate.clear()
    commit = GroupCommit(log, inline=inline)
    try:
        assert await commit.append(giving(body(0))) == range(1)
        assert await asyncio.to_thread(log.begun.wait, 60)
        assert log.written_by == []
    finally:
        log.gate.set()
    await commit.close()
    assert len(log.written_by) == 1


async def test_a_checkpoint_that_waits_is_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Appends on the caller's thread that come before the log's thread begins want the same one."""
    jobs: list[Callable[[], object]] = []
    monkeypatch.setattr(ThreadPoolExecutor, "submit", lambda _, job: jobs.append(job))
    log = CheckpointedLog()
    commit = GroupCommit(log, inline=True)
    for asked in (1, 2):
        for number in range(5):
            await commit.append(giving(body(asked * 10 + number)))
        assert len(jobs) == asked
        jobs[-1]()
        assert len(log.written_by) == asked
        assert log.uncovered == 0


async def test_an_append_that_was_refused_wants_no_checkpoint() -> None:
    """Only what was stored counts, and the error is the caller's."""
    log = CheckpointedLog()
    commit = GroupCommit(log, inline=True)

    def refuse(_index: object) -> list[bytes]:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await commit.append(refuse)
    await commit.run(lambda _: None)
    assert log.written_by == []
    await commit.close()


async def test_what_nobody_waits_for_is_done_in_its_turn() -> None:
    """On the log's thread, with the log, after what was queued before and alone with the log."""
    log = MemoryLog()
    commit = GroupCommit(log, inline=True)
    own = await commit.run(lambda _: threading.get_ident())
    begun, release = threading.Event(), threading.Event()
    found: list[tuple[bool, int]] = []

    def note(given: Log) -> None:
        begun.set()
        assert release.wait(60)
        found.append((given is log, threading.get_ident()))

    commit.call(note)
    assert await asyncio.to_thread(begun.wait, 60)
    appending = asyncio.ensure_future(commit.append(giving(body(0))))
    await asyncio.sleep(0)
    assert len(log.index) == 0
    release.set()
    assert await appending == range(1)
    assert found == [(True, own)]
    await commit.close()
