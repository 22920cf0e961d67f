"""Print the totals of many sessions, by one or two of: day, project, session, tag, model, tool."""

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
from ...sessions.gather_figures import GatheredFigures
from ...sessions.prices import PriceList
from ...sessions.session_name import read_names
from ...sessions.totals import SlowCallRow, Total, slowest_calls, total_of, totals_by
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
_UNKNOWNS = {"tag": "no tag", "project": "no project"}
"""The words shown for sessions without a tag or a project; other missing keys are shown as `?`."""
_OF_CALLS = frozenset(one.name for one in fields(Total)) - {"sessions", "sub_agents", "bill"}
"""The figures of calls, which a model does not have; they are null in the row of a model."""
_OF_REQUESTS = frozenset(Bill().to_json()) | {"turns"}
"""The figures of requests, which a tool does not have; they are null in the row of a tool."""


def show_many(
    sessions: Sequence[SessionFile],
    counter: TokenCounter,
    prices: PriceList,
    *,
    by: Sequence[str],
    top: int | None,
    wanted: SessionFilter,
    as_json: bool,
) -> None:
    """Print the totals of sessions.

    Args:
        sessions: the sessions.
        counter: counts tokens.
        prices: prices of models.
        by: one or two of `totals.BY`; if empty, print totals by model and by tool, and the slowest calls.
        top: the number of rows of `by` to print, the most expensive first; None for all.
        wanted: the filter that chose the sessions; only requests and calls in its period count.
        as_json: print one JSON object.

    Raises:
        UnusableError: the figures cannot be added up.
    """
    period, names = period_of(wanted), dict[str, str]()
    with gathering(sessions, counter) as found:
        total, slowest = total_of(found, prices, period), slowest_calls(found, period)
        wanted_parts = [tuple(by)] if by else [("model",), ("tool",)]
        parts = {one: totals_by(found, prices, one, period) for one in wanted_parts}
        source, line = (
            source_of(found, period.until_s),
            source_line(found, until_s=period.until_s, is_newest=wanted.most is not None),
        )
        if by and top is not None:
            parts = {one: _dearest(rows, top) for one, rows in parts.items()}
        if "session" in by:
            at = list(by).index("session")
            names = _names(found, {key[at] for key in parts[tuple(by)]})
    cost = Cost(total.bill, {name: one.bill for (name,), one in parts.get(("model",), {}).items()})
    if as_json:
        told = {
            **source,
            "total": total.to_json(),
            **{f"by_{'_'.join(one)}": _plain(one, rows, names) for one, rows in parts.items()},
            "slowest": [asdict(call) for call in slowest],
            "prices": prices.origins(),
            "unpriced_models": prices.unpriced(),
        }
        click.echo(json.dumps(told))
        return
    output = console()
    output.print(escaped(line), soft_wrap=True)
    notes = cost_notes(cost, prices)
    if ("tool",) in parts:
        _show_slowest(output, slowest)
        _show_tools(output, parts[("tool",)])
    if ("model",) in parts:  # last, so that the terminal ends with the cost
        show_cost(output, cost, notes)
    if tuple(by) not in ((), ("model",), ("tool",)):
        _show_parts(output, by, parts[tuple(by)], total, names)
        show_notes(output, notes if "tool" not in by else [])
        if "tag" in by:
            show_notes(output, ["a session with several tags counts for each of them, and once in `all`"])


Parts = Mapping[tuple[str, ...], Total]
"""Totals by the keys of one criterion or two."""


def _dearest(parts: Parts, most: int) -> Parts:
    """Return the parts with the highest cost; among equal costs, those with the most calls."""
    ranked = sorted(parts.items(), key=lambda part: (-part[1].bill.cost, -part[1].calls, part[0]))
    return dict(ranked[:most])


def _names(found: GatheredFigures, ids: Collection[str]) -> dict[str, str]:
    """Return the names of sessions by id; sessions without a name are left out."""
    rows = found.connection.execute("SELECT name, path FROM logs WHERE name = root ORDER BY path").fetchall()
    wanted = [(session_id, path) for session_id, path in rows if session_id in ids]
    named = zip(wanted, read_names(path for _, path in wanted), strict=True)
    return {session_id: name.name for (session_id, _), name in named if name.name}


def _plain(by: Sequence[str], rows: Parts, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rows as plain JSON types; figures that a model or a tool cannot have are None."""
    foreign: frozenset[str] = frozenset()
    if "model" in by:
        foreign = _OF_CALLS
    elif "tool" in by:
        foreign = _OF_REQUESTS
    told = list[dict[str, Any]]()
    for key, total in rows.items():
        row: dict[str, Any] = {name: part or None for name, part in zip(by, key, strict=True)}
        for name, value in total.to_json().items():
            row[name] = None if name in foreign else value
        if "session" in by:
            row["name"] = names.get(str(row["session"]), "")
        told.append(row)
    return told


def _show_parts(output: Console, by: Sequence[str], parts: Parts, total: Total, names: Mapping[str, str]) -> None:
    """Print the parts and their sum; empty columns are left out."""
    counts = ("sessions", "agents", "turns", "calls", "failed", "took", "median")
    heads = (*by, "name", *counts, "input", "cached", "output", "cost")
    rows = []
    for key, one in parts.items():
        name = names.get(key[list(by).index("session")], "") if "session" in by else ""
        rows.append([*(part or _UNKNOWNS.get(kind, _UNKNOWN) for kind, part in zip(by, key, strict=True)), name])
        rows[-1] += _cells(one, by)
    if len(rows) > 1:
        rows.append(["all", *[""] * len(by), *_cells(total, by)])
    if "session" in by and output.is_terminal:
        at = list(by).index("session")
        short = shortest_ids(key[at] for key in parts)
        rows = [[*row[:at], short.get(row[at], row[at]), *row[at + 1 :]] for row in rows]
    said, cells = without_empty(heads, rows)
    show_table(output, said, cells)


def _cells(one: Total, by: Sequence[str]) -> list[str]:
    bill, counts = one.bill, (one.sessions, one.sub_agents, one.turns, one.calls, one.failed_calls)
    if "tool" in by:  # requests and their cost do not belong to a tool
        times = [duration(one.calls_s) if one.calls_s else "", ""]
        if one.calls_s and one.median_s is not None:
            times[1] = duration(one.median_s)
        calls = (one.sessions, one.sub_agents, 0, one.calls, one.failed_calls)
        return [*(f"{count:,}" if count else "" for count in calls), *times, "", "", "", ""]
    if "model" in by:
        counts = (one.sessions, one.sub_agents, 0, 0, 0)
    paid = [
        scaled(bill.input_tokens, _UNITS) if bill.has_input else _UNKNOWN,
        percent(bill.cached_tokens, bill.input_tokens) if bill.has_input else "",
        "~" * bool(bill.estimated_outputs) + scaled(bill.output_tokens, _UNITS),
        money_of(bill),
    ]
    if not bill.requests:
        paid = [""] * len(paid)
    return [*(f"{count:,}" if count else "" for count in counts), "", "", *paid]


def _show_tools(output: Console, tools: Parts) -> None:
    heads = ("tool", "calls", "failed", "tokens of results", "took", "median", "longest")
    rows = []
    for (name,), one in tools.items():
        counts = (f"{one.calls:,}", f"{one.failed_calls:,}", f"{one.result_tokens:,}")
        times = (one.calls_s, one.median_s or 0.0, one.slowest_s)
        took = map(duration, times) if one.calls_s else ("",) * len(times)
        rows.append((name or _UNKNOWN, *counts, *took))
    show_table(output, heads, rows)
    if any(one.calls_s for one in tools.values()):
        show_waiting(output)


def _show_slowest(output: Console, slowest: Sequence[SlowCallRow]) -> None:
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
