"""A hash table that finds the positions of id hashes in a column. The time hardly grows with the column.

Positions whose hashes have the same remainder form a chain, the newest first. The chains are kept in segments, each
twice as long as the one before, so that a position is never moved. Adding a hash takes a few steps. A lookup takes a
few steps in each segment, and the number of segments grows with the logarithm of the column. The table takes about six
bytes for each position.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from math import isqrt

FEW = 1024
"""The last hashes of a column, up to this number, are searched one by one and not added to the table."""
MOST_AT_ONCE = 1 << 16
FIRST_SEGMENT = 1024


class _Segment:
    """A range of positions in chains. Positions count from 1; 0 ends a chain."""

    def __init__(self, start: int, length: int) -> None:
        self.start = start
        self.stop = start + length
        self.buckets = _prime_from(length * 5 // 11)
        self.heads = array("I", bytes(4 * self.buckets))
        self.before = array("I", [0])


class IdTable:
    """Finds the positions of an id hash in a column that only grows."""

    def __init__(self) -> None:
        self._segments: list[_Segment] = []
        self.count = 0
        """The number of positions, from the first, that are in the table."""

    def catch_up(self, column: array[int]) -> None:
        """Add new hashes of the column to the table: none if there are few, and only a limited number at once."""
        end = min(len(column), self.count + MOST_AT_ONCE)
        if end - self.count <= FEW:
            return
        while self.count < end:
            if not self._segments or self._segments[-1].stop == self.count:
                self._segments.append(_Segment(self.count, FIRST_SEGMENT << len(self._segments)))
            segment = self._segments[-1]
            stop = min(end, segment.stop)
            heads = segment.heads
            before = segment.before
            buckets = segment.buckets
            for number, hashed in enumerate(column[self.count : stop], len(before)):
                bucket = hashed % buckets
                before.append(heads[bucket])
                heads[bucket] = number
            self.count = stop

    def positions(self, hashed: int, column: array[int]) -> Iterator[int]:
        """Yield the positions of a hash in the column, from the last to the first.

        Hashes not yet in the table are found too.
        """
        yield from _search(column[self.count :], hashed, self.count)
        for segment in reversed(self._segments):
            number = segment.heads[hashed % segment.buckets]
            while number:
                position = segment.start + number - 1
                if column[position] == hashed:
                    yield position
                number = segment.before[number]


def _search(column: array[int], hashed: int, start: int) -> Iterator[int]:
    """Yield the positions of a hash in a part of the column that begins at `start`, from the last to the first."""
    content = column.tobytes()
    pattern = array("q", [hashed]).tobytes()
    found_at = content.rfind(pattern)
    while found_at >= 0:
        if found_at % 8 == 0:
            yield start + found_at // 8
        found_at = content.rfind(pattern, 0, found_at + 7)


def _prime_from(least: int) -> int:
    """Return the first odd prime from a number on, so that ids that count upwards have different remainders."""
    candidate = least | 1
    while any(candidate % divisor == 0 for divisor in range(3, isqrt(candidate) + 1, 2)):
        candidate += 2
    return candidate
