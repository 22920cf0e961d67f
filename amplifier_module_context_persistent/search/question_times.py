"""The time that a question is about: "yesterday morning", "last week", "in March", "on 3 May 2024"."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december")  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_HOURS = MappingProxyType(
    {"night": (0, 6), "morning": (5, 12), "noon": (11, 14), "afternoon": (12, 18), "evening": (17, 24)}
)
"""From and to which hour a part of a day goes; those that meet overlap."""
_COUNTS = MappingProxyType({"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6})
_MONTH = "|".join(f"{month}|{month[:3]}" for month in _MONTHS if month != "may") + "|may|sept"
_PART = "|".join(_HOURS)

Found = re.Match[str]


@dataclass(frozen=True, slots=True)
class Period:
    """A time from `begin` on and before `end`, in seconds since 1970, and how the question says it."""

    begin: int
    end: int
    said: str

    def holds(self, seconds: int) -> bool:
        """Whether a time is in it."""
        return self.begin <= seconds < self.end


def period_of(text: str, now: datetime) -> Period | None:
    """The first time that a text names; None if it names none, or one that does not exist.

    Args:
        text: a question.
        now: from which a time is counted, with its zone.
    """
    lowered = text.lower()
    for pattern, read in _RULES:
        if (found := pattern.search(lowered)) is not None:
            try:
                begin, end = read(found, now)
            except (ValueError, OverflowError):
                continue
            return Period(int(begin.timestamp()), int(end.timestamp()), found[0].strip())
    return None


def _midnight(time: datetime) -> datetime:
    return time.replace(hour=0, minute=0, second=0, microsecond=0)


def _part_of(day: datetime, part: str | None) -> tuple[datetime, datetime]:
    first, last = _HOURS.get(part or "", (0, 24))
    return day + timedelta(hours=first), day + timedelta(hours=last)


def _iso_day(found: Found, now: datetime) -> tuple[datetime, datetime]:
    return _part_of(_midnight(now).replace(int(found["year"]), int(found["month"]), int(found["day"])), None)


def _named_day(found: Found, now: datetime) -> tuple[datetime, datetime]:
    """A day of a month; without a year, the last one that was."""
    day = _midnight(now).replace(
        day=int(found["day"]), month=_month_number(found["month"]), year=int(found["year"] or now.year)
    )
    if not found["year"] and day > now:
        day = day.replace(year=day.year - 1)
    return _part_of(day, None)


def _relative_day(found: Found, now: datetime) -> tuple[datetime, datetime]:
    back = 1 if found["day"] == "yesterday" or found["day"] == "last" else 0
    return _part_of(_midnight(now) - timedelta(days=back), found["part"])


def _weekday(found: Found, now: datetime) -> tuple[datetime, datetime]:
    today = _midnight(now)
    back = (today.weekday() - _DAYS.index(found["day"])) % 7 or 7
    return _part_of(today - timedelta(days=back), found["part"])


def _month(found: Found, now: datetime) -> tuple[datetime, datetime]:
    """A month; without a year, the last one that has begun."""
    number = _month_number(found["month"])
    year = int(found["year"]) if found["year"] else now.year - (number > now.month)
    return _whole_month(_midnight(now).replace(day=1, month=number, year=year))


def _whole_month(first: datetime) -> tuple[datetime, datetime]:
    return first, first + timedelta(days=monthrange(first.year, first.month)[1])


def _span(found: Found, now: datetime) -> tuple[datetime, datetime]:
    """This or the last week, month or year."""
    today, back = _midnight(now), int(found["which"] in ("last", "previous"))
    if found["unit"] == "week":
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return monday, monday + timedelta(days=7)
    if found["unit"] == "year":
        first = today.replace(day=1, month=1, year=today.year - back)
        return first, first.replace(year=first.year + 1)
    first = today.replace(day=1)
    return _whole_month((first - timedelta(days=1)).replace(day=1) if back else first)


def _ago(found: Found, now: datetime) -> tuple[datetime, datetime]:
    """So many days, weeks or months ago, with half a unit on both sides."""
    count = _COUNTS.get(found["count"]) or int(found["count"])
    days = {"day": 1, "week": 7, "month": 30, "year": 365}[found["unit"]]
    middle = _midnight(now) - timedelta(days=days * count)
    around = timedelta(days=days // 2)
    return middle - around, middle + around + timedelta(days=1)


def _month_number(name: str) -> int:
    return next(number for number, month in enumerate(_MONTHS, 1) if month.startswith(name[:3]))


_DAY_FIRST = rf"\b(?P<day>\d\d?)(?:st|nd|rd|th)? (?:of )?(?P<month>{_MONTH})\b\.?(?:,? (?P<year>\d{{4}})\b)?"
_MONTH_FIRST = rf"\b(?P<month>{_MONTH})\b\.? (?P<day>\d\d?)(?:st|nd|rd|th)?\b(?:,? (?P<year>\d{{4}})\b)?"
_RULES: tuple[tuple[re.Pattern[str], Callable[[Found, datetime], tuple[datetime, datetime]]], ...] = (
    (re.compile(r"\b(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)\b"), _iso_day),
    (re.compile(_DAY_FIRST), _named_day),
    (re.compile(_MONTH_FIRST), _named_day),
    (re.compile(rf"\b(?P<day>yesterday|today|this|last)(?: (?P<part>{_PART}))\b"), _relative_day),
    (re.compile(r"\b(?P<day>yesterday|today)(?P<part>)\b"), _relative_day),
    (re.compile(rf"\b(?:on|last) (?P<day>{'|'.join(_DAYS)})(?: (?P<part>{_PART}))?\b"), _weekday),
    (re.compile(rf"\b(?:in|during|since|last|of|from) (?P<month>{_MONTH})\b(?:,? (?P<year>\d{{4}})\b)?"), _month),
    (re.compile(r"\b(?P<which>this|last|previous) (?P<unit>week|month|year)\b"), _span),
    (re.compile(rf"\b(?P<count>\d\d?|{'|'.join(_COUNTS)}) (?P<unit>day|week|month|year)s? ago\b"), _ago),
)
"""Expressions of time, the most definite first."""
