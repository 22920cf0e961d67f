"""Print the rows of `list`: a session in a line of columns, and below it its name and its first line."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from .amounts import money, money_of, resuming_line
from .short_ids import LEAST_ID
from .terminal import counted, cut, duration, escaped, one_line

if TYPE_CHECKING:  # few lists need totals
    from ...sessions.overview import Overview
    from ...sessions.resume_cost import ResumeCost
    from ...sessions.totals import Total

_COLUMNS = {"AGE": 4, "TOOK": 7, "TURNS": 5, "MESSAGES": 8, "TOKENS": 6, "SIZE": 6, "RESUME": 11, "COST": 8}
_OF_TOTALS = ("TURNS", "COST")
_DROPPED = ("SIZE", "TOOK", "TOKENS", "MESSAGES", "TURNS", "COST")
"""The columns that a narrow terminal leaves out, in this order; the column of the sort order is always kept."""
_MODEL_COLUMNS = 20
_PIPE_WIDTH = 120  # the width of the lines below a row, without a terminal
_STATE_COLUMNS = 13
_STATES = {"open": "green", "open, damaged": "red", "damaged": "red", "unreadable": "red", "interrupted": "yellow"}
_AGES = ((60, "s"), (60, "m"), (24, "h"), (365, "d"))
"""The units of ages, each with the number that makes the next unit; the unit after days is years."""
_INDENT = " " * 5


@dataclass(slots=True)
class ListedSession:
    """A session of the list: its list entry, the cost of resuming it, and its totals if they were requested."""

    seen: Overview
    resuming: ResumeCost | None = None
    total: Total | None = None


class SessionRows:
    """Prints the rows of a list.

    Args:
        output: the console to print on.
        shortest: the shortest unique beginnings of ids; other ids are printed whole.
        has_costs: whether there are columns for costs and turns.
        in_full: whether model, failed calls and description are printed.
        order: the column by which the list is sorted, in lower case.
        with_date: whether the date of the last message comes before the first line.
        with_projects: `heading` for a line above the sessions of each project, `line` for one below each session.
    """

    def __init__(
        self,
        output: Console,
        shortest: Mapping[str, str],
        *,
        has_costs: bool,
        in_full: bool,
        with_date: bool,
        order: str = "age",
        with_projects: str = "",
    ) -> None:
        self._output = output
        self._shortest = shortest
        self._in_full = in_full
        self._with_date = with_date
        self._with_projects = with_projects
        self._project: str | None = None
        self.count = 0
        """The number of printed sessions."""
        self._columns = {name: width for name, width in _COLUMNS.items() if has_costs or name not in _OF_TOTALS}
        self._has_model = False
        if output.is_terminal:
            self._columns = _that_fit(self._columns, output.width, order.upper())
            width_with_model = _width_of(self._columns) + _MODEL_COLUMNS + 1
            self._has_model = not in_full and width_with_model <= output.width

    def show(self, listed: ListedSession) -> None:
        """Print one row of the list for a session. Before the first row, print the heads of the columns."""
        seen = listed.seen
        if not self.count:
            self._row(list(self._columns), Text("STATE"), "MODEL", "SESSION", style="bold")
        self.count += 1
        if self._with_projects == "heading" and seen.session.project != self._project:
            self._project = seen.session.project
            self._output.print(Text(escaped(one_line(self._project)), "bold"), overflow="fold")
        session_id = self._shortest.get(seen.session.id, seen.session.id)
        state = Text(seen.state, _STATES.get(seen.state, ""))
        self._row(self._cells(listed), state, seen.model, escaped(one_line(session_id)))
        self._show_words(listed)

    def _cells(self, listed: ListedSession) -> list[str]:
        seen = listed.seen
        cells = {"AGE": age(time.time() - seen.last_s) if seen.has_time else "?"}
        if seen.duration_s is not None:
            cells["TOOK"] = time_taken(seen.duration_s)
        if not seen.error:
            cells["MESSAGES"] = f"{seen.messages:,}"
            cells["TOKENS"] = scaled(seen.tokens, "kMGT")
            cells["SIZE"] = scaled(seen.size_bytes, "kMGT")
            if listed.resuming is not None:
                cells["RESUME"] = _resuming(listed.resuming)
            if listed.total is not None:
                cells["TURNS"] = f"{listed.total.turns:,}"
                cells["COST"] = money_of(listed.total.bill)
        return [cells.get(name, "") for name in self._columns]

    def _show_words(self, row: ListedSession) -> None:
        """Print the lines below a row: the session's names, its first line, and with `in_full` further facts."""
        overview = row.seen
        if self._with_projects == "line":
            self._say(overview.session.project)
        names = [f"#{tag}" for tag in overview.named.tags]
        if overview.named.name:
            names.insert(0, overview.named.name)
        self._say("  ".join(names), style="")
        if self._in_full:
            self._say(overview.named.description)
        first_line = overview.first_line
        if self._with_date:
            first_line = f"{overview.date}  {first_line}"
        self._say(overview.error or first_line)
        if self._in_full and not overview.error:
            self._show_facts(row)

    def _show_facts(self, listed: ListedSession) -> None:
        """Print when a session began, how long it took, its model, its failed calls, and the cost of resuming it."""
        seen = listed.seen
        facts = []
        if seen.first_message:
            facts.append(f"began {seen.first_message[:16].replace('T', ' ')}")
        if seen.duration_s is not None:
            facts.append(duration(seen.duration_s))
        if seen.model:
            facts.append(seen.model)
        if listed.total is not None and listed.total.failed_calls:
            facts.append(counted(listed.total.failed_calls, "failed call"))
        self._say(", ".join(facts))
        if listed.resuming is not None:
            self._say(resuming_line(listed.resuming))

    def _say(self, text: str, *, style: str = "dim") -> None:
        """Print a line below a row, cut to the width of the terminal, or to `_PIPE_WIDTH`."""
        line = escaped(one_line(text))
        if line:
            shown_line = cut(_INDENT + line, self._output.width if self._output.is_terminal else _PIPE_WIDTH)
            self._output.print(Text(shown_line, style), soft_wrap=True)

    def _row(self, cells: list[str], state: Text, model: str, session_id: str, *, style: str = "") -> None:
        """Print a row; in a terminal an id that does not fit is printed on its own line, and is never cut."""
        output = self._output
        row = Text(style=style)
        for cell, width in zip(cells, self._columns.values(), strict=True):
            row.append(f"{cell:>{width}} ")
        row.append(" ").append_text(state)
        gap = " " * (_STATE_COLUMNS + 1 - len(state))
        if self._has_model:
            model_cell = cut(escaped(one_line(model)), _MODEL_COLUMNS)
            gap += model_cell + " " * (_MODEL_COLUMNS + 1 - cell_len(model_cell))
        fits = not output.is_terminal or row.cell_len + cell_len(gap) + cell_len(session_id) <= output.width
        if fits:
            row.append(gap).append(session_id, style or "bold")
        output.print(row, soft_wrap=True)
        if not fits:
            output.print(Text(f"{_INDENT}{session_id}", "bold"), overflow="fold")


def _width_of(columns: Mapping[str, int]) -> int:
    """Return the width of a row with these columns and a short id."""
    return sum(columns.values()) + len(columns) + 1 + _STATE_COLUMNS + 1 + LEAST_ID


def _that_fit(columns: Mapping[str, int], width: int, order: str) -> dict[str, int]:
    """Return the columns that fit into a terminal of this width, and always the column `order`."""
    fitting = dict(columns)
    for name in _DROPPED:
        if _width_of(fitting) > width and name != order:
            fitting.pop(name, None)
    return fitting


def _resuming(resuming: ResumeCost) -> str:
    return f"{money(resuming.cost)} {'cold' if resuming.is_cold else 'warm'}"


def age(seconds: float) -> str:
    """Return an age as text in the largest full unit."""
    number = max(0, int(seconds))
    for most, unit in _AGES:
        if number < most:
            return f"{number}{unit}"
        number //= most
    return f"{number}y"


def time_taken(seconds: float) -> str:
    """Return a duration in its two largest units, or in one unit if two do not fit: `41s`, `5m 10s`, `120d`."""
    largest, rest = _largest_units(max(0, int(seconds)))
    if not rest:
        return largest
    in_two_units = f"{largest} {rest}"
    return in_two_units if len(in_two_units) <= _COLUMNS["TOOK"] else largest


def _largest_units(seconds: int) -> tuple[str, str]:
    """Return a duration in its largest unit, and the rest in the next unit, or "" if it is 0: `5m` and `10s`."""
    number = seconds
    rest = ""
    for number_of_next, unit in _AGES:
        if number < number_of_next:
            return f"{number}{unit}", rest
        number, remainder = divmod(number, number_of_next)
        rest = f"{remainder}{unit}" if remainder else ""
    return f"{number}y", rest


def scaled(number: float, units: str) -> str:
    """Return a number as text in the first unit in which it has at most four digits, or in the last unit."""
    unit = ""
    for larger_unit in units:
        if number < 1000:
            break
        number /= 1000
        unit = larger_unit
    has_decimal = unit != "" and number < 100
    return f"{number:.1f}{unit}" if has_decimal else f"{number:.0f}{unit}"
