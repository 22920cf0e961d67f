"""Parameter types and options: ranges of turns and messages, times, and the user's own forms of secrets."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ...log.database_location import why_no_place
from ...sessions.filters import TIMES, FilterError, moment_s
from .error_messages import UnusableError, reason
from .terminal import one_line

DEFAULT_BUDGET_TOKENS = 200_000
"""The budget under which policies are played if none is given and the session has no receipt."""

_SPAN = re.compile(r"(-?\d{1,15})?(?:(:)(-?\d{1,15})?)?")


def session_budget(transcript: Transcript) -> int:
    """Return the budget in tokens of a session's last request, or the default budget without receipts."""
    receipts = [noted.receipt for noted in transcript.requests()] if transcript.has_requests() else []
    return receipts[-1].budget_tokens if receipts and receipts[-1].budget_tokens > 0 else DEFAULT_BUDGET_TOKENS


Span = tuple[int | None, int | None]
"""The first and the last number, from 1; negative numbers count from the end, None is the beginning or the end."""

if TYPE_CHECKING:
    from ...messages.secrets.own_forms import OwnForms
    from ...sessions.transcript import Transcript, Turn

    _SpanBase = click.ParamType[Span]
else:
    _SpanBase = click.ParamType  # older versions of click have no generic one


class SpanType(_SpanBase):
    """A number, or a range `A:B` that includes both ends."""

    name = "A:B"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Span:
        """Parse a range."""
        found = _SPAN.fullmatch(value)
        first, last = (int(number) if number else None for number in (found[1], found[3])) if found else (0, 0)
        if not found or not value or 0 in (first, last):
            self.fail("give a number or a range A:B; numbers begin at 1, negative ones count from the end", param, ctx)
        return (first, last) if found[2] else (first, first)


def chosen_positions(count: int, starts: Sequence[int], turn_span: Span | None, span: Span | None) -> tuple[int, int]:
    """Return the index of the first chosen message, from 0, and the index after the last one.

    Args:
        count: the number of messages.
        starts: the positions at which turns begin, for a span of turns.
        turn_span: the chosen turns; None if none were chosen.
        span: the chosen messages; None if none were chosen.

    Raises:
        UnusableError: the range is empty.
        UsageError: both turns and messages were chosen.
    """
    if turn_span and span:
        raise click.UsageError("give either --turn or --range")
    if turn_span:
        first, last = _positions(turn_span, len(starts), "turn")
        edges = [*starts, count]
        return (edges[first], edges[last]) if starts else (0, 0)
    return _positions(span or (None, None), count, "message")


def chosen_turns(turns: Sequence[Turn], turn_span: Span | None) -> Sequence[Turn]:
    """Return the turns in a span; all turns if the span is None.

    Raises:
        UnusableError: there is no such turn.
    """
    first, last = _positions(turn_span or (None, None), len(turns), "turn")
    return turns[first:last]


def _positions(span: Span, count: int, what: str) -> tuple[int, int]:
    """Return the first index of a span, from 0, and the index after its last; both are clipped to the items.

    Raises:
        UnusableError: the range is empty.
    """
    first, last = span
    start = 1 if first is None else _from_beginning(first, count)
    stop = count if last is None else _from_beginning(last, count)
    is_empty = start > min(stop, count) or stop < 1
    if is_empty and span != (None, None):
        named = f"{first}" if first == last else f"{_or_nothing(first)}:{_or_nothing(last)}"
        raise UnusableError(f"there is no {what} {named}: the session has {count:,}")
    return max(0, start - 1), min(stop, count)


def _from_beginning(number: int, count: int) -> int:
    """Return a number counted from the beginning, from 1; a negative number counts from the end."""
    return number if number > 0 else count + 1 + number


def _or_nothing(number: int | None) -> str:
    return "" if number is None else str(number)


if TYPE_CHECKING:
    _TimeBase = click.ParamType[float]
else:
    _TimeBase = click.ParamType  # older versions of click have no generic one


class TimeType(_TimeBase):
    """A time: an age (`3d`, `12h`), or a date with or without a time of day, in the local time zone."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse a time, and return it in seconds since 1970."""
        if isinstance(value, float):
            return value
        try:
            return moment_s(value)
        except FilterError:
            self.fail(TIMES, param, ctx)


def check_place(
    _context: click.Context, _parameter: click.Parameter, given: str | tuple[str, ...] | None
) -> str | tuple[str, ...] | None:
    """Check the names of files or directories, and return them; a callback of options and arguments.

    Raises:
        BadParameter: a name is empty, or is a URL, which names no file.
    """
    for name in given if isinstance(given, tuple) else (given,):
        if name == "":
            raise click.BadParameter("this is an empty name; give the path of the new file")
        if why := why_no_place(name):
            raise click.BadParameter(why)
    return given


R = TypeVar("R")


def own_forms_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add `--redact-file` and `--redact-values` to a command, which gets the forms as `own`, or None."""

    @click.option(
        "--redact-file",
        metavar="FILE",
        envvar="CONTEXT_PERSISTENT_REDACT_FILE",
        help="Replace what these expressions match too: one a line.",
    )
    @click.option(
        "--redact-values",
        metavar="NAMES",
        envvar="CONTEXT_PERSISTENT_REDACT_VALUES",
        help="Replace the contents of these environment variables too: A,B.",
    )
    @functools.wraps(command)
    def given(*arguments: Any, redact_file: str | None, redact_values: str | None, **options: Any) -> R:
        return command(*arguments, own=_own(redact_file, redact_values), **options)

    return given


def _own(file: str | None, values: str | None) -> OwnForms | None:
    names = [name.strip() for name in (values or "").split(",") if name.strip()]
    if file is None and not names:
        return None
    from ...messages.secrets.own_forms import OwnForms, OwnFormsError, own_forms

    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines() if file is not None else []
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--redact-file {one_line(str(file))}: {reason(error)}") from error
    try:
        expressions = own_forms(lines)
    except OwnFormsError as error:
        raise click.UsageError(f"--redact-file {one_line(str(file))}, {one_line(str(error))}") from error
    try:
        return OwnForms(expressions.expressions, own_forms(names=names, environment=os.environ).values)
    except OwnFormsError as error:
        raise click.UsageError(f"--redact-values: {one_line(str(error))}") from error
