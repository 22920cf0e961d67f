"""`context-persistent compare`: what other policies would have shown the model, and what they would have cost.

Exit codes: 0 played, 2 unusable.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from ...log.atomic_file import NewFile, check_free
from ...log.check_replaceable import check_replaceable
from ...sessions.prices import PriceList
from ..replay import compare as play_all
from ..replay.api import Comparison, Measures, Replayed
from ..replay.measures import Prices
from ..replay.policies import NAMES
from .chart import svg
from .error_messages import UnusableError, making, unreadable, unusable
from .open_transcript import open_transcript
from .parameters import check_place
from .progress import progress, stages
from .session_argument import session_argument, session_name
from .session_budget import session_budget
from .tables import show_table
from .terminal import console, counted, escaped, one_line

DEFAULT_POLICIES = ("none", "sliding", "default")
_HEADS = (
    "cache\nbreaks",
    "read from\ncache",
    "billed\ntokens",
    "share of\nfull bill",
    "needed:\nkept",
    "needed:\nfound",
    "reasoning\nleft out",
)
"""The heads of the columns after the policy, in the order of the columns."""

_LEGEND = (
    (
        _HEADS[0],
        "cache breaks: views that are not the view before plus new messages, so that the provider's cache ends there",
    ),
    (_HEADS[1], "read from cache: the share of all input tokens"),
    (_HEADS[2], "billed tokens: input x 1.25, or x 0.1 if read from the cache"),
    (_HEADS[3], "full bill: if everything were sent every time"),
    (
        _HEADS[4],
        "needed, kept: names that the next action uses, last seen over 20 messages before it, and that are in the view",
    ),
    (_HEADS[5], "needed, found: such names in the view, or found by one recall"),
    (
        _HEADS[6],
        "reasoning left out: requests that show an answer without its reasoning, as what stood before it had changed",
    ),
)
"""The meanings of columns, by their heads."""


@click.command()
@session_argument
@click.option(
    "--policy",
    "policies",
    multiple=True,
    default=DEFAULT_POLICIES,
    show_default=True,
    help=f"A policy to play: {', '.join(NAMES)}; with options as in truncate:target_usage=0.4. Repeat it.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    help="The budget in tokens of every request; by default that of the session's last one, or 200,000.",
)
@click.option("--price-input", "base", type=click.FloatRange(min=0), help="Price of a million input tokens.")
@click.option(
    "--price-cached",
    "cached",
    type=click.FloatRange(min=0),
    help="Price of a million cached input tokens; by default a tenth of --price-input.",
)
@click.option(
    "--price-write",
    "write",
    type=click.FloatRange(min=0),
    help="Price of a million input tokens written to the cache; by default 1.25 times --price-input.",
)
@click.option("--model", help="A model whose list prices are used (see `stats`), instead of the three prices.")
@click.option(
    "--tokenizer", default="auto", show_default=True, help="The tokenizer: auto, estimate, or an encoding's name."
)
@click.option(
    "--svg", "svg_path", callback=check_place, type=click.Path(dir_okay=False), help="Write a chart to this file."
)
@click.option("--force", is_flag=True, help="Replace the chart's file if it exists.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def compare(
    path: str,
    policies: tuple[str, ...],
    budget: int | None,
    base: float | None,
    cached: float | None,
    write: float | None,
    model: str | None,
    tokenizer: str,
    svg_path: str | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Play SESSION under several policies and compare what each costs and keeps.

    A view is requested before each assistant message. With prices, tokens that the request before began with are
    billed as cached.
    """
    if svg_path is not None and os.path.lexists(svg_path):
        with making(svg_path, force=force):
            check_replaceable(svg_path, own=path)
            check_free(svg_path, replace=force)
    if model is not None and (base, cached, write) != (None, None, None):
        raise click.UsageError("give either --model or prices")
    with unreadable():
        prices = Prices.of(base=base, cached=cached, write=write) if model is None else _list_prices(model)
        with progress(path) as files:
            transcript = open_transcript(path, files=files)
        with transcript, stages() as tell:
            budget_tokens = budget or session_budget(transcript)
            comparison = play_all(transcript, policies, budget_tokens=budget_tokens, tokenizer=tokenizer, progress=tell)
    if svg_path is not None:
        title = f"{session_name(path)}: tokens of each request"
        series = {replay.policy: replay.measures.request_tokens for replay in comparison.replayed}
        with unusable(svg_path), NewFile(svg_path, replace=True) as file:
            file.write(svg(series, budget_tokens, title=one_line(title)).encode("utf-8"))
            file.finish()
    if as_json:
        click.echo(json.dumps(_as_json(path, comparison, prices)))
    else:
        show(session_name(path), comparison, prices, console())


def _list_prices(model: str) -> Prices:
    list_price = PriceList().of(model)
    if list_price is None:
        raise UnusableError(f"{one_line(model)}: no list price of this model is known; give prices")
    return Prices(cached=list_price.cached, write=list_price.write)


def show(name: str, comparison: Comparison, prices: Prices | None, output: Console) -> None:
    """Print the table, and the meanings of its columns."""
    whole = comparison.whole
    output.print(Text(escaped(one_line(name)), "bold"), soft_wrap=True)
    output.print(
        f"{counted(comparison.messages, 'message')} of {counted(whole.session_tokens, 'token')}, "
        f"{counted(whole.requests, 'request')}, a budget of {counted(comparison.budget_tokens, 'token')}; counted by "
        f"{one_line(comparison.tokenizer)}"
    )
    if not whole.requests:
        output.print("no requests to play: there is one before each assistant message, and the session has none")
        return
    heads = ["policy", *_HEADS]
    if prices is not None:
        heads.append("cost")
    shown_heads = show_table(output, heads, [_cells(replay, prices) for replay in comparison.replayed])
    output.print()
    for replay in comparison.replayed:
        for complaint in _complaints(replay.measures):
            output.print(Text(f"{one_line(replay.policy)}: {complaint}", "bold red"))
    for head, meaning in _LEGEND:
        if head in shown_heads:
            output.print(Text(meaning, "dim"))


def _cells(replayed: Replayed, prices: Prices | None) -> list[str]:
    measures = replayed.measures
    cells = [
        replayed.policy,
        f"{measures.breaks:,}",
        f"{measures.cached_share:.1%}",
        f"{measures.billed:,.0f}",
        f"{measures.billed_ratio or 0:.3f}",
        f"{measures.far:.3f}",
        f"{measures.recoverable:.3f}",
        f"{measures.unbound:,}",
    ]
    if prices is not None:
        cells.append(f"{prices.cost(measures):,.2f}")
    return cells


def _complaints(measures: Measures) -> Iterator[str]:
    if measures.refused:
        yield f"{measures.refused:,} requests refused: nothing could be made to fit"
    if measures.over:
        yield f"{measures.over:,} views over the budget"


def _as_json(path: str, comparison: Comparison, prices: Prices | None) -> dict[str, Any]:
    rows = []
    for replay in comparison.replayed:
        row = {**replay.measures.as_json(), "session": path}
        if prices is not None:
            row["cost"] = round(prices.cost(replay.measures), 6)
        rows.append(row)
    return {
        "path": path,
        "messages": comparison.messages,
        "tokens": comparison.whole.session_tokens,
        "requests": comparison.whole.requests,
        "budget_tokens": comparison.budget_tokens,
        "tokenizer": comparison.tokenizer,
        "prices": {"cached": prices.cached, "write": prices.write} if prices is not None else None,
        "policies": rows,
    }
