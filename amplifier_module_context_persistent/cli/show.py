"""`context-persistent show`: the messages of a session, or its turns.

Exit codes: 0 done, 2 unusable, or the range is empty.
"""

from __future__ import annotations

import json
from contextlib import nullcontext

import click
from rich.console import Console
from rich.text import Text

from ..errors import LogError
from ..log.record import ROLES
from ..tokens.counter import open_counter
from ..transcript.outline import TurnLine, outline
from ..transcript.relatives import relatives_of
from ..transcript.transcript import Placed, Transcript, Turn
from .message_printer import MessagePrinter
from .pager import paged
from .progress import progress
from .session_argument import complete_tool, session_argument
from .spans import Span, SpanType, chosen_places
from .terminal import UnusableError, check_tool, console, cut, duration, escaped, one_line, open_transcript, reason

_HEADS = ("turn", "began", "took", "calls", "errors", "tokens")
_LEFT = "began"  # the one column that is aligned to the left
_LEAST_ROOM = 10


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
    """Show the messages of SESSION.

    Turns and messages are numbered from 1; negative numbers count from the end: `--turn -1` is the last turn,
    `--range -10:` the last ten messages. A turn begins at a human message; what comes before the first one belongs to
    turn 1. A result names the message with its call. Tokens are an estimate. Long texts are folded. In a terminal the
    output goes through $PAGER.
    """
    if as_outline and (span or role or tool or errors):
        raise click.UsageError("--outline takes no option but --turn and --json")
    with progress(path) as files:
        transcript = open_transcript(path, files=files)
    with transcript, nullcontext() if as_json else paged():
        try:
            turns = transcript.turns()
            start, stop = chosen_places(len(transcript), turns, turn_span, span)
            if as_outline:
                chosen = [turn for turn in turns if start <= turn.start < stop]
                _show_outline(transcript, chosen, as_json=as_json)
            else:
                for line in () if as_json else relatives_of(transcript.header).lines():
                    click.echo(escaped(one_line(line)))
                printer = MessagePrinter(full=full, as_json=as_json)
                begun = {turn.start + 1: turn.number for turn in turns}
                shown = False
                for placed in transcript.placed(start, stop, role=role, tool=tool):
                    if not errors or _went_wrong(placed):
                        printer.show(placed, turn=begun.get(placed.number))
                        shown = True
                if tool is not None and not shown:
                    check_tool(tool, transcript.tool_names())
        except (LogError, ValueError) as error:
            raise UnusableError(reason(error)) from error
        if not len(transcript):
            click.echo(_empty(transcript), err=True)


def _went_wrong(placed: Placed) -> bool:
    return (placed.ending is not None and placed.ending.is_error) or bool(placed.open_calls)


def _show_outline(transcript: Transcript, turns: list[Turn], *, as_json: bool) -> None:
    lines = outline(transcript, open_counter("estimate"), turns)
    if as_json:
        for line in lines:
            click.echo(json.dumps(line.to_json()))
        return
    if not lines:
        return
    output = console()
    columns = zip(_HEADS, zip(*map(_cells, lines), strict=True), strict=True)
    aligned = [_aligned(head, cells) for head, cells in columns if any(cells)]
    for at, cells in enumerate(zip(*aligned, strict=True)):
        row = "  ".join(cells)
        if at == 0:
            _print_row(output, row, "first line", style="bold")
            continue
        line = lines[at - 1]
        style = "red" if line.errors or line.open_calls else ""
        _print_row(output, row, escaped(one_line(line.line)), style=style)


def _aligned(head: str, cells: tuple[str, ...]) -> list[str]:
    """A column with its head, every cell of the same width."""
    width = max(map(len, (head, *cells)))
    return [cell.ljust(width) if head == _LEFT else cell.rjust(width) for cell in (head, *cells)]


def _cells(line: TurnLine) -> tuple[str, ...]:
    began = line.time[:16].replace("T", " ")
    took = duration(line.duration_s) if line.duration_s is not None else ""
    errors = line.errors + line.open_calls
    return (str(line.number), began, took, f"{line.calls:,}", f"{errors:,}" if errors else "", f"{line.tokens:,}")


def _print_row(output: Console, cells: str, said: str, *, style: str) -> None:
    """Print a row on one line: the first line of the turn gets the room that is left, in a pipe all that it needs."""
    row = Text(f"{cells}  ", style)
    if output.is_terminal:
        said = cut(said, max(_LEAST_ROOM, output.width - row.cell_len))
    output.print(row.append(said, "bold" if style == "bold" else "not bold default"), soft_wrap=True)


def _empty(transcript: Transcript) -> str:
    hidden = len(transcript.reader.index)
    return f"no messages{f'; a clear or a reset hides {hidden:,}' if hidden else ''}"
