"""A thread pool for all logs of a process.

A log submits a job when items are queued, and at most one job at a time (`append_queue`). So the work of a log keeps
its order, and a thousand idle logs need no thread. Rules:

- At most `MOST_RUNNING` threads run jobs. A thread that waits (for a lock, a disk, a server) shows this with `WAITING`
  and does not count. Another thread begins at once, so a waiting log does not delay others. After the waits, the pool
  shrinks.
- At most `MOST_IDLE` threads wait for the next job; others end.
- A submission never blocks and may come from anywhere, even from a finaliser that the garbage collector calls in the
  middle of another submission. So a job is put into a deque, and then the submitter tries to take the lock. With the
  lock it gives the waiting jobs to threads. Without the lock it leaves this to the holder, who checks the deque again
  after releasing the lock.
- When the main thread ends, idle threads end, and submitted jobs are finished. Later submissions are rejected.
- A forked child begins with no thread and no job; submitted jobs belong to its parent.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections import deque
from collections.abc import Callable
from itertools import count
from queue import SimpleQueue

from .forked_process import call_in_children

logger = logging.getLogger(__name__)

MOST_RUNNING = 16
MOST_IDLE = 8

Job = Callable[[], object]


class _Current(threading.local):
    """The state of the current thread: its pool (None for other threads), and the number of nested waits."""

    pool: ThreadPool | None = None
    waits = 0


_current = _Current()


class ThreadPool:
    """A pool of threads.

    Args:
        most_running: the largest number of running threads, without waiting ones.
    """

    def __init__(self, most_running: int = MOST_RUNNING) -> None:
        self._most_running = most_running
        self._names = count(1)
        self.begin()
        call_in_children(self.begin)

    def begin(self) -> None:
        """Reset the pool to no thread and no job: at construction, and in a forked child."""
        self._jobs: deque[Job] = deque()
        self._lock = threading.Lock()
        """Guards the fields below."""
        self._idle: list[SimpleQueue[Job | None]] = []
        """The inboxes of threads that wait for a job; the thread that became idle last is at the end."""
        self._threads = 0
        self._waits: list[None] = []
        """One item for each thread that waits within a job; a list can be changed without the lock."""
        self._is_watching = False
        """Whether a thread waits for the end of the main thread."""
        self._is_ending = False

    def submit(self, job: Job) -> None:
        """Submit a job, to be run on a thread of the pool.

        Raises:
            RuntimeError: the interpreter exits, or no thread can be started; the job is not run.
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
        """Give jobs to threads. Call this again after each release of the lock."""
        while self._jobs and self._lock.acquire(blocking=False):
            waits = len(self._waits)
            try:
                has_room = self._place_next()
            finally:
                self._lock.release()
            if not has_room and len(self._waits) <= waits:  # a thread that has begun to wait left this to us
                return

    def _place_next(self) -> bool:
        """Give the next job, if any, to an idle thread or to a new one. Return False if no thread is available."""
        if not self._jobs:
            return True
        if self._idle:
            self._idle.pop().put(self._jobs.popleft())
            return True
        if self._threads - len(self._waits) >= self._most_running:
            return False
        return self._start_thread()

    def _start_thread(self) -> bool:
        """Start a thread with the next job. Return False if the system cannot start one, but other threads exist."""
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
                return False  # another thread takes the job later
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
            del job  # it refers to a log, which may be no longer in use
            with self._lock:
                is_needed = self._is_needed()
                if is_needed:
                    self._idle.append(inbox)
                else:
                    self._threads -= 1
            self._place()
            if self._is_ending:
                self._end_idle()
                self._place()
            if not is_needed:
                return

    def _is_needed(self) -> bool:
        """Return whether a thread that finished its job must stay for the next job instead of ending."""
        running = self._threads - len(self._idle) - len(self._waits)
        if self._jobs:
            return running <= self._most_running
        return not self._is_ending and len(self._idle) < MOST_IDLE

    def _end_with_main(self) -> None:
        """Wait for the end of the main thread, then end the idle threads: the interpreter waits for all threads."""
        threading.main_thread().join()
        self._is_ending = True
        self._end_idle()
        self._place()

    def _end_idle(self) -> None:
        """End the idle threads, unless jobs are left for them.

        A thread that stayed for a job becomes idle too if another thread took the job.
        """
        with self._lock:
            if self._jobs:
                return
            idle = self._idle
            self._idle = []
            self._threads -= len(idle)
        for inbox in idle:
            inbox.put(None)


class _Waiting:
    """A wait of the current thread, for a `with` statement. Outside the threads of a pool it does nothing."""

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
"""The threads of logs in files and in memory."""
DATABASE_THREADS = ThreadPool(most_running=sys.maxsize)
"""The threads of logs in databases. Their jobs mostly wait for a server, and must not delay logs in files."""
