"""Types of parameters: ranges of turns and messages, times, and a person's own forms to redact."""

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
from .terminal import UnusableError, one_line, reason

DEFAULT_BUDGET_TOKENS = 200_000
"""The budget under which policies are played, if none is given and no receipt of the session says one."""

_SPAN = re.compile(r"(-?\d{1,15})?(?:(:)(-?\d{1,15})?)?")


def session_budget(transcript: Transcript) -> int:
    """The budget in tokens of a session's last request, by its receipt; the default if it has none."""
    receipts = [noted.receipt for noted in transcript.requests()] if transcript.has_requests() else []
    return receipts[-1].budget_tokens if receipts and receipts[-1].budget_tokens > 0 else DEFAULT_BUDGET_TOKENS


Span = tuple[int | None, int | None]
"""The first and the last number, from 1; negative ones count from the end; None is the beginning or the end."""

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
        """Read a range."""
        found = _SPAN.fullmatch(value)
        first, last = (int(number) if number else None for number in (found[1], found[3])) if found else (0, 0)
        if not found or not value or 0 in (first, last):
            self.fail("give a number or a range A:B; numbers begin at 1, negative ones count from the end", param, ctx)
        return (first, last) if found[2] else (first, first)


def chosen_positions(count: int, starts: Sequence[int], turn_span: Span | None, span: Span | None) -> tuple[int, int]:
    """The chosen messages among `count`, as the first index (from 0) and the index after the last.

    Args:
        count: how many messages there are.
        starts: the positions at which turns begin, for a span of turns.
        turn_span: the turns that were chosen.
        span: the messages that were chosen.

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
    """The turns that a span chooses; all without one.

    Raises:
        UnusableError: nothing is there.
    """
    first, last = _positions(turn_span or (None, None), len(turns), "turn")
    return turns[first:last]


def _positions(span: Span, count: int, what: str) -> tuple[int, int]:
    """The first index of a span (from 0) and the index after its last; a range may reach beyond the ends.

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
    """A number counted from the beginning, from 1; a negative one is counted from the end."""
    return number if number > 0 else count + 1 + number


def _or_nothing(number: int | None) -> str:
    return "" if number is None else str(number)


if TYPE_CHECKING:
    _TimeBase = click.ParamType[float]
else:
    _TimeBase = click.ParamType  # older versions of click have no generic one


class TimeType(_TimeBase):
    """A time: how long ago (`3d`, `12h`), or a date with or without a time of day, here."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it as seconds since 1970."""
        if isinstance(value, float):
            return value
        try:
            return moment_s(value)
        except FilterError:
            self.fail(TIMES, param, ctx)


def check_place(
    _context: click.Context, _parameter: click.Parameter, given: str | tuple[str, ...] | None
) -> str | tuple[str, ...] | None:
    """Check the names of files or directories, as the callback of an option or an argument.

    Raises:
        BadParameter: one is empty, or a URL that names nothing here.
    """
    for name in given if isinstance(given, tuple) else (given,):
        if name == "":
            raise click.BadParameter("this is an empty name; give the path of the new file")
        if why := why_no_place(name):
            raise click.BadParameter(why)
    return given


R = TypeVar("R")


def own_forms_options(command: Callable[..., R]) -> Callable[..., R]:
    """Give a command the two options; it gets the named forms as `own`, None if neither is given."""

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
