"""Times in questions, against a Wednesday, 2026-03-18."""

from datetime import UTC, datetime

import pytest

from amplifier_module_context_persistent.search.question_times import period_of

NOW = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("what broke yesterday?", "2026-03-17", "2026-03-18"),
        ("what broke yesterday morning", "2026-03-17T05", "2026-03-17T12"),
        ("this morning's build", "2026-03-18T05", "2026-03-18T12"),
        ("last night", "2026-03-17", "2026-03-17T06"),
        ("what we decided last week", "2026-03-09", "2026-03-16"),
        ("this month", "2026-03-01", "2026-04-01"),
        ("last month", "2026-02-01", "2026-03-01"),
        ("in January", "2026-01-01", "2026-02-01"),
        ("in december", "2025-12-01", "2026-01-01"),
        ("In May 2023", "2023-05-01", "2023-06-01"),
        ("on 8 May, 2023", "2023-05-08", "2023-05-09"),
        ("on May 8th", "2025-05-08", "2025-05-09"),
        ("2026-02-28", "2026-02-28", "2026-03-01"),
        ("on Monday afternoon", "2026-03-16T12", "2026-03-16T18"),
        ("last wednesday", "2026-03-11", "2026-03-12"),
        ("two weeks ago", "2026-03-01", "2026-03-08"),
        ("last year", "2025-01-01", "2026-01-01"),
    ],
)
def test_a_time_is_read(text: str, begin: str, end: str) -> None:
    """As people say it."""
    found = period_of(text, NOW)
    assert found is not None
    expected = [datetime.fromisoformat(time).replace(tzinfo=UTC) for time in (begin, end)]
    assert [datetime.fromtimestamp(time, UTC) for time in (found.begin, found.end)] == expected


@pytest.mark.parametrize("text", ["", "may I ask", "the march of time", "30 February", "2026-13-40", "99 apples"])
def test_no_time_is_made_up(text: str) -> None:
    """Words that only look like a time, and days that there are not."""
    assert period_of(text, NOW) is None
