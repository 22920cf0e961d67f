"""The time and new ids, as defaults; modules below take them as arguments."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache


def utc_now() -> str:
    """The time in UTC, to the millisecond, as ISO 8601."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return f"{_to_the_second(seconds)}.{nanoseconds // 1_000_000:03d}Z"


@lru_cache(maxsize=2)
def _to_the_second(seconds: int) -> str:
    """Return a time as text without its milliseconds. The last text is cached, because each append needs the time."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


class _LocalZone(tzinfo):
    """This machine's time zone, with summer time by the date: midnight of an earlier day is midnight there."""

    def utcoffset(self, moment: datetime | None) -> timedelta:
        """Return the difference from UTC at a local time."""
        local = (moment or datetime.now()).replace(tzinfo=None)
        return local - datetime.fromtimestamp(local.timestamp(), UTC).replace(tzinfo=None)

    def dst(self, _moment: datetime | None) -> timedelta | None:
        """Return None: how much of the difference is summer time is not known."""
        return None

    def tzname(self, _moment: datetime | None) -> str:
        """Return a name for messages."""
        return "local"

    def fromutc(self, moment: datetime) -> datetime:
        """Return the local time of a time in UTC."""
        return datetime.fromtimestamp(moment.replace(tzinfo=UTC).timestamp()).replace(tzinfo=self)


LOCAL_ZONE = _LocalZone()


def new_id() -> str:
    """A new unique message id."""
    try:
        return _new_ids.pop()
    except IndexError:
        digits = os.urandom(8 * _ID_COUNT).hex()
        _new_ids.extend(f"m{digits[start : start + 16]}" for start in range(16, 16 * _ID_COUNT, 16))
        return f"m{digits[:16]}"


_ID_COUNT = 32
_new_ids: list[str] = []
"""Ids that were made in advance. The system takes as long for the random bytes of one id as for those of many."""

if hasattr(os, "register_at_fork"):  # else a child would give the ids that its parent gives
    os.register_at_fork(after_in_child=_new_ids.clear)
