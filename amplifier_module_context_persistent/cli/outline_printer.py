"""How `show --outline` prints a session: one line for each turn, no wider than a terminal, whole in a pipe."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from ..transcript.outline import TurnLine
from .terminal import cut, duration, escaped, one_line

_HEADS = ("turn", "began", "took", "calls", "errors", "tokens")
_LEFT = "began"  # the one column that is aligned to the left
_LEAST_ROOM = 10


def show_outline(lines: Sequence[TurnLine], output: Console) -> None:
    """Print the turns; columns in which nothing is to be said are left out."""
    if not lines:
        return
    columns = zip(_HEADS, zip(*map(_cells, lines), strict=True), strict=True)
    aligned = [_aligned(head, cells) for head, cells in columns if any(cells)]
    for at, cells in enumerate(zip(*aligned, strict=True)):
        row = "  ".join(cells)
        if at == 0:
            _print_row(output, row, "first line", style="bold")
            continue
        line = lines[at - 1]
        style = "red" if line.errors or line.open_calls else ""
        _print_row(output, row, escaped(one_line(line.line)), style=style)


def _aligned(head: str, cells: tuple[str, ...]) -> list[str]:
    """A column with its head, every cell of the same width."""
    width = max(map(len, (head, *cells)))
    return [cell.ljust(width) if head == _LEFT else cell.rjust(width) for cell in (head, *cells)]


def _cells(line: TurnLine) -> tuple[str, ...]:
    began = line.time[:16].replace("T", " ")
    took = duration(line.duration_s) if line.duration_s is not None else ""
    errors = line.errors + line.open_calls
    return (str(line.number), began, took, f"{line.calls:,}", f"{errors:,}" if errors else "", f"{line.tokens:,}")


def _print_row(output: Console, cells: str, said: str, *, style: str) -> None:
    """Print a row on one line: the first line of the turn gets the room that is left, in a pipe all that it needs."""
    row = Text(f"{cells}  ", style)
    if output.is_terminal:
        said = cut(said, max(_LEAST_ROOM, output.width - row.cell_len))
    output.print(row.append(said, "bold" if style == "bold" else "not bold default"), soft_wrap=True)
