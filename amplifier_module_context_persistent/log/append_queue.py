"""The append queue, through which all tasks and threads use a log. It writes waiting appends together (group commit).

The queue has items of two kinds: appends, and calls of a function with the log. The order of the queue is the order in
the log. In the log's *turn*, a thread takes items from the queue. Adjacent appends form a *batch*, which is committed
with one write and one sync. A call runs alone. So a read sees every append that was acknowledged before it, and the
event loop never waits for a disk. If the caller of an item is cancelled, the item is left out of its turn; if a
thread has taken it already, it completes.

A waiting call keeps only two objects: an item and a future. While thousands of tasks append at once, Python's garbage
collector visits the objects of all tasks again and again, and that can cost more than the appends.

All appends of a batch are prepared before any of them is written, so they do not see each other. An append that looks
at messages (a rewind, a save that compares revisions) therefore begins a batch. So does an append of a message id that
the batch already has, because it must find the earlier message in the log.

Rules of the turn:
- A log has one turn at a time, on one of the threads that all logs share (`thread_pool`). It ends when the queue is
  empty, or after a batch if other logs wait for a thread.
- A forked process begins with an empty queue and a new lock; the items in the old queue belong to its parent.
- While the interpreter exits, no threads can be started. Then the turn runs on the caller's thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .contract import Log, Outcome, Prepare
from .forked_process import is_child_of
from .thread_pool import FILE_THREADS, ThreadPool

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Item:
    """An item of the queue: an append (a `Prepare`), or a call of a function with the log."""

    work: Callable[[Any], Any]
    appends: bool
    unstored: Callable[[], None] = lambda: None
    looks_back: bool = False
    ids: frozenset[str] = frozenset()
    future: asyncio.Future[Any] | None = None
    """The future that the caller awaits; None if nobody waits for the outcome."""
    outcome: Any = None
    """The result of `work`, or the exception that it raised."""

    def cancel(self) -> None:
        """Cancel the caller's future, if the caller still waits."""
        if self.future is not None:
            self.future.cancel()

    def fail(self, error: BaseException) -> None:
        """Give the caller an exception as the outcome, if the caller still waits."""
        if self.future is not None and not self.future.done():
            self.future.set_exception(error)


class AppendQueue:
    """Serialise the calls of many tasks and threads to one log.

    Args:
        log: the log; nothing else may call it.
        inline: whether small appends may be made on the calling thread, because they need no sync.
        threads: the threads on which the log has its turns.
    """

    def __init__(self, log: Log, *, inline: bool, threads: ThreadPool = FILE_THREADS) -> None:
        self._log = log
        self._inline = inline
        self._threads = threads
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._mutex = threading.Lock()
        """Held during each use of the log. Items are taken from the queue under it, so they keep their order."""
        self._queue: deque[Item] = deque()
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
        """Append the records that `prepare` returns, and return the ordinals of their message records.

        Args:
            prepare: called under the log's lock, on any thread.
            small: whether the records are so small that they may be written on the calling thread.
            looks_back: whether `prepare` looks at messages, so that all earlier appends must be stored first.
            ids: the ids of messages that `prepare` stores unless the log has them.
            unstored: called, on any thread, if the append is withdrawn or fails. A cancelled caller has no other way
                to learn this.

        Raises:
            LogError: as `Log.append`; and whatever `prepare` raises.
        """
        try:
            stored = self.append_at_once(prepare) if small else None
        except Exception:
            unstored()
            raise
        if stored is not None:
            return stored
        item = Item(prepare, appends=True, unstored=unstored, looks_back=looks_back, ids=ids)
        try:
            ordinals: range = await self._answer(item)
        except asyncio.CancelledError:
            self._withdraw(item)
            raise
        return ordinals

    async def run(self, function: Callable[[Log], T]) -> T:
        """Call a function with the log after all earlier items of the queue, and return its result."""
        item = Item(function, appends=False)
        try:
            result: T = await self._answer(item)
        except asyncio.CancelledError:
            self._withdraw(item)
            raise
        return result

    def enter(self, items: Iterable[Item]) -> None:
        """Queue items whose callers await their futures already."""
        self._begin_in_child()
        self._queue.extend(items)
        self._wake()

    def call(self, function: Callable[[Log], None]) -> None:
        """Queue a call of a function with the log, without waiting for the call.

        An exception in the function is logged.
        """
        self._enter(Item(function, appends=False))

    async def close(self) -> None:
        """Commit all queued appends and close the log; a later call opens it again."""
        await self.run(lambda log: log.close())

    def close_later(self) -> None:
        """Queue the closing of the log without waiting until it is closed.

        This never blocks, so a finaliser may call it.
        """
        self.call(lambda log: log.close())

    def append_at_once(self, prepare: Prepare) -> range | None:
        """Append on the calling thread, and return the ordinals of the message records.

        Returns:
            The ordinals; or None, and nothing is done, if appends may not be made on this thread (`inline`), another
            item is queued or running, or the log would have to wait.

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

    def _answer(self, item: Item) -> asyncio.Future[Any]:
        """Queue an item, and return the future of its outcome."""
        item.future = future = asyncio.get_running_loop().create_future()
        self._enter(item)
        return future

    def _withdraw(self, item: Item) -> None:
        """Remove a cancelled caller's item from the queue. If a thread has already taken the item, do nothing."""
        with contextlib.suppress(ValueError):
            self._queue.remove(item)
            item.unstored()

    def _enter(self, item: Item) -> None:
        self._begin_in_child()
        self._queue.append(item)
        self._wake()

    def _begin_in_child(self) -> None:
        """Begin with an empty queue if this process is a fork of the process that filled the queue."""
        if is_child_of(self._pid):
            self._begin()

    def _wake(self) -> None:
        """Submit a turn for the queued items, unless a turn is submitted or running."""
        if not self._turn.acquire(blocking=False):
            return  # the turn looks at the queue once more after its end
        try:
            self._threads.submit(self._work)
        except RuntimeError:  # the interpreter exits, and no threads can be started
            self._work()

    def _work(self) -> None:
        """Run a turn: process the queued items in order, until none is left or other logs wait for a thread."""
        while self._queue:
            self._do_next()
            if self._threads.is_crowded:
                break
        self._turn.release()
        if self._queue:  # left for the next turn, or queued after the loop's last check
            self._wake()

    def _do_next(self) -> None:
        """Run the next batch of appends, or the next call. Do nothing if all its items have been withdrawn."""
        with self._mutex:
            items = self._take()
            if not items:
                return
            outcomes = self._append(items) if items[0].appends else [self._call(items[0])]
        _settle(items, outcomes)

    def _take(self) -> list[Item]:
        """Take the next call from the queue, or the next appends that may form one batch, and return them."""
        items = list[Item]()
        ids = set[str]()
        queue = self._queue
        try:
            while queue and (not items or items[0].appends):
                item = queue.popleft()  # checked only afterwards, since a withdrawal may change the queue at any moment
                if item.future is not None and item.future.cancelled():
                    item.unstored()
                    continue
                begins_new_batch = not item.appends or item.looks_back or not ids.isdisjoint(item.ids)
                if items and begins_new_batch:
                    queue.appendleft(item)
                    break
                items.append(item)
                ids |= item.ids
        except IndexError:  # the last item was withdrawn at this moment
            pass
        return items

    def _append(self, items: Sequence[Item]) -> Sequence[Outcome]:
        try:
            return self._log.append([item.work for item in items])
        except Exception as error:  # noqa: BLE001 - every caller of the batch gets the error
            return [error] * len(items)

    def _call(self, item: Item) -> Any:
        try:
            return item.work(self._log)
        except BaseException as error:  # the caller gets the error
            if item.future is None:
                logger.exception("a call to the log failed")
            return error


def _settle(items: Sequence[Item], outcomes: Sequence[Any]) -> None:
    """Call `unstored` of failed items, and set the futures on the callers' event loops, with one call for each loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Item]] = {}
    for item, outcome in zip(items, outcomes, strict=True):
        item.outcome = outcome
        if isinstance(outcome, BaseException):
            item.unstored()
        if item.future is not None:
            by_loop.setdefault(item.future.get_loop(), []).append(item)
    for loop, of_loop in by_loop.items():
        try:
            loop.call_soon_threadsafe(_answer_all, of_loop)
        except RuntimeError:  # the loop was closed, so nobody waits for these futures
            continue


def _answer_all(items: Sequence[Item]) -> None:
    for item in items:
        if item.future is None or item.future.done():  # cancelled while the log worked
            continue
        if isinstance(item.outcome, BaseException):
            item.future.set_exception(item.outcome)
        else:
            item.future.set_result(item.outcome)
