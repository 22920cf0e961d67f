"""What `context-persistent stats` says of many sessions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from ..tokens.counter import TokenCounter
from ..tokens.prices import PRICES_AS_OF, Prices
from ..transcript.cost import Cost
from ..transcript.sessions import SessionFile
from ..transcript.totals import Slow, Total, slowest_calls, total_of, totals
from .cost_table import cost_notes, money, percent, show_cost
from .list_ import scaled
from .many_sessions import gathering, source_line, source_of
from .tables import show_table
from .terminal import console, duration, escaped

_UNITS = "kMGT"
_UNKNOWN = "?"


def show_many(
    sessions: Sequence[SessionFile],
    counter: TokenCounter,
    prices: Prices,
    *,
    by: str | None,
    since_s: float | None,
    as_json: bool,
) -> None:
    """Print what sessions come to.

    Args:
        sessions: which ones.
        counter: counts tokens.
        prices: prices of models.
        by: one of `totals.BY`; without it by model and tool, and the slowest calls.
        since_s: only what happened since then, in seconds since 1970.
        as_json: print one JSON object.

    Raises:
        UnusableError: the figures cannot be added up.
    """
    with gathering(sessions, counter) as found:
        total, slowest = total_of(found, prices, since_s), slowest_calls(found, since_s)
        parts = {key: totals(found, prices, key, since_s) for key in ([by] if by else ("model", "tool"))}
        source, line = source_of(found), source_line(found)
    cost = Cost(total.bill, {name: one.bill for name, one in parts.get("model", {}).items()})
    if as_json:
        told = {
            **source,
            "total": total.to_json(),
            **{f"by_{name}": _plain(name, rows) for name, rows in parts.items()},
            "slowest": [asdict(call) for call in slowest],
            "prices_as_of": None if prices.has_own else PRICES_AS_OF,
        }
        click.echo(json.dumps(told))
        return
    output = console()
    output.print(escaped(line), soft_wrap=True)
    notes = cost_notes(cost, prices)
    if by in ("day", "project", "session"):
        _show_parts(output, by, parts[by], total)
        output.print(Text("; ".join(notes), "dim"))
    if "model" in parts:
        show_cost(output, cost, notes)
    if "tool" in parts:
        _show_tools(output, parts["tool"], slowest)


def _plain(name: str, rows: Mapping[str, Total]) -> list[dict[str, Any]]:
    return [{name: key or None, **one.to_json()} for key, one in rows.items()]


def _show_parts(output: Console, by: str, parts: Mapping[str, Total], total: Total) -> None:
    """Print the parts and their sum; columns in which nothing is to be said are left out."""
    heads = (by, "sessions", "agents", "turns", "calls", "failed", "input", "cached", "output", "cost")
    rows = [_cells(key or _UNKNOWN, one) for key, one in parts.items()]
    rows += [_cells("all", total)] * (len(rows) > 1)
    said = [at for at in range(len(heads)) if any(row[at] for row in rows)]
    show_table(output, [heads[at] for at in said], [[row[at] for at in said] for row in rows])


def _cells(key: str, one: Total) -> tuple[str, ...]:
    bill, counts = one.bill, (one.sessions, one.sub_agents, one.turns, one.calls, one.failed_calls)
    paid = (
        scaled(bill.input_tokens, _UNITS),
        percent(bill.cached_tokens, bill.input_tokens),
        scaled(bill.output_tokens, _UNITS),
        money(bill.cost) if bill.requests > bill.unpriced_requests else "",
    )
    return (key, *(f"{count:,}" if count else "" for count in counts), *(paid if bill.requests else [""] * len(paid)))


def _show_tools(output: Console, tools: Mapping[str, Total], slowest: Sequence[Slow]) -> None:
    heads = ("tool", "calls", "failed", "tokens of results", "took", "longest")
    rows = []
    for name, one in tools.items():
        counts = (f"{one.calls:,}", f"{one.failed_calls:,}", f"{one.result_tokens:,}")
        took = (duration(one.calls_s), duration(one.slowest_s)) if one.calls_s else ("", "")
        rows.append((name or _UNKNOWN, *counts, *took))
    show_table(output, heads, rows)
    show_table(
        output,
        ("slowest calls of", "turn", "message", "tool", "took"),
        [(call.session, f"{call.turn:,}", f"{call.place:,}", call.tool, duration(call.duration_s)) for call in slowest],
    )
