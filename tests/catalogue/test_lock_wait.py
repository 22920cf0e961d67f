"""The one budget of all waits for catalogues that other processes have locked."""

from __future__ import annotations

from amplifier_module_context_persistent.catalogue.lock_wait import REGAINED_SHARE, LockWait, WaitBudget


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
    """It grows meanwhile, by a small share of the time."""
    time = Time()
    budget = WaitBudget(0.5, clock=time.clock)
    waits = [wait_to_the_end(0.3, budget, time) for _ in range(4)]
    assert waits[0] == 0.3
    assert 0.5 <= sum(waits) <= 0.5 + REGAINED_SHARE
    assert waits[3] < 0.001


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
    assert 0.099 <= budget.left_s() <= 0.1 + REGAINED_SHARE


def test_a_process_that_lives_long_may_wait_again() -> None:
    """At once a little, and after some seconds as long as before."""
    time = Time()
    budget = WaitBudget(0.5, clock=time.clock)
    wait_to_the_end(1, budget, time)
    time.now_s += 2
    assert round(budget.left_s(), 2) == round(2 * REGAINED_SHARE, 2)
    time.now_s += 0.5 / REGAINED_SHARE
    assert budget.left_s() == 0.5


def test_a_command_of_two_seconds_waits_at_most_half_a_second() -> None:
    """However many catalogues are locked."""
    time = Time()
    budget = WaitBudget(clock=time.clock)
    begin = time.now_s
    while time.now_s < begin + 2:
        wait_to_the_end(1, budget, time)
        time.now_s += 0.01
    assert time.slept_s <= 0.51
