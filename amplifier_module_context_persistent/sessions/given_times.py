"""Times that a person or a program gives: an age, a date, a time of day, or words."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta

from ..clock import LOCAL_ZONE
from .filters import FilterError

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "y": 31_536_000}

Moment = datetime | timedelta | str
"""A time, a duration before now, or a text with either of them (`2026-01-31`, `12h`, `3d`, `last week`)."""
TIMES = "give how long ago, as in 12h, 3d, 2w or 1y, a date, as in 2026-01-31, or words, as in yesterday or last week"
"""The advice in an error message if a text is not a time."""


def moment_s(value: Moment, *, name: str = "time") -> float:
    """Convert a time to seconds since 1970.

    Raises:
        FilterError: the value is not a time.
    """
    try:
        if isinstance(value, timedelta):
            return time.time() - value.total_seconds()
        if isinstance(value, datetime):
            return value.timestamp()
        match = re.fullmatch(r"(\d{1,9})([smhdwy])", value)
        if match:
            return time.time() - int(match[1]) * _SECONDS[match[2]]
        if not re.match(r"\d{4}-", value) and (begin := _begin_in_words(value)) is not None:
            return begin
        return datetime.fromisoformat(value).timestamp()
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise FilterError(f"{name}: {TIMES}, not {value!r:.40}") from error


def _begin_in_words(text: str) -> float | None:
    """Return the beginning of a time in words (`yesterday`, `last week`), in seconds since 1970.

    The words are those that questions may have. Return None if the text is not such a time.
    """
    from ..search.question_languages import languages_of
    from ..search.question_times import periods_of

    now = datetime.now(UTC).astimezone(LOCAL_ZONE)
    for phrase in (text, f"last {text}", f"in {text}"):  # `monday`, `march`
        periods = periods_of(phrase, now, languages_of(phrase.casefold().split()))
        if len(periods) != 1:
            continue
        [period] = periods
        is_whole_phrase = period.said.strip() == phrase.strip()
        if is_whole_phrase and period.begin:
            return float(period.begin)
    return None


def check_range(since_s: float | None, until_s: float | None) -> None:
    """Check that a range of times does not end before it begins.

    Raises:
        FilterError: the range ends before it begins.
    """
    if since_s is not None and until_s is not None and since_s > until_s:
        raise FilterError("since is after until, so no message is between them")
