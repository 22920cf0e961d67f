"""The time and new ids, as defaults; modules below take them as arguments."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from functools import lru_cache


def utc_now() -> str:
    """The time in UTC, to the millisecond, as ISO 8601."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return f"{_to_the_second(seconds)}.{nanoseconds // 1_000_000:03d}Z"


@lru_cache(maxsize=2)
def _to_the_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def new_id() -> str:
    """A new unique message id."""
    try:
        return _new_ids.pop()
    except IndexError:
        first, *others = _make_ids()
        _new_ids.extend(others)
        return first


_ID_COUNT = 32
_new_ids: list[str] = []
"""Made together, since the system takes as long for the random bytes of one as for those of all."""

if hasattr(os, "register_at_fork"):  # else a child would give the ids that its parent gives
    os.register_at_fork(after_in_child=_new_ids.clear)


def _make_ids() -> list[str]:
    digits = os.urandom(8 * _ID_COUNT).hex()
    return ["m" + digits[start : start + 16] for start in range(0, 16 * _ID_COUNT, 16)]
