"""`context-persistent show`: the messages of a session, or its turns.

Exit codes: 0 done, 2 unusable, or the range is empty.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext

import click

from ..errors import LogError
from ..log.record import ROLES
from ..messages.message import result_id_of
from ..messages.outcome import ANSWERED, outcome_of
from ..tokens.counter import open_counter
from ..transcript.outline import outline
from ..transcript.relatives import relatives_of
from ..transcript.source_compactions import source_compactions
from ..transcript.transcript import Placed, Transcript, Turn
from .message_printer import MessagePrinter
from .outline_printer import show_outline
from .pager import paged
from .progress import progress
from .session_argument import complete_tool, session_argument
from .spans import Span, SpanType, chosen_positions
from .terminal import UnusableError, check_tool, console, escaped, one_line, open_transcript, reason, telling_damage


@click.command()
@session_argument
@click.option("--turn", "turn_span", type=SpanType(), help="Only this turn, or turns A:B.")
@click.option("--range", "span", type=SpanType(), help="Only this message, or messages A:B.")
@click.option("--role", type=click.Choice(ROLES), help="Only messages of this role.")
@click.option("--tool", metavar="NAME", shell_complete=complete_tool, help="Only calls and results of this tool.")
@click.option("--errors", is_flag=True, help="Only results of calls that failed, and calls without a result.")
@click.option("--outline", "as_outline", is_flag=True, help="Print one line for each turn instead.")
@click.option("--full", is_flag=True, help="Fold nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines, one for each message or turn.")
def show(
    path: str,
    *,
    turn_span: Span | None,
    span: Span | None,
    role: str | None,
    tool: str | None,
    errors: bool,
    as_outline: bool,
    full: bool,
    as_json: bool,
) -> None:
    """Show the messages of SESSION, its turns, or the calls that failed.

    Turns and messages are numbered from 1; negative numbers count from the end: `--turn -1` is the last turn,
    `--range -10:` the last ten messages. A turn begins at a human message; what comes before the first one belongs to
    turn 1. A result names the message with its call. Tokens are an estimate. Long texts are folded. In a terminal the
    output goes through $PAGER.
    """
    if as_outline and (span or role or tool or errors):
        raise click.UsageError("--outline takes no option but --turn and --json")
    with progress(path) as files:
        transcript = open_transcript(path, files=files)
    with transcript, telling_damage(transcript), nullcontext() if as_json else paged():
        try:
            turns = transcript.turns()
            start, stop = chosen_positions(len(transcript), turns, turn_span, span)
            if as_outline:
                chosen = [turn for turn in turns if start <= turn.start < stop] if turn_span is not None else None
                _show_outline(transcript, chosen, as_json=as_json)
            else:
                for line in () if as_json else relatives_of(transcript.header).lines():
                    click.echo(escaped(one_line(line)))
                printer = MessagePrinter(full=full, as_json=as_json)
                is_all = not (as_json or errors or role or tool)
                compactions = source_compactions(transcript) if is_all else {}
                shown = False
                for placed in transcript.placed(start, stop, role=role, tool=tool):
                    if not errors or _went_wrong(placed):
                        printer.show(placed, turn=turns.number_at(placed.number - 1))
                        shown = True
                    if (compaction := compactions.get(placed.number - 1)) is not None:
                        printer.show_compaction(compaction)
                if tool is not None and not shown:
                    check_tool(tool, transcript.tool_names())
        except (LogError, ValueError) as error:
            raise UnusableError(reason(error)) from error
        if not len(transcript):
            click.echo(_empty(transcript), err=True)


def _went_wrong(placed: Placed) -> bool:
    if result_id_of(placed.message) is None:
        return bool(placed.open_calls)
    if outcome_of(placed.message) == ANSWERED:  # then its call need not be looked for
        return False
    return (ending := placed.ending) is not None and ending.is_error


def _show_outline(transcript: Transcript, turns: Sequence[Turn] | None, *, as_json: bool) -> None:
    lines = outline(transcript, open_counter("estimate"), turns)
    if as_json:
        for line in lines:
            click.echo(json.dumps(line.to_json()))
        return
    show_outline(lines, console())


def _empty(transcript: Transcript) -> str:
    hidden = len(transcript.reader.index)
    return f"no messages{f'; a clear or a reset hides {hidden:,}' if hidden else ''}"
