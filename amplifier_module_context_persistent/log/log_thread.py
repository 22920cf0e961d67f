"""A log's own thread: its jobs run one after the other, in the order in which they came.

It starts with a job, goes at a shutdown, and starts anew with the next job. What was submitted is done before the
interpreter ends.

A plain thread with a queue, and no `ThreadPoolExecutor`: that one makes a future, a condition and three more locks for
each job, also where nobody waits for an answer, which is half of what a way to another thread and back costs.
"""

from __future__ import annotations

import atexit
import logging
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeVar

logger = logging.getLogger(__name__)

T = TypeVar("T")
_Jobs = SimpleQueue[Callable[[], object] | None]


class LogThread:
    """A thread for the jobs of one log."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._jobs: _Jobs | None = None
        self._thread: threading.Thread | None = None

    def call(self, job: Callable[[], object]) -> None:
        """Run a job from which nobody waits for an answer; it must raise nothing."""
        with self._guard:
            jobs = self._jobs
            if jobs is None:
                jobs = self._start()
            jobs.put(job)

    def submit(self, job: Callable[[], T]) -> Future[T]:
        """Run a job; its answer, or what it raises. So `loop.run_in_executor` takes this for an executor."""
        future = Future[T]()

        def answer() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = job()
            except BaseException as error:  # noqa: BLE001 - it belongs to the caller, who gets it
                future.set_exception(error)
            else:
                future.set_result(result)

        self.call(answer)
        return future

    def shutdown(self, *, wait: bool) -> None:
        """Let the thread go once it has done what was submitted; a later job starts another."""
        with self._guard:
            jobs, thread, self._jobs, self._thread = self._jobs, self._thread, None, None
        if jobs is not None:
            jobs.put(None)
        if wait and thread is not None:
            thread.join()

    def _start(self) -> _Jobs:
        jobs: _Jobs = SimpleQueue()
        # A daemon, since others are waited for before `_shut_down_all` can tell them to end.
        self._thread = threading.Thread(target=_work, args=(jobs,), name="context-log", daemon=True)
        self._thread.start()
        self._jobs = jobs
        weakref.finalize(self, jobs.put, None).atexit = False  # who drops a log without closing it leaves no thread
        _started.add(self)
        return jobs


def _work(jobs: _Jobs) -> None:
    while (job := jobs.get()) is not None:
        try:
            job()
        except Exception:
            logger.exception("a job of the log's thread failed")
        del job  # it holds the log, which may be dropped while this waits


_started: weakref.WeakSet[LogThread] = weakref.WeakSet()


@atexit.register
def _shut_down_all() -> None:
    for thread in list(_started):
        thread.shutdown(wait=True)
