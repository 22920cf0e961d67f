"""`context-persistent tail`: the last messages of a session, and new ones as they come.

Exit codes: 0 done; 2 unusable; 130 Ctrl-C, which is how `--follow` ends.
"""

from __future__ import annotations

import time

import click

from ..log.index import Index
from ..messages.metadata import metadata_of
from ..transcript.transcript import Transcript
from .message_printer import MessagePrinter
from .progress import progress
from .session_argument import session_argument
from .terminal import open_transcript, unreadable

_POLL_S = 0.2


@click.command()
@session_argument
@click.option("-n", "--messages", "count", type=click.IntRange(min=0), default=10, show_default=True, help="How many.")
@click.option("-f", "--follow", is_flag=True, help="Go on and print messages as they come.")
@click.option("--full", is_flag=True, help="Fold nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines, one a message.")
def tail(path: str, count: int, *, follow: bool, full: bool, as_json: bool) -> None:
    """Show the last messages of SESSION.

    With --follow it prints new messages until Ctrl-C (exit code 130). It follows through clears, resets and purges, and
    says when the history was replaced.
    """
    with progress(path) as files:
        transcript = open_transcript(path, files=files)
    end = PrintedMessages(transcript, MessagePrinter(full=full, as_json=as_json, may_grow=True))
    with transcript, unreadable():
        end.print_last(count)
        while follow:
            time.sleep(_POLL_S)
            end.print_new()


class PrintedMessages:
    """Remembers which messages of a growing log were printed."""

    def __init__(self, transcript: Transcript, printer: MessagePrinter) -> None:
        self._transcript, self._printer = transcript, printer
        self._index = Index()
        self._generation = self._seen = 0
        """Message records of the log seen so far, live or not."""
        self._last_id = ""
        self._mark()

    def print_last(self, count: int) -> None:
        """Print the last messages."""
        self._print(max(0, len(self._transcript) - count), seen=0)

    def print_new(self) -> None:
        """Print the messages appended since; if the history was replaced, say so first.

        Raises:
            LogUnreadableError: the log was removed, or cannot be read.
        """
        self._transcript.reader.follow()
        index, seen = self._transcript.reader.index, self._seen
        live = index.live
        if index is not self._index:  # another file, or an altered one: only ids tell what was printed
            self._printer.note(f"the log was rewritten; live messages: {len(live):,}")
            known = index.find_all([self._last_id]).get(self._last_id)
            seen = 0 if known is None else known + 1
        elif index.generation != self._generation:
            self._printer.note(f"the history was cleared or replaced; live messages: {len(live):,}")
        start = len(live)
        while start and live[start - 1] >= seen:
            start -= 1
        if (index, index.generation) != (self._index, self._generation):  # new messages may be anywhere
            start = next((position for position, ordinal in enumerate(live) if ordinal >= seen), start)
        self._print(start, seen=seen)
        self._mark()

    def _print(self, start: int, *, seen: int) -> None:
        live = self._transcript.reader.index.live
        for placed in self._transcript.placed(start):
            if live[placed.number - 1] >= seen:
                self._printer.show(placed)

    def _mark(self) -> None:
        """Remember how much of the log was seen."""
        reader = self._transcript.reader
        index = reader.index
        known = max(index.live, default=-1) + 1  # the messages of an unfinished reset are still to come
        if (index, known) != (self._index, self._seen):
            (last,) = reader.read([known - 1]) if known else ({},)
            self._last_id = str(metadata_of(last).get("message_id", ""))
        self._index, self._generation, self._seen = index, index.generation, known
