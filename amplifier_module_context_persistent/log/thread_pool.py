"""The threads on which logs work, shared by all logs of a process.

A log submits a job when something is queued, at most one at a time (`append_queue`). So each log has its order, and a
thousand idle logs need no thread. Rules:

- At most `MOST_RUNNING` threads run jobs. A thread that waits (for a lock, a disk, a server) says so with `WAITING` and
  does not count: another thread begins at once, so logs that wait hold nobody up. When waits end, the pool shrinks.
- At most `MOST_IDLE` threads wait for the next job; others end.
- A submission never blocks and may come from anywhere, also from a finaliser that the garbage collector calls in the
  middle of another submission. So a job is put into a deque, and whoever gets the lock at once places what is there;
  who does not get it leaves that to the holder, who looks again after the lock is released.
- As the main thread ends, idle threads end and what was submitted is finished. Later submissions are refused.
- A forked child begins with no thread and no job; what was submitted belongs to its parent.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from itertools import count
from queue import SimpleQueue

logger = logging.getLogger(__name__)

MOST_RUNNING = 16
MOST_IDLE = 8

Job = Callable[[], object]


class _Current(threading.local):
    """The current thread: the pool that it belongs to, and how many waits it is in."""

    pool: ThreadPool | None = None
    waits = 0


_current = _Current()


class ThreadPool:
    """A pool of threads.

    Args:
        most_running: how many threads run at most, without those that wait.
    """

    def __init__(self, most_running: int = MOST_RUNNING) -> None:
        self._most_running = most_running
        self._names = count(1)
        self.begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.begin)

    def begin(self) -> None:
        """Begin with no thread and no job."""
        self._jobs: deque[Job] = deque()
        self._lock = threading.Lock()
        """Guards what follows."""
        self._idle: list[SimpleQueue[Job | None]] = []
        """The inboxes of threads that wait for a job, those last that became idle last."""
        self._threads = 0
        self._waits: list[None] = []
        """One for each thread that waits within a job: a list counts without the lock."""
        self._is_watching = False
        """Whether a thread waits for the end of the main thread."""
        self._is_ending = False

    def submit(self, job: Job) -> None:
        """Have a job run on a thread.

        Raises:
            RuntimeError: the interpreter ends; the job is not run.
        """
        if self._is_ending:
            raise RuntimeError("the interpreter ends")
        self._jobs.append(job)
        try:
            self._place()
        except RuntimeError:
            self._jobs.remove(job)
            raise

    @property
    def is_crowded(self) -> bool:
        """Whether jobs wait for a thread."""
        return bool(self._jobs)

    def begin_wait(self) -> None:
        """Count a thread of the pool as waiting."""
        self._waits.append(None)
        if self._jobs:
            self._place()

    def end_wait(self) -> None:
        """Count a thread of the pool as running again."""
        self._waits.pop()
        if self._jobs:
            self._place()

    def _place(self) -> None:
        """Give jobs to threads; to be called after the lock was released."""
        has_room = True
        while has_room and self._jobs and self._lock.acquire(blocking=False):
            try:
                has_room = self._place_next()
            finally:
                self._lock.release()

    def _place_next(self) -> bool:
        """Give the next job to an idle thread or to a new one; False if there is none."""
        if not self._jobs:
            return True
        if self._idle:
            self._idle.pop().put(self._jobs.popleft())
            return True
        if self._threads - len(self._waits) >= self._most_running:
            return False
        return self._start_thread()

    def _start_thread(self) -> bool:
        """Start a thread with the next job; False if the system has no thread left."""
        inbox: SimpleQueue[Job | None] = SimpleQueue()
        self._threads += 1
        try:
            if not self._is_watching:
                threading.Thread(target=self._end_with_main, name="context-log-end").start()
                self._is_watching = True
            threading.Thread(target=self._work, args=(inbox,), name=f"context-log-{next(self._names)}").start()
        except RuntimeError:
            self._threads -= 1
            if self._threads:
                return False  # a thread that works takes the job later
            raise
        inbox.put(self._jobs.popleft())
        return True

    def _work(self, inbox: SimpleQueue[Job | None]) -> None:
        _current.pool = self
        while (job := inbox.get()) is not None:
            try:
                job()
            except Exception:
                logger.exception("a turn of a log failed")
            del job  # it holds a log, which may be dropped by now
            with self._lock:
                is_needed = self._is_needed()
                if is_needed:
                    self._idle.append(inbox)
                else:
                    self._threads -= 1
            self._place()
            if not is_needed:
                return

    def _is_needed(self) -> bool:
        """Whether a thread that finished its job stays for the next job, instead of ending."""
        running = self._threads - len(self._idle) - len(self._waits)
        if self._jobs:
            return running <= self._most_running
        return not self._is_ending and len(self._idle) < MOST_IDLE

    def _end_with_main(self) -> None:
        """End the idle threads when the main thread ends: the interpreter waits for all of them."""
        threading.main_thread().join()
        with self._lock:
            self._is_ending = True
            idle, self._idle = self._idle, []
            self._threads -= len(idle)
        for inbox in idle:
            inbox.put(None)
        self._place()


class _Waiting:
    """A wait of the current thread, for a `with` statement; anything but a thread of a pool may use it too."""

    def __enter__(self) -> None:
        pool = _current.pool
        if pool is not None:
            _current.waits += 1
            if _current.waits == 1:
                pool.begin_wait()

    def __exit__(self, *_: object) -> None:
        pool = _current.pool
        if pool is not None:
            _current.waits -= 1
            if not _current.waits:
                pool.end_wait()


WAITING = _Waiting()
FILE_THREADS = ThreadPool()
"""Of logs in files and in memory."""
DATABASE_THREADS = ThreadPool(most_running=sys.maxsize)
"""Of logs in databases: their jobs are nearly nothing but waits for a server, and hold up no log in a file."""
