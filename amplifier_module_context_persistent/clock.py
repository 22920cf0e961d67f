"""The time and new ids, where nobody passes others in; what is below takes them as arguments."""

from __future__ import annotations

from datetime import UTC, datetime
from secrets import token_hex


def utc_now() -> str:
    """The time in UTC, to the millisecond, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def new_id() -> str:
    """A message id that nothing else has."""
    return "m" + token_hex(8)
