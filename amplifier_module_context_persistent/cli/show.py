"""`context-persistent show`: what was said.

Exit codes: 0 done, 2 unusable, or what was asked for is not there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ..errors import LogError
from ..log.record import ROLES
from ..transcript.transcript import Transcript, Turn
from .message_printer import MessagePrinter
from .progress import progress
from .session_argument import session_argument
from .terminal import UnusableError, open_transcript, reason

_SPAN = re.compile(r"(-?\d{1,15})?(?:(:)(-?\d{1,15})?)?")

Span = tuple[int | None, int | None]
"""The first and the last number, from 1; negative ones count from the end; None is the beginning or the end."""


if TYPE_CHECKING:
    _SpanBase = click.ParamType[Span]
else:
    _SpanBase = click.ParamType  # older versions of click have no generic one


class SpanType(_SpanBase):
    """A number, or a range of numbers `A:B`, both of which belong to it."""

    name = "A:B"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Span:
        """Read a range."""
        found = _SPAN.fullmatch(value)
        first, last = (int(number) if number else None for number in (found[1], found[3])) if found else (0, 0)
        if not found or not value or 0 in (first, last):
            self.fail("give a number or a range A:B; numbers begin at 1, negative ones count from the end", param, ctx)
        return (first, last) if found[2] else (first, first)


@click.command()
@session_argument
@click.option("--turn", "turn_span", type=SpanType(), help="Only this turn, or turns A:B.")
@click.option("--range", "span", type=SpanType(), help="Only this message, or messages A:B.")
@click.option("--role", type=click.Choice(ROLES), help="Only messages of this role.")
@click.option("--tool", metavar="NAME", help="Only calls and results of this tool.")
@click.option("--full", is_flag=True, help="Fold nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines, one a message.")
def show(
    path: str,
    *,
    turn_span: Span | None,
    span: Span | None,
    role: str | None,
    tool: str | None,
    full: bool,
    as_json: bool,
) -> None:
    """Show the messages of SESSION.

    Numbers of turns and messages begin at 1, and negative ones count from the end: `--turn -1` is the last turn,
    `--range -10:` the last ten messages. A turn begins at a human message. Long results are folded.
    """
    with progress(path) as files:
        transcript = open_transcript(path, files=files)
    with transcript:
        try:
            turns = transcript.turns()
            start, stop = chosen_places(len(transcript), turns, turn_span, span)
            printer = MessagePrinter(full=full, as_json=as_json)
            begun = {turn.start + 1: turn.number for turn in turns}
            for placed in transcript.placed(start, stop, role=role, tool=tool):
                printer.show(placed, turn=begun.get(placed.number))
        except (LogError, ValueError) as error:
            raise UnusableError(reason(error)) from error
        if not len(transcript):
            click.echo(_empty(transcript), err=True)


def chosen_places(count: int, turns: Sequence[Turn], turn_span: Span | None, span: Span | None) -> tuple[int, int]:
    """The places of the chosen messages among `count`: the first one, and the one behind the last.

    Raises:
        UnusableError: nothing is there.
        UsageError: both turns and messages were chosen.
    """
    if turn_span and span:
        raise click.UsageError("give either --turn or --range")
    if turn_span:
        first, last = _places(turn_span, len(turns), "turn")
        return (turns[first].start, turns[last - 1].stop) if turns else (0, 0)
    return _places(span or (None, None), count, "message")


def _places(span: Span, count: int, what: str) -> tuple[int, int]:
    """The places from which and before which a span runs; a range may reach beyond the ends.

    Raises:
        UnusableError: nothing is there.
    """
    first, last = span
    start = 1 if first is None else first if first > 0 else count + 1 + first
    stop = count if last is None else last if last > 0 else count + 1 + last
    if span != (None, None) and (start > min(stop, count) or stop < 1):
        named = f"{first}" if first == last else f"{'' if first is None else first}:{'' if last is None else last}"
        raise UnusableError(f"there is no {what} {named}: the session has {count:,}")
    return max(0, start - 1), min(stop, count)


def _empty(transcript: Transcript) -> str:
    hidden = len(transcript.reader.index)
    return f"no messages{f'; a clear or a reset hides {hidden:,}' if hidden else ''}"
