"""Find where a run of a reset begins or ends when the messages that its description names there cannot be read.

A run is named by its first two and its last two messages and by its count. Where both names of an end are lost, the
lines that cannot be read tell how many messages are missing, and the end lies beside one of them. With one damaged
place this is exact; with several it is the likeliest answer, and the reset is reported.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, combinations

from .index import Index

_SHORTEST_MESSAGE_BYTES = 64
_LOST_KINDS = frozenset({"unreadable", "oversized"})
_MOST_PLACES = 64


class RunEnds:
    """The damaged places of a log, as positions of a live history.

    Args:
        index: knows where the damage lies.
        live: the history, as ordinals.
    """

    def __init__(self, index: Index, live: Sequence[int]) -> None:
        self._offsets, self._live = index.offsets, live
        self._breaks = sorted(found.offset for found in index.damage if found.kind != "reset")
        lost = (f for f in index.damage if f.kind in _LOST_KINDS and f.length >= _SHORTEST_MESSAGE_BYTES)
        self._lost = sorted(found.offset for found in lost)

    def start_before(self, end: int, count: int) -> int:
        """Where a run of `count` messages starts that ends with the one at the position `end`."""
        position, missing = end, count - 1
        while position and missing > (lost := self._lost_at(position)):
            missing -= lost + 1
            position -= 1
        broken = (at for at in range(position, end + 1) if self._is_broken(at))
        return next(broken, end)

    def end_after(self, start: int, count: int) -> int:
        """Where a run of `count` messages ends that starts with the one at the position `start`."""
        position, missing, last = start, count - 1, len(self._live) - 1
        while position < last and missing > (lost := self._lost_at(position + 1)):
            missing -= lost + 1
            position += 1
        broken = (at for at in range(position, start - 1, -1) if self._is_broken(at + 1))
        return next(broken, start)

    def between(self, count: int) -> tuple[int, int] | None:
        """Where a run of `count` messages stands of which two at least are lost at each end; None if nowhere.

        Places where as many lines are lost as the run lacks go before others, then longer runs before shorter ones.
        """
        positions = range(len(self._live) + 1)
        broken = [at for at in positions if self._is_broken(at)][:_MOST_PLACES]
        lost = [self._lost_at(at) for at in positions]
        if max(lost) >= count:  # all of it
            return None
        before = list(accumulate(lost, initial=0))
        found: list[tuple[bool, int, int]] = []
        for start, end in combinations(broken, 2):
            readable, inside = end - start, before[end] - before[start + 1]
            missing = count - readable - inside
            if missing >= 4:
                found.append((missing <= lost[start] + lost[end], readable, start))
        _, readable, start = max(found, default=(False, 0, 0))
        return (start, start + readable - 1) if readable else None

    def _span(self, position: int) -> list[tuple[int, int]]:
        """The bytes of the file beside a position: before the message there, and after the one before it."""
        offsets, live = self._offsets, self._live
        spans: list[tuple[int, int]] = []
        if position < len(live):
            after = live[position]
            spans.append((offsets[after - 1] + 1 if after else 0, offsets[after]))
        if position == len(live):  # what was live after the last one may stand anywhere after it
            spans.append((offsets[live[-1]] + 1 if live else 0, 1 << 62))
        elif position and live[position] != live[position - 1] + 1:
            before = live[position - 1]
            spans.append((offsets[before] + 1, offsets[before + 1] if before + 1 < len(offsets) else 1 << 62))
        return spans

    def _lost_at(self, position: int) -> int:
        """How many lines that may have been messages cannot be read before the message at a position."""
        return sum(bisect_left(self._lost, end) - bisect_left(self._lost, start) for start, end in self._span(position))

    def _is_broken(self, position: int) -> bool:
        """Whether anything is damaged there, or lines may be missing."""
        return any(
            bisect_right(self._breaks, end) > bisect_left(self._breaks, start) for start, end in self._span(position)
        )
