"""The times that a question names: "yesterday morning", "since Tuesday", "two weeks ago", "im März", "on 3 May 2024".

`time_words.py` has the words, of English, German, French and Spanish. A month or a weekday counts only with a word that
makes it a time (`in March`, `last Monday`, `Monday morning`, `May 2024`): alone, it is often something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Protocol

from .time_spans import Read, Span, part_of_day, third_of
from .time_tokens import Date, Token, may_follow, tokens_of
from .time_words import DAY, HOUR, MINUTE, MONTH, NIGHT, WEEK, WEEKEND, YEAR, Kind

_UNIT_S = {MINUTE: 60, HOUR: 3_600, DAY: 86_400, WEEK: 604_800, WEEKEND: 604_800, MONTH: 2_592_000, YEAR: 31_536_000}
_RECENT = timedelta(days=14)
_FIRST_YEAR, _LAST_YEAR = 1970, 2099
_FIRST_BARE_YEAR = 2001
"""The first year that is read without a month. Numbers such as 2000 or 2048 are seldom years."""
_MOST_COUNT = 999


@dataclass(frozen=True, slots=True)
class Period:
    """A time that a question names.

    Attributes:
        begin, end: the period's first second and the second after its last one, since 1970.
        said: the words for the time in the question.
        start, stop: the place of `said` in the question, in characters.
    """

    begin: int
    end: int
    said: str
    start: int
    stop: int

    def holds(self, seconds: int) -> bool:
        """Return whether a time, in seconds since 1970, is in the period."""
        return self.begin <= seconds < self.end


def periods_of(text: str, now: datetime, languages: tuple[str, ...] = ("en", "de", "fr", "es")) -> tuple[Period, ...]:
    """Return the times that a text names, in their order. Days that do not exist are left out.

    Args:
        text: a question.
        now: the present time with its zone, for words such as `yesterday`.
        languages: the languages whose words are read.
    """
    tokens = tokens_of(text, languages)
    reader = _Reader(text, tokens, now)
    found = list[Period]()
    at = 0
    while at < len(tokens):
        read = reader.read(at)
        if read is None:
            at += 1
            continue
        start = tokens[at].start
        stop = tokens[read.behind - 1].stop
        begin_s = int(read.begin.timestamp())
        end_s = int(read.end.timestamp())
        found.append(Period(begin_s, end_s, text[start:stop], start, stop))
        at = read.behind
    return tuple(found)


class _Rule(Protocol):
    def __call__(self, at: int, *, is_told: bool) -> Read | None:
        """Read a time that begins at a token; None if none begins there.

        `is_told` tells whether the word before announces a time.
        """
        ...


class _Reader:
    """Reads times. Each rule gets the number of its first token, and returns the time that it read, or None."""

    def __init__(self, text: str, tokens: Sequence[Token], now: datetime) -> None:
        self._text = text
        self._tokens = tokens
        self._now = now
        self._today = now.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
        self._breaks: list[int] = []
        """The numbers of the tokens before which a time ends, because other characters are between the tokens."""
        for number, (one, other) in enumerate(pairwise(tokens), 1):
            if not may_follow(text, one, other):
                self._breaks.append(number)
        self._breaks.append(len(tokens))
        self._end = len(tokens)
        self._until_now = self._before(timedelta(seconds=-1))

    def read(self, at: int) -> Read | None:
        """Read the time that begins at a token, with its preposition, and with the second time that ends a range.

        The result is None if there is none.
        """
        self._end = next(end for end in self._breaks if end > at)
        try:
            return self._connected(at) or self._simple(at)
        except (ValueError, OverflowError):
            return None  # there is no such day

    def _connected(self, at: int) -> Read | None:
        """Read a time after a connecting word (`between`, `in`, `since`, `vor`, `before`, `after`).

        The result is None if there is none.
        """
        return self._between(at) or self._since(at) or self._ago_with_vor(at) or self._before_or_after(at)

    def _between(self, at: int) -> Read | None:
        """Read a range of two times: `between March and May`, `from Monday to Wednesday`. None if there is none."""
        if not (self._is(at, Kind.BETWEEN) or self._is(at, Kind.IN)):
            return None
        first = self._told(at + 1)
        if first is None or not self._is(first.behind, Kind.TO):
            return None
        last = self._told(first.behind + 1)
        if last is None or first.begin >= last.end:
            return None
        return Read(first.begin, last.end, last.behind)

    def _since(self, at: int) -> Read | None:
        """Read a time from a begin up to now: `since Tuesday`, `seit zwei Wochen`. None if there is none."""
        if not self._is(at, Kind.SINCE):
            return None
        since = self._long(self._after_articles(at + 1)) or self._told(at + 1)
        if since is None:
            return None
        return Read(since.begin, self._until_now, since.behind)

    def _ago_with_vor(self, at: int) -> Read | None:
        """Read `vor zwei Wochen` or `il y a deux semaines`. None if there is none."""
        return self._ago(at) if self._is(at, Kind.BACK) else None

    def _before_or_after(self, at: int) -> Read | None:
        """Read all the time before or after a named time: `before May`, `after Monday`. None if there is none."""
        is_before = self._is(at, Kind.BEFORE)
        if not is_before and not self._is(at, Kind.AFTER):
            return None
        named_time = self._told(at + 1)
        if named_time is None:
            return None
        last_token = self._tokens[named_time.behind - 1]
        if self._text.startswith(("'s", "\u2019s"), last_token.stop):
            return None  # `after yesterday's release` is no time after yesterday
        if is_before:
            return Read(datetime.fromtimestamp(0, UTC), named_time.begin, named_time.behind)
        return Read(named_time.end, self._until_now, named_time.behind)

    def _told(self, at: int) -> Read | None:
        """Read a single time that the word before the token announces, past articles. None if there is none."""
        return self._simple(self._after_articles(at), is_told=True)

    def _simple(self, at: int, *, is_told: bool = False) -> Read | None:
        """Read a single time; None if none begins at this token.

        Args:
            at: the number of the time's first token.
            is_told: whether the word before the token announces a time.
        """
        rules: tuple[_Rule, ...] = (
            self._date, self._day_of_month, self._relative_day, self._part_of_day, self._weekday, self._counted,
            self._span, self._month, self._year, self._recent,
        )  # fmt: skip
        places = [(at, is_told)]
        if not is_told and self._is(at, Kind.IN):
            places.insert(0, (self._after_articles(at + 1), True))
        for begin, has_told in places:
            for rule in rules:
                read = rule(begin, is_told=has_told)
                if read is not None:
                    return read
        return None

    # -- tokens ------------------------------------------------------------------------------------------------------

    def _value(self, at: int, kind: Kind) -> int | None:
        """Return the value of a token as one kind of time word, such as 5 for "May" as a month.

        Return None if the token is no such word, or is outside of the part of the text that is read.
        """
        if not 0 <= at < self._end:
            return None
        value = self._tokens[at].meanings.get(kind)
        if value is None:
            return None
        return int(value)

    def _is(self, at: int, kind: Kind) -> bool:
        return self._value(at, kind) is not None

    def _after(self, at: int, *kinds: Kind) -> int:
        while any(self._is(at, kind) for kind in kinds):
            at += 1
        return at

    def _after_articles(self, at: int) -> int:
        return self._after(at, Kind.ARTICLE)

    def _number(self, at: int, least: int, most: int) -> int | None:
        number = self._tokens[at].number if at < self._end else -1
        return number if least <= number <= most else None

    def _optional_year(self, at: int) -> tuple[int | None, int]:
        """Read a year, if one follows. Return the year, or None, and the number of the token after it."""
        place = self._after(at, Kind.ARTICLE, Kind.IN)
        year = self._number(place, _FIRST_YEAR, _LAST_YEAR)
        if year is None:
            return None, at
        return year, place + 1

    # -- days --------------------------------------------------------------------------------------------------------

    def _date(self, at: int, *, is_told: bool) -> Read | None:
        if at >= self._end:
            return None
        date = self._tokens[at].date
        if date is None or not (is_told or date.year):
            return None
        return self._span_of(date).read_to(at + 1)

    def _span_of(self, date: Date) -> Span:
        if not date.day:
            return self._whole_month(date.month, date.year)
        return self._whole_day(date.day, date.month, date.year or None)

    def _whole_day(self, day: int, month: int, year: int | None) -> Span:
        """Return the span of a day of a month. Without a year, this is the last such day that has begun."""
        begin = self._today.replace(day=day, month=month, year=year or self._now.year)
        if year is None and begin > self._now:
            begin = begin.replace(year=begin.year - 1)
        return Span(begin, begin + timedelta(days=1))

    def _day_of_month(self, at: int, *, is_told: bool) -> Read | None:
        """Read a day of a month: `8 May 2026`, `the 8th of May`, `May 8, 2026`. None if there is none."""
        at = self._after_articles(at)
        day = self._number(at, 1, 31)
        if day is not None:
            behind = self._after_articles(at + 1)
            month = self._value(behind, Kind.MONTH)
        else:
            month = self._value(at, Kind.MONTH)
            behind = at + 1
            day = self._number(behind, 1, 31)
        if day is None or month is None:
            return None
        year, behind = self._optional_year(behind + 1)
        return self._whole_day(day, month, year).read_to(behind)

    def _relative_day(self, at: int, *, is_told: bool) -> Read | None:
        """Read a day relative to today: `yesterday`, `gestern am Abend`. None if there is none."""
        back = self._value(at, Kind.DAYS_BACK)
        if back is None:
            return None
        return self._with_part(self._today - timedelta(days=back), at + 1)

    def _with_part(self, day: datetime, at: int) -> Read:
        behind = self._after(at, Kind.IN, Kind.ARTICLE)
        part = self._value(behind, Kind.PART)
        if part is None:
            return Read(day, day + timedelta(days=1), at)
        if part == NIGHT and part_of_day(day, NIGHT).begin > self._now:
            day -= timedelta(days=1)  # by day, `heute Nacht` is the last night
        return part_of_day(day, part).read_to(behind + 1)

    def _part_of_day(self, at: int, *, is_told: bool) -> Read | None:
        """Read a part of today or yesterday: `this morning`, `last night`. None if there is none."""
        if not self._is(at + 1, Kind.PART):
            return None
        if self._is(at, Kind.LAST):
            return self._with_part(self._today - timedelta(days=1), at + 1)
        if self._is(at, Kind.THIS):
            return self._with_part(self._today, at + 1)
        return None

    def _weekday(self, at: int, *, is_told: bool) -> Read | None:
        """Read the last such weekday: `on Monday`, `last Monday`, `Monday morning`, `lundi dernier`.

        The result is None if there is none.
        """
        begin = self._after_articles(at)
        has_word_before = self._is(begin, Kind.LAST) or self._is(begin, Kind.PAST) or self._is(begin, Kind.THIS)
        begin = self._after(begin, Kind.LAST, Kind.PAST, Kind.THIS)
        weekday = self._value(begin, Kind.WEEKDAY)
        if weekday is None:
            return None
        behind = self._after(begin + 1, Kind.LAST)
        days_ago = (self._today.weekday() - weekday) % 7 or 7  # not today
        day = self._today - timedelta(days=days_ago)
        part = self._value(begin, Kind.PART)
        if part is not None:  # `Montagabend` is a weekday and a part of the day
            return part_of_day(day, part).read_to(behind)
        read = self._with_part(day, behind)
        is_more_than_weekday = read.behind > begin + 1
        is_sure = is_told or has_word_before or is_more_than_weekday
        return read if is_sure else None

    # -- counts of units ---------------------------------------------------------------------------------------------

    def _counted(self, at: int, *, is_told: bool) -> Read | None:
        """Read a number of units: `two weeks ago`, `the last three days`, `les 3 derniers jours`.

        The result is None if there is none.
        """
        return self._ago(at) or self._last_units(at)

    def _count(self, at: int) -> int | None:
        """Read a number in digits or words, which is one token. None if there is none."""
        count = self._number(at, 0, _MOST_COUNT)
        if count is None:
            return self._value(at, Kind.COUNT)
        return count

    def _units(self, at: int) -> tuple[int, timedelta, int] | None:
        """Read a count and its unit of time.

        Return the unit, the duration of all units, and the number of the token after them; None if there are none.
        """
        count = self._count(at)
        unit = self._value(at + 1, Kind.UNIT)
        if count is None or unit is None:
            return None
        return unit, timedelta(seconds=count * _UNIT_S[unit]), at + 2

    def _ago(self, at: int) -> Read | None:
        """Read `two weeks ago` as a span from half a unit before that time to half a unit after it.

        The result is None if there is none.
        """
        has_word_before = self._is(at, Kind.BACK)  # `vor`
        units = self._units(at + 1 if has_word_before else at)
        if units is None:
            return None
        unit, lasts, behind = units
        if not has_word_before:
            if not self._is(behind, Kind.AGO):
                return None
            behind += 1
        if unit in (MINUTE, HOUR):
            half = timedelta(seconds=_UNIT_S[unit] // 2)
            return Read(self._before(lasts + half), self._before(lasts - half), behind)
        day = self._today - lasts
        half = timedelta(days=_UNIT_S[unit] // _UNIT_S[DAY] // 2)
        return Read(day - half, day + half + timedelta(days=1), behind)

    def _long(self, at: int) -> Read | None:
        """Read a duration after `since`: `seit zwei Wochen` begins two weeks ago. None if there is none."""
        has_word_before = self._is(at, Kind.BACK)  # `vor`
        units = self._units(at + 1 if has_word_before else at)
        if units is None:
            return None
        unit, lasts, behind = units
        begin = self._before(lasts) if unit in (MINUTE, HOUR) else self._today - lasts
        return Read(begin, self._now, self._after(behind, Kind.AGO))

    def _last_units(self, at: int) -> Read | None:
        """Read a time up to now: `the last three days`, `past week`, `les 3 derniers jours`. None if there is none."""
        begin = self._after_articles(at)
        count = self._count(begin)  # as in `les 3 derniers jours`
        last = begin if count is None else begin + 1
        is_past = self._is(last, Kind.PAST)
        if not is_past and self._value(last, Kind.LAST) != 1:
            return None
        unit_at = last + 1
        if count is None:
            count = self._count(unit_at)  # as in `the last three days`
            if count is not None:
                unit_at += 1
        unit = self._value(unit_at, Kind.UNIT)
        if unit is None or unit == WEEKEND:
            return None
        if count is None:
            if not is_past and unit not in (MINUTE, HOUR):
                return None  # the calendar's last week or month
            count = 1
        lasts = timedelta(seconds=count * _UNIT_S[unit])
        return Read(self._before(lasts), self._until_now, unit_at + 1)

    def _before(self, lasts: timedelta) -> datetime:
        """Return the time that was this long ago. A day with a change to summer time has 23 hours."""
        return (self._now.astimezone(UTC) - lasts).astimezone(self._now.tzinfo)

    # -- weeks, months, years ----------------------------------------------------------------------------------------

    def _span(self, at: int, *, is_told: bool) -> Read | None:
        """Read the present or the last week, month or year, or a third of it (`early last month`).

        The result is None if there is none.
        """
        edge = self._value(at, Kind.EDGE)
        unit_at = self._after_articles(at if edge is None else at + 1)
        back = 0 if self._is(unit_at, Kind.THIS) else self._value(unit_at, Kind.LAST)
        if back is not None:
            unit_at += 1
        behind = unit_at + 1
        if back is None:
            back = self._value(behind, Kind.LAST)  # as in `la semaine dernière`
            if back is not None:
                behind += 1
        unit = self._value(unit_at, Kind.UNIT)
        if back is None and is_told and unit == WEEKEND:
            back = 0
        if back is None or unit is None or unit in (MINUTE, HOUR):
            return None
        return third_of(self._calendar(unit, back), edge).read_to(behind)

    def _calendar(self, unit: int, back: int) -> Span:
        """Return the calendar day, week, weekend, month or year that is `back` units before the present one.

        Before Saturday, the present weekend is the last one.
        """
        monday = self._today - timedelta(days=self._today.weekday())
        if unit == DAY:
            day = self._today - timedelta(days=back)
            return Span(day, day + timedelta(days=1))
        if unit == WEEK:
            first = monday - timedelta(days=7 * back)
            return Span(first, first + timedelta(days=7))
        if unit == WEEKEND:
            is_before_saturday = self._today.weekday() < 5
            if back == 0 and is_before_saturday:
                back = 1  # a year that has begun
            saturday = monday + timedelta(days=5 - 7 * back)
            return Span(saturday, saturday + timedelta(days=2))
        if unit == YEAR:
            first = self._today.replace(day=1, month=1, year=self._today.year - back)
            return Span(first, first.replace(year=first.year + 1))
        months = self._today.year * 12 + self._today.month - 1 - back
        return self._whole_month(months % 12 + 1, months // 12)

    def _whole_month(self, month: int, year: int) -> Span:
        first = self._today.replace(day=1, month=month, year=year)
        following = first.replace(month=month % 12 + 1, year=year + month // 12)
        return Span(first, following)

    def _month(self, at: int, *, is_told: bool) -> Read | None:
        """Read a month: `in May`, `late May`, `May 2024`. None if there is none.

        Without a year, it is the last such month that has begun.
        """
        begin = self._after_articles(at)
        is_told = is_told or self._is(begin, Kind.LAST) or self._is(begin, Kind.THIS)
        begin = self._after(begin, Kind.LAST, Kind.THIS)
        edge = self._value(begin, Kind.EDGE)
        if edge is not None:
            begin = self._after_articles(begin + 1)
        month = self._value(begin, Kind.MONTH)
        if month is None:
            return None
        year, behind = self._optional_year(begin + 1)
        if year is None and edge is None and not is_told:
            return None
        if not year:
            has_begun = month <= self._now.month
            year = self._now.year if has_begun else self._now.year - 1
        return third_of(self._whole_month(month, year), edge).read_to(behind)

    def _year(self, at: int, *, is_told: bool) -> Read | None:
        """Read a year that has begun: `in 2024`, `im Jahr 2024`. None if there is none."""
        begin = self._after_articles(at)
        has_unit = self._value(begin, Kind.UNIT) == YEAR
        begin += has_unit
        year = self._number(begin, _FIRST_BARE_YEAR, self._now.year)
        if year is None or not (is_told or has_unit):
            return None
        first = self._today.replace(day=1, month=1, year=year)
        return Read(first, first.replace(year=year + 1), begin + 1)

    def _recent(self, at: int, *, is_told: bool) -> Read | None:
        if not self._is(at, Kind.RECENT):
            return None
        return Read(self._now - _RECENT, self._until_now, at + 1)
