"""How appends to a log went: how long they took, how often one waited for the lock or met what others had appended.

A log counts for as long as it is open. If an append waited for the lock, or met another writer's records, what was
counted goes into one record when the log is closed; of a session that was alone nothing is written.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .record import encode_control

KIND = "appends"
_SUMS = ("appends", "append_us", "lock_waits", "lock_wait_us", "conflicts")
_MOST = ("longest_append_us", "longest_lock_wait_us")
_MOST_COUNT = 1 << 53
_MOST_BUCKET = 64


@dataclass(slots=True)
class AppendCounts:
    """Counts and times of appends; times in microseconds.

    An append here is what is written and synced together, for one caller or for several.
    """

    appends: int = 0
    append_us: int = 0
    longest_append_us: int = 0
    buckets: dict[int, int] = field(default_factory=dict)
    """How many appends took less than 2 to the power of the key, and at least half of that."""
    lock_waits: int = 0
    lock_wait_us: int = 0
    longest_lock_wait_us: int = 0
    conflicts: int = 0
    """Appends that found records of other writers, or another file, when they had the lock."""

    @property
    def is_eventful(self) -> bool:
        """Whether an append waited for the lock, or met another writer."""
        return bool(self.lock_waits or self.conflicts)

    def share_us(self, share: float) -> int:
        """So long that this share of the appends took less, as far as the buckets tell; 0 without appends."""
        rank = share * sum(self.buckets.values())
        for bucket in sorted(self.buckets):
            rank -= self.buckets[bucket]
            if rank <= 0:
                return min(1 << bucket, self.longest_append_us)
        return 0

    def add(self, record: Mapping[str, Any]) -> None:
        """Add what a record says; what is no count is left out, as another program may have written it."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + _count(record.get(name)))
        for name in _MOST:
            setattr(self, name, max(getattr(self, name), _count(record.get(name))))
        buckets = record.get("buckets")
        for pair in buckets if isinstance(buckets, list) else ():
            if isinstance(pair, list) and len(pair) == 2 and type(pair[0]) is int and 0 <= pair[0] <= _MOST_BUCKET:
                self.buckets[pair[0]] = self.buckets.get(pair[0], 0) + _count(pair[1])

    def to_record(self) -> dict[str, Any]:
        """As the fields of a record, in plain JSON types."""
        fields = {name: getattr(self, name) for name in (*_SUMS, *_MOST)}
        return {**fields, "buckets": [list(pair) for pair in sorted(self.buckets.items())]}


class AppendCounters:
    """Count the appends of one open log.

    Args:
        clock: gives seconds; it never goes back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.counts = AppendCounts()
        self._pid = os.getpid()

    def appended(self, began: float) -> None:
        """Count an append that was begun at a time of the clock."""
        counts, took_us = self.counts, int((self.clock() - began) * 1e6)
        counts.appends += 1
        counts.append_us += took_us
        if took_us > counts.longest_append_us:
            counts.longest_append_us = took_us
        bucket = took_us.bit_length()
        counts.buckets[bucket] = counts.buckets.get(bucket, 0) + 1

    def waited(self, began: float) -> None:
        """Count a wait for the lock that was begun at a time of the clock."""
        counts, took_us = self.counts, int((self.clock() - began) * 1e6)
        counts.lock_waits += 1
        counts.lock_wait_us += took_us
        counts.longest_lock_wait_us = max(counts.longest_lock_wait_us, took_us)

    def take(self) -> bytes | None:
        """The record of what was counted, and begin anew; None if nothing is to be told.

        What was counted before a fork is the parent's to tell.
        """
        counts, self.counts, pid, self._pid = self.counts, AppendCounts(), self._pid, os.getpid()
        return encode_control(KIND, **counts.to_record()) if counts.is_eventful and pid == self._pid else None


def _count(value: Any) -> int:
    return value if type(value) is int and 0 <= value < _MOST_COUNT else 0
