"""`context-persistent show`: the messages of a session.

Exit codes: 0 done, 2 unusable, or the range is empty.
"""

from __future__ import annotations

import click

from ..errors import LogError
from ..log.record import ROLES
from ..transcript.transcript import Transcript
from .message_printer import MessagePrinter
from .progress import progress
from .session_argument import session_argument
from .spans import Span, SpanType, chosen_places
from .terminal import UnusableError, open_transcript, reason


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

    Turns and messages are numbered from 1; negative numbers count from the end: `--turn -1` is the last turn,
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


def _empty(transcript: Transcript) -> str:
    hidden = len(transcript.reader.index)
    return f"no messages{f'; a clear or a reset hides {hidden:,}' if hidden else ''}"
