"""The threads that logs share: how many there are, and when they end."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable

import pytest

from amplifier_module_context_persistent.log.thread_pool import MOST_IDLE, WAITING, ThreadPool
from tests.support.logs import in_a_fork
from tests.support.places import ROOT
from tests.support.sweeps import proof

PATIENCE_S = 30


def until(condition: Callable[[], bool]) -> None:
    for _ in range(PATIENCE_S * 500):
        if condition():
            return
        time.sleep(0.002)
    raise AssertionError("it did not come to pass")


class Held:
    """Jobs that go on until they are released."""

    def __init__(self) -> None:
        self.gate, self.mutex, self.begun, self.ended = threading.Event(), threading.Lock(), 0, 0
        self.threads = set[threading.Thread]()

    def run(self) -> None:
        with self.mutex:
            self.begun += 1
            self.threads.add(threading.current_thread())
        assert self.gate.wait(PATIENCE_S)
        with self.mutex:
            self.ended += 1

    def wait(self) -> None:
        with WAITING:
            self.run()

    def alive(self) -> int:
        return sum(thread.is_alive() for thread in self.threads)


def test_no_more_jobs_run_than_the_pool_allows() -> None:
    pool, held = ThreadPool(most_running=2), Held()
    for _ in range(5):
        pool.submit(held.run)
    until(lambda: held.begun == 2)
    assert pool.is_crowded
    time.sleep(0.02)
    assert held.begun == 2
    held.gate.set()
    until(lambda: held.ended == 5)
    assert not pool.is_crowded
    assert len(held.threads) == 2


def test_a_thread_that_waits_makes_room_for_another_one() -> None:
    pool, held, done = ThreadPool(most_running=2), Held(), threading.Event()
    for _ in range(40):
        pool.submit(held.wait)
    until(lambda: held.begun == 40)
    pool.submit(done.set)
    assert done.wait(PATIENCE_S)
    held.gate.set()
    until(lambda: held.ended == 40)


class FoundFull(ThreadPool):
    """A pool in which a thread begins to wait just when a submission has found no room."""

    def __init__(self) -> None:
        self.found_full, self.waits = threading.Event(), threading.Event()
        super().__init__(most_running=1)

    def _place_next(self) -> bool:
        has_room = super()._place_next()
        if not has_room and not self.found_full.is_set():
            self.found_full.set()
            assert self.waits.wait(PATIENCE_S)
        return has_room


def test_a_thread_that_begins_to_wait_at_that_moment_makes_room_too() -> None:
    """The job does not stay behind until the wait is over."""
    pool, begun, done, was_in_time = FoundFull(), threading.Event(), threading.Event(), list[bool]()

    def wait_for_the_other() -> None:
        begun.set()
        pool.found_full.wait(PATIENCE_S)
        with WAITING:
            pool.waits.set()
            was_in_time.append(done.wait(5))

    pool.submit(wait_for_the_other)
    assert begun.wait(PATIENCE_S)
    pool.submit(done.set)
    until(lambda: bool(was_in_time))
    assert was_in_time == [True]


def test_waits_within_a_wait_count_once() -> None:
    pool, held, other = ThreadPool(most_running=1), Held(), Held()

    def twice() -> None:
        with WAITING:
            held.wait()

    pool.submit(twice)
    until(lambda: held.begun == 1)
    for _ in range(2):
        pool.submit(other.run)
    until(lambda: other.begun == 1)
    time.sleep(0.02)
    assert other.begun == 1
    for one in (held, other):
        one.gate.set()
    until(lambda: other.ended == 2)


def test_the_pool_shrinks_when_the_waits_are_over() -> None:
    pool, held = ThreadPool(most_running=16), Held()
    for _ in range(60):
        pool.submit(held.wait)
    until(lambda: held.begun == 60)
    assert held.alive() == 60
    held.gate.set()
    until(lambda: held.alive() <= MOST_IDLE)
    done = threading.Event()
    pool.submit(done.set)
    assert done.wait(PATIENCE_S)


def test_a_job_that_fails_ends_no_thread() -> None:
    pool, done = ThreadPool(most_running=1), threading.Event()

    def fail() -> None:
        raise ValueError("mine")

    pool.submit(fail)
    pool.submit(done.set)
    assert done.wait(PATIENCE_S)


def test_a_wait_outside_of_a_pool_is_nothing() -> None:
    with WAITING, WAITING:
        pass


@proof
def test_finalisers_submit_whatever_they_interrupt() -> None:
    """The garbage collector calls them in the middle of any other submission, also of the same thread."""
    pool, done, mutex = ThreadPool(most_running=3), list[int](), threading.Lock()

    class Cycle:
        def __init__(self) -> None:
            self.itself = self

    def job(number: int) -> None:
        with mutex:
            done.append(number)

    def submit_job(number: int) -> None:
        pool.submit(lambda: job(number))

    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for number in range(0, 2_000, 2):
            weakref.finalize(Cycle(), submit_job, number)
            submit_job(number + 1)
    finally:
        gc.set_threshold(*before)

    def are_all_done() -> bool:
        gc.collect()  # again and again: it does nothing while another thread collects
        return len(done) == 2_000

    until(are_all_done)
    assert sorted(done) == list(range(2_000))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_starts_threads_of_its_own() -> None:
    pool, held = ThreadPool(most_running=1), Held()
    for _ in range(2):
        pool.submit(held.run)
    until(lambda: held.begun == 1)

    def in_child() -> bool:
        done, was_crowded = threading.Event(), pool.is_crowded
        pool.submit(done.set)
        return done.wait(PATIENCE_S) and not was_crowded

    assert in_a_fork(in_child)
    held.gate.set()
    until(lambda: held.ended == 2)


def test_a_thread_that_stayed_for_a_job_of_the_end_ends_if_another_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads finish while one job is left, and the main thread has ended: both become idle for it."""
    pool, held, last = ThreadPool(most_running=2), Held(), threading.Event()
    for _ in range(2):
        pool.submit(held.run)
    until(lambda: held.begun == 2)
    pool.submit(last.set)
    monkeypatch.setattr(pool, "_is_ending", True)
    place, both, calls = pool._place, threading.Barrier(2), iter(range(2))

    def place_once_both_are_idle() -> None:
        if next(calls, None) is not None:
            both.wait(PATIENCE_S)
        place()

    monkeypatch.setattr(pool, "_place", place_once_both_are_idle)
    held.gate.set()
    assert last.wait(PATIENCE_S)
    until(lambda: held.alive() == 0)


AT_EXIT = """
import sys, time
from amplifier_module_context_persistent.log.thread_pool import WAITING, ThreadPool

pool = ThreadPool(most_running=2)

def job():
    with WAITING:
        time.sleep(0.01)
    sys.stdout.write("x")

for _ in range(int(sys.argv[1])):
    pool.submit(job)
"""


@pytest.mark.parametrize("jobs", [0, 1, 40])
def test_the_interpreter_ends_once_all_jobs_are_done(jobs: int) -> None:
    """Idle threads do not hold it up."""
    ended = subprocess.run(
        [sys.executable, "-c", AT_EXIT, str(jobs)], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
    )
    assert (ended.stdout, ended.stderr) == ("x" * jobs, "")
