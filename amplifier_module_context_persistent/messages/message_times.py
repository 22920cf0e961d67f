"""The times of messages: when one was written, and whether that is within a period."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from .message import metadata_of


def timestamp_of(message: Mapping[str, Any]) -> str:
    """Return the time at which a message was written, as text; "" if the time is unknown.

    The time is in the metadata or, in messages of the older module, at the top level.
    """
    timestamp = metadata_of(message).get("timestamp") or message.get("timestamp")
    return timestamp if isinstance(timestamp, str) else ""


def instant_of(text: str) -> datetime | None:
    """Return the instant of an ISO 8601 text, in UTC if the text names no zone; None if the text is not a time."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    return instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)


def is_written_between(message: Mapping[str, Any], since_s: float | None, until_s: float | None) -> bool:
    """Return whether a message was written in a period, from `since_s` on and before `until_s`.

    A message without a time is in no period, except if both ends are open.

    Args:
        message: the message; its `metadata` may have a `timestamp`.
        since_s: the beginning in seconds since 1970; None if the beginning is open.
        until_s: the end in seconds since 1970; None if the end is open.
    """
    if since_s is None and until_s is None:
        return True
    written = instant_of(timestamp_of(message))
    if written is None:
        return False
    seconds = written.timestamp()
    if since_s is not None and seconds < since_s:
        return False
    return until_s is None or seconds < until_s


def seconds_between(start: datetime | None, end: datetime | None) -> float | None:
    """Return the seconds between two times; None if one is unknown or the end is before the start."""
    if start is None or end is None or end < start:
        return None
    return (end - start).total_seconds()
