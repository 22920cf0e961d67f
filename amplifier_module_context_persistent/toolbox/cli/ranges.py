"""Turns and messages that a person names: by a number, by a range (`2:5`, `-10:`), or by an id."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from .error_messages import UnusableError

_MOST_DIGITS = 10
_SPAN = re.compile(r"(-?\d{1,15})?(?:(:)(-?\d{1,15})?)?")

Span = tuple[int | None, int | None]
"""The first and the last number, from 1; negative numbers count from the end, None is the beginning or the end."""
_ALL: Span = (None, None)

if TYPE_CHECKING:
    from ...sessions.transcript import Turn

    _SpanBase = click.ParamType[Span]
else:
    _SpanBase = click.ParamType  # older versions of click have no generic one


_HOW = "give a number or a range A:B; numbers begin at 1, negative ones count from the end"


class SpanType(_SpanBase):
    """A number, or a range `A:B` that includes both ends."""

    name = "A:B"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Span:
        """Parse a range."""
        match = _SPAN.fullmatch(value)
        if not value or match is None:
            self.fail(_HOW, param, ctx)
        first_text, colon, last_text = match.groups()
        first = int(first_text) if first_text else None
        last = int(last_text) if last_text else None
        if first == 0 or last == 0:
            self.fail(_HOW, param, ctx)
        if not colon:
            return first, first
        return first, last


def chosen_positions(count: int, starts: Sequence[int], turn_span: Span | None, span: Span | None) -> tuple[int, int]:
    """Return the index of the first chosen message, from 0, and the index after the last one.

    Args:
        count: the number of messages.
        starts: the positions at which turns begin; only a span of turns needs them.
        turn_span: the chosen turns; None if none were chosen.
        span: the chosen messages; None if none were chosen.

    Raises:
        UnusableError: the range is empty.
        UsageError: both turns and messages were chosen.
    """
    if turn_span and span:
        raise click.UsageError("give either --turn or --range")
    if not turn_span:
        return _positions(span or _ALL, count, "message")
    first_turn, after_last_turn = _positions(turn_span, len(starts), "turn")
    if not starts:
        return 0, 0
    edges = [*starts, count]
    return edges[first_turn], edges[after_last_turn]


def chosen_turns(turns: Sequence[Turn], turn_span: Span | None) -> Sequence[Turn]:
    """Return the turns in a span; all turns if the span is None.

    Raises:
        UnusableError: there is no such turn.
    """
    first, after_last = _positions(turn_span or _ALL, len(turns), "turn")
    return turns[first:after_last]


def _positions(span: Span, count: int, noun: str) -> tuple[int, int]:
    """Return a span as start and stop indexes, as for `range`, limited to 0 and `count`.

    Args:
        span: the numbers of the first and the last item, from 1; negative numbers count from the end.
        count: the number of items.
        noun: the name of an item in the error message, such as `turn`.

    Raises:
        UnusableError: the range is empty.
    """
    first, last = span
    start = 1 if first is None else _from_beginning(first, count)
    stop = count if last is None else _from_beginning(last, count)
    is_empty = start > min(stop, count) or stop < 1
    if is_empty and span != _ALL:
        shown_span = f"{first}" if first == last else f"{_or_nothing(first)}:{_or_nothing(last)}"
        raise UnusableError(f"there is no {noun} {shown_span}: the session has {count:,}")
    return max(0, start - 1), min(stop, count)


def _from_beginning(number: int, count: int) -> int:
    """Return a number counted from the beginning, from 1; a negative number counts from the end."""
    return number if number > 0 else count + 1 + number


def _or_nothing(number: int | None) -> str:
    return "" if number is None else str(number)


def turn_or_id(value: str) -> int | str:
    """Parse a position in a history: return a turn's number, or else the text as a message's id."""
    if value.isdecimal() and len(value) < _MOST_DIGITS:
        return int(value)
    return value
