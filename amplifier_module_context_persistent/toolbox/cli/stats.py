"""`context-persistent stats`: show how the tokens, the time and the money of sessions were spent.

Exit codes: 0 done, 1 more was spent than `--spend-limit` allows, 2 unusable.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from ...catalogue.kept_figures import Figures, figures_of
from ...catalogue.session_list_cache import keep_glance
from ...log.contract import ReadableLog
from ...sessions.filters import ALL_SESSIONS, SessionFilter
from ...sessions.prices import PriceList
from ...sessions.request_costs import Bill, Cost, bills_by_turn, cost_of
from ...sessions.statistics import (
    SessionCourse,
    Statistics,
    TurnLine,
    UsageReports,
    Views,
    course_of,
    largest_turns,
    statistics_of,
    total_share,
    with_first_lines,
)
from ...sessions.totals import BY, total_of
from ...tokens.on_demand import named_counter
from .amounts import money
from .error_messages import shown_path, unreadable
from .exit_codes import FINDINGS
from .filter_options import check_no_filter, chosen_sessions, filter_options
from .many_sessions import gathering, source_line, source_of
from .open_transcript import open_transcript
from .progress import progress
from .read_from_replica import read_replica
from .sealed_files import reads_sealed
from .session_argument import NAME_ONE, optional_session_argument, picked
from .spend_limit import SpendLimit, SpendLimitType
from .stats_by import ByType, two_at_most
from .stats_of_many import show_many
from .tables import cost_notes, estimate_note, percent, show_cost, show_table, show_waiting
from .terminal import console, counted, duration, escaped, one_line

if TYPE_CHECKING:
    from ...tokens.counter import TokenCounter

_LARGEST_TURNS = 10


@click.command()
@optional_session_argument
@reads_sealed
@filter_options()
@click.option(
    "--by",
    type=ByType(),
    multiple=True,
    help=f"Add up many sessions, by one of {', '.join(BY)}, or by two: project,model.",
)
@click.option(
    "--spend-limit",
    "limit",
    type=SpendLimitType(),
    help="Show what is left of a limit in dollars a day, week or month, such as 50/week. Exits with 1 if exceeded.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--tokenizer", default="auto", show_default=True, help="The tokenizer: auto, estimate, or an encoding's name."
)
@click.option(
    "--top",
    type=click.IntRange(min=0),
    metavar="N",
    help="Only the N largest turns of SESSION (by default 10); with --by, only the N rows that cost most.",
)
@click.option(
    "--prices",
    "prices_path",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="A JSON file with prices of a million tokens by model, used instead of the built-in prices.",
)
def stats(
    path: str | None,
    tokenizer: str,
    top: int | None,
    prices_path: str | None,
    *,
    everywhere: bool,
    wanted: SessionFilter,
    by: tuple[tuple[str, ...], ...],
    limit: SpendLimit | None,
    as_json: bool,
) -> None:
    """Show the tokens, the time and the money that SESSION, or many sessions, used.

    For SESSION, the output has the tokens by role, tool and turn, the largest messages, the slowest calls and the
    compactions. A table by model has the tokens that providers reported, their cost, and the difference from our own
    counts. Messages are counted if they are live. The cost includes all requests.

    With --by or a filter, the sessions of this project are added up; with --all, the sessions of all projects.
    Sub-agents' sessions are included. With --since and --until, only messages, calls and requests of that time count.
    With -n, only the newest sessions count. `--by session --top 5` shows the five sessions that cost most.

    A table of prices looks like this: {"model": {"input": 3, "output": 15, "cached": 0.3, "write": 3.75}}.
    """
    criteria = two_at_most(by)
    is_about_many = everywhere or bool(criteria) or limit is not None or wanted != ALL_SESSIONS
    if path is None and not is_about_many:
        path = picked()
    if path is not None:
        check_no_filter(wanted, everywhere=everywhere)
        if criteria or limit is not None:
            raise click.UsageError("--by and --spend-limit are about many sessions; give it without SESSION or --last")
    elif not is_about_many:
        raise click.UsageError(f"{NAME_ONE}; or give --all, --by or a filter, for many sessions")
    if limit is not None and criteria:
        raise click.UsageError("--spend-limit is about the sum of all: give it without --by")
    if path is None and not criteria and top is not None:
        raise click.UsageError("--top is about the turns of SESSION, or with --by about its rows: give one of the two")
    with unreadable():
        counter = named_counter(tokenizer)
        prices = PriceList.load(prices_path) if prices_path is not None else PriceList()
        if path is None:
            if limit is not None:
                _show_limit(limit, wanted, counter, prices, everywhere=everywhere, as_json=as_json)
                return
            read_replica()
            sessions = chosen_sessions(wanted, everywhere=everywhere)
            show_many(sessions, counter, prices, by=criteria, top=top, wanted=wanted, as_json=as_json)
            return
        _show_one(path, counter, prices, _LARGEST_TURNS if top is None else top, as_json=as_json)


def _show_one(path: str, counter: TokenCounter, prices: PriceList, most_turns: int, *, as_json: bool) -> None:
    """Print the figures of a session, with the `most_turns` largest turns."""
    with (
        ExitStack() as bar,
        open_transcript(path, files=bar.enter_context(progress(path, title="counting", passes=2))) as transcript,
    ):
        reader = transcript.reader
        with figures_of(reader, counter) as figures:
            if not as_json:
                bar.close()  # before anything is printed
                _show_size(console(), reader, figures, counter.name)
            statistics = statistics_of(reader, figures, tokenizer=counter.name, with_turns=as_json)
            cost, bills = cost_of(figures, prices), bills_by_turn(figures, prices)
            course = course_of(figures)
            largest = largest_turns(figures, bills, most_turns)
            lines = with_first_lines(transcript, figures, bills) if as_json else []
        keep_glance(reader)
    if as_json:
        by_turn = [
            {**line.to_json(), "tokens": share.tokens} for line, share in zip(lines, statistics.turns, strict=True)
        ]
        costs = cost.to_json() | _price_facts(prices)
        result = statistics.to_json() | {"path": shown_path(path), "cost": costs, "by_turn": by_turn}
        click.echo(json.dumps(result))
        return
    hidden = cost.total.cost - sum(bill.cost for bill in bills.values())
    show(statistics, course, largest, cost, cost_notes(cost, prices, hidden))


def _price_facts(prices: PriceList) -> dict[str, Any]:
    """Return the origins of the prices, and the models without a price, as plain JSON types."""
    return {"prices": prices.origins(), "unpriced_models": prices.unpriced()}


def _show_limit(
    limit: SpendLimit,
    wanted: SessionFilter,
    counter: TokenCounter,
    prices: PriceList,
    *,
    everywhere: bool,
    as_json: bool,
) -> None:
    """Print how much of a limit is left, and exit with 1 if more was spent.

    Raises:
        UsageError: the filter has a period too.
    """
    if wanted.since_s is not None or wanted.until_s is not None:
        raise click.UsageError("--spend-limit names its time: give it without --since and --until")
    period = limit.period(datetime.now().astimezone())
    sessions = chosen_sessions(replace(wanted, since_s=period.since_s), everywhere=everywhere)
    with gathering(sessions, counter) as figures:
        bill = total_of(figures, prices, period).bill
        source = source_of(figures)
        line = source_line(figures)
    if as_json:
        unpriced = {"unpriced_requests": bill.unpriced_requests}
        click.echo(json.dumps({**limit.to_json(bill), **unpriced, **_price_facts(prices), **source}))
    else:
        click.echo(limit.line(bill))
        click.echo(escaped(f"{line}{_doubts(bill, prices)}"), err=True)
    if limit.is_exceeded(bill):
        click.get_current_context().exit(FINDINGS)


def _doubts(bill: Bill, prices: PriceList) -> str:
    """Return notes on the unknown parts of a bill: requests without a cost, and estimates.

    Return "" if there are none.
    """
    doubts = ""
    unknown = bill.unpriced_requests + bill.unreported_requests
    if unknown:
        models = ", ".join(name for name in prices.unpriced() if name)
        model_names = f" ({models})" if models else ""
        doubts += f"; {counted(unknown, 'request')} more, whose cost is not known{model_names}"
    if bill.is_estimated:
        doubts += f"; {estimate_note(bill)}"
    return doubts


def show(statistics: Statistics, course: SessionCourse, largest: list[TurnLine], cost: Cost, notes: list[str]) -> None:
    """Print the figures of a session as tables."""
    output = console()
    _show_course(output, course)
    if statistics.damage:
        output.print(f"{counted(statistics.damage, 'finding')} of damage; `verify` lists them")
    _show_shares(output, statistics)
    _show_turns(output, largest)
    if 0 < len(largest) < course.turns:
        output.print(f"the {len(largest):,} largest of {counted(course.turns, 'turn')}; --top {course.turns} shows all")
    _show_largest(output, statistics)
    _show_slowest(output, statistics)
    _show_plans(output, statistics)
    show_cost(output, cost, notes)
    _show_views(output, statistics.views)
    _show_usage(output, statistics.usage)


def _show_size(output: Console, reader: ReadableLog, figures: Figures, tokenizer: str) -> None:
    """Print the size of a session, before the other figures of a long session are computed."""
    total = total_share(figures)
    size = counted(reader.describe().size_bytes, "byte")
    output.print(
        f"{counted(total.messages, 'message')}, {counted(total.tokens, 'token')} ({one_line(tokenizer)}), {size}"
    )


def _show_course(output: Console, course: SessionCourse) -> None:
    """Print the number of turns and calls, the duration, and the number of failed and unanswered calls."""
    if not course.turns:
        return
    time = f" in {duration(course.duration_s)}" if course.duration_s is not None else ""
    wrong = [f"{course.errors:,} failed"] * bool(course.errors)
    wrong += [f"{course.open_calls:,} without a result"] * bool(course.open_calls)
    output.print(", ".join([f"{counted(course.turns, 'turn')}{time}", counted(course.calls, "call"), *wrong]))


def _show_shares(output: Console, statistics: Statistics) -> None:
    """Print the tokens by role and by tool."""
    rows_of_roles = []
    for role, part in sorted(statistics.roles.items(), key=lambda item: -item[1].tokens):
        share = percent(part.tokens, statistics.total.tokens)
        rows_of_roles.append((role, f"{part.messages:,}", f"{part.tokens:,}", share))
    show_table(output, ("role", "messages", "tokens", "share"), rows_of_roles)

    heads = ("tool", "calls", "results", "failed", "tokens of results", "took", "median")
    rows_of_tools = []
    for name, tool in sorted(statistics.tools.items(), key=lambda item: -item[1].result_tokens):
        took = ""
        median = ""
        if tool.duration_s:
            took = duration(tool.duration_s)
            median = duration(tool.median_s) if tool.median_s is not None else ""
        counts = [f"{count:,}" for count in (tool.calls, tool.results, tool.errors, tool.result_tokens)]
        rows_of_tools.append((name, *counts, took, median))
    show_table(output, heads, rows_of_tools)
    if any(tool.duration_s for tool in statistics.tools.values()):
        show_waiting(output)


def _show_turns(output: Console, largest: list[TurnLine]) -> None:
    """Print the largest turns, with their costs if any are known."""
    has_costs = any(line.cost for line in largest)
    heads = ["turn", "messages", "tokens", "took"]
    if has_costs:
        heads.append("cost")
    rows = []
    for line in largest:
        took = duration(line.duration_s) if line.duration_s is not None else ""
        row = [str(line.number), f"{line.last - line.first + 1:,}", f"{line.tokens:,}", took]
        if has_costs:
            about = "~" if line.is_cost_estimated else ""
            row.append(about + money(line.cost))
        rows.append(row)
    show_table(output, heads, rows)


def _show_largest(output: Console, statistics: Statistics) -> None:
    show_table(
        output,
        ("largest at", "role", "tokens", "id"),
        [(f"{large.place:,}", large.role, f"{large.tokens:,}", large.message_id) for large in statistics.largest],
    )


def _show_slowest(output: Console, statistics: Statistics) -> None:
    show_table(
        output,
        ("slowest at", "tool", "turn", "took"),
        [(f"{call.place:,}", call.tool, f"{call.turn:,}", duration(call.duration_s)) for call in statistics.slowest],
    )


def _show_plans(output: Console, statistics: Statistics) -> None:
    heads = ("compaction", "step", "before", "after", "dropped", "cut")
    rows = []
    for number, plan in enumerate(statistics.plans, start=1):
        counts = [plan[name] or 0 for name in ("tokens_before", "tokens_after", "dropped", "shortened")]
        rows.append((str(number), str(plan["step"]), *(f"{count:,}" for count in counts)))
    show_table(output, heads, rows)


def _show_views(output: Console, views: Views) -> None:
    if views.requests:
        output.print(
            f"\n{counted(views.requests, 'view')} of {counted(views.tokens, 'token')} in all; "
            f"{percent(views.shared_tokens, views.tokens)} of the tokens continued an earlier view, "
            f"{counted(views.breaks, 'view')} started a new prefix"
        )
        if views.unbound:
            output.print(f"{counted(views.unbound, 'view')} left out reasoning, as what stood before it had changed")


def _show_usage(output: Console, usage: UsageReports) -> None:
    if usage.error_median is not None and usage.error_95 is not None:
        output.print(
            f"\n{counted(usage.reports, 'usage report')} of providers: predictions off by {usage.error_median:.1%} "
            f"(median) and {usage.error_95:.1%} (95th percentile); "
            f"{percent(usage.cached_tokens, usage.actual_tokens)} of the input came from the cache"
        )
        for name, learned in usage.models.items():
            shown_name = one_line(name)
            ratio = learned["ratio"]
            more = round(learned["overhead_tokens"])
            output.print(f"  {shown_name}: {ratio:.2f} provider tokens for each token counted here, plus {more:,}")
