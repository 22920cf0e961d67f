"""The turns of a run of messages, in columns: a session of a million messages has some fifty thousand of them.

Row 0 is what stands before the first message of a person; it belongs to the last turn of the run before. Each further
row is a turn that begins in this run.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from .packed import check_numbers

_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
NOWHERE = -1
_EARLIEST_US, _LATEST_US = ((end.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND for end in (datetime.min, datetime.max))


def microseconds(instant: datetime) -> int:
    """A time as whole microseconds since 1970."""
    return (instant - _EPOCH) // _MICROSECOND


class TurnRows:
    """One entry for each row in every column.

    `first_us` and `last_us` are the first time that a message of the row tells, and the latest one; `time_at` says
    which message of the row (from 0) tells the first one, and `line_at` which is the first in which a person says
    something. `NOWHERE` stands for none, in all four.
    """

    NAMES = ("messages", "tokens", "calls", "errors", "first_us", "last_us", "time_at", "line_at")
    __slots__ = NAMES

    def __init__(self, columns: Sequence[list[int]] | None = None) -> None:
        """Take columns as `columns` gives them; else begin with an empty row 0.

        Raises:
            ValueError: the columns do not fit together.
        """
        self.messages, self.tokens, self.calls, self.errors = ([0] for _ in range(4))
        self.first_us, self.last_us, self.time_at, self.line_at = ([NOWHERE] for _ in range(4))
        if columns is not None:
            if len(columns) != len(self.NAMES) or len(set(map(len, columns))) != 1:
                raise ValueError("the columns of turns do not fit together")
            for name, column in zip(self.NAMES, columns, strict=True):
                setattr(self, name, column)

    def __len__(self) -> int:
        return len(self.messages)

    def columns(self) -> list[list[int]]:
        """All columns, in the order of `NAMES`."""
        return [getattr(self, name) for name in self.NAMES]

    def check(self) -> None:
        """Check what was read.

        Raises:
            ValueError: it cannot be what messages come to.
        """
        for column in (self.messages, self.tokens, self.calls, self.errors):
            check_numbers(column)
        for column in (self.first_us, self.last_us):
            check_numbers(column, _EARLIEST_US, _LATEST_US)
        for column in (self.time_at, self.line_at):
            check_numbers(column, NOWHERE)
            if not self.messages or any(at and at >= count for at, count in zip(column, self.messages, strict=True)):
                raise ValueError("it names a message after the end of its turn")

    def begin(self) -> None:
        """Begin a turn."""
        for column in (self.messages, self.tokens, self.calls, self.errors):
            column.append(0)
        for column in (self.first_us, self.last_us, self.time_at, self.line_at):
            column.append(NOWHERE)

    def count(self, tokens: int, instant: datetime | None, *, says: bool) -> None:
        """Count a message in the last row; `says` tells whether a person says something in it."""
        at = self.messages[-1]
        self.messages[-1] += 1
        self.tokens[-1] += tokens
        if says and self.line_at[-1] == NOWHERE:
            self.line_at[-1] = at
        if instant is not None:
            us = microseconds(instant)
            if self.time_at[-1] == NOWHERE:
                self.time_at[-1], self.first_us[-1], self.last_us[-1] = at, us, us
            self.last_us[-1] = max(self.last_us[-1], us)

    def join(self, other: TurnRows) -> int:
        """Let the rows of the run that follows come after these; how far their numbers shift."""
        shift = len(self) - 1
        self._join_row(other)
        for name in self.NAMES:
            getattr(self, name).extend(getattr(other, name)[1:])
        return shift

    def as_turns(self) -> tuple[TurnRows, int]:
        """The turns of a whole history; how far row numbers shift, since its head belongs to its first turn."""
        turns = TurnRows([column[:1] for column in self.columns()])
        if len(self) > 1:
            turns.join(TurnRows([column[1:] for column in self.columns()]))
            return turns, 1
        return (turns if self.messages[0] else TurnRows([[] for _ in self.NAMES])), 0

    def duration_s(self, row: int) -> float | None:
        """The seconds from the first time of a row to its latest; None if no message tells a time."""
        if self.time_at[row] == NOWHERE:
            return None
        return (self.last_us[row] - self.first_us[row]) / 10**6

    def _join_row(self, other: TurnRows) -> None:
        """Add the other's row 0 to the last row of these."""
        before = self.messages[-1]
        for name in ("messages", "tokens", "calls", "errors"):
            getattr(self, name)[-1] += getattr(other, name)[0]
        if self.line_at[-1] == NOWHERE and other.line_at[0] != NOWHERE:
            self.line_at[-1] = before + other.line_at[0]
        if other.time_at[0] != NOWHERE:
            if self.time_at[-1] == NOWHERE:
                self.time_at[-1], self.first_us[-1] = before + other.time_at[0], other.first_us[0]
                self.last_us[-1] = other.last_us[0]
            self.last_us[-1] = max(self.last_us[-1], other.last_us[0])
