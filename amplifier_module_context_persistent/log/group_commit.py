"""Group commit: the one way by which tasks and threads reach a log.

Every call queues what it wants appended and submits a job to the log's own one-thread executor; a job takes all that
waits and commits it with one write and one sync. The order of the queue is the order in the log. A cancelled call is
withdrawn if it was not taken yet, else it completes. Reads go through the same executor, so they see what was
acknowledged before them, and neither blocks the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from aiofiles.os import wrap

from .base import KeepsCheckpoint, Log, Outcome, Prepare
from .log_thread import LogThread
from .process_forks import forks

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Append:
    prepare: Prepare
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[range]


class GroupCommit:
    """Serialise the calls of many tasks and threads to one log.

    Args:
        log: the log; nothing else may call it.
        inline: whether small appends may be made on the calling thread (no sync, so no wait for a disk).
    """

    def __init__(self, log: Log, *, inline: bool) -> None:
        self._log = log
        self._inline = inline
        self._wrapped = wrap(self._alone)
        self._checkpoints = log if isinstance(log, KeepsCheckpoint) else None
        self._reset()

    def _reset(self) -> None:
        """Begin anew, as in a forked process: the thread and what was queued belong to its parent."""
        self._forks = forks.count
        self._mutex = threading.Lock()
        self._queue: deque[_Append] = deque()
        self._thread = LogThread()
        self._checkpoint_waits = False
        """Whether the thread was told to write a checkpoint, and has not begun."""

    async def append(self, prepare: Prepare, *, small: bool = True) -> range:
        """Append what `prepare` gives once its turn has come; the ordinals of its message records.

        Args:
            prepare: called under the log's lock, on any thread.
            small: whether it gives so few bytes that they may be written on the calling thread.

        Raises:
            LogError: as `Log.append`; and whatever `prepare` raises.
        """
        if self._forks != forks.count:
            self._reset()
        if self._inline and small and self._mutex.acquire(blocking=False):
            try:
                if not self._queue:  # items leave the queue under the mutex, so nothing is overtaken
                    outcome = self._log.append([prepare], wait=False)[0]
                    if self._checkpoints is not None and self._checkpoints.wants_checkpoint:
                        self._write_checkpoint_soon()
                    if isinstance(outcome, Exception):
                        raise outcome
                    return outcome
            except BlockingIOError:
                pass  # another process holds the lock: wait for it on the log's thread
            finally:
                self._mutex.release()
        loop = asyncio.get_running_loop()
        item = _Append(prepare, loop, loop.create_future())
        self._queue.append(item)
        self._thread.call(self._drain)
        try:
            return await item.future
        except asyncio.CancelledError:
            with contextlib.suppress(ValueError):  # it was taken: then the append completes
                self._queue.remove(item)
            raise

    async def run(self, function: Callable[[Log], T]) -> T:
        """Call a function with the log on the log's own thread, after what was queued before."""
        if self._forks != forks.count:
            self._reset()
        result: T = await self._wrapped(function, executor=self._thread)
        return result

    def _alone(self, function: Callable[[Log], T]) -> T:
        with self._mutex:
            return function(self._log)

    def call(self, function: Callable[[Log], None]) -> None:
        """Call a function with the log, as `run` does; nobody waits for it, and it must raise nothing."""
        if self._forks != forks.count:
            self._reset()

        def job() -> None:
            with self._mutex:
                function(self._log)

        self._thread.call(job)

    async def close(self) -> None:
        """Commit what waits, close the log and let the thread go; later calls start anew."""
        try:
            await self.run(lambda log: log.close())
        finally:
            self._thread.shutdown(wait=False)

    def _drain(self) -> None:
        with self._mutex:
            batch: list[_Append] = []
            try:
                while self._queue:
                    batch.append(self._queue.popleft())
            except IndexError:  # the last one was withdrawn just now
                pass
            if not batch:
                return
            outcomes: list[Outcome]
            try:
                outcomes = self._log.append([item.prepare for item in batch])
            except Exception as error:  # noqa: BLE001 - it goes to every caller of the batch
                outcomes = [error] * len(batch)
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[range], Outcome]]] = {}
        for item, outcome in zip(batch, outcomes, strict=True):
            by_loop.setdefault(item.loop, []).append((item.future, outcome))
        for loop, settled in by_loop.items():
            try:
                loop.call_soon_threadsafe(_settle, settled)
            except RuntimeError:  # the loop was closed: nobody waits there any more
                continue
        if self._checkpoints is not None and self._checkpoints.wants_checkpoint:
            self._write_checkpoint()  # nobody waits for it

    def _write_checkpoint_soon(self) -> None:
        if not self._checkpoint_waits:
            self._checkpoint_waits = True
            self._thread.call(self._write_checkpoint)

    def _write_checkpoint(self) -> None:
        with self._mutex:
            self._checkpoint_waits = False
            if self._checkpoints is not None:
                self._checkpoints.write_checkpoint()


def _settle(settled: list[tuple[asyncio.Future[range], Outcome]]) -> None:
    for future, outcome in settled:
        if future.done():  # cancelled while the log worked
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
