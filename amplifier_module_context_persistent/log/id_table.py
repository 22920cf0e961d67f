"""Where the hashes of ids stand in a column, found at a cost that does not grow with the column.

Positions with the same remainder of their hash are chained, the newest first. They are kept in segments, each twice as
long as the one before it, so that nothing is ever put in again: a hash is taken in with a few steps, and looked up with
a few in each segment, of which there are as many as the column has doublings. About six bytes a position.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import count
from math import isqrt

FEW = 1024
"""So many hashes are searched one by one rather than taken in."""
MOST_AT_ONCE = 1 << 16
FIRST_SEGMENT = 1024


class _Segment:
    """A run of positions in chains; they are counted from 1, and 0 ends a chain."""

    def __init__(self, start: int, length: int) -> None:
        self.start, self.stop = start, start + length
        self.buckets = _prime_from(length * 5 // 11)
        self.heads = array("I", bytes(4 * self.buckets))
        self.before = array("I", [0])


class IdTable:
    """The positions of hashes in a column that only grows."""

    def __init__(self) -> None:
        self._segments: list[_Segment] = []
        self.count = 0
        """So many positions, from the first, are in the table."""

    def catch_up(self, column: array[int]) -> None:
        """Take in hashes that were added since: none where there are few, and at most so many that it is soon done."""
        end = min(len(column), self.count + MOST_AT_ONCE)
        if end - self.count <= FEW:
            return
        while self.count < end:
            if not self._segments or self._segments[-1].stop == self.count:
                self._segments.append(_Segment(self.count, FIRST_SEGMENT << len(self._segments)))
            segment = self._segments[-1]
            stop = min(end, segment.stop)
            heads, before, buckets = segment.heads, segment.before, segment.buckets
            for number, hashed in enumerate(column[self.count : stop], len(before)):
                bucket = hashed % buckets
                before.append(heads[bucket])
                heads[bucket] = number
            self.count = stop

    def positions(self, hashed: int, column: array[int]) -> Iterator[int]:
        """The positions of a hash, from the last to the first; those that are not in the table are searched."""
        yield from _search(column[self.count :], hashed, self.count)
        for segment in reversed(self._segments):
            number = segment.heads[hashed % segment.buckets]
            while number:
                position = segment.start + number - 1
                if column[position] == hashed:
                    yield position
                number = segment.before[number]


def _search(column: array[int], hashed: int, start: int) -> Iterator[int]:
    """The positions of a hash in a part of the column that begins at `start`, from the last to the first."""
    content, pattern = column.tobytes(), array("q", [hashed]).tobytes()
    at = content.rfind(pattern)
    while at >= 0:
        if at % 8 == 0:
            yield start + at // 8
        at = content.rfind(pattern, 0, at + 7)


def _prime_from(least: int) -> int:
    """The first prime from a number on: ids that count upwards are spread over its remainders."""
    candidates = count(least | 1, 2)
    return next(one for one in candidates if all(one % divisor for divisor in range(3, isqrt(one) + 1, 2)))
