"""Records that wait for the next append of a session.

These are receipts, usage, requests that were sent otherwise than their views, system prompts, plans of side windows,
and plans that could not be stored.

Each was made for one index of the log. If the log is replaced before the append, the record is left out
(`RecordBuilder.carrying`), because it may have texts that a purge removed.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ..log.contract import Log
from ..log.index import Index


@dataclass(frozen=True, slots=True, eq=False)
class Deferred:
    """A record that waits for the next append."""

    body: bytes
    index: Index
    """The index of the log when the record was buffered. After a purge, for example, the log has another index."""


class DeferredRecords:
    """The records of one session that wait for the next append. Any thread may add and take.

    Args:
        log: the log to which they will be appended.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._waiting: deque[Deferred] = deque()

    def add(self, *bodies: bytes, of: Index | None = None) -> None:
        """Buffer records until the next append or close. If the log is replaced before, the records are dropped.

        `of` is the index of the log for which the records were made, by default the index that it has now.
        """
        index = self._log.index if of is None else of
        self._waiting.extend(Deferred(body, index) for body in bodies)

    def withdraw(self, body: bytes) -> None:
        """Remove a buffered record, unless the log has the record already."""
        for record in tuple(self._waiting):
            if record.body == body:
                with contextlib.suppress(ValueError):  # another thread has taken it
                    self._waiting.remove(record)

    def take(self) -> Sequence[Deferred]:
        """Return the buffered records and empty the buffer. The caller appends the records or puts them back."""
        if not self._waiting:
            return ()
        records: list[Deferred] = []
        with contextlib.suppress(IndexError):  # until the buffer is empty: other threads add and take at the same time
            while True:
                records.append(self._waiting.popleft())
        return records

    def put_back(self, records: Sequence[Deferred]) -> None:
        """Put records that could not be stored back into the buffer."""
        self._waiting.extend(records)
