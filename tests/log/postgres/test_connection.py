"""The wait for an answer of the server ends at a deadline, and takes what has come before it looks at the clock."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

import pytest

from amplifier_module_context_persistent.log.postgres.connection import until

READY, NOT_READY = 1, 0


def answer(parts: int) -> Generator[str, int, str]:
    """What psycopg runs to wait for an answer in parts."""
    while parts:
        parts -= bool((yield "wait to read"))
    return "answer"


def run(waiting: Generator[str, int, str], *looks: int) -> str:
    """Tell a wait at each look at the connection whether something has come."""
    try:
        next(waiting)
        for ready in looks:
            waiting.send(ready)
    except StopIteration as done:
        return str(done.value)
    return "waiting"


PAST, LATER = 0.0, float("inf")


@pytest.mark.parametrize(
    ("deadline", "looks", "becomes"),
    [
        (PAST, [READY, READY, READY], "answer"),
        (PAST, [NOT_READY, READY, READY, READY], "answer"),
        (PAST, [READY, READY], "waiting"),
        (PAST, [NOT_READY], "waiting"),
        (LATER, [NOT_READY] * 9 + [READY], "waiting"),
        (LATER, [NOT_READY, READY, NOT_READY, NOT_READY, READY, READY], "answer"),
    ],
)
def test_what_has_come_is_taken_after_the_deadline_too(deadline: float, looks: list[int], becomes: str) -> None:
    """A process that was stopped meanwhile finds the answer there, in parts or after one more look."""
    with closing(until(answer(3), deadline)) as waiting:
        assert run(waiting, *looks) == becomes


@pytest.mark.parametrize("looks", [[NOT_READY, NOT_READY], [READY, NOT_READY, READY, NOT_READY]])
def test_a_wait_ends_at_its_deadline(looks: list[int]) -> None:
    """When nothing has come, and not at the first look."""
    with closing(until(answer(3), PAST)) as waiting, pytest.raises(TimeoutError):
        run(waiting, *looks)
