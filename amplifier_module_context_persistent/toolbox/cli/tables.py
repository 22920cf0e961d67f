"""Print tables and costs; tables are as wide as their cells, and narrower in a narrow terminal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .amounts import money, money_of
from .session_rows import scaled
from .terminal import counted, cut, escaped, one_line

if TYPE_CHECKING:
    from ...sessions.prices import PriceList
    from ...sessions.request_costs import Bill, Cost

TEXTS = frozenset(
    {
        "agent",
        "day",
        "id",
        "model",
        "name",
        "file",
        "last at",
        "in turns",
        "plan",
        "project",
        "provider",
        "role",
        "session",
        "time",
        "tool",
        "in full",
        "policy",
    }
)
"""The heads of columns that are aligned to the left, as the first column is."""
DROPPED = (
    "agents",
    "share",
    "share of full bill",
    "reasoning left out",
    "needed: found",
    "read from cache",
    "needed: kept",
    "cache breaks",
    "written",
    "longest",
    "median",
    "name",
    "cached",
    "sessions",
    "host's files",
    "saved",
    "other",
    "cleared",
    "plans",
    "receipts",
    "results",
    "images",
    "messages",
    "turns",
    "role",
    "tokens of results",
    "failed",
    "input",
    "output",
)
"""The columns that a table leaves out in a narrow terminal, in this order."""
_ENDS = frozenset({"project", "file", "path"})
"""The heads of columns whose texts are cut at the front, because their ends say more."""


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Collection[int] | None = None,
) -> Table:
    """Return a table of texts, which are escaped.

    Args:
        heads: the names of the columns.
        rows: the cells.
        right: the columns that are aligned to the right, from 0; by default all but the first and those of texts.
    """
    if right is None:
        right = [number for number, head in enumerate(heads) if number > 0 and head not in TEXTS]
    result = Table(box=None, pad_edge=False, header_style="bold")
    for number, head in enumerate(heads):
        result.add_column(Text(head), justify="right" if number in right else "left", overflow="fold")
    for row in rows:
        cells = [Text(escaped(one_line(cell))) for cell in row]
        result.add_row(*cells)
    return result


def without_empty(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """Return the heads and the rows without the columns whose cells are all empty."""

    def is_filled(column: int) -> bool:
        return any(row[column] for row in rows)

    filled = [column for column in range(len(heads)) if is_filled(column)]
    filled_heads = [heads[column] for column in filled]
    filled_rows = [[row[column] for column in filled] for row in rows]
    return filled_heads, filled_rows


def aligned(heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[int]) -> list[str]:
    """Return the heads and the rows as aligned lines, for tables that rich would lay out too slowly.

    Args:
        heads: the names of the columns.
        rows: the cells.
        right: the columns that are aligned to the right, from 0.
    """
    columns = []
    for number, cells in enumerate(zip(heads, *rows, strict=True)):
        width = max(len(cell) for cell in cells)
        if number in right:
            columns.append([cell.rjust(width) for cell in cells])
        else:
            columns.append([cell.ljust(width) for cell in cells])
    return ["  ".join(cells) for cells in zip(*columns, strict=True)]


def show_table(output: Console, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Sequence[str]:
    """Print a blank line and a table, fitted to the terminal; print nothing if there are no rows.

    Returns:
        The heads of the columns that were printed.
    """
    if not rows:
        return []
    shown_heads, cells = fitted(heads, rows, output.width) if output.is_terminal else (heads, rows)
    output.print()
    output.print(table(shown_heads, cells))
    return shown_heads


def width_of(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return the width of a table in which nothing is folded."""
    widths = [max(map(cell_len, column)) for column in zip(heads, *rows, strict=True)]
    return sum(widths) + _GAP * (len(widths) - 1)


@dataclass(slots=True)
class _Column:
    """A column of a table. Only texts are cut if the terminal is too narrow."""

    head: str
    cells: list[str]
    is_text: bool
    width: int

    @classmethod
    def of(cls, head: str, cells: list[str], *, is_text: bool) -> _Column:
        """Return a column that is wide enough for its cells and the lines of its head."""
        return cls(head, cells, is_text, max(cell_len(line) for line in [*_lines_of(head), *cells]))


def fitted(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> tuple[list[str], list[list[str]]]:
    """Return the heads and the rows of a table for a terminal of this width; numbers are not cut.

    Texts are cut first, but not below `_LEAST_TEXT` columns. Then columns are left out, in the order of `DROPPED`.
    """
    column_numbers = list(range(len(heads)))
    columns = list[_Column]()
    for left_out in ("", *DROPPED):
        column_numbers = [
            number for number in column_numbers if number == 0 or heads[number].replace("\n", " ") != left_out
        ]
        columns = [_column(heads, rows, number) for number in column_numbers]
        whole_width = sum(column.width for column in columns) + _GAP * (len(columns) - 1)
        if _narrowed(columns, whole_width - width):
            break
    for column in columns:
        if column.is_text:
            column.cells = _cut_apart(column.cells, column.width, is_end=column.head in _ENDS)
    cells_by_row = zip(*(column.cells for column in columns), strict=True)
    return [column.head for column in columns], [list(cells) for cells in cells_by_row]


def _column(heads: Sequence[str], rows: Sequence[Sequence[str]], number: int) -> _Column:
    """Return a column of a table. The first column always has texts."""
    is_text = number == 0 or heads[number] in TEXTS
    return _Column.of(heads[number], [row[number] for row in rows], is_text=is_text)


def _narrowed(columns: Sequence[_Column], too_wide: int) -> bool:
    """Take a number of terminal columns away from the texts, from the widest first. Return whether that was enough."""
    texts = [column for column in columns if column.is_text]
    for column in sorted(texts, key=lambda column: -column.width):
        if too_wide > 0:
            less = min(too_wide, max(0, column.width - _LEAST_TEXT))
            column.width -= less
            too_wide -= less
    return too_wide <= 0


def _lines_of(head: str) -> list[str]:
    """Return the lines of a head: its own lines, or the words of a long head, which may be folded."""
    if "\n" in head:
        return head.split("\n")
    return head.split() if len(head) > _LEAST_TEXT else [head]


def _cut_apart(cells: Sequence[str], width: int, *, is_end: bool) -> list[str]:
    """Return texts cut to a width: at the end, in the middle or at the front, so that they stay distinct.

    If several ways keep equally many texts distinct, the first of these ways is used; with `is_end` the texts are cut
    at the front first, because the end names a project or a file.
    """
    ways = (_without_front, _without_middle, cut) if is_end else (cut, _without_middle, _without_front)
    columns = [_cut_in(way, cells, width) for way in ways]
    return max(columns, key=lambda column: len(set(column)))  # the first of equal ways


def _cut_in(shorten: Callable[[str, int], str], cells: Sequence[str], width: int) -> list[str]:
    """Return the texts, with those that are wider than `width` shortened by the function `shorten`."""
    return [cell if cell_len(cell) <= width else shorten(cell, width) for cell in cells]


def _without_front(cell: str, width: int) -> str:
    return f"...{cell[3 - width :]}"


def _without_middle(cell: str, width: int) -> str:
    tail = cell[-((width - 3) // 2) :]
    return f"{cut(cell, width - cell_len(tail))}{tail}"


_LEAST_TEXT = 12
_GAP = 2  # the space between two columns
_LEAST_COST = 0.00005  # a smaller amount comes from rounding
_MOST_MODELS = 5  # the number of models without a price to name


def show_cost(output: Console, cost: Cost, notes: list[str]) -> None:
    """Print the tokens that providers reported and their cost, by model."""
    if not cost.total.requests:
        return
    dearest_first = sorted(cost.models.items(), key=lambda item: -item[1].cost)
    rows = [(name or "?", bill) for name, bill in dearest_first]
    if len(rows) > 1:
        rows.append(("all", cost.total))
    heads = ("model", "requests", "input", "cached", "written", "output", "cost")
    cells = [_bill(name, bill, "{:,}".format) for name, bill in rows]
    if output.is_terminal and width_of(heads, cells) > output.width:  # no model's name is folded
        cells = [_bill(name, bill, lambda tokens: scaled(tokens, "kMGT")) for name, bill in rows]
    show_table(output, heads, cells)
    show_notes(output, notes)


def show_waiting(output: Console) -> None:
    """Print, below a table of tools, a note on what the times of calls include."""
    show_notes(output, ["took: from a call to its result, with the wait for a person who was asked"])


def show_notes(output: Console, notes: Sequence[str]) -> None:
    """Print notes, one on each line."""
    for note in notes:
        output.print(Text(escaped(one_line(note)), "dim"))


def cost_notes(cost: Cost, prices: PriceList, hidden: float = 0.0) -> list[str]:
    """Return notes about a cost; `hidden` is the cost of requests whose answers are no longer live."""
    notes = [f"{prices.described()}; see --prices"]
    if cost.total.unpriced_requests:
        models = [name or "answers that name no model" for name in prices.unpriced()]
        if len(models) > _MOST_MODELS:
            models = [*models[:_MOST_MODELS], "..."]
        of_models = f" of {', '.join(models)}" if models else ""
        notes.append(f"no price for {counted(cost.total.unpriced_requests, 'request')}{of_models}")
    if cost.total.unreported_requests:
        notes.append(f"the input of {counted(cost.total.unreported_requests, 'request')} was not reported")
    if cost.total.estimated_outputs:
        notes.append(estimate_note(cost.total))
    if hidden > _LEAST_COST:
        notes.append(f"{money(hidden)} went to requests whose answers are no longer live")
    if cost.total.source_cost_requests:
        requests = counted(cost.total.source_cost_requests, "request")
        notes.append(f"as the agent counted: {money(cost.total.source_cost)} for {requests}; no part of the cost above")
    return notes


def estimate_note(bill: Bill) -> str:
    """Return a note on the estimated parts of a bill and their cost."""
    part = f" ({money(bill.estimated_cost)} of the cost)" if bill.is_estimated else ""
    return f"~: the output of {counted(bill.estimated_outputs, 'request')} was counted here, not reported{part}"


def _bill(name: str, bill: Bill, token_text: Callable[[int], str]) -> tuple[str, ...]:
    """Return the cells of a bill; `token_text` writes a number of tokens."""
    read = "?"
    cached = written = ""
    if bill.has_input:
        read = token_text(bill.input_tokens)
        cached = percent(bill.cached_tokens, bill.input_tokens)
        written = percent(bill.written_tokens, bill.input_tokens)
    about = "~" if bill.estimated_outputs else ""
    output = f"{about}{token_text(bill.output_tokens)}"
    return (name, f"{bill.requests:,}", read, cached, written, output, money_of(bill))


def percent(part: int, whole: int) -> str:
    """Return a part of a whole in percent; "0%" if the whole is 0."""
    return f"{part / whole:.0%}" if whole else "0%"
