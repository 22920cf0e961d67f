"""Spans of time, and parts of them: a morning of a day, the last third of a month."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from .time_words import AFTERNOON, EVENING, MORNING, NIGHT, NOON

_HOURS = {NIGHT: (18, 30), MORNING: (5, 12), NOON: (11, 14), AFTERNOON: (12, 18), EVENING: (17, 24)}
"""The first and last hour of each part of a day. Neighbouring parts overlap; a night ends on the next day."""


class Read(NamedTuple):
    """A time that was read from the tokens of a question."""

    begin: datetime
    end: datetime
    behind: int
    """The number of the token after the time's last token."""


class Span(NamedTuple):
    """A begin, and the end after it."""

    begin: datetime
    end: datetime

    def read_to(self, behind: int) -> Read:
        """Return the span as a time that was read up to the token with this number."""
        return Read(self.begin, self.end, behind)


def part_of_day(day: datetime, part: int) -> Span:
    """Return the begin and end of a part of a day; `part` is `NIGHT`, `MORNING`, `NOON`, `AFTERNOON` or `EVENING`."""
    first, last = _HOURS[part]
    return Span(day + timedelta(hours=first), day + timedelta(hours=last))


def third_of(span: Span, edge: int | None) -> Span:
    """Return the first, second or last third of a span (`edge` 0, 1 or 2), or the whole span if `edge` is None."""
    if edge is None:
        return span
    third = (span.end - span.begin) / 3
    begin = span.begin + edge * third
    return Span(begin, begin + third)
