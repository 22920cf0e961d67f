"""The time and new ids, as defaults; modules below take them as arguments."""

from __future__ import annotations

import os
import time
from functools import lru_cache


def utc_now() -> str:
    """The time in UTC, to the millisecond, as ISO 8601."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return f"{_to_the_second(seconds)}.{nanoseconds // 1_000_000:03d}Z"


@lru_cache(maxsize=2)
def _to_the_second(seconds: int) -> str:
    """The same without the milliseconds; kept, since each append asks, and writing it takes a fiftieth of an append."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def new_id() -> str:
    """A new unique message id."""
    return f"m{os.urandom(8).hex()}"
