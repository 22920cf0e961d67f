"""`context-persistent replay`: play a session as it happened, with what the model saw at each request.

Exit codes: 0 played, 1 a view cannot be proved because the log was altered, 2 unusable, 130 Ctrl-C. A terminal gets the
session's timing; a pipe gets everything at once, as plain text or JSON. A mark is a colour and a letter,
so that it can be read without colours: K kept, E elided, D dropped, S summarised.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import click
from rich.text import Text

from ...sessions.session_origin import source_compactions
from ...sessions.transcript import Progress, Transcript
from ..replay import Seen, play, requests
from ..replay.pace import Pace, Step, timeline
from ..replay.visibility import DROPPED, ELIDED, KEPT, MARKS, SUMMARISED, Compacted, Marks
from .error_messages import unreadable
from .exit_codes import DONE, FINDINGS
from .message_printer import MessagePrinter
from .open_transcript import open_transcript
from .progress import progress, stages
from .ranges import Span, SpanType, chosen_turns
from .session_argument import session_argument
from .session_budget import session_budget
from .terminal import columns_of, console, counted, duration, escaped, one_line

_LONG_PAUSE_S = 3.0
_MOST_PAUSE_S = 86_400.0  # longer pauses overflow on some systems


@click.command()
@session_argument
@click.option("--views", is_flag=True, help="Show what the model saw at each request.")
@click.option("--policy", help="Play SESSION under this policy instead of the recorded one (see `compare`).")
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    help="The budget in tokens if a policy is played; by default that of the session's last request, or 200,000.",
)
@click.option("--tokenizer", default="auto", show_default=True, help="With --policy: the tokenizer.")
@click.option("--turn", "turn_span", type=SpanType(), help="Only this turn, or turns A:B; `5:` starts at turn 5.")
@click.option("--speed", type=click.FloatRange(min=0, min_open=True), default=1.0, help="Play this many times faster.")
@click.option("--max-pause", "max_pause_s", type=click.FloatRange(min=0), help="The longest pause in seconds.")
@click.option("--step", "in_steps", is_flag=True, help="Wait for Enter after each message; Ctrl-D ends it.")
@click.option("--full", is_flag=True, help="Show long messages whole.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line for each event, at once.")
@click.pass_context
def replay(
    context: click.Context,
    path: str,
    policy: str | None,
    budget: int | None,
    tokenizer: str,
    turn_span: Span | None,
    speed: float,
    max_pause_s: float | None,
    *,
    views: bool,
    in_steps: bool,
    full: bool,
    as_json: bool,
) -> None:
    """Play SESSION as it happened, with its pauses.

    With --views, each request shows how many tokens of the budget it took, and of every message before it whether the
    model saw it: K kept, E elided, D dropped, S summarised. The views are made again from the receipts in the log, and
    proved by their hashes; a session without receipts is played under the default policy.

    A terminal gets the pauses; --speed and --max-pause shorten them, --step waits for Enter instead. Ctrl-C ends it. To
    go back and forth, make a `report`.
    """
    with progress(path) as files:
        transcript = open_transcript(path, files=files)
    is_live = sys.stdout.isatty() and not as_json
    has_policy = policy is not None or budget is not None
    with transcript, unreadable():
        chosen = chosen_turns(transcript.turns(), turn_span)
        played = None
        if has_policy or not transcript.has_requests():
            played = _Policy(policy, budget or session_budget(transcript), tokenizer)
        wants_views = views or has_policy
        output = _Output(transcript, full=full, as_json=as_json)
        output.introduce(played if wants_views else None)
        pace = Pace(speed, max_pause_s)
        begins_later = bool(chosen) and chosen[0].number > 1
        start = chosen[0].start if begins_later else 0
        with nullcontext() if sys.stdout.isatty() else stages() as tell:
            requests = _requests(transcript, played, start, tell) if wants_views else ()
            for number, step in enumerate(timeline(transcript, chosen, requests)):
                if is_live and in_steps:
                    waits_for_enter = number > 0 and step.placed is not None
                    if waits_for_enter and not sys.stdin.readline():
                        break
                elif is_live:
                    output.wait(min(pace.pause_s(step), _MOST_PAUSE_S))
                if tell is not None:
                    tell("playing", step.place, len(transcript))
                output.show(step)
    context.exit(FINDINGS if output.altered else DONE)


@dataclass(frozen=True, slots=True)
class _Policy:
    """The policy, budget and tokenizer for a replay that does not use the recorded requests."""

    name: str | None
    budget_tokens: int
    tokenizer: str


def _requests(transcript: Transcript, policy: _Policy | None, start: int, tell: Progress | None) -> Iterator[Seen]:
    """Yield the requests from message `start` on: as a policy would have made them, or as the receipts record them."""
    if policy is None:
        yield from requests(transcript, start=start)
        return
    played = play(transcript, policy.name or "default", budget_tokens=policy.budget_tokens, tokenizer=policy.tokenizer)
    with stages() if tell is None else nullcontext(tell) as telling:  # earlier requests may take long
        for seen in played:
            if seen.place >= start:
                break
            telling("playing up to the turn", seen.place, start)
        else:
            return
    yield seen
    yield from played


class _Output:
    """Prints the steps of a session, as text or as JSON.

    Args:
        transcript: the session.
        full: whether long messages are shown whole.
        as_json: whether JSON lines are printed.
    """

    def __init__(self, transcript: Transcript, *, full: bool, as_json: bool) -> None:
        self._transcript = transcript
        self._as_json = as_json
        self._console = console()
        self._stage = RequestPanel(columns_of(self._console), self._console.encoding)
        self._printer = MessagePrinter(full=full, as_json=False, screen=self._console)
        self._begun = {turn.start: turn.number for turn in transcript.turns()}
        self._compactions = source_compactions(transcript)
        self.altered = False
        """Whether a rebuilt view that was shown differs from the recorded view, because the log was altered."""

    def introduce(self, policy: _Policy | None) -> None:
        """Print that the session is empty, or under which policy views are made."""
        if self._as_json:
            return
        if not self._begun:
            self._console.print("no messages: the session is empty")
        elif policy is not None:
            policy_name = f"the policy {policy.name}" if policy.name else "the default policy"
            why = "" if self._transcript.has_requests() else "no receipts: "
            self._console.print(
                Text(f"{why}views are made under {policy_name}, with a budget of {policy.budget_tokens:,} tokens")
            )

    def wait(self, pause_s: float) -> None:
        """Wait for a number of seconds; announce a long pause."""
        if pause_s > _LONG_PAUSE_S:
            self._console.print(Text(f"({duration(pause_s)}; --max-pause and --speed shorten it)", "dim"))
        time.sleep(pause_s)

    def show(self, step: Step) -> None:
        """Print a step: a message, or a request."""
        if step.seen is not None and step.seen.proof.is_proved is False and not step.seen.proof.lacks:
            self.altered = True
        if self._as_json:
            for event in _events(step):
                click.echo(json.dumps(event))
        elif step.seen is not None:
            self._console.print()
            self._console.print(self._stage.request(step.seen))
        elif step.placed is not None:
            self._printer.show(step.placed, turn=self._begun.get(step.place))
        if step.placed is None or (compaction := self._compactions.get(step.place)) is None:
            return
        if self._as_json:
            click.echo(json.dumps({"event": "source_compaction", "turn": step.turn, **compaction.to_json()}))
        else:
            self._printer.show_compaction(compaction)


def _events(step: Step) -> Iterator[dict[str, Any]]:
    """Yield a step as JSON objects: a message, or a request. The compaction that a request shows is before it."""
    if step.placed is not None:
        yield {
            "event": "message",
            "number": step.placed.number,
            "turn": step.turn,
            "time": step.at.isoformat() if step.at is not None else None,
            "tools": step.placed.tools,
            "message": step.placed.message,
        }
    seen = step.seen
    if seen is None:
        return
    if seen.compaction is not None:
        yield {"event": "compaction", "request": seen.number, "turn": step.turn, **asdict(seen.compaction)}
    yield {
        "event": "request",
        "request": seen.number,
        "turn": step.turn,
        "messages_before": step.place,
        "time": seen.time or None,
        "tokens": seen.tokens,
        "budget_tokens": seen.budget_tokens,
        "plan": seen.proof.plan,
        "hash": seen.proof.hash,
        "proved": seen.proof.is_proved,
        "lacks": list(seen.proof.lacks),
        "unbound": seen.unbound,
        "view_messages": len(seen.view) if seen.view is not None else None,
        **_marks_as_json(seen.marks),
    }


def _marks_as_json(marks: Marks | None) -> dict[str, Any]:
    """Return the marks of the messages before a request for its event; all are None if its view could not be made."""
    if marks is None:
        return {"inserted": None, "counts": None, "marks": None}
    return {
        "inserted": marks.inserted,
        "counts": marks.counts(),
        "marks": [[run.mark, run.start, run.stop] for run in marks.runs()],
    }


LETTERS = {KEPT: "K", ELIDED: "E", DROPPED: "D", SUMMARISED: "S"}
_STYLES = {KEPT: "green", ELIDED: "yellow", DROPPED: "red", SUMMARISED: "magenta"}
_MOST_RUNS = 8


class RequestPanel:
    """Formats requests for a terminal.

    Args:
        width: the width of the terminal, in cells.
        encoding: the encoding of the output; if it has no block characters, ASCII characters are used.
    """

    def __init__(self, width: int, encoding: str = "utf-8") -> None:
        self._width = width
        self._rule = "─" if _carries(encoding, "─") else "-"
        self._bar = ("█", "░") if _carries(encoding, "█░") else ("#", "-")

    def request(self, seen: Seen) -> Text:
        """Return what the model saw at a request, as text.

        The lines show the tokens as a share of the budget, letters that tell what became of the earlier messages, and
        whether the hash of a recorded request proves this view.
        """
        lead = 2 * self._rule
        text = Text()
        if seen.compaction is not None:
            text.append(f"{lead} {compaction_text(seen.compaction)}\n", "bold yellow")
        clock = f" {seen.time[11:19]}" if len(seen.time) > 18 else ""
        title = f"{lead} request {seen.number:,}{one_line(clock)} "
        rule = self._rule * max(0, self._width - len(title))
        text.append(title, "bold").append(f"{rule}\n", "dim")
        text.append_text(self.gauge(seen.tokens, seen.budget_tokens)).append("\n")
        if seen.marks is not None:
            text.append_text(strip(seen.marks, self._width)).append("\n")
            text.append_text(counts_text(seen.marks)).append("\n")
        text.append(_left_out(seen), "dim")
        style_of_proof = "bold red" if seen.proof.is_proved is False else "dim"
        return text.append(_proof(seen), style_of_proof)

    def gauge(self, tokens: int, budget_tokens: int) -> Text:
        """Return a bar that shows the tokens as a share of the budget."""
        share = tokens / max(1, budget_tokens)
        sizes = f" {tokens:,} of {budget_tokens:,} tokens, {share:.0%}"
        cells = max(8, min(40, self._width - len(sizes) - 2))
        filled = min(cells, round(share * cells))
        full, empty = self._bar
        if share <= 0.7:
            style = "green"
        elif share <= 1:
            style = "yellow"
        else:
            style = "red"
        return Text("[").append(full * filled, style).append(empty * (cells - filled), "dim").append("]" + sizes)


def strip(marks: Marks, width: int) -> Text:
    """Return the marks of a history on one line, a letter for each message.

    If the line is too short, a letter stands for several neighbours, and shows the mark that most of them have.
    """
    strip_text = Text("saw ")
    cells = max(8, width - 4)
    exact = marks.total <= cells
    for mark, same in groupby(map(marks.of, range(marks.total)) if exact else _bucketed(marks, cells)):
        strip_text.append(LETTERS[mark] * len(list(same)), _STYLES[mark])
    return strip_text


def counts_text(marks: Marks) -> Text:
    """Return a legend: the number of messages with each mark (kept, elided, dropped …), and their ranges if few."""
    counts = marks.counts()
    legend = Text("    ")
    for mark in MARKS:
        if counts[mark] or mark in (KEPT, DROPPED):
            legend.append(f"{LETTERS[mark]} {counts[mark]:,} {mark}  ", _STYLES[mark])
    if marks.inserted:
        legend.append(f"+ {marks.inserted:,} inserted  ", "dim")
    runs = marks.runs()
    if 1 < len(runs) <= _MOST_RUNS:
        legend.append("\n    " + ", ".join(_span(run.start, run.stop, run.mark) for run in runs), "dim")
    return legend


def compaction_text(compaction: Compacted) -> str:
    """Return the changes of a compaction as text."""
    parts = {ELIDED: compaction.elided, DROPPED: compaction.dropped, SUMMARISED: compaction.summarised}
    what = ", ".join(f"{count:,} {mark}" for mark, count in parts.items() if count)
    lacking = f"\n   {compaction.lacking:,} of the dropped name what the view lacks" if compaction.lacking else ""
    return f"compaction: {compaction.tokens_before:,} to {compaction.tokens_after:,} tokens; newly {what}{lacking}"


def _proof(seen: Seen) -> str:
    """Return words about the proof of a request's view."""
    if seen.proof.is_proved is None:
        return "made under a policy" if seen.view is not None else "REFUSED: under this policy nothing fits the budget"
    verdict = "proved"
    if not seen.proof.is_proved:
        reasons = "; ".join(map(one_line, seen.proof.lacks)) or "the log was altered since, or its hash was"
        verdict = f"NOT proved: {reasons}"
    return escaped(f"hash {one_line(seen.proof.hash)} {verdict}")


def _left_out(seen: Seen) -> str:
    """Return a line on the answers without their reasoning; "" if there are none."""
    if not seen.unbound:
        return ""
    return f"{counted(seen.unbound, 'answer')} without reasoning, as what stood before it had changed\n"


def _bucketed(marks: Marks, cells: int) -> list[str]:
    """Return the most frequent mark in each of `cells` equal parts of a history."""
    # The part of a position is position * cells // total, so a part begins at cell * total / cells, rounded up.
    starts = [(cell * marks.total + cells - 1) // cells for cell in range(cells + 1)]
    counts = [Counter[str]() for _ in range(cells)]
    for run in marks.runs():
        first = run.start * cells // marks.total
        last = (run.stop - 1) * cells // marks.total
        for cell in range(first, last + 1):
            start = max(starts[cell], run.start)
            stop = min(starts[cell + 1], run.stop)
            counts[cell][run.mark] += stop - start
    return [max(MARKS, key=lambda mark: count[mark]) for count in counts]


def _span(start: int, stop: int, mark: str) -> str:
    letter = LETTERS[mark]
    if stop - start == 1:
        return f"{start + 1:,} {letter}"
    return f"{start + 1:,}-{stop:,} {letter}"


def _carries(encoding: str, text: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
