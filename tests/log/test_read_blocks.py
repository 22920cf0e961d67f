"""Blocks of lines: what lies together is read together, and every line is the one that was asked for."""

import pytest

from amplifier_module_context_persistent.log.read_back import fetch_lines
from tests.support.logs import body, sealed
from tests.support.scans import scan

LINES = sealed([body(number, text="x" * (30_000 if number in (4, 7) else 9)) for number in range(10)])
CONTENT = b"".join(LINES)


@pytest.mark.parametrize(
    ("ordinals", "reads"),
    [
        ([], 0),
        ([3], 1),
        (range(10), 1),
        ([0, 1, 3], 1),
        ([3, 5], 2),  # a long line lies between them
        ([6, 5], 2),
        ([5, 5], 2),
        ([8, 9, 0, 1], 2),
    ],
)
def test_neighbours_are_read_together_in_the_order_asked_for(ordinals: list[int], reads: int) -> None:
    """Others one by one."""
    asked = []

    def read(offset: int, size: int) -> bytes:
        asked.append((offset, size))
        return CONTENT[offset : offset + size]

    index = scan(LINES).index
    assert list(fetch_lines(index, ordinals, read)) == [(ordinal, LINES[ordinal][:-1]) for ordinal in ordinals]
    assert len(asked) == reads
