"""`context-persistent tail`: print the last messages of a session, and new messages as they come.

Exit codes: 0 done; 2 unusable; 130 Ctrl-C, which is how `--follow` ends.
"""

from __future__ import annotations

import click

from ...sessions.new_messages import ChangeKind, SessionChange, SessionFollower
from ...sessions.transcript import LiveMessage, Transcript
from .error_messages import unreadable
from .message_printer import MessagePrinter
from .open_transcript import open_transcript
from .progress import progress
from .session_argument import session_argument

_NOTES: dict[ChangeKind, str] = {
    "cleared": "the history was cleared",
    "rewound": "the history was rewound",
    "repaired": "the history was repaired",
    "replaced": "the history was replaced",
    "purged": "the log was purged",
}


@click.command()
@session_argument
@click.option(
    "-n",
    "--messages",
    "count",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="The number of messages to show.",
)
@click.option("-f", "--follow", is_flag=True, help="Keep running, and print new messages.")
@click.option("--full", is_flag=True, help="Show long texts whole.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines, one a message.")
def tail(path: str, count: int, *, follow: bool, full: bool, as_json: bool) -> None:
    """Show the last messages of SESSION.

    With --follow it prints new messages until Ctrl-C (exit code 130). It follows through clears, rewinds, resets,
    compactions and purges, and says when one happened.
    """
    with progress(path) as files:
        transcript = open_transcript(path, files=files)
    end = PrintedMessages(transcript, MessagePrinter(full=full, as_json=as_json, may_grow=True))
    with transcript, unreadable():
        end.print_last(count)
        if follow:
            import asyncio  # most tails do not follow

            asyncio.run(end.print_as_they_come())


class PrintedMessages:
    """Prints each message of a growing log once."""

    def __init__(self, transcript: Transcript, printer: MessagePrinter) -> None:
        self._transcript = transcript
        self._printer = printer
        self._follower = SessionFollower(transcript)

    def print_last(self, count: int) -> None:
        """Print the last `count` messages."""
        for placed in self._transcript.placed(max(0, len(self._transcript) - count)):
            self._printer.show(placed)

    async def print_as_they_come(self) -> None:
        """Print messages and changes of the history when they are appended, until the task is cancelled.

        Raises:
            LogUnreadableError: the log was removed, or cannot be read.
        """
        from ...sessions.follow_session import new_items

        async for new in new_items(self._follower):
            self.print_one(new)

    def print_one(self, new: LiveMessage | SessionChange) -> None:
        """Print a new message, or a change of the history."""
        if isinstance(new, LiveMessage):
            self._printer.show(new)
        elif new.kind == "compacted":
            self._printer.note(f"compacted: {new.tokens_before:,} tokens became {new.tokens_after:,}")
        else:
            self._printer.note(f"{_NOTES[new.kind]}; live messages: {new.live_messages:,}")
