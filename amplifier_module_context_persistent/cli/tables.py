"""The table that commands print: as wide as what is in it, folded where a terminal is narrower."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .terminal import escaped, one_line

TEXTS = frozenset(
    {"agent", "day", "id", "model", "plan", "project", "provider", "role", "session", "time", "tool", "in full"}
)
"""The heads of columns that are aligned to the left, as the first column is."""


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Collection[int] | None = None,
    widths: Sequence[int] | None = None,
    has_heads: bool = True,
) -> Table:
    """Make a table of texts, which are escaped.

    Args:
        heads: the names of the columns.
        rows: the cells.
        right: the columns that are aligned to the right, from 0; by default those that hold no text.
        widths: of the columns, in the place of those that fit.
        has_heads: whether the names are shown.
    """
    made = Table(box=None, pad_edge=False, header_style="bold", show_header=has_heads)
    for at, head in enumerate(heads):
        is_right = at in right if right is not None else at > 0 and head not in TEXTS
        width = widths[at] if widths else None
        made.add_column(Text(head), justify="right" if is_right else "left", overflow="fold", width=width)
    for row in rows:
        made.add_row(*(Text(escaped(one_line(cell))) for cell in row))
    return made


def show_table(output: Console, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a blank line and a table; nothing if it has no rows."""
    if rows:
        output.print()
        output.print(table(heads, rows))
