"""`context-persistent sql`: query the figures of sessions in SQL.

Exit codes: 0 done, even without rows; 2 the query cannot be answered.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from ...sessions.filters import SessionFilter
from ...sessions.prices import PriceList
from ...sessions.sql_query import Answer, add_files, add_views, ask
from ...tokens.on_demand import named_counter
from .error_messages import UnusableError, unusable
from .exit_codes import UNUSABLE
from .filter_options import chosen_sessions, filter_options
from .many_sessions import gathering, source_line, source_of
from .read_from_replica import read_replica
from .session_argument import no_catalogue_option, storage_option
from .tables import table, width_of
from .terminal import console, escaped, one_line

_LATE_S = 0.5
_FILES = re.compile(r"\bfiles(?:_v\d+)?\b", re.IGNORECASE)


@click.command("sql")
@storage_option
@click.argument("query", required=False)
@filter_options()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, with the names of the columns.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=1_000, show_default=True, help="Print at most this number of rows."
)
@click.option(
    "--timeout", type=click.FloatRange(0.1, 3600), default=10.0, show_default=True, help="The longest time in seconds."
)
@click.option(
    "--tokenizer", default="auto", show_default=True, help="The tokenizer: auto, estimate, or an encoding's name."
)
@click.option(
    "--prices",
    "prices_path",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="A JSON file with prices, as for `stats`.",
)
@no_catalogue_option
def sql(
    query: str | None,
    *,
    everywhere: bool,
    wanted: SessionFilter,
    as_json: bool,
    as_csv: bool,
    limit: int,
    timeout: float,
    tokenizer: str,
    prices_path: str | None,
) -> None:
    """Ask in SQL about the figures of sessions.

    QUERY is one SELECT over views of sessions, turns, calls, requests, compactions and files, in the SQL of SQLite.
    If QUERY is -, it is read from the standard input. Without QUERY, the views and their columns are listed. The views
    contain this project's sessions, or those that filters choose. A query can read these views only, and write nothing.
    They hold no text of messages.

    The error stream, and with --json the object, tells which sessions the answer is from, the time up to which they are
    counted, and which sessions could not be read.
    """
    read_replica()
    if as_json and as_csv:
        raise click.UsageError("give either --json or --csv")
    with unusable():
        prices = PriceList.load(prices_path) if prices_path is not None else PriceList()
        counter = named_counter(tokenizer)
    if query == "-":
        query = sys.stdin.read()
    if query is None:
        with gathering([], counter) as figures:
            _list_views(add_views(figures, prices), as_json=as_json)
        return
    _check_text(query)
    with gathering(chosen_sessions(wanted, everywhere=everywhere), counter) as figures:
        if _FILES.search(query):
            add_files(figures)
        add_views(figures, prices)
        with unusable(), _ending_after(timeout + _LATE_S):
            answer = ask(figures, query, most_rows=limit, timeout_s=timeout)
        source, line = source_of(figures), source_line(figures)
    if as_json:
        rows_json = [_row_as_json(answer.columns, row) for row in answer.rows]
        click.echo(json.dumps({"columns": answer.columns, "rows": rows_json, "is_cut": answer.is_cut, **source}))
        return
    rows = [[_cell(cell) for cell in row] for row in answer.rows]
    if as_csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows([map(escaped, answer.columns), *rows])
    elif rows:
        _show(console(), answer, rows)
    sys.stdout.flush()
    more = f"; only the first {limit:,} rows, --limit gives more" if answer.is_cut else ""
    click.echo(escaped(f"from {line}{more}"), err=True)


def _show(output: Console, answer: Answer, rows: Sequence[Sequence[str]]) -> None:
    """Print the rows of an answer as a table; in a narrow terminal print one value on each line, as `psql` does."""
    heads = [escaped(one_line(name)) for name in answer.columns]
    if not output.is_terminal or width_of(heads, rows) <= output.width:
        output.print(table(answer.columns, rows, right=_numbers(answer)))
        return
    widest = max(map(cell_len, heads))
    for number, row in enumerate(rows, 1):
        output.print(Text(f"-[ {number:,} ]".ljust(min(output.width, widest + len("-[ 1 ]")), "-"), "bold"))
        for head, cell in zip(heads, row, strict=True):
            output.print(Text(f"{set_cell_size(head, widest)} | {one_line(cell)}"), soft_wrap=True)


def _check_text(query: str) -> None:
    """Check that a query is valid UTF-8 text.

    Raises:
        UnusableError: the query has a byte that is not UTF-8, or half of a surrogate pair.
    """
    try:
        query.encode()
    except UnicodeEncodeError as error:
        raise UnusableError(f"the query is not UTF-8 at character {error.start + 1}; give it in UTF-8") from error


@contextmanager
def _ending_after(seconds: float) -> Iterator[None]:
    """End the process if a block takes more than this many seconds.

    A single function call of SQLite cannot be interrupted otherwise.
    """

    def end() -> None:
        os.write(2, b"Error: the query takes too long\n")
        os._exit(UNUSABLE)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _list_views(views: dict[str, list[str]], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"views": views}))
        return
    for name, columns in views.items():
        click.echo(f"{name}: {', '.join(columns)}")


def _numbers(answer: Answer) -> list[int]:
    """Return the positions of the columns without texts and bytes."""

    def has_text(column: int) -> bool:
        return any(isinstance(row[column], str | bytes) for row in answer.rows)

    return [column for column in range(len(answer.columns)) if not has_text(column)]


def _plain(cell: Any) -> Any:
    """Return a cell as a plain JSON type: bytes in hexadecimal digits, None for infinities and NaN."""
    if isinstance(cell, bytes):
        return cell.hex()
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    return cell


def _row_as_json(columns: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    """Return a row as plain JSON types, by column."""
    return {column: _plain(cell) for column, cell in zip(columns, row, strict=True)}


def _cell(cell: Any) -> str:
    """Return a cell as text: bytes in hexadecimal digits, "" for NULL."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return escaped(cell)
    if isinstance(cell, bytes):
        return cell.hex()
    return str(cell)
