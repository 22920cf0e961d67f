"""What `context-persistent show --errors` prints of many sessions."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.text import Text

from ..errors import LogError
from ..tokens.on_demand import named_counter
from ..transcript.sessions import SessionFile
from ..transcript.totals import failed_calls
from .many_sessions import gathering, source_line
from .message_printer import MessagePrinter
from .pager import paged
from .terminal import UnusableError, check_tool, console, counted, escaped, one_line, open_transcript, reason


def show_errors(
    sessions: Sequence[SessionFile],
    printer: MessagePrinter,
    *,
    tool: str | None,
    since_s: float | None,
    as_json: bool,
) -> None:
    """Print the results of calls that failed, and the calls without a result, session by session.

    Args:
        sessions: which ones.
        printer: prints the messages.
        tool: only calls of this tool, whatever the case of its name.
        since_s: only calls that were made since then, in seconds since 1970.
        as_json: whether it prints JSON lines.

    Raises:
        UnusableError: there is no such tool, or a log cannot be read any more.
    """
    with gathering(sessions, named_counter("auto")) as found:
        places, line = failed_calls(found, tool, since_s), source_line(found)
        if tool is not None and not places:
            check_tool(tool, found.tools())
    chosen = [one for one in sessions if str(one.path) in places]
    with paged():
        for number, one in enumerate(chosen):
            printer.place = {"session": one.id, "project": one.project}
            if not as_json:
                head = Text(escaped(one_line(f"{one.id}  {one.project}")), "bold underline")
                console().print(Text("\n").append(head) if number else head, soft_wrap=True)
            with open_transcript(str(one.path)) as transcript:
                try:
                    among = [place for place in places[str(one.path)] if place < len(transcript)]
                    for placed in transcript.placed(among=among):
                        printer.show(placed)
                except (LogError, ValueError) as error:
                    raise UnusableError(f"{one_line(str(one.path))}: {reason(error)}") from error
    click.echo(escaped(f"{counted(sum(map(len, places.values())), 'message')} in {len(chosen):,} of {line}"), err=True)
