"""`context-persistent views`: list the requests of a session.

The table is printed while the requests are read: its first line does not wait for the last one. One that fits on some
screens is as wide as what is in it. Of a longer one, the first rows decide how wide the columns are; what does not fit
into one later is folded, in a pipe it stays on its line.

Exit codes: 0 done, 2 unusable.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import click
from rich.console import Console

from ..transcript.request_list import ListedRequest, RequestList
from ..view.receipts import Receipt
from .session_argument import session_argument
from .tables import table
from .terminal import UnusableError, console, escaped, open_transcript, reason

NO_RECEIPTS = (
    "no receipts: no view was requested here, or `receipts` is off. `view` shows what the source of an imported "
    "session gave its model, `replay --views` what a policy would"
)
_AT_ONCE = 200
_GAP = 2
_NAMES = ("request", "time", "messages", "tokens", "plan", "provider", "reasoning", "whole")
_RIGHT = (0, 2, 3)
_LEAST = {"time": 16, "messages": 7, "tokens": 7, "plan": 17, "provider": 10, "reasoning": 9}


@click.command()
@session_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def views(path: str, *, as_json: bool) -> None:
    """List the requests of SESSION.

    For each: number, time, messages, tokens, plan and provider, how many answers it shows without their reasoning since
    what stood before them had changed, and whether `view` can show all of it. A request is listed if its view left a
    receipt in the log.
    """
    with open_transcript(path) as transcript:
        try:
            listed = RequestList(transcript.reader)
            if as_json:
                rows = [{"request": one.number, **receipt_json(one.receipt), "lacks": one.lacks} for one in listed]
                click.echo(json.dumps({"path": transcript.path, "requests": rows, "malformed": listed.malformed}))
            else:
                print_requests(listed, console())
        except (OSError, ValueError) as error:
            raise UnusableError(reason(error)) from error


def receipt_json(receipt: Receipt) -> dict[str, Any]:
    """A receipt as plain JSON types, by the names of its fields."""
    return {
        "id": receipt.id,
        "time": receipt.time,
        "plan": receipt.plan,
        "upto": receipt.upto,
        "messages": receipt.messages,
        "tokens": receipt.tokens,
        "budget_tokens": receipt.budget_tokens,
        "provider": receipt.provider,
        "head": receipt.head,
        "tools": receipt.tools,
        "extras": receipt.extras,
        "bound": receipt.bound,
        "unbound": receipt.unbound,
        "hash": receipt.hash,
    }


def print_requests(listed: RequestList, output: Console) -> None:
    """Print the requests of a log, and how many receipts cannot be read."""
    rows = map(_cells, listed)
    first = list(islice(rows, _AT_ONCE))
    following = next(rows, None)
    if following is not None:
        _print_long(first, following, rows, output, f"{listed.at_most:,}")
    elif first:
        output.print(table(_NAMES, first, right=_RIGHT))
    else:
        output.print(NO_RECEIPTS)
    if listed.malformed:
        output.print(f"{listed.malformed:,} receipts cannot be read")


def _cells(one: ListedRequest) -> list[str]:
    receipt = one.receipt
    cells = [receipt.time[:16].replace("T", " "), f"{receipt.messages:,}", f"{receipt.tokens:,}"]
    named = map(escaped, [*cells, receipt.plan, receipt.provider])
    reasoning = f"{receipt.unbound:,} out" if receipt.unbound else "valid"
    return [f"{one.number:,}", *named, reasoning, "no" if one.lacks else "yes"]


def _print_long(
    first: Sequence[list[str]], following: list[str], rows: Iterator[list[str]], output: Console, last_number: str
) -> None:
    """Print rows as they come, in columns that do not change."""
    widths = _widths(first, output.width, last_number)
    output.print(table(_NAMES, first, right=_RIGHT, widths=widths))
    row: list[str] | None = following
    while row is not None:
        fits = all(len(cell) <= width and cell.isascii() for cell, width in zip(row, widths, strict=True))
        if fits or not output.is_terminal:
            aligned = [
                cell.rjust(width) if at in _RIGHT else cell.ljust(width)
                for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            output.file.write((" " * _GAP).join(aligned) + "\n")  # hundreds of thousands of rows are no table's work
        else:
            output.print(table(_NAMES, [row], right=_RIGHT, widths=widths, has_heads=False))
        row = next(rows, None)


def _widths(rows: Sequence[Sequence[str]], most: int, last_number: str) -> list[int]:
    """How wide the columns are, in which later rows most likely fit too."""
    widths = {}
    for name, cells in zip(_NAMES, zip(*rows, strict=True), strict=True):
        widths[name] = max(len(name), _LEAST.get(name, 0), *map(len, cells))
    widths["request"] = max(widths["request"], len(last_number))
    fixed = sum(width for name, width in widths.items() if name not in ("plan", "provider"))
    left = max(0, most - _GAP * (len(_NAMES) - 1) - fixed)
    if widths["plan"] + widths["provider"] > left:
        most_plan = min(left - len("provider"), max(left // 2, left - widths["provider"]))
        widths["plan"] = max(len("plan"), min(widths["plan"], most_plan))
        widths["provider"] = max(len("provider"), left - widths["plan"])
    return [widths[name] for name in _NAMES]
