"""Print the totals of many sessions, by one or two of: day, project, session, tag, model, tool."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from ...sessions.filters import SessionFilter
from ...sessions.gather_figures import GatheredFigures
from ...sessions.prices import PriceList
from ...sessions.request_costs import Bill, Cost
from ...sessions.session_files import SessionFile
from ...sessions.session_name import read_names
from ...sessions.totals import SlowCallRow, Total, slowest_calls, total_of, totals_by
from .amounts import money_of
from .filter_options import period_of
from .many_sessions import gathering, source_line, source_of
from .session_rows import scaled
from .short_ids import shortest_ids
from .tables import cost_notes, percent, show_cost, show_notes, show_table, show_waiting, without_empty
from .terminal import console, duration, escaped

if TYPE_CHECKING:
    from ...tokens.counter import TokenCounter

_UNITS = "kMGT"
_UNKNOWN = "?"
_UNKNOWNS = {"tag": "no tag", "project": "no project"}
"""The words shown for sessions without a tag or a project; other missing keys are shown as `?`."""
_OF_CALLS = frozenset(column.name for column in fields(Total)) - {"sessions", "sub_agents", "bill"}
"""The figures about calls. They are null in a row for a model, because a model makes no calls."""
_OF_REQUESTS = frozenset(Bill().to_json()) | {"turns"}
"""The figures about requests. They are null in a row for a tool, because a tool makes no requests."""


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
        sessions: the sessions to add up.
        counter: counts tokens.
        prices: prices of models.
        by: one or two of `totals.BY`; if empty, print totals by model and by tool, and the slowest calls.
        top: the number of rows of `by` to print, the most expensive first; None for all.
        wanted: the filter that chose the sessions; only requests and calls in its period count.
        as_json: print one JSON object.

    Raises:
        UnusableError: the figures cannot be added up.
    """
    period = period_of(wanted)
    names = dict[str, str]()
    with gathering(sessions, counter) as figures:
        total = total_of(figures, prices, period)
        slowest = slowest_calls(figures, period)
        kinds = [tuple(by)] if by else [_BY_MODEL, _BY_TOOL]
        parts = {kind: totals_by(figures, prices, kind, period) for kind in kinds}
        source = source_of(figures, period.until_s)
        line = source_line(figures, until_s=period.until_s, is_newest=wanted.most is not None)
        if by and top is not None:
            parts = {kind: _dearest(rows, top) for kind, rows in parts.items()}
        if "session" in by:
            place = list(by).index("session")
            names = _names(figures, {key[place] for key in parts[tuple(by)]})
    if as_json:
        result = {**source, "total": total.to_json()}
        for kind, rows in parts.items():
            result[f"by_{'_'.join(kind)}"] = _plain(kind, rows, names)
        result["slowest"] = [asdict(call) for call in slowest]
        result["prices"] = prices.origins()
        result["unpriced_models"] = prices.unpriced()
        click.echo(json.dumps(result))
        return
    output = console()
    output.print(escaped(line), soft_wrap=True)
    bills = {model: total_of_model.bill for (model,), total_of_model in parts.get(_BY_MODEL, {}).items()}
    cost = Cost(total.bill, bills)
    notes = cost_notes(cost, prices)
    if _BY_TOOL in parts:
        _show_slowest(output, slowest)
        _show_tools(output, parts[_BY_TOOL])
    if _BY_MODEL in parts:  # last, so that the terminal ends with the cost
        show_cost(output, cost, notes)
    if by and tuple(by) not in (_BY_MODEL, _BY_TOOL):
        _show_parts(output, by, parts[tuple(by)], total, names)
        _show_notes_on_parts(output, by, notes)


def _show_notes_on_parts(output: Console, by: Sequence[str], notes: list[str]) -> None:
    """Print the notes below a table of parts; notes on the cost only if the table has costs."""
    show_notes(output, notes if "tool" not in by else [])
    if "tag" in by:
        show_notes(output, ["a session with several tags counts for each of them, and once in `all`"])


_BY_MODEL = ("model",)
_BY_TOOL = ("tool",)


Parts = Mapping[tuple[str, ...], Total]
"""Totals by key; a key has a value for each criterion, of which there are one or two."""


def _dearest(parts: Parts, most: int) -> Parts:
    """Return the `most` parts with the highest cost; of parts with equal costs, the ones with the most calls."""
    ranked = sorted(parts.items(), key=lambda part: (-part[1].bill.cost, -part[1].calls, part[0]))
    return dict(ranked[:most])


def _names(figures: GatheredFigures, ids: Collection[str]) -> dict[str, str]:
    """Return the names of sessions by id; sessions without a name are left out."""
    rows = figures.connection.execute("SELECT name, path FROM logs WHERE name = root ORDER BY path").fetchall()
    wanted = [(session_id, path) for session_id, path in rows if session_id in ids]
    names = zip(wanted, read_names(path for _, path in wanted), strict=True)
    return {session_id: name.name for (session_id, _), name in names if name.name}


def _plain(by: Sequence[str], rows: Parts, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rows as plain JSON types; figures that a model or a tool cannot have are None."""
    foreign: frozenset[str] = frozenset()
    if "model" in by:
        foreign = _OF_CALLS
    elif "tool" in by:
        foreign = _OF_REQUESTS
    rows_json = list[dict[str, Any]]()
    for key, total in rows.items():
        row: dict[str, Any] = {name: part or None for name, part in zip(by, key, strict=True)}
        for name, value in total.to_json().items():
            row[name] = None if name in foreign else value
        if "session" in by:
            row["name"] = names.get(str(row["session"]), "")
        rows_json.append(row)
    return rows_json


def _show_parts(output: Console, by: Sequence[str], parts: Parts, total: Total, names: Mapping[str, str]) -> None:
    """Print the parts and their sum; empty columns are left out."""
    counts = ("sessions", "agents", "turns", "calls", "failed", "took", "median")
    heads = (*by, "name", *counts, "input", "cached", "output", "cost")
    short_ids: Mapping[str, str] = {}
    if "session" in by and output.is_terminal:
        place = list(by).index("session")
        short_ids = shortest_ids(key[place] for key in parts)
    rows = []
    for key, total_of_key in parts.items():
        name = ""
        shown_key = []
        for kind, part in zip(by, key, strict=True):
            if kind == "session":
                name = names.get(part, "")
                part = short_ids.get(part, part)
            shown_key.append(part or _UNKNOWNS.get(kind, _UNKNOWN))
        rows.append([*shown_key, name, *_cells(total_of_key, by)])
    if len(rows) > 1:
        no_key = [""] * len(by)
        rows.append(["all", *no_key, *_cells(total, by)])
    heads_left, rows_left = without_empty(heads, rows)
    show_table(output, heads_left, rows_left)


def _cells(total: Total, by: Sequence[str]) -> list[str]:
    """Return the cells of a row: counts, times, and the cost of the requests. Cells that do not fit `by` are empty."""
    sessions = [total.sessions, total.sub_agents]
    if "tool" in by:  # requests and their cost do not belong to a tool
        counts = [*sessions, 0, total.calls, total.failed_calls]
        return [*map(_count, counts), *_times(total), *_NO_BILL]
    counts = [*sessions, total.turns, total.calls, total.failed_calls]
    if "model" in by:  # turns and calls do not belong to a model
        counts = [*sessions, 0, 0, 0]
    bill_cells = _bill_cells(total.bill) if total.bill.requests else _NO_BILL
    return [*map(_count, counts), *_NO_TIMES, *bill_cells]


_NO_TIMES = ("", "")
_NO_BILL = ("", "", "", "")


def _count(count: int) -> str:
    return f"{count:,}" if count else ""


def _times(total: Total) -> tuple[str, str]:
    """Return the sum of the times of calls, and the median."""
    if not total.calls_s:
        return _NO_TIMES
    median = duration(total.median_s) if total.median_s is not None else ""
    return duration(total.calls_s), median


def _bill_cells(bill: Bill) -> tuple[str, str, str, str]:
    """Return the input tokens, the share from a prompt cache, the output tokens and the cost."""
    input_tokens = _UNKNOWN
    cached_share = ""
    if bill.has_input:
        input_tokens = scaled(bill.input_tokens, _UNITS)
        cached_share = percent(bill.cached_tokens, bill.input_tokens)
    about = "~" if bill.estimated_outputs else ""
    return input_tokens, cached_share, about + scaled(bill.output_tokens, _UNITS), money_of(bill)


def _show_tools(output: Console, tools: Parts) -> None:
    heads = ("tool", "calls", "failed", "tokens of results", "took", "median", "longest")
    rows = []
    for (name,), tool_total in tools.items():
        counts = (f"{tool_total.calls:,}", f"{tool_total.failed_calls:,}", f"{tool_total.result_tokens:,}")
        times = (tool_total.calls_s, tool_total.median_s or 0.0, tool_total.slowest_s)
        took = map(duration, times) if tool_total.calls_s else ("",) * len(times)
        rows.append((name or _UNKNOWN, *counts, *took))
    show_table(output, heads, rows)
    if any(tool_total.calls_s for tool_total in tools.values()):
        show_waiting(output)


def _show_slowest(output: Console, slowest: Sequence[SlowCallRow]) -> None:
    short_ids = shortest_ids(call.session for call in slowest) if output.is_terminal else {}
    rows = []
    for call in slowest:
        session = short_ids.get(call.session, call.session)
        rows.append((session, f"{call.turn:,}", f"{call.place:,}", call.tool, duration(call.duration_s)))
    show_table(output, ("slowest calls of", "turn", "message", "tool", "took"), rows)
