"""The interface of an index of words for a ranking."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from .ranked_segment import Postings


class RankedIndex(Protocol):
    """The interface of an index: the segments of one log or of many. The segments of a log are in order."""

    @property
    def places(self) -> Sequence[int]:
        """The place of each segment's first message.

        The place of any message is this place plus the message's number in the segment.
        """
        ...

    @property
    def counts(self) -> Sequence[int]:
        """The number of messages in each segment."""
        ...

    def frequencies(self, keys: Sequence[int]) -> Sequence[int]:
        """Return the number of messages with each term."""
        ...

    def postings(self, key: int, among: Collection[int] | None = None) -> Iterable[tuple[int, Postings]]:
        """Return the postings of a term, each with its segment's number, in order. `among` limits the segments."""
        ...

    def seconds(self, segment: int, number: int) -> int:
        """Return when a found message was written, in seconds since 1970, or 0 if unknown."""
        ...
