"""The time and new ids, as defaults; modules below take them as arguments."""

from __future__ import annotations

import os
from datetime import UTC, datetime


def utc_now() -> str:
    """The time in UTC, to the millisecond, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def new_id() -> str:
    """A new unique message id."""
    return f"m{os.urandom(8).hex()}"
