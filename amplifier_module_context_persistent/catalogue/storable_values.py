"""Values from records and messages as numbers and texts that SQLite can store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from ..messages.message_times import instant_of

MOST_TOKENS = 1 << 53
"""The least number that is no count. Sums of smaller numbers can be stored."""
Row = tuple[Any, ...]
"""A row of a table, without its session."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def count_or_none(value: Any) -> int | None:
    """Return a count from a record, or None if the value is not a count.

    Another program may have written the record.
    """
    if type(value) is not int or not 0 <= value < MOST_TOKENS:
        return None
    return value


def number_or_zero(value: Any) -> float:
    """Return a number from a record, or 0 if the value is not a number or too large."""
    if not isinstance(value, int | float) or not abs(value) < MOST_TOKENS:  # also for NaN
        return 0.0
    return float(value)


def microseconds(time: str) -> int | None:
    """Return a time in microseconds since 1970, or None for a text that is not a time."""
    instant = instant_of(time)
    return (instant - _EPOCH) // _MICROSECOND if instant is not None else None


def storable_text(value: Any) -> str:
    """Return a value as a text that SQLite can store."""
    text = "" if value is None else str(value)
    return text.encode("utf-8", "replace").decode()
