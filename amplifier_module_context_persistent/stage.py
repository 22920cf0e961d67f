"""How a replayed session looks in a terminal: its messages, and what the model saw at each request.

A mark is a colour and a letter, so that nothing is lost without colours: K kept, E elided, D dropped, S summarised. All
text of a transcript is escaped and never taken for markup.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from itertools import groupby

from rich.text import Text

from .original import full_text
from .replay import Seen
from .seen import DROPPED, ELIDED, KEPT, MARKS, SUMMARISED, Compacted, Marks
from .shape import Message
from .terminal import escaped, one_line
from .timeline import Step

LETTERS = {KEPT: "K", ELIDED: "E", DROPPED: "D", SUMMARISED: "S"}
_STYLES = {KEPT: "green", ELIDED: "yellow", DROPPED: "red", SUMMARISED: "magenta"}
_ROLES = {"user": "bold green", "assistant": "bold cyan", "system": "bold magenta", "developer": "bold magenta"}
_FOLD_LINES, _FOLD_CHARS = 12, 1_500
_MOST_RUNS = 8


class Stage:
    """Lays out what is played.

    Args:
        width: of the terminal, in cells.
        encoding: of the output; what it lacks is drawn with plain characters.
        full: whether long messages are shown whole.
    """

    def __init__(self, width: int, encoding: str = "utf-8", *, full: bool = False) -> None:
        self._width, self._full = width, full
        self._rule = "─" if _carries(encoding, "─") else "-"
        self._bar = ("█", "░") if _carries(encoding, "█░") else ("#", "-")

    def message(self, step: Step, message: Message) -> Text:
        """A message under a line that says who wrote it and when; a long one folded."""
        role = str(message.get("role"))
        name = message.get("name")
        who = f"{role} {name}" if role in ("tool", "function") and isinstance(name, str) else role
        shown = Text().append(f"[{step.place + 1}] {one_line(who)}", _ROLES.get(role, "bold yellow"))
        shown.append(f"  turn {step.turn}{_clock(step.at)}\n", "dim")
        text, _ = full_text(message)
        piece = text if self._full else _folded(text)
        shown.append(escaped(piece).rstrip("\n"), "dim" if role in ("tool", "function") else "")
        if len(piece) < len(text):
            shown.append(f"\n... {len(text) - len(piece):,} more characters (--full shows them)", "dim italic")
        return shown.append("\n")

    def request(self, seen: Seen) -> Text:
        """What the model saw at a request: the gauge, the marks of the messages before it, and what proves them."""
        lead, width = 2 * self._rule, self._width
        shown = Text()
        if seen.compaction is not None:
            shown.append(f"{lead} {compaction_text(seen.compaction)}\n", "bold yellow")
        clock = f" {seen.time[11:19]}" if len(seen.time) > 18 else ""
        title = f"{lead} request {seen.number:,}{one_line(clock)} "
        shown.append(title, "bold").append(self._rule * max(0, width - len(title)) + "\n", "dim")
        shown.append_text(self.gauge(seen.tokens, seen.budget_tokens)).append("\n")
        if seen.marks is not None:
            shown.append_text(strip(seen.marks, width)).append("\n")
            shown.append_text(counts_text(seen.marks)).append("\n")
        return shown.append(_proof(seen) + "\n", "bold red" if seen.proved is False else "dim")

    def gauge(self, tokens: int, budget_tokens: int) -> Text:
        """A bar of tokens against the budget."""
        share = tokens / max(1, budget_tokens)
        said = f" {tokens:,} of {budget_tokens:,} tokens, {share:.0%}"
        cells = max(8, min(40, self._width - len(said) - 2))
        filled = min(cells, round(share * cells))
        full, empty = self._bar
        style = "green" if share <= 0.7 else "yellow" if share <= 1 else "red"
        return Text("[").append(full * filled, style).append(empty * (cells - filled), "dim").append("]" + said)


def strip(marks: Marks, width: int) -> Text:
    """The marks of a history on one line: a letter a message, or what most of some neighbours are."""
    shown = Text("saw ")
    cells = max(8, width - 4)
    exact = marks.total <= cells
    for mark, same in groupby(map(marks.of, range(marks.total)) if exact else _bucketed(marks, cells)):
        shown.append(LETTERS[mark] * len(list(same)), _STYLES[mark])
    return shown


def counts_text(marks: Marks) -> Text:
    """How many messages fared how, and where the runs of each stand."""
    counts = marks.counts()
    shown = Text("    ")
    for mark in MARKS:
        if counts[mark] or mark in (KEPT, DROPPED):
            shown.append(f"{LETTERS[mark]} {counts[mark]:,} {mark}  ", _STYLES[mark])
    if marks.inserted:
        shown.append(f"+ {marks.inserted:,} inserted  ", "dim")
    runs = marks.runs()
    if 1 < len(runs) <= _MOST_RUNS:
        shown.append("\n    " + ", ".join(_span(run.start, run.stop, run.mark) for run in runs), "dim")
    return shown


def compaction_text(compaction: Compacted) -> str:
    """What a compaction took away."""
    parts = {ELIDED: compaction.elided, DROPPED: compaction.dropped, SUMMARISED: compaction.summarised}
    what = ", ".join(f"{count:,} {mark}" for mark, count in parts.items() if count)
    return f"compaction: {compaction.tokens_before:,} to {compaction.tokens_after:,} tokens; newly {what}"


def _proof(seen: Seen) -> str:
    if seen.proved is None:
        return "made under a policy" if seen.view is not None else "REFUSED: the policy says that nothing fits"
    lacks = "; ".join(map(one_line, seen.lacks)) or "the log was altered since, or its hash was"
    verdict = "proved" if seen.proved else f"NOT proved: {lacks}"
    return f"hash {one_line(seen.hash)} {verdict}"


def _bucketed(marks: Marks, cells: int) -> list[str]:
    counts = [Counter[str]() for _ in range(cells)]
    for run in marks.runs():
        first, last = run.start * cells // marks.total, (run.stop - 1) * cells // marks.total
        for cell in range(first, last + 1):
            start = -(-cell * marks.total // cells)
            stop = -(-(cell + 1) * marks.total // cells)
            counts[cell][run.mark] += min(stop, run.stop) - max(start, run.start)
    return [max(MARKS, key=lambda mark: count[mark]) for count in counts]


def _span(start: int, stop: int, mark: str) -> str:
    return f"{start + 1:,} {LETTERS[mark]}" if stop - start == 1 else f"{start + 1:,}-{stop:,} {LETTERS[mark]}"


def _folded(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(lines[:_FOLD_LINES])[:_FOLD_CHARS]


def _clock(at: datetime | None) -> str:
    return f"  {at:%H:%M:%S}" if at is not None else ""


def _carries(encoding: str, text: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
