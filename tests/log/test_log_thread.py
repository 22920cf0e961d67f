"""A log's own thread: order, answers, and its end."""

import subprocess
import sys
import threading
import weakref
from collections.abc import Callable

import pytest

from amplifier_module_context_persistent.log.log_thread import LogThread

END = """
import threading
from amplifier_module_context_persistent.log.log_thread import LogThread

thread = LogThread()
thread.call(lambda: threading.main_thread().join())
thread.call(lambda: print("done after the main thread's end", flush=True))
"""


def own_threads(before: set[threading.Thread]) -> list[threading.Thread]:
    return [one for one in set(threading.enumerate()) - before if one.name == "context-log"]


def adding(done: list[int], number: int) -> Callable[[], None]:
    return lambda: done.append(number)


def test_jobs_run_in_their_order_on_one_thread() -> None:
    """With and without an answer, in the order in which they came."""
    before, thread = set(threading.enumerate()), LogThread()
    done: list[int] = []
    for number in range(0, 100, 2):
        thread.call(adding(done, number))
        thread.submit(adding(done, number + 1))
    assert thread.submit(lambda: threading.current_thread().name).result(60) == "context-log"
    assert done == list(range(100))
    (own,) = own_threads(before)
    thread.shutdown(wait=True)
    assert not own.is_alive()


def test_what_a_job_raises_goes_to_who_waits_for_it(caplog: pytest.LogCaptureFixture) -> None:
    """The thread goes on; where nobody waits, the error is logged."""

    def fail() -> None:
        raise ValueError("no")

    thread = LogThread()
    with pytest.raises(ValueError, match="no"):
        thread.submit(fail).result(60)
    thread.call(fail)
    assert thread.submit(lambda: 7).result(60) == 7
    assert "a job of the log's thread failed" in caplog.text
    thread.shutdown(wait=True)


def test_a_job_that_was_cancelled_in_the_queue_does_not_run() -> None:
    """Who gave up waiting before it began gets nothing done."""
    thread, gate, done = LogThread(), threading.Event(), list[int]()
    thread.call(lambda: gate.wait(60))
    given_up = thread.submit(adding(done, 1))
    assert given_up.cancel()
    gate.set()
    thread.shutdown(wait=True)
    assert done == []


def test_what_was_submitted_is_done_at_a_shutdown_and_a_later_job_starts_anew() -> None:
    """A shutdown waits for the jobs before it, and may come twice."""
    thread, done = LogThread(), list[int]()
    for number in range(20):
        thread.call(adding(done, number))
    thread.shutdown(wait=True)
    thread.shutdown(wait=True)
    assert done == list(range(20))
    assert thread.submit(lambda: "again").result(60) == "again"
    thread.shutdown(wait=True)


class Owner:
    """As a log is: its jobs hold it, and it holds the thread."""

    def __init__(self) -> None:
        self.thread, self.is_done = LogThread(), threading.Event()

    def job(self) -> None:
        self.is_done.set()


def test_a_thread_that_is_dropped_ends() -> None:
    """A host that forgets to close a session collects no threads."""
    before, owner = set(threading.enumerate()), Owner()
    owner.thread.call(owner.job)
    assert owner.is_done.wait(60)
    (own,) = own_threads(before)
    dropped = weakref.ref(owner)
    del owner
    own.join(60)
    assert not own.is_alive()
    assert dropped() is None


def test_what_was_submitted_is_done_before_the_interpreter_ends() -> None:
    """An append that was taken completes, also if nobody closes the log."""
    ended = subprocess.run([sys.executable, "-c", END], capture_output=True, text=True, timeout=300, check=False)
    assert (ended.returncode, ended.stdout) == (0, "done after the main thread's end\n"), ended.stderr
