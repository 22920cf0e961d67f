"""The append queue: order, cancellation, threads, and one wait for the disk for all who wait."""

import asyncio
import gc
import json
import multiprocessing
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import pytest
import pytest_asyncio

from amplifier_module_context_persistent.errors import AppendError, LogFailedError
from amplifier_module_context_persistent.log.append_queue import AppendQueue, Item
from amplifier_module_context_persistent.log.contract import Log, Outcome, Prepare
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.filesystem import FileSystem
from amplifier_module_context_persistent.log.index import Index
from amplifier_module_context_persistent.log.memory import MemoryLog
from amplifier_module_context_persistent.log.thread_pool import ThreadPool
from tests.support.fakefs import FakeFiles
from tests.support.logs import append, assert_sound, body, giving, in_a_fork, number_of, numbers, stored_numbers
from tests.support.places import ROOT
from tests.support.sweeps import proof, spread


class GatedLog(FileLog):
    """A log whose commits wait for a gate, and are counted."""

    gate: threading.Event
    batches: list[int]

    @classmethod
    def at(cls, path: str, files: FakeFiles | None = None) -> "GatedLog":
        log = cls(path, files=files)
        log.gate, log.batches = threading.Event(), []
        return log

    def append(self, batch: Sequence[Prepare], *, wait: bool = True) -> list[Outcome]:
        self.batches.append(len(batch))
        assert self.gate.wait(10)
        return super().append(batch, wait=wait)


class BusyFiles(FileSystem):
    """A file system whose syncs wait for a gate."""

    def __init__(self) -> None:
        self.gate, self.begun = threading.Event(), threading.Event()
        self.gate.set()

    def sync(self, fd: int) -> None:
        self.begun.set()
        assert self.gate.wait(60)
        super().sync(fd)


@pytest_asyncio.fixture
async def queue(path: str) -> AsyncIterator[AppendQueue]:
    """The queue of a log, closed at the end."""
    queue = AppendQueue(FileLog(path), inline=False)
    yield queue
    await queue.close()


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(2_000):
        if condition():
            return
        await asyncio.sleep(0.002)
    raise AssertionError("it did not come to pass")


@pytest.mark.parametrize("inline", [False, True])
async def test_the_order_of_the_queue_is_the_order_of_the_log(path: str, inline: bool) -> None:
    """32 tasks append each in its own order, and all in the order of their calls."""
    queue = AppendQueue(FileLog(path, durability="write" if inline else "fsync"), inline=inline)
    called: list[int] = []

    async def task(first: int) -> None:
        for number in range(first, first + 20):
            called.append(number)
            await queue.append(giving(body(number)), small=number % 3 > 0)

    await asyncio.gather(*(task(100 * n) for n in range(32)))
    stored = stored_numbers(path)
    assert sorted(stored) == sorted(called)
    for n in range(32):
        assert [number for number in stored if number // 100 == n] == list(range(100 * n, 100 * n + 20))
    if not inline:
        assert stored == called
    await queue.close()
    assert_sound(path)


async def test_those_who_wait_share_one_write_and_one_sync(path: str, files: FakeFiles) -> None:
    """What is queued while the disk is busy goes to it as one."""
    log = GatedLog.at(path, files)
    queue = AppendQueue(log, inline=False)
    tasks = [asyncio.create_task(queue.append(giving(body(number)))) for number in range(33)]
    await until(lambda: len(log.batches) == 1)  # however many were queued when it was begun
    log.gate.set()
    ranges = await asyncio.gather(*tasks)
    assert ranges == [range(number, number + 1) for number in range(33)]
    assert sum(log.batches) == 33
    assert len(log.batches) <= 2
    assert files.count("write") == files.count("sync") == len(log.batches)
    await queue.close()


async def test_an_append_that_looks_back_sees_all_that_was_queued_before(path: str) -> None:
    """So does one with an id that a queued append brings; the others share a batch."""
    log = GatedLog.at(path)
    queue, seen = AppendQueue(log, inline=False), list[int]()

    def looks(index: Index) -> list[bytes]:
        seen.append(len(index))
        return [body(10 + len(seen))]

    one, two = frozenset({"1"}), frozenset({"1", "2"})
    tasks = [asyncio.create_task(queue.append(giving(body(0))))]
    await until(lambda: log.batches == [1])
    told = [{}, {"looks_back": True}, {}, {"looks_back": True}, {"ids": one}, {"ids": two}, {"ids": frozenset({"3"})}]
    tasks += [asyncio.create_task(queue.append(looks, **more)) for more in told]
    await asyncio.sleep(0)
    log.gate.set()
    await asyncio.gather(*tasks)
    assert log.batches == [1, 1, 2, 2, 2]
    assert seen == [1, 2, 2, 4, 4, 6, 6]
    await queue.close()


async def test_errors_go_to_those_whose_they_are(path: str, files: FakeFiles) -> None:
    """A preparation that raises concerns one caller; a failed write all of its batch, and nobody later."""
    queue = AppendQueue(FileLog(path, files=files), inline=False)

    def fails(_index: Index) -> list[bytes]:
        raise KeyError("mine")

    outcomes = await asyncio.gather(
        queue.append(giving(body(0))), queue.append(fails), queue.append(giving(body(1))), return_exceptions=True
    )
    assert isinstance(outcomes[1], KeyError)
    files.fail("write", short=3)
    outcomes = await asyncio.gather(queue.append(giving(body(2))), return_exceptions=True)
    assert isinstance(outcomes[0], AppendError)
    await queue.append(giving(body(3)))
    assert stored_numbers(path) == [0, 1, 3]
    files.fail("sync")
    for _ in range(2):
        with pytest.raises(LogFailedError):
            await queue.append(giving(body(4)))
    assert await queue.run(numbers) == [0, 1, 3]
    await queue.close()
    await queue.append(giving(body(5)))
    assert stored_numbers(path) == [0, 1, 3, 4, 5]
    await queue.close()


async def test_a_cancelled_call_is_withdrawn_or_completed(path: str) -> None:
    """What was not taken yet is not stored; what was taken is stored in full; the others are untouched."""
    log = GatedLog.at(path)
    queue = AppendQueue(log, inline=False)
    taken = asyncio.create_task(queue.append(giving(body(0))))
    await until(lambda: log.batches == [1])
    waiting = [asyncio.create_task(queue.append(giving(body(number)))) for number in (1, 2, 3)]
    await asyncio.sleep(0.01)
    taken.cancel()
    waiting[1].cancel()
    for task in (taken, waiting[1]):
        with pytest.raises(asyncio.CancelledError):
            await task
    log.gate.set()
    await asyncio.gather(waiting[0], waiting[2])
    assert stored_numbers(path) == [0, 1, 3]
    await queue.close()


async def test_an_append_that_waited_elsewhere_is_left_out_if_its_caller_was_cancelled(path: str) -> None:
    """Its caller awaits a future before the append is queued; `unstored` is called once."""
    queue, gate, unstored = AppendQueue(FileLog(path), inline=False), threading.Event(), list[int]()
    queue.call(lambda _: assert_opened(gate))
    futures = [asyncio.get_running_loop().create_future() for _ in range(3)]
    queue.enter(
        Item(giving(body(number)), appends=True, unstored=partial(unstored.append, number), future=future)
        for number, future in enumerate(futures)
    )
    futures[1].cancel()
    gate.set()
    assert [list(await future) for future in (futures[0], futures[2])] == [[0], [1]]
    assert unstored == [1]
    await queue.close()
    assert stored_numbers(path) == [0, 2]


def assert_opened(gate: threading.Event) -> None:
    assert gate.wait(10)


async def test_a_batch_of_which_all_were_cancelled_writes_nothing(path: str) -> None:
    """A withdrawn call leaves no trace, and is told to have stored nothing."""
    log, unstored = GatedLog.at(path), list[int]()
    queue = AppendQueue(log, inline=False)
    first = asyncio.create_task(queue.append(giving(body(0)), unstored=lambda: unstored.append(0)))
    await until(lambda: log.batches == [1])
    second = asyncio.create_task(queue.append(giving(body(1)), unstored=lambda: unstored.append(1)))
    await asyncio.sleep(0.01)
    second.cancel()
    log.gate.set()
    await first
    await queue.close()
    assert log.batches == [1]
    assert unstored == [1]
    assert stored_numbers(path) == [0]


async def test_cancellations_at_any_moment_lose_and_double_nothing(path: str, queue: AppendQueue) -> None:
    """Whoever got an answer is stored, and nobody twice, whatever is cancelled meanwhile."""
    acknowledged = []

    async def task(number: int) -> None:
        await queue.append(giving(body(number)))
        acknowledged.append(number)

    for start in range(0, 400, 40):
        tasks = [asyncio.create_task(task(number)) for number in range(start, start + 40)]
        await asyncio.sleep(0.0003 * (start % 7))
        for victim in tasks[:: 1 + start % 3]:
            victim.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    await queue.close()
    stored = stored_numbers(path)
    assert set(acknowledged) <= set(stored)
    assert len(set(stored)) == len(stored)
    assert_sound(path)


@pytest.mark.parametrize("inline", [False, True])
async def test_what_was_not_stored_is_told_once(path: str, files: FakeFiles, inline: bool) -> None:
    """A refused write is not tried again: the caller hears of it, and `unstored` is called; not so if all went well."""
    log, told = FileLog(path, durability="write" if inline else "fsync", files=files), list[str]()
    queue = AppendQueue(log, inline=inline)
    await queue.append(giving(body(1)), unstored=lambda: told.append("stored"))
    files.fail("write")
    with pytest.raises(AppendError):
        await queue.append(giving(body(2)), unstored=lambda: told.append("refused"))
    await queue.close()
    assert told == ["refused"]
    assert stored_numbers(path) == [1]


@pytest.mark.parametrize("inline", [False, True])
def test_two_threads_with_a_loop_each_share_a_log(path: str, inline: bool) -> None:
    """Each thread's tasks get their answers on their own loop, and each task's order is kept."""
    queue = AppendQueue(FileLog(path, durability="write" if inline else "fsync"), inline=inline)
    failures: list[BaseException] = []

    async def task(first: int) -> None:
        for number in range(first, first + 10):
            await queue.append(giving(body(number)))
            if number % 5 == 0:
                found = await queue.run(lambda log: [number_of(m) for m in log.read(log.index.live)])
                assert number in found

    async def tasks(thread: int) -> None:
        await asyncio.gather(*(task(10_000 * thread + 100 * n) for n in range(32)))

    def run(thread: int) -> None:
        try:
            asyncio.run(tasks(thread))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(n,)) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    stored = stored_numbers(path)
    assert len(stored) == len(set(stored)) == 640
    for group in {number // 100 for number in stored}:
        assert [n for n in stored if n // 100 == group] == list(range(100 * group, 100 * group + 10))
    asyncio.run(queue.close())
    assert_sound(path)


async def test_small_appends_without_a_sync_stay_on_the_calling_thread(path: str) -> None:
    """No thread is woken for what does not wait for a disk; large and first appends go to the log's own."""
    queue = AppendQueue(FileLog(path, durability="write"), inline=True)
    on: list[int] = []

    def prepare(number: int) -> Prepare:
        def give(_index: Index) -> list[bytes]:
            on.append(threading.get_ident())
            return [body(number)]

        return give

    await queue.append(prepare(0))
    here = threading.get_ident()
    assert on[-1] != here  # the first one opens and creates
    await queue.append(prepare(1))
    assert on[-1] == here
    await queue.append(prepare(2), small=False)
    assert on[-1] != here
    await queue.close()
    assert stored_numbers(path) == [0, 1, 2]


async def test_an_inline_append_never_overtakes_the_queue(path: str) -> None:
    """What was queued first is in the log first, also while no thread has come to it."""
    threads = ThreadPool(most_running=1)
    queue = AppendQueue(FileLog(path, durability="write"), inline=True, threads=threads)
    await queue.append(giving(body(0)))
    gate = threading.Event()
    threads.submit(lambda: gate.wait(10))
    large = asyncio.create_task(queue.append(giving(body(1)), small=False))
    await asyncio.sleep(0)
    small = asyncio.create_task(queue.append(giving(body(2))))
    await asyncio.sleep(0.01)
    gate.set()
    await asyncio.gather(large, small)
    await queue.close()
    assert stored_numbers(path) == [0, 1, 2]


async def test_logs_with_much_to_do_take_turns_on_few_threads(tmp_path: Path) -> None:
    """Each keeps its own order, and one that is never without work holds no other up."""
    threads = ThreadPool(most_running=2)
    logs = [FileLog(tmp_path / f"{number}.jsonl", durability="write") for number in range(6)]
    queues = [AppendQueue(log, inline=False, threads=threads) for log in logs]
    is_over = False

    async def busy(queue: AppendQueue) -> None:
        number = 0
        while not is_over:
            await asyncio.gather(*(queue.append(giving(body(number + more))) for more in range(5)))
            number += 5

    working = [asyncio.create_task(busy(queue)) for queue in queues[:-1]]
    for number in range(20):
        await queues[-1].append(giving(body(number)))
    is_over = True
    await asyncio.gather(*working)
    for queue, log in zip(queues, logs, strict=True):
        await queue.close()
        stored = stored_numbers(log.path)
        assert stored == list(range(len(stored)))
    assert len(stored) == 20


async def test_logs_whose_locks_are_held_elsewhere_hold_no_other_log_up(tmp_path: Path) -> None:
    """Each waits on a thread of its own, however few may run."""
    threads, holder = ThreadPool(most_running=2), FakeFiles()
    queues, held = list[AppendQueue](), list[int]()
    for number in range(21):
        path = str(tmp_path / f"{number}.jsonl")
        append(FileLog(path), 0)
        queues.append(AppendQueue(FileLog(path), inline=False, threads=threads))
    *blocked, free = queues
    for number in range(20):
        path = str(tmp_path / f"{number}.jsonl")
        held.append(holder.open_log(path, create=False))
        assert holder.try_lock(path, held[-1]) is not None
    waiting = [asyncio.create_task(queue.append(giving(body(1)))) for queue in blocked]
    await asyncio.sleep(0.01)
    await free.append(giving(body(1)))
    assert not any(task.done() for task in waiting)
    for fd in held:
        holder.unlock(fd)
        holder.close(fd)
    await asyncio.gather(*waiting)
    for queue in queues:
        await queue.close()


async def test_a_lock_held_elsewhere_does_not_block_the_loop(path: str) -> None:
    """An append that must wait for another process waits on the log's own thread."""
    append(FileLog(path), 0)
    queue = AppendQueue(FileLog(path, durability="write"), inline=True)
    await queue.append(giving(body(1)))
    holder = FakeFiles()
    fd = holder.open_log(path, create=False)
    assert holder.try_lock(path, fd) == fd
    waiting = asyncio.create_task(queue.append(giving(body(2))))
    for _ in range(20):
        await asyncio.sleep(0.005)
    assert not waiting.done()
    holder.unlock(fd)
    holder.close(fd)
    await waiting
    await queue.close()
    assert stored_numbers(path) == [0, 1, 2]


async def test_reads_come_behind_the_appends_before_them(queue: AppendQueue) -> None:
    """A function that is run sees what was queued before it."""
    appends = [asyncio.create_task(queue.append(giving(body(number)))) for number in range(8)]
    await asyncio.sleep(0)
    assert await queue.run(numbers) == list(range(8))
    await asyncio.gather(*appends)
    with pytest.raises(ZeroDivisionError):
        await queue.run(lambda log: 1 // len(log.index.damage))


async def test_a_closed_log_opens_again_when_it_is_used(queue: AppendQueue) -> None:
    """Closing lets the file go, twice if need be, and ends nothing for good."""
    await queue.append(giving(body(0)))
    await queue.close()
    await queue.close()
    await queue.append(giving(body(1)))
    assert await queue.run(numbers) == [0, 1]


@proof
async def test_a_log_that_is_dropped_without_a_close_is_forgotten(path: str) -> None:
    """No thread and no queue keeps it once its last turn is over."""
    queue = AppendQueue(FileLog(path), inline=False)
    await queue.append(giving(body(0)))
    dropped = weakref.ref(queue)
    del queue

    def is_gone() -> bool:
        gc.collect()
        return dropped() is None

    await until(is_gone)


AT_EXIT = """
import asyncio, atexit, sys, threading
from amplifier_module_context_persistent.log.file_log import FileLog
from amplifier_module_context_persistent.log.append_queue import AppendQueue
from tests.support.logs import body, giving, numbers

path, durability, was_used = sys.argv[1], sys.argv[2], sys.argv[3] == "used"
queue = AppendQueue(FileLog(path, durability=durability), inline=durability == "write")

async def add(*numbers):
    await asyncio.gather(*(queue.append(giving(body(number)), small=number % 2 == 0) for number in numbers))

def late():
    threading.main_thread().join()
    asyncio.run(add(4, 5))

def at_exit():
    asyncio.run(add(6, 7))
    print(asyncio.run(queue.run(numbers)))

if was_used:
    asyncio.run(add(0, 1))
atexit.register(at_exit)
threading.Thread(target=late).start()
"""


@proof
@pytest.mark.parametrize(("durability", "was_used"), list(spread(product(("fsync", "write"), ("used", "new")), 3)))
def test_an_append_as_the_interpreter_ends_is_stored(path: str, durability: str, was_used: str) -> None:
    """By a thread that outlives the main one, and by a function of `atexit`: on the caller's thread, and none hangs."""
    ended = subprocess.run(
        [sys.executable, "-c", AT_EXIT, path, durability, was_used],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=ROOT,
    )
    stored = [0, 1, 4, 5, 6, 7] if was_used == "used" else [4, 5, 6, 7]
    assert (ended.returncode, ended.stderr) == (0, "")
    assert stored_numbers(path) == stored == json.loads(ended.stdout)
    assert_sound(path)


async def test_an_inline_append_never_waits_on_the_loop(path: str) -> None:
    """While the log's thread is at work, a small append is queued after it, and the loop goes on."""
    queue = AppendQueue(FileLog(path, durability="write"), inline=True)
    await queue.append(giving(body(0)))
    begun, release = threading.Event(), threading.Event()
    released_by: list[str] = []

    def work(_: object) -> None:
        begun.set()
        if not release.wait(300):
            released_by.append("the end of the patience")

    working = asyncio.ensure_future(queue.run(work))
    await until(begun.is_set)
    appending = asyncio.ensure_future(queue.append(giving(body(1))))
    await asyncio.sleep(0)
    release.set()  # a loop that waited for the log's thread would never come here
    await asyncio.gather(working, appending)
    assert released_by == []
    await queue.close()
    assert stored_numbers(path) == [0, 1]


async def test_what_is_queued_when_the_log_is_closed_is_committed(path: str, queue: AppendQueue) -> None:
    """A close waits for those before it."""
    appends = [asyncio.create_task(queue.append(giving(body(number)))) for number in range(8)]
    await asyncio.sleep(0)
    await queue.close()
    await asyncio.gather(*appends)
    assert stored_numbers(path) == list(range(8))


def test_appends_beside_closes_of_another_thread_are_answered(path: str) -> None:
    """A close at any moment costs no append its answer."""
    queue = AppendQueue(FileLog(path), inline=False)
    stop = threading.Event()

    async def close_often() -> None:
        while not stop.is_set():
            await queue.close()

    closer = threading.Thread(target=lambda: asyncio.run(close_often()))
    closer.start()

    async def appends() -> None:
        for number in range(150):
            await asyncio.wait_for(queue.append(giving(body(number))), 60)

    try:
        asyncio.run(appends())
    finally:
        stop.set()
        closer.join(60)
    assert stored_numbers(path) == list(range(150))
    asyncio.run(queue.close())


def test_an_answer_for_a_loop_that_is_gone_hurts_nobody(path: str) -> None:
    """A loop that was closed while the log worked does not keep the others from their answers."""
    log = GatedLog.at(path)
    queue = AppendQueue(log, inline=False)

    async def leave() -> None:
        task = asyncio.create_task(queue.append(giving(body(0))))
        await until(lambda: log.batches == [1])
        task.cancel()

    asyncio.run(leave())
    log.gate.set()
    asyncio.run(queue.append(giving(body(1))))  # type: ignore[arg-type]
    asyncio.run(queue.close())
    assert stored_numbers(path) == [0, 1]


def test_a_process_that_is_forked_beside_a_busy_thread_appends_by_itself(path: str) -> None:
    """The child waits for the file's lock alone, not for a lock or a thread that is its parent's; both append."""
    files = BusyFiles()
    queue = AppendQueue(FileLog(path, files=files), inline=False)

    async def add(number: int) -> None:
        await asyncio.wait_for(queue.append(giving(body(number))), 30)

    asyncio.run(add(0))
    files.gate.clear()
    files.begun.clear()
    busy = threading.Thread(target=lambda: asyncio.run(add(1)))
    busy.start()
    assert files.begun.wait(30)  # the log's thread is in a sync: it holds the queue's lock and the file's

    def child() -> bool:
        files.gate.set()
        assert asyncio.run(asyncio.wait_for(queue.run(numbers), 30))[:1] == [0]
        asyncio.run(add(2))
        sys.stdout.flush()
        return True

    releasing = threading.Timer(0.2, files.gate.set)
    releasing.start()
    assert in_a_fork(child)
    busy.join(30)
    asyncio.run(add(3))
    asyncio.run(queue.close())
    assert stored_numbers(path) == [0, 1, 2, 3]
    assert_sound(path)


def test_a_process_that_is_forked_beside_a_busy_thread_ends(path: str) -> None:
    """As any interpreter does, whether it used the log or not, while its parent's thread is still busy."""
    files = BusyFiles()
    queue = AppendQueue(FileLog(path, files=files), inline=False)
    files.gate.clear()
    files.begun.clear()
    busy = threading.Thread(target=lambda: asyncio.run(queue.append(giving(body(1)))))  # type: ignore[arg-type]
    busy.start()
    assert files.begun.wait(30)
    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside threads is what is tested
        child = context.Process(target=sys.exit, args=(3,))
        child.start()
    child.join(30)
    files.gate.set()
    assert child.exitcode == 3
    busy.join(30)
    asyncio.run(queue.close())
    assert stored_numbers(path) == [1]


@pytest.mark.parametrize("inline", [False, True])
async def test_a_log_in_memory_works_alike(inline: bool) -> None:
    """The same calls work on a log that keeps nothing."""
    queue = AppendQueue(MemoryLog(), inline=inline)
    assert await asyncio.gather(*(queue.append(giving(body(n))) for n in range(3))) == [
        range(1),
        range(1, 2),
        range(2, 3),
    ]
    assert await queue.run(numbers) == [0, 1, 2]
    await queue.close()


async def test_what_nobody_waits_for_is_done_in_its_turn(caplog: pytest.LogCaptureFixture) -> None:
    """On a thread of the logs, with the log, after what was queued before and alone; only its failures are told."""
    log = MemoryLog()
    queue = AppendQueue(log, inline=True)
    begun, release = threading.Event(), threading.Event()
    own, found = threading.get_ident(), list[tuple[bool, bool]]()

    def note(given: Log) -> None:
        begun.set()
        assert release.wait(60)
        found.append((given is log, threading.get_ident() == own))

    queue.call(note)
    assert await asyncio.to_thread(begun.wait, 60)
    appending = asyncio.ensure_future(queue.append(giving(body(0))))
    await asyncio.sleep(0)
    assert len(log.index) == 0
    release.set()
    assert await appending == range(1)
    assert found == [(True, False)]
    queue.call(list[Log]().remove)
    with pytest.raises(KeyError):
        await queue.run(dict[Log, int]().__getitem__)
    assert [record.exc_info and record.exc_info[0] for record in caplog.records] == [ValueError]
    await queue.close()
