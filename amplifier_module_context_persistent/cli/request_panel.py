"""A replayed request as text: what the model saw.

A mark is a colour and a letter, so it can be read without colours: K kept, E elided, D dropped, S summarised. All text
of a transcript is escaped and never read as markup.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby

from rich.text import Text

from ..replay import Seen
from ..replay.visibility import DROPPED, ELIDED, KEPT, MARKS, SUMMARISED, Compacted, Marks
from .terminal import counted, one_line

LETTERS = {KEPT: "K", ELIDED: "E", DROPPED: "D", SUMMARISED: "S"}
_STYLES = {KEPT: "green", ELIDED: "yellow", DROPPED: "red", SUMMARISED: "magenta"}
_MOST_RUNS = 8


class RequestPanel:
    """Lays out requests.

    Args:
        width: of the terminal, in cells.
        encoding: of the output; without block characters in it, plain ones are used.
    """

    def __init__(self, width: int, encoding: str = "utf-8") -> None:
        self._width = width
        self._rule = "─" if _carries(encoding, "─") else "-"
        self._bar = ("█", "░") if _carries(encoding, "█░") else ("#", "-")

    def request(self, seen: Seen) -> Text:
        """What the model saw at a request: the gauge, a mark for each message before it, and the proof."""
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
        shown.append(_left_out(seen), "dim")
        return shown.append(_proof(seen), "bold red" if seen.proved is False else "dim")

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
    """The marks of a history on one line: a letter for each message, or for the majority of some neighbours."""
    shown = Text("saw ")
    cells = max(8, width - 4)
    exact = marks.total <= cells
    for mark, same in groupby(map(marks.of, range(marks.total)) if exact else _bucketed(marks, cells)):
        shown.append(LETTERS[mark] * len(list(same)), _STYLES[mark])
    return shown


def counts_text(marks: Marks) -> Text:
    """How many messages have each mark, and the ranges of each."""
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
    """What a compaction changed."""
    parts = {ELIDED: compaction.elided, DROPPED: compaction.dropped, SUMMARISED: compaction.summarised}
    what = ", ".join(f"{count:,} {mark}" for mark, count in parts.items() if count)
    return f"compaction: {compaction.tokens_before:,} to {compaction.tokens_after:,} tokens; newly {what}"


def _proof(seen: Seen) -> str:
    if seen.proved is None:
        return "made under a policy" if seen.view is not None else "REFUSED: under this policy nothing fits the budget"
    lacks = "; ".join(map(one_line, seen.lacks)) or "the log was altered since, or its hash was"
    verdict = "proved" if seen.proved else f"NOT proved: {lacks}"
    return f"hash {one_line(seen.hash)} {verdict}"


def _left_out(seen: Seen) -> str:
    """What the view lacks of reasoning, on a line of its own; empty where it lacks none."""
    if not seen.unbound:
        return ""
    return f"{counted(seen.unbound, 'answer')} without reasoning, as what stood before it had changed\n"


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


def _carries(encoding: str, text: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
