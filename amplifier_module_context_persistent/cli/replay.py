"""`context-persistent replay`: play a session as it happened, with what the model saw at each request.

Exit codes: 0 played, 1 a view cannot be proved because the log was altered, 2 unusable. A terminal gets the session's
timing and takes keys; a pipe gets everything at once, as plain text or JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import click
from rich.text import Text

from ..errors import ContextPersistentError
from ..replay import Seen, play, requests
from ..replay.timeline import Pace, Step, timeline
from ..transcript.source_compactions import SourceCompaction, source_compactions
from ..transcript.transcript import Transcript
from .exit_codes import DONE, FINDINGS
from .keyboard import Keys
from .message_printer import MessagePrinter
from .playback import GO, HELP, KEYS, PAUSE, TELL, Course, StatusLine, wait_for_command
from .progress import Tell, progress, stages
from .request_panel import Stage
from .session_argument import session_argument
from .terminal import UnusableError, columns_of, console, duration, open_transcript, reason

DEFAULT_BUDGET_TOKENS = 200_000
_LONG_PAUSE_S = 3.0
_MOST_PAUSE_S = 86_400.0  # longer timeouts overflow on some systems


@click.command()
@session_argument
@click.option("--views", is_flag=True, help="Show what the model saw at each request.")
@click.option("--policy", help="Play it under this policy, whatever was recorded (as in `compare`).")
@click.option(
    "--budget", type=click.IntRange(min=1), help="The budget in tokens where a policy is played; 200,000 if not given."
)
@click.option("--tokenizer", default="auto", show_default=True, help="What counts where a policy is played.")
@click.option("--turn", "turn", type=click.IntRange(min=1), default=1, show_default=True, help="Start at this turn.")
@click.option("--speed", type=click.FloatRange(min=0, min_open=True), default=1.0, help="How many times faster.")
@click.option("--max-pause", "max_pause_s", type=click.FloatRange(min=0), help="No pause is longer, in seconds.")
@click.option("--step", is_flag=True, help="Wait for a key after each message.")
@click.option("--full", is_flag=True, help="Show long messages whole.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line for each event, at once.")
@click.pass_context
def replay(context: click.Context, /, path: str, **options: Any) -> None:
    """Play SESSION as it happened, with its pauses.

    With --views, each request shows how many tokens of the budget it took, and of every message before it whether the
    model saw it: K kept, E elided, D dropped, S summarised. The views are made again from the receipts in the log, and
    proved by their hashes; a session without receipts is played under the default policy.

    In a terminal, a line says which turn and message is shown, and keys pause (p), go to the next message (space), back
    by one (b), to the next turn (n) or to turn 12 (12g), list all keys (?), or quit (q).
    """
    with progress(path) as files:
        transcript = open_transcript(path, files=files)
    with transcript:
        try:
            player = _Player(transcript, **options)
            player.play()
        except (ContextPersistentError, ValueError) as error:
            raise UnusableError(reason(error)) from error
    context.exit(FINDINGS if player.altered else DONE)


class _Player:
    """Plays one session to the standard output."""

    def __init__(
        self,
        transcript: Transcript,
        *,
        views: bool,
        policy: str | None,
        budget: int | None,
        tokenizer: str,
        turn: int,
        speed: float,
        max_pause_s: float | None,
        step: bool,
        full: bool,
        as_json: bool,
    ) -> None:
        self._transcript, self._turns, self._first_turn = transcript, transcript.turns(), turn
        if self._turns and turn > len(self._turns):
            raise ValueError(f"there is no turn {turn:,}: the session has {len(self._turns):,}")
        self._policy, self._budget, self._tokenizer = policy, budget or DEFAULT_BUDGET_TOKENS, tokenizer
        self._views = views or policy is not None or budget is not None
        self._recorded = self._views and policy is None and budget is None and transcript.has_requests()
        self._speed, self._max_pause_s, self._step, self._as_json = speed, max_pause_s, step, as_json
        self._console = console()
        self._stage = Stage(columns_of(self._console), self._console.encoding)
        self._printer = MessagePrinter(full=full, screen=self._console)
        self._begun = {turn.start: turn.number for turn in self._turns}
        self._compactions = source_compactions(transcript)
        self._live = sys.stdout.isatty() and not as_json
        self._status = StatusLine(self._console, len(self._turns), len(transcript))
        self._tell: Tell | None = None
        """The bar that is shown while everything is played at once into a file or a pipe."""
        self.altered = False

    def play(self) -> None:
        """Play it, from one turn to the end, or to another turn that a key asks for."""
        if not self._as_json:
            self._introduce()
        if not self._live:
            with nullcontext(None) if sys.stdout.isatty() else stages() as self._tell:
                for step in self._steps(self._first_turn):
                    if self._tell is not None:
                        self._tell("playing", step.place, len(self._transcript))
                    self._show(step)
            return
        with Keys() as keys:
            turn: int | None = self._first_turn
            while turn is not None:
                turn = self._perform(turn, keys)

    def _perform(self, first_turn: int, keys: Keys) -> int | None:
        """Play with pauses; return the turn that a key asks for, or None at the end."""
        pace, course = Pace(self._speed, self._max_pause_s), Course(self._steps(first_turn))
        turn, number, paused = first_turn, 0, False
        due: Step | None = None
        timeout_s: float | None = 0.0
        try:
            while (step := course.peek()) is not None:
                if step is not due:
                    due, timeout_s = step, min(pace.pause_s(step), _MOST_PAUSE_S)
                    self._announce(timeout_s if not paused else 0.0)
                self._status.show(turn, number, paused=paused)
                wanted = wait_for_command(keys, turn, len(self._turns), None if paused else timeout_s)
                self._status.clear()
                if isinstance(wanted, int):
                    return wanted or None
                if wanted == PAUSE:
                    paused = not paused
                elif wanted == TELL:
                    self._console.print(Text(HELP, "dim"))
                elif wanted == GO:
                    course.advance()
                    paused = paused or self._step
                    turn, number = self._show_at(step, number)
                elif (earlier := course.back()) is not None:
                    paused = True
                    turn, number = self._show_at(earlier, number)
        finally:
            self._status.clear()
        return None

    def _show_at(self, step: Step, number: int) -> tuple[int, int]:
        """Show a step; its turn, and the number of the message that was shown last."""
        self._show(step)
        return step.turn, step.placed.number if step.placed is not None else number

    def _announce(self, timeout_s: float) -> None:
        if timeout_s > _LONG_PAUSE_S:
            self._console.print(Text(f"({duration(timeout_s)}; space goes on)", "dim"))

    def _steps(self, turn: int) -> Iterator[Step]:
        turns = self._turns[turn - 1 :]
        return timeline(self._transcript, turns, self._seen(turns[0].start if turns and turn > 1 else 0))

    def _seen(self, start: int) -> Iterator[Seen]:
        if not self._views:
            return iter(())
        if self._recorded:
            return requests(self._transcript, start=start)
        policy = self._policy or "default"
        played = play(self._transcript, policy, budget_tokens=self._budget, tokenizer=self._tokenizer)
        return self._from(start, played)

    def _from(self, start: int, played: Iterator[Seen]) -> Iterator[Seen]:
        """Leave out the requests before a message; they are played all the same, which may take long."""
        with stages() if self._tell is None else nullcontext(self._tell) as tell:
            for seen in played:
                if seen.place >= start:
                    break
                tell("playing up to the turn", seen.place, start)
            else:
                return
        yield seen
        yield from played

    def _introduce(self) -> None:
        if not self._turns:
            self._console.print("no messages: the session is empty")
        elif self._views and not self._recorded:
            policy = f"the policy {self._policy}" if self._policy else "the default policy"
            why = "" if self._transcript.has_requests() else "no receipts: "
            self._console.print(Text(f"{why}views are made under {policy}, with a budget of {self._budget:,} tokens"))
        if self._live and self._turns:
            self._console.print(Text(KEYS, "dim"))

    def _show(self, step: Step) -> None:
        if step.seen is not None and step.seen.proved is False and not step.seen.lacks:
            self.altered = True
        if self._as_json:
            for event in _events(step):
                click.echo(json.dumps(event))
        elif step.seen is not None:
            self._console.print()
            self._console.print(self._stage.request(step.seen))
        elif step.placed is not None:
            self._printer.show(step.placed, turn=self._begun.get(step.place))
        if step.placed is not None and (compaction := self._compactions.get(step.place)) is not None:
            self._show_compaction(compaction, step.turn)

    def _show_compaction(self, compaction: SourceCompaction, turn: int) -> None:
        if self._as_json:
            click.echo(json.dumps({"event": "source_compaction", "turn": turn, **compaction.to_json()}))
            return
        self._printer.show_compaction(compaction)


def _events(step: Step) -> Iterator[dict[str, Any]]:
    """A step as JSON objects: a message, or a request after the compaction that it shows, if there was one."""
    seen, marks = step.seen, step.seen.marks if step.seen is not None else None
    if step.placed is not None:
        yield {
            "event": "message",
            "number": step.placed.number,
            "turn": step.turn,
            "time": step.at.isoformat() if step.at is not None else None,
            "tools": step.placed.tools,
            "message": step.placed.message,
        }
    if seen is None:
        return
    if seen.compaction is not None:
        lost = seen.compaction
        yield {
            "event": "compaction",
            "request": seen.number,
            "turn": step.turn,
            "elided": lost.elided,
            "dropped": lost.dropped,
            "summarised": lost.summarised,
            "tokens_before": lost.tokens_before,
            "tokens_after": lost.tokens_after,
        }
    yield {
        "event": "request",
        "request": seen.number,
        "turn": step.turn,
        "messages_before": step.place,
        "time": seen.time or None,
        "tokens": seen.tokens,
        "budget_tokens": seen.budget_tokens,
        "plan": seen.plan,
        "hash": seen.hash,
        "proved": seen.proved,
        "lacks": list(seen.lacks),
        "view_messages": len(seen.view) if seen.view is not None else None,
        "inserted": marks.inserted if marks is not None else None,
        "counts": marks.counts() if marks is not None else None,
        "marks": [[run.mark, run.start, run.stop] for run in marks.runs()] if marks is not None else None,
    }
