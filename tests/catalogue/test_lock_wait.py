"""The one budget of all waits for catalogues that other processes have locked."""

from __future__ import annotations

from amplifier_module_context_persistent.catalogue.lock_wait import FULL_AGAIN_S, LockWait, WaitBudget


class Time:
    """A clock that goes on while somebody sleeps."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept_s = 0.0

    def clock(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.slept_s += seconds


def wait_to_the_end(most_s: float, budget: WaitBudget, time: Time) -> float:
    """How long one transaction waits for a lock that it never gets."""
    before, wait = time.slept_s, LockWait(most_s, budget, clock=time.clock, sleep=time.sleep)
    while wait.pause():
        pass
    return round(time.slept_s - before, 6)


def test_all_waits_together_take_no_more_than_the_budget() -> None:
    time = Time()
    budget = WaitBudget(0.5, clock=time.clock)
    assert [wait_to_the_end(0.3, budget, time) for _ in range(4)] == [0.3, 0.2, 0, 0]


def test_who_may_not_wait_takes_nothing_from_the_budget() -> None:
    time = Time()
    budget = WaitBudget(0.5, clock=time.clock)
    assert wait_to_the_end(0, budget, time) == 0
    assert budget.left_s() == 0.5


def test_a_sleep_that_took_longer_counts_as_long_as_it_took() -> None:
    time = Time()
    budget = WaitBudget(0.5, clock=time.clock)
    wait = LockWait(0.5, budget, clock=time.clock, sleep=lambda _: time.sleep(0.4))
    assert wait.pause()
    assert round(budget.left_s(), 6) == 0.1


def test_a_process_that_lives_long_may_wait_again_a_minute_later() -> None:
    time = Time()
    budget = WaitBudget(0.5, clock=time.clock)
    assert wait_to_the_end(1, budget, time) == 0.5
    time.now_s += FULL_AGAIN_S - 1
    assert wait_to_the_end(1, budget, time) == 0
    time.now_s += 2
    assert wait_to_the_end(1, budget, time) == 0.5
