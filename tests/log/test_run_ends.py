"""Runs of a reset of which several named messages cannot be read: what is readable of them stays live."""

from collections.abc import Iterator

import pytest

from tests.support.logs import body, kept, reset_bodies, sealed
from tests.support.scans import ids, scan
from tests.support.sweeps import proof, spread

COUNT = 5


def nul(line: bytes) -> bytes:
    return b"\0" * (len(line) - 1) + b"\n"


def overwritten(lines: list[bytes], lost: list[int]) -> list[bytes]:
    """Each lost line by itself is NUL bytes."""
    return [nul(line) if number in lost else line for number, line in enumerate(lines)]


def with_foreign_lines(lines: list[bytes], lost: list[int]) -> list[bytes]:
    """Likewise, and short lines that were no message stand between them."""
    changed = overwritten(lines, lost)
    return [line for at, one in enumerate(changed) for line in ([b"no json\n"] * (at % 3 == 1) + [one])]


def one_block(lines: list[bytes], lost: list[int]) -> list[bytes]:
    """A block of the disk with all of the lost lines is NUL bytes."""
    first, last = lost[0], lost[-1]
    return [*lines[:first], nul(b"".join(lines[first : last + 1])), *lines[last + 1 :]]


def subsets() -> Iterator[list[int]]:
    for mask in range(1, 1 << COUNT):
        yield [number for number in range(COUNT) if mask >> number & 1]


@proof(quick=1)
@pytest.mark.parametrize("damage", [overwritten, with_foreign_lines, one_block])
def test_what_can_be_read_of_a_run_stays_live(damage: object) -> None:
    """For every run of a history and every part of the history that was lost after the reset."""
    assert callable(damage)
    count = 0
    for first in range(COUNT):
        for last in range(first, COUNT):
            run = kept(range(first, last + 1))
            before = [body(number) for number in range(COUNT)]
            lines = sealed([*before, *reset_bodies("r", run, upto=f"id-{COUNT - 1}"), body(20)])
            for lost in spread(subsets(), 2, last % 2):
                if damage is one_block and lost != list(range(lost[0], lost[-1] + 1)):
                    continue
                is_found = not {first, first + 1, last - 1, last} <= {*lost}  # else nothing that it names is left
                expected = [n for n in [*range(first, last + 1), 20] if n not in lost and (is_found or n == 20)]
                scanner = scan(damage(lines, lost))
                assert ids(scanner) == expected, (first, last, lost)
                assert scanner.index.damage
                count += 1
    assert count > 75
    print(f"damaged runs: {count}")


def test_every_run_and_new_message_of_a_reset_is_judged_by_itself() -> None:
    """Two runs around a new message, each with both names of one end lost."""
    content = [kept(range(1, 5)), body(10), kept(range(6, 11))]
    lines = sealed([*map(body, range(12)), *reset_bodies("r", *content, upto="id-11"), body(20)])
    scanner = scan([nul(line) if number in (1, 2, 9, 10) else line for number, line in enumerate(lines)])
    assert ids(scanner) == [3, 4, 10, 6, 7, 8, 20]


def test_a_run_after_another_reset_is_found_too() -> None:
    """The history before the reset is not in the order of the file."""
    first = reset_bodies("a", kept(range(6)), body(10), body(11), upto="id-7")
    second = reset_bodies("b", kept([4, 5, 10, 11]), body(12), upto="id-11")
    lines = sealed([*map(body, range(8)), *first, *second, body(20)])
    for lost in ([4, 5], [9, 10], [4, 10], [5, 9]):
        numbers = {9: 10, 10: 11}
        expected = [4, 5, 10, 11, 12, 20]
        for at in lost:
            expected.remove(numbers.get(at, at))
        assert ids(scan([nul(line) if at in lost else line for at, line in enumerate(lines)])) == expected, lost


def test_the_end_of_a_run_stays_although_something_else_was_lost_behind_it() -> None:
    """The log knows no message by the names of its beginning."""
    run = kept([90, 91, 2, 3])
    lines = sealed([*map(body, range(6)), *reset_bodies("r", run, upto="id-5"), body(20)])
    assert ids(scan([nul(line) if number == 4 else line for number, line in enumerate(lines)])) == [3, 20]


def test_nothing_is_made_up_for_a_run_that_the_log_never_held() -> None:
    """Without damage that could have taken it, it is reported and brings nothing."""
    run = kept(range(50, 60))
    scanner = scan(sealed([*map(body, range(4)), *reset_bodies("r", run, upto="id-3"), body(20)]))
    assert ids(scanner) == [20]
    assert [found.kind for found in scanner.index.damage] == ["reset", "reset", "reset"]
