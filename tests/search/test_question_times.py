"""Times in questions, against a Wednesday, 2026-03-18."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from amplifier_module_context_persistent.clock import LOCAL_ZONE
from amplifier_module_context_persistent.search.question import read_question
from amplifier_module_context_persistent.search.question_times import periods_of

NOW = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)
_LONG_AGO = "1970-01-01"
_AFTER_NOW = "2026-03-18T15:30:01"


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("what broke yesterday?", "2026-03-17", "2026-03-18"),
        ("what broke yesterday morning", "2026-03-17T05", "2026-03-17T12"),
        ("the day before yesterday", "2026-03-16", "2026-03-17"),
        ("this morning's build", "2026-03-18T05", "2026-03-18T12"),
        ("last night", "2026-03-17T18", "2026-03-18T06"),
        ("what we decided last week", "2026-03-09", "2026-03-16"),
        ("the week before last", "2026-03-02", "2026-03-09"),
        ("over the weekend", "2026-03-14", "2026-03-16"),
        ("this month", "2026-03-01", "2026-04-01"),
        ("last month", "2026-02-01", "2026-03-01"),
        ("in January", "2026-01-01", "2026-02-01"),
        ("in december", "2025-12-01", "2026-01-01"),
        ("In May 2023", "2023-05-01", "2023-06-01"),
        ("early last month", "2026-02-01", "2026-02-10T08"),
        ("on 8 May, 2023", "2023-05-08", "2023-05-09"),
        ("on May 8th", "2025-05-08", "2025-05-09"),
        ("2026-02-28", "2026-02-28", "2026-03-01"),
        ("2026-02-28T10:00:00Z", "2026-02-28", "2026-03-01"),
        ("8.5.2026", "2026-05-08", "2026-05-09"),
        ("25/12/2025", "2025-12-25", "2025-12-26"),
        ("2025-11", "2025-11-01", "2025-12-01"),
        ("in 2025", "2025-01-01", "2026-01-01"),
        ("on Monday afternoon", "2026-03-16T12", "2026-03-16T18"),
        ("last wednesday", "2026-03-11", "2026-03-12"),
        ("2 days ago", "2026-03-16", "2026-03-17"),
        ("two weeks ago", "2026-03-01", "2026-03-08"),
        ("an hour ago", "2026-03-18T14", "2026-03-18T15"),
        ("a couple of days ago", "2026-03-16", "2026-03-17"),
        ("in the last hour", "2026-03-18T14:30", _AFTER_NOW),
        ("the past 3 days", "2026-03-15T15:30", _AFTER_NOW),
        ("since Tuesday", "2026-03-17", _AFTER_NOW),
        ("since 2 days ago", "2026-03-16", _AFTER_NOW),
        ("after 3 May 2025", "2025-05-04", _AFTER_NOW),
        ("before March 2025", _LONG_AGO, "2025-03-01"),
        ("between January and March", "2026-01-01", "2026-04-01"),
        ("from Monday to Tuesday", "2026-03-16", "2026-03-18"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("recently", "2026-03-04T15:30", _AFTER_NOW),
        ("was haben wir gestern Abend entschieden", "2026-03-17T17", "2026-03-18"),
        ("vorgestern", "2026-03-16", "2026-03-17"),
        ("letzte Woche", "2026-03-09", "2026-03-16"),
        ("vorletzte Woche", "2026-03-02", "2026-03-09"),
        ("vor drei Wochen", "2026-02-22", "2026-03-01"),
        ("seit zwei Wochen", "2026-03-04", _AFTER_NOW),
        ("in den letzten drei Tagen", "2026-03-15T15:30", _AFTER_NOW),
        ("im März", "2026-03-01", "2026-04-01"),
        ("im Jahr 2025", "2025-01-01", "2026-01-01"),
        ("am 8.5.", "2025-05-08", "2025-05-09"),
        ("am 8. Mai 2025", "2025-05-08", "2025-05-09"),
        ("Montagabend", "2026-03-16T17", "2026-03-17"),
        ("heute Nacht", "2026-03-17T18", "2026-03-18T06"),
        ("la semaine dernière", "2026-03-09", "2026-03-16"),
        ("il y a deux semaines", "2026-03-01", "2026-03-08"),
        ("les 3 derniers jours", "2026-03-15T15:30", _AFTER_NOW),
        ("hier soir, pourquoi ça a échoué", "2026-03-17T17", "2026-03-18"),
        ("el lunes pasado", "2026-03-16", "2026-03-17"),
        ("hace tres días", "2026-03-15", "2026-03-16"),
        ("ayer por la tarde", "2026-03-17T12", "2026-03-17T18"),
        ("en marzo de 2025", "2025-03-01", "2025-04-01"),
    ],
)
def test_a_time_is_read(text: str, begin: str, end: str) -> None:
    """As people say it in English, German, French and Spanish."""
    (found,) = read_question(f"cart {text}", now=NOW).periods
    expected = [datetime.fromisoformat(time).replace(tzinfo=UTC) for time in (begin, end)]
    assert [datetime.fromtimestamp(time, UTC) for time in (found.begin, found.end)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "may I ask",
        "the march of time",
        "30 February",
        "2026-13-40",
        "99 apples",
        "5/8/2026",
        "of 2048 tokens",
        "log/2026-05-08.txt",
        "v1.2.2026",
        "monday.com",
        "wo ist der Fehler hier",
        "May, or June",
    ],
)
def test_no_time_is_made_up(text: str) -> None:
    """Words that only look like a time, days that there are not, and dates that may be two days."""
    assert read_question(f"cart {text}", now=NOW).periods == ()


def test_a_possessive_day_is_no_limit() -> None:
    """`after yesterday's release` does not ask for times after yesterday."""
    (found,) = periods_of("after yesterday's release", NOW)
    assert found.said == "yesterday"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("what did we decide about the cart in March", {"decide", "cart"}),
        ("cart totals between January and March", {"cart", "totals", "cart totals"}),
        ("the cart yesterday, and again two days ago", {"cart"}),
        ("warum war der Warenkorb letzte Woche leer", {"Warenkorb", "leer", "Warenkorb leer"}),
    ],
)
def test_times_are_no_words(text: str, left: set[str]) -> None:
    """What is read as a time is not looked for in messages."""
    said = {term.said for term in read_question(text, now=NOW).terms}
    assert {one for one in said if " " not in one} == {one for one in left if " " not in one}
    assert not any(word in one for one in said for word in ("March", "January", "yesterday", "letzte", "ago"))


def test_of_two_times_both_are_read() -> None:
    """A message of either is of the time that is asked for."""
    found = periods_of("yesterday or last month", NOW)
    assert [one.said for one in found] == ["yesterday", "last month"]


@pytest.fixture
def summer_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A time zone with summer time, whatever the machine's is."""
    if not hasattr(time, "tzset"):
        pytest.skip("this system cannot change its time zone")
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("now", "said", "begin", "end"),
    [
        ("2026-03-29T10:00Z", "yesterday", "2026-03-27T23:00Z", "2026-03-28T23:00Z"),
        ("2026-03-30T10:00Z", "yesterday", "2026-03-28T23:00Z", "2026-03-29T22:00Z"),
        ("2026-03-30T10:00Z", "on Saturday", "2026-03-27T23:00Z", "2026-03-28T23:00Z"),
        ("2026-10-26T10:00Z", "yesterday", "2026-10-24T22:00Z", "2026-10-25T23:00Z"),
        ("2026-10-26T10:00Z", "last week", "2026-10-18T22:00Z", "2026-10-25T23:00Z"),
        ("2026-10-26T10:00Z", "in January", "2025-12-31T23:00Z", "2026-01-31T23:00Z"),
        ("2026-03-29T10:00Z", "the last 12 hours", "2026-03-28T22:00Z", "2026-03-29T10:00:01Z"),
        ("2026-10-25T10:00Z", "12 hours ago", "2026-10-24T21:30Z", "2026-10-24T22:30Z"),
        ("2026-10-25T01:30Z", "the last 2 hours", "2026-10-24T23:30Z", "2026-10-25T01:30:01Z"),
        ("2026-10-25T00:30Z", "the last 2 hours", "2026-10-24T22:30Z", "2026-10-25T00:30:01Z"),
    ],
)
@pytest.mark.usefixtures("summer_time")
def test_a_day_begins_at_its_own_midnight(now: str, said: str, begin: str, end: str) -> None:
    """Also before a change to or from summer time; hours are hours."""
    (period,) = periods_of(f"what broke {said}", datetime.fromisoformat(now).astimezone(LOCAL_ZONE))
    assert [datetime.fromtimestamp(moment, UTC) for moment in (period.begin, period.end)] == [
        datetime.fromisoformat(moment) for moment in (begin, end)
    ]
