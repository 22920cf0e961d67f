"""`context-persistent show`: print the messages of a session, or one line for each turn.

Exit codes: 0 done, 2 unusable, or the range is empty.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text

from ...log.record_line import ROLES
from ...messages.message import result_id_of
from ...messages.metadata import redacted_kinds
from ...messages.outcome import ANSWERED, outcome_of
from ...sessions.filters import ALL_SESSIONS, SessionFilter
from ...sessions.session_files import SessionFile
from ...sessions.session_name import name_from_records, read_names
from ...sessions.session_origin import SourceCompaction, relatives_of, source_compactions
from .error_messages import check_tools, unreadable
from .filter_options import check_no_filter, chosen_sessions, filter_options, period_of
from .message_printer import HIDDEN, MessagePrinter
from .open_transcript import open_transcript, telling_damage
from .pager import paged
from .progress import progress
from .ranges import Span, SpanType, chosen_positions
from .sealed_files import reads_sealed
from .session_argument import NAME_ONE, optional_session_argument, picked
from .terminal import console, counted, cut, duration, escaped, one_line

if TYPE_CHECKING:
    from ...sessions.statistics import TurnLine
    from ...sessions.totals import Period
    from ...sessions.transcript import LiveMessage, Transcript

_HEADS = ("turn", "began", "took", "calls", "errors", "tokens")
_LEFT = "began"  # the only column that is aligned to the left
_LEAST_ROOM = 24  # for a turn's first line
_NOT_IN_NARROW = ("took", "tokens", "calls", "began")  # columns that a narrow terminal leaves out, in this order


@click.command()
@optional_session_argument
@reads_sealed
@filter_options(tool_help="Only calls and results of this tool. May be repeated.")
@click.option("--turn", "turn_span", type=SpanType(), help="Only this turn, or turns A:B.")
@click.option("--range", "span", type=SpanType(), help="Only this message, or messages A:B.")
@click.option("--role", type=click.Choice(ROLES), help="Only messages of this role.")
@click.option("--errors", is_flag=True, help="Only results of calls that failed, and calls without a result.")
@click.option("--outline", "as_outline", is_flag=True, help="Print one line for each turn instead.")
@click.option("--full", is_flag=True, help="Show long texts whole.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines, one for each message or turn.")
def show(
    path: str | None,
    *,
    everywhere: bool,
    wanted: SessionFilter,
    turn_span: Span | None,
    span: Span | None,
    role: str | None,
    errors: bool,
    as_outline: bool,
    full: bool,
    as_json: bool,
) -> None:
    """Show the messages of SESSION, its turns, or the calls that failed.

    With --errors and without SESSION, the failed calls of all sessions of this project are shown, or of those that
    filters choose. --since and --until limit them to calls made in that time.

    Turns and messages are numbered from 1; negative numbers count from the end: `--turn -1` is the last turn, `--range
    -10:` the last ten messages. A turn begins at a human message; what comes before the first one belongs to turn 1. A
    result names the message with its call. Tokens are an estimate, and with --outline those of `stats`. Long texts are
    folded. In a terminal the output goes through $PAGER.
    """
    tools, of_sessions = wanted.tools, replace(wanted, tools=())  # `--tool` chooses messages here
    if as_outline and (span or role or tools or errors):
        raise click.UsageError("--outline takes no option but --turn and --json")
    is_about_many = errors or everywhere or of_sessions != ALL_SESSIONS
    if path is None and not is_about_many:
        path = picked()
    if path is None:
        if not errors or turn_span or span or role:
            reason = f"{one_line(', '.join(of_sessions.places))} is a directory; " if of_sessions.places else ""
            raise click.UsageError(f"{reason}{NAME_ONE}; --errors alone, with --all or filters, is about many sessions")
        printer = MessagePrinter(full=full, as_json=as_json, with_calls=True)
        sessions = chosen_sessions(of_sessions, everywhere=everywhere)
        _show_errors(sessions, printer, tools=tools, period=period_of(wanted), as_json=as_json)
        return
    if of_sessions == replace(ALL_SESSIONS, failed=True):
        raise click.UsageError("--failed chooses among sessions; --errors shows the failed calls of one")
    check_no_filter(of_sessions, everywhere=everywhere)
    _show_one(path, turn_span, span, role, tools, errors=errors, as_outline=as_outline, full=full, as_json=as_json)


def _show_errors(
    sessions: Sequence[SessionFile],
    printer: MessagePrinter,
    *,
    tools: Sequence[str],
    period: Period,
    as_json: bool,
) -> None:
    """Print the results of failed calls, and the calls without a result, session by session.

    Args:
        sessions: the sessions to read, in this order.
        printer: prints the messages.
        tools: print only calls of these tools, ignoring case; if empty, calls of all tools.
        period: print only calls that were made in this period.
        as_json: whether the printer prints JSON lines.

    Raises:
        UnusableError: a tool does not exist, or a log can no longer be read.
    """
    from ...sessions.totals import failed_calls
    from ...tokens.on_demand import named_counter
    from .many_sessions import gathering, source_line

    with gathering(sessions, named_counter("auto")) as figures:
        positions_by_path = failed_calls(figures, tools, period)
        line = source_line(figures, until_s=period.until_s)
        if not positions_by_path:
            check_tools(tools, figures.tools())
    chosen = [session for session in sessions if str(session.path) in positions_by_path]
    names = read_names(session.path for session in chosen)
    with paged():
        for number, (session, name) in enumerate(zip(chosen, names, strict=True)):
            path = str(session.path)
            printer.place = {"session": session.id, "project": session.project}
            if not as_json:
                _print_heading(session, name.name, is_first=number == 0)
            with open_transcript(path) as transcript, unreadable(path):
                among = [position for position in positions_by_path[path] if position < len(transcript)]
                for placed in transcript.placed(among=among):
                    printer.show(placed)
    messages = counted(sum(len(positions) for positions in positions_by_path.values()), "message")
    click.echo(escaped(f"{messages} in {len(chosen):,} of {line}"), err=True)


def _print_heading(session: SessionFile, name: str, *, is_first: bool) -> None:
    """Print the id, the name and the project of a session above its messages."""
    parts = [part for part in (session.id, name, session.project) if part]
    heading = Text(escaped(one_line("  ".join(parts))), "bold underline")
    if not is_first:
        heading = Text("\n").append(heading)
    console().print(heading, soft_wrap=True)


def _print_head(transcript: Transcript, clear: Callable[[], None]) -> None:
    """Print the lines about a session that are above its messages."""
    for line in (*_about(transcript), *_resuming(transcript)):
        clear()
        click.echo(escaped(one_line(line)))


def _show_one(
    path: str,
    turn_span: Span | None,
    span: Span | None,
    role: str | None,
    tools: Sequence[str],
    *,
    errors: bool,
    as_outline: bool,
    full: bool,
    as_json: bool,
) -> None:
    with ExitStack() as opening:
        files = opening.enter_context(progress(path, passes=2))
        transcript = open_transcript(path, files=files)
        bar = opening.pop_all()
    pager = nullcontext(enter_result=False) if as_json else paged()
    with transcript, telling_damage(transcript), pager as is_paged:
        with bar, unreadable():
            clear = partial(files.before_printing, returns=not is_paged)
            starts = transcript.turn_starts() if turn_span is not None else []
            start, stop = chosen_positions(len(transcript), starts, turn_span, span)
            if as_outline:
                chosen = None
                if turn_span is not None:
                    chosen = [number for number, at in enumerate(starts, 1) if start <= at < stop]
                _print_outline(transcript, chosen, clear, as_json=as_json)
            else:
                if not as_json:
                    _print_head(transcript, clear)
                shows_all = not (as_json or errors or role or tools)
                compactions = source_compactions(transcript) if shows_all else {}
                messages: Iterable[LiveMessage] = transcript.placed(start, stop, role=role, tools=tools)
                if errors:
                    messages = filter(_went_wrong, messages)
                printer = MessagePrinter(full=full, as_json=as_json, with_calls=errors)
                if not _print_messages(
                    transcript, messages, starts=starts, compactions=compactions, printer=printer, clear=clear
                ):
                    check_tools(tools, transcript.tool_names())
        if not len(transcript):
            click.echo(_empty(transcript), err=True)


def _print_messages(
    transcript: Transcript,
    messages: Iterable[LiveMessage],
    starts: Sequence[int],
    compactions: Mapping[int, SourceCompaction],
    printer: MessagePrinter,
    clear: Callable[[], None],
) -> bool:
    """Print messages, and the compactions of an imported session's source; return whether there were any messages."""
    has_any = False
    turn_count = transcript.turn_count(starts or None)
    for placed in messages:
        has_any = True
        note = _note_of(transcript, placed)
        clear()
        printer.show(placed, turn=turn_count.begun_by(placed.number - 1, placed.message), note=note)
        compaction = compactions.get(placed.number - 1)
        if compaction is not None:
            clear()
            printer.show_compaction(compaction)
    return has_any


def _about(transcript: Transcript) -> list[str]:
    """Return lines on the whole session: its name, its description and its related sessions."""
    name = name_from_records(transcript.path, transcript.reader.index.session)
    lines = []
    if name.name:
        lines.append(f"Name: {name.name}")
    if name.description:
        lines.append(f"Description: {name.description}")
    return lines + list(relatives_of(transcript.header).lines())


def _resuming(transcript: Transcript) -> list[str]:
    """Return a line with the cost of resuming the session; an empty list if the cost is not known."""
    from ...catalogue.last_request import last_request_of
    from ...sessions.prices import PriceList
    from ...sessions.resume_cost import resume_cost
    from .amounts import resuming_line

    cost = resume_cost(PriceList(), last_request_of(transcript.reader))
    if cost is None:
        return []
    line = resuming_line(cost)
    return [line[0].upper() + line[1:]]


def _note_of(transcript: Transcript, placed: LiveMessage) -> str:
    """Return a note that views leave a message out, or that secrets in it were replaced; "" if neither."""
    kinds = redacted_kinds(placed.message)
    redacted = f"redacted before it was stored: {escaped(one_line(kinds))}" if kinds else ""
    hidden = HIDDEN if transcript.is_hidden(placed.number - 1) else ""
    return ", ".join(filter(None, (hidden, redacted)))


def _went_wrong(placed: LiveMessage) -> bool:
    if result_id_of(placed.message) is None:
        return bool(placed.open_calls)
    if outcome_of(placed.message) == ANSWERED:  # its call need not be searched
        return False
    return (outcome := placed.call_outcome) is not None and outcome.is_error


def _print_outline(
    transcript: Transcript, numbers: Sequence[int] | None, clear: Callable[[], None], *, as_json: bool
) -> None:
    """Print the outline of a session, or only some turns; `clear` is called before anything is printed."""
    from ...sessions.statistics import outline
    from ...tokens.on_demand import named_counter

    counter = named_counter("auto")
    lines = outline(transcript, counter)
    if numbers is not None:
        chosen = frozenset(numbers)
        lines = [line for line in lines if line.number in chosen]
    clear()
    if as_json:
        for line in lines:
            click.echo(json.dumps({**line.to_json(), "tokenizer": counter.name}))
        return
    for line in lines:
        if transcript.is_hidden(line.first - 1):
            line.line = f"[{HIDDEN}] {line.line}"
    show_outline(lines, console())
    if lines:
        click.echo(f"tokens are counted by: {counter.name}", err=True)


def _empty(transcript: Transcript) -> str:
    hidden = len(transcript.reader.index)
    return f"no messages{f'; a clear or a reset hides {hidden:,}' if hidden else ''}"


def _delete_column(name: str, heads: list[str], rows: list[list[str]]) -> None:
    """Delete a column from the heads and the rows of a table."""
    column = heads.index(name)
    for cells in (heads, *rows):
        del cells[column]


def show_outline(lines: Sequence[TurnLine], output: Console) -> None:
    """Print one line for each turn; empty columns are left out."""
    if not lines:
        return
    from .tables import aligned, width_of, without_empty

    heads, rows = without_empty(_HEADS, [_cells(line) for line in lines])
    if output.is_terminal:
        for name in _NOT_IN_NARROW:
            is_too_wide = width_of(heads, rows) + len("  ") + _LEAST_ROOM > output.width
            if is_too_wide and name in heads:
                _delete_column(name, heads, rows)
    right = [number for number, name in enumerate(heads) if name != _LEFT]
    head, *rest = aligned(heads, rows, right=right)
    _print_row(output, head, "first line", style="bold")
    for line, row in zip(lines, rest, strict=True):
        style = ""
        if line.errors or line.open_calls:
            style = "red"
        _print_row(output, row, escaped(one_line(line.line)), style=style)


def _cells(line: TurnLine) -> tuple[str, ...]:
    began = line.time[:16].replace("T", " ")
    took = duration(line.duration_s) if line.duration_s is not None else ""
    errors = line.errors + line.open_calls
    return (str(line.number), began, took, f"{line.calls:,}", f"{errors:,}" if errors else "", f"{line.tokens:,}")


def _print_row(output: Console, cells: str, first_line: str, *, style: str) -> None:
    """Print a row and the turn's first line. In a terminal the first line is cut to the width that remains."""
    row = Text(f"{cells}  ", style)
    if output.is_terminal:
        remaining_cells = output.width - row.cell_len
        first_line = cut(first_line, max(len("..."), remaining_cells))
    style_of_line = "bold" if style == "bold" else "not bold default"
    output.print(row.append(first_line, style_of_line), soft_wrap=True)
