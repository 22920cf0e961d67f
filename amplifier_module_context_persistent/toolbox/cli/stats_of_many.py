"""The totals of many sessions, printed by `stats`: by day, project, session, model or tool."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import click
from rich.console import Console

from ...sessions.costs import Bill, Cost
from ...sessions.filters import SessionFilter
from ...sessions.find_session import SessionFile
from ...sessions.prices import PriceList
from ...sessions.session_name import names_of
from ...sessions.totals import GatheredFigures, SlowCallRow, Total, slowest_calls, total_of, totals
from ...tokens.counter import TokenCounter
from .amounts import money_of
from .filter_options import period_of
from .many_sessions import gathering, source_line, source_of
from .session_rows import scaled
from .short_ids import shortest_ids
from .tables import cost_notes, percent, show_cost, show_notes, show_table, show_waiting, without_empty
from .terminal import console, duration, escaped

_UNITS = "kMGT"
_UNKNOWN = "?"
_OF_CALLS = frozenset(one.name for one in fields(Total)) - {"sessions", "sub_agents", "bill"}
"""What a model has none of: in the row of a model it is null."""
_OF_REQUESTS = frozenset(Bill().to_json()) | {"turns"}
"""What a tool has none of."""


def show_many(
    sessions: Sequence[SessionFile],
    counter: TokenCounter,
    prices: PriceList,
    *,
    by: str | None,
    top: int | None,
    wanted: SessionFilter,
    as_json: bool,
) -> None:
    """Print the totals of sessions.

    Args:
        sessions: the sessions.
        counter: counts tokens.
        prices: prices of models.
        by: one of `totals.BY`; without it by model and tool, and the slowest calls.
        top: the number of rows of `by`, the most expensive ones; None for all.
        wanted: the filter that chose the sessions; only requests and calls in its period count.
        as_json: print one JSON object.

    Raises:
        UnusableError: the figures cannot be added up.
    """
    period, names = period_of(wanted), dict[str, str]()
    with gathering(sessions, counter) as found:
        total, slowest = total_of(found, prices, period), slowest_calls(found, period)
        parts = {key: totals(found, prices, key, period) for key in ([by] if by else ("model", "tool"))}
        source, line = (
            source_of(found, period.until_s),
            source_line(found, until_s=period.until_s, is_newest=wanted.most is not None),
        )
        if by is not None and top is not None:
            parts[by] = _dearest(parts[by], top)
        if by == "session":
            names = _names(found, parts[by])
    cost = Cost(total.bill, {name: one.bill for name, one in parts.get("model", {}).items()})
    if as_json:
        told = {
            **source,
            "total": total.to_json(),
            **{f"by_{name}": _plain(name, rows, names) for name, rows in parts.items()},
            "slowest": [asdict(call) for call in slowest],
            "prices": prices.origins(),
            "unpriced_models": prices.unpriced(),
        }
        click.echo(json.dumps(told))
        return
    output = console()
    output.print(escaped(line), soft_wrap=True)
    notes = cost_notes(cost, prices)
    if by in ("day", "week", "month", "project", "session"):
        _show_parts(output, by, parts[by], total, names)
        show_notes(output, notes)
    if "model" in parts:
        show_cost(output, cost, notes)
    if "tool" in parts:
        _show_tools(output, parts["tool"], slowest)


def _dearest(parts: Mapping[str, Total], most: int) -> Mapping[str, Total]:
    """The parts that cost most; of those that cost nothing, the ones with the most calls."""
    ranked = sorted(parts.items(), key=lambda part: (-part[1].bill.cost, -part[1].calls, part[0]))
    return dict(ranked[:most])


def _names(found: GatheredFigures, ids: Collection[str]) -> dict[str, str]:
    """The names of sessions by their ids; sessions without a name are left out."""
    rows = found.connection.execute("SELECT name, path FROM logs WHERE name = root ORDER BY path").fetchall()
    wanted = [(session_id, path) for session_id, path in rows if session_id in ids]
    named = zip(wanted, names_of(path for _, path in wanted), strict=True)
    return {session_id: name.name for (session_id, _), name in named if name.name}


def _plain(by: str, rows: Mapping[str, Total], names: Mapping[str, str]) -> list[dict[str, Any]]:
    foreign = {"model": _OF_CALLS, "tool": _OF_REQUESTS}.get(by, frozenset())
    told = [
        {by: key or None, **{name: None if name in foreign else value for name, value in one.to_json().items()}}
        for key, one in rows.items()
    ]
    return [{**row, "name": names.get(str(row[by]), "")} for row in told] if by == "session" else told


def _show_parts(output: Console, by: str, parts: Mapping[str, Total], total: Total, names: Mapping[str, str]) -> None:
    """Print the parts and their sum; columns in which nothing is to be said are left out."""
    heads = (by, "name", "sessions", "agents", "turns", "calls", "failed", "input", "cached", "output", "cost")
    short = shortest_ids(parts) if by == "session" and output.is_terminal else {}
    rows = [_cells(short.get(key, key) or _UNKNOWN, names.get(key, ""), one) for key, one in parts.items()]
    rows += [_cells("all", "", total)] * (len(rows) > 1)
    said, cells = without_empty(heads, rows)
    show_table(output, said, cells)


def _cells(key: str, name: str, one: Total) -> tuple[str, ...]:
    bill, counts = one.bill, (one.sessions, one.sub_agents, one.turns, one.calls, one.failed_calls)
    paid: tuple[str, ...] = (
        scaled(bill.input_tokens, _UNITS) if bill.has_input else _UNKNOWN,
        percent(bill.cached_tokens, bill.input_tokens) if bill.has_input else "",
        "~" * bool(bill.estimated_outputs) + scaled(bill.output_tokens, _UNITS),
        money_of(bill),
    )
    if not bill.requests:
        paid = ("",) * len(paid)
    return (key, name, *(f"{count:,}" if count else "" for count in counts), *paid)


def _show_tools(output: Console, tools: Mapping[str, Total], slowest: Sequence[SlowCallRow]) -> None:
    heads = ("tool", "calls", "failed", "tokens of results", "took", "median", "longest")
    rows = []
    for name, one in tools.items():
        counts = (f"{one.calls:,}", f"{one.failed_calls:,}", f"{one.result_tokens:,}")
        times = (one.calls_s, one.median_s or 0.0, one.slowest_s)
        took = map(duration, times) if one.calls_s else ("",) * len(times)
        rows.append((name or _UNKNOWN, *counts, *took))
    show_table(output, heads, rows)
    if any(one.calls_s for one in tools.values()):
        show_waiting(output)
    short = shortest_ids(call.session for call in slowest) if output.is_terminal else {}
    show_table(
        output,
        ("slowest calls of", "turn", "message", "tool", "took"),
        [
            (
                short.get(call.session, call.session),
                f"{call.turn:,}",
                f"{call.place:,}",
                call.tool,
                duration(call.duration_s),
            )
            for call in slowest
        ],
    )
