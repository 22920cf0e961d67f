"""A time that stands still, for tests of what the day, the week or the month changes."""

from __future__ import annotations

from datetime import datetime, tzinfo


def stopped_at(moment: datetime) -> type[datetime]:
    """A class to put in the place of a module's `datetime`: its `now` is always this moment."""

    class Stopped(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return moment.astimezone(tz) if tz else moment.astimezone().replace(tzinfo=None)

    return Stopped
