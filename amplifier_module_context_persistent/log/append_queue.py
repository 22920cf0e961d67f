"""The append queue: the one way by which tasks and threads reach a log (group commit).

Every call joins one queue, and the order of the queue is the order in the log. When it is the log's turn, a thread
takes what waits: appends that follow each other are committed together, with one write and one sync; a call has the log
to itself. So reads see what was acknowledged before them, and the event loop never waits for a disk. A cancelled call
is withdrawn if it was not taken yet, else it completes.

A call that waits keeps few objects: an item and a future. While thousands of tasks append at once, Python's garbage
collector visits the objects of all of them again and again, and that can cost more than the appends.

The appends of a batch are prepared before one of them is written, so they do not see each other. An append that looks
at messages (a rewind, a save that compares revisions) therefore begins a batch. So does an append of an id that the
batch already has: the second one has to find the first one stored.

Rules of the turn:
- A log has one turn at a time, on one of the threads that all logs share (`thread_pool`). It ends when the queue is
  empty, or after a batch if other logs wait for a thread.
- A forked process begins anew, with a queue and a lock of its own; what was queued belongs to its parent.
- As the interpreter ends there are no threads any more: then the turn is on the caller's thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .base import Log, Outcome, Prepare
from .thread_pool import FILE_THREADS, ThreadPool

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Item:
    """What waits in the queue: an append (a `Prepare`), or a call of a function with the log."""

    work: Callable[[Any], Any]
    appends: bool
    unstored: Callable[[], None] = lambda: None
    looks_back: bool = False
    ids: frozenset[str] = frozenset()
    future: asyncio.Future[Any] | None = None
    """Where somebody waits for the answer."""
    outcome: Any = None
    """What the work gave, or the exception that it raised."""


class AppendQueue:
    """Serialise the calls of many tasks and threads to one log.

    Args:
        log: the log; nothing else may call it.
        inline: whether small appends may be made on the calling thread (no sync, so no wait for a disk).
        threads: where the log has its turns.
    """

    def __init__(self, log: Log, *, inline: bool, threads: ThreadPool = FILE_THREADS) -> None:
        self._log, self._inline, self._threads = log, inline, threads
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._mutex = threading.Lock()
        """Whoever uses the log holds it; items leave the queue under it, so nothing is overtaken."""
        self._queue: deque[_Item] = deque()
        self._turn = threading.Lock()
        """Locked from the submission of a turn to its end."""

    async def append(
        self,
        prepare: Prepare,
        *,
        small: bool = True,
        looks_back: bool = False,
        ids: frozenset[str] = frozenset(),
        unstored: Callable[[], None] = lambda: None,
    ) -> range:
        """Append what `prepare` gives once its turn has come; the ordinals of its message records.

        Args:
            prepare: called under the log's lock, on any thread.
            small: whether it gives so few bytes that they may be written on the calling thread.
            looks_back: whether `prepare` looks at messages, so that all that was queued before has to be stored.
            ids: the ids of messages that `prepare` stores unless the log has them.
            unstored: called, on any thread, if the append is withdrawn or fails. A caller who is cancelled does not
                learn it otherwise.

        Raises:
            LogError: as `Log.append`; and whatever `prepare` raises.
        """
        try:
            if small and (stored := self.append_at_once(prepare)) is not None:
                return stored
        except Exception:
            unstored()
            raise
        item = _Item(prepare, appends=True, unstored=unstored, looks_back=looks_back, ids=ids)
        try:
            ordinals: range = await self._answer(item)
        except asyncio.CancelledError:
            self._withdraw(item)
            raise
        return ordinals

    async def run(self, function: Callable[[Log], T]) -> T:
        """Call a function with the log when it is its turn, after what was queued before."""
        item = _Item(function, appends=False)
        try:
            result: T = await self._answer(item)
        except asyncio.CancelledError:
            self._withdraw(item)
            raise
        return result

    def call(self, function: Callable[[Log], None]) -> None:
        """Call a function with the log, as `run` does; nobody waits for it."""
        self._enter(_Item(function, appends=False))

    async def close(self) -> None:
        """Commit what waits and close the log; later calls open it anew."""
        await self.run(lambda log: log.close())

    def close_later(self) -> None:
        """Close the log after what was queued before; nobody waits for it. For a finaliser: it never blocks."""
        self.call(lambda log: log.close())

    def append_at_once(self, prepare: Prepare) -> range | None:
        """Append on the calling thread; None, and nothing done, if that would take long or overtake others.

        Raises:
            LogError: as `Log.append`; and whatever `prepare` raises.
        """
        if not self._inline or not self._mutex.acquire(blocking=False):
            return None
        try:
            if self._queue:
                return None
            outcome = self._log.append([prepare], wait=False)[0]
        except BlockingIOError:  # another process holds the lock: wait for it on the log's thread
            return None
        finally:
            self._mutex.release()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def _answer(self, item: _Item) -> asyncio.Future[Any]:
        """Queue an item; the future of its answer."""
        item.future = future = asyncio.get_running_loop().create_future()
        self._enter(item)
        return future

    def _withdraw(self, item: _Item) -> None:
        """Take a cancelled caller's item out of the queue; if it was taken already, it completes."""
        with contextlib.suppress(ValueError):
            self._queue.remove(item)
            item.unstored()

    def _enter(self, item: _Item) -> None:
        if self._pid != os.getpid():
            self._begin()
        self._queue.append(item)
        self._wake()

    def _wake(self) -> None:
        """Submit a turn for what waits, unless there is one."""
        if not self._turn.acquire(blocking=False):
            return  # the turn looks at the queue once more after its end
        try:
            self._threads.submit(self._work)
        except RuntimeError:  # the interpreter ends, and there are no threads any more
            self._work()

    def _work(self) -> None:
        """Have a turn: do what waits, in its order."""
        while self._queue:
            self._do_next()
            if self._threads.is_crowded:
                break
        self._turn.release()
        if self._queue:  # left for the next turn, or queued after the last look
            self._wake()

    def _do_next(self) -> None:
        """Do the next batch of appends, or the next call; nothing if what waited was withdrawn."""
        with self._mutex:
            taken = self._take()
            if not taken:
                return
            outcomes = self._append(taken) if taken[0].appends else [self._call(taken[0])]
        _settle(taken, outcomes)

    def _take(self) -> list[_Item]:
        """Take the call that is next in the queue, or the appends that are next and need not see each other."""
        taken, ids, queue = list[_Item](), set[str](), self._queue
        try:
            while queue and (not taken or taken[0].appends):
                item = queue.popleft()  # a withdrawal may come before it at any moment, so it is looked at afterwards
                if taken and (not item.appends or item.looks_back or not ids.isdisjoint(item.ids)):
                    queue.appendleft(item)
                    break
                taken.append(item)
                ids |= item.ids
        except IndexError:  # the last one was withdrawn at this moment
            pass
        return taken

    def _append(self, items: Sequence[_Item]) -> Sequence[Outcome]:
        try:
            return self._log.append([item.work for item in items])
        except Exception as error:  # noqa: BLE001 - it goes to every caller of the batch
            return [error] * len(items)

    def _call(self, item: _Item) -> Any:
        try:
            return item.work(self._log)
        except BaseException as error:  # it belongs to the caller, who gets it
            if item.future is None:
                logger.exception("a call to the log failed")
            return error


def _settle(items: Sequence[_Item], outcomes: Sequence[Any]) -> None:
    """Tell what failed, and give the answers on the callers' event loops, with one call for each loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Item]] = {}
    for item, outcome in zip(items, outcomes, strict=True):
        item.outcome = outcome
        if isinstance(outcome, BaseException):
            item.unstored()
        if item.future is not None:
            by_loop.setdefault(item.future.get_loop(), []).append(item)
    for loop, of_loop in by_loop.items():
        try:
            loop.call_soon_threadsafe(_answer_all, of_loop)
        except RuntimeError:  # the loop was closed: nobody waits there any more
            continue


def _answer_all(items: Sequence[_Item]) -> None:
    for item in items:
        if item.future is None or item.future.done():  # cancelled while the log worked
            continue
        if isinstance(item.outcome, BaseException):
            item.future.set_exception(item.outcome)
        else:
            item.future.set_result(item.outcome)
