"""What a log is to the rest of the package."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from .index import Index
from .record import Message

Prepare = Callable[[Index], Sequence[bytes]]
"""Gives the record bodies to append, from the index as it is under the lock. May run twice; must change nothing."""

Outcome = range | Exception
"""The ordinals of the message records that were appended, or why the whole of it was refused."""


class Log(Protocol):
    """What the rooms above need of a log."""

    @property
    def index(self) -> Index:
        """The index; another object after the log was scanned anew."""
        ...

    def follow(self) -> None:
        """Take in what others appended."""
        ...

    def commit(self, batch: Sequence[Prepare], *, wait: bool = True) -> list[Outcome]:
        """Append what each of the batch prepares."""
        ...

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse records afresh, in the given order."""
        ...

    def lines(self, ordinals: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Read records' lines as they were written, each with its ordinal."""
        ...

    def close(self) -> None:
        """Give back what the log holds."""
        ...
