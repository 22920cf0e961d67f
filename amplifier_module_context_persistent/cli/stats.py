"""`context-persistent stats`: where a session's tokens are.

Exit codes: 0 done, 2 unusable.
"""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import LogError
from ..tokens.counter import open_counter
from ..transcript.stats import Statistics, Usage, Views, collect
from .progress import progress
from .session_argument import session_argument
from .terminal import UnusableError, console, counted, one_line, open_transcript, reason


@click.command()
@session_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--tokenizer", default="auto", show_default=True, help="What counts: auto, estimate, or an encoding's name."
)
@click.option("--turns", default=10, show_default=True, help="How many of the largest turns to list.")
def stats(path: str, tokenizer: str, turns: int, *, as_json: bool) -> None:
    """Show where the tokens of SESSION are.

    Tokens by role, tool and turn; the largest messages; the compactions; and how the counts compare with those that
    the provider reported.
    """
    try:
        counter = open_counter(tokenizer)
        with progress(path, title="counting", passes=2) as files, open_transcript(path, files=files) as transcript:
            found = collect(transcript.reader, counter)
    except (LogError, ValueError) as error:
        raise UnusableError(reason(error)) from error
    if as_json:
        click.echo(json.dumps(found.to_json(), ensure_ascii=False))
        return
    show(found, turns)


def show(found: Statistics, turns: int) -> None:
    """Print the tables."""
    output = console()
    output.print(
        f"{counted(found.total.messages, 'message')}, {counted(found.total.tokens, 'token')} "
        f"({one_line(found.tokenizer)}), {counted(found.file_bytes, 'byte')}"
    )
    if found.damage:
        output.print(f"{counted(found.damage, 'finding')} of damage; `verify` lists them")
    _show_shares(output, found, turns)
    _show_plans(output, found)
    _show_views(output, found.views)
    _show_usage(output, found.usage)


def _show_shares(output: Console, found: Statistics, turns: int) -> None:
    """Print where the tokens are: by role, tool and turn, and the largest messages."""
    _table(
        output,
        ("role", "messages", "tokens", "share"),
        [
            (role, f"{part.messages:,}", f"{part.tokens:,}", _percent(part.tokens, found.total.tokens))
            for role, part in sorted(found.roles.items(), key=lambda item: -item[1].tokens)
        ],
    )
    _table(
        output,
        ("tool", "calls", "results", "tokens of results"),
        [
            (name, f"{tool.calls:,}", f"{tool.results:,}", f"{tool.result_tokens:,}")
            for name, tool in sorted(found.tools.items(), key=lambda item: -item[1].result_tokens)
        ],
    )
    ranked = sorted(enumerate(found.turns, start=1), key=lambda item: -item[1].tokens)[: max(0, turns)]
    _table(
        output,
        ("turn", "messages", "tokens"),
        [(str(number), f"{part.messages:,}", f"{part.tokens:,}") for number, part in ranked],
    )
    _table(
        output,
        ("largest at", "role", "tokens", "id"),
        [(f"{large.place:,}", large.role, f"{large.tokens:,}", large.message_id) for large in found.largest],
    )


def _show_plans(output: Console, found: Statistics) -> None:
    _table(
        output,
        ("compaction", "step", "before", "after", "dropped", "cut"),
        [
            (
                str(number),
                str(plan["step"]),
                f"{plan['tokens_before'] or 0:,}",
                f"{plan['tokens_after'] or 0:,}",
                f"{plan['dropped'] or 0:,}",
                f"{plan['shortened']:,}",
            )
            for number, plan in enumerate(found.plans, start=1)
        ],
    )


def _show_views(output: Console, views: Views) -> None:
    if views.requests:
        output.print(
            f"\n{counted(views.requests, 'view')} of {counted(views.tokens, 'token')} in all; "
            f"{_percent(views.shared_tokens, views.tokens)} of the tokens continued an earlier view, "
            f"{counted(views.breaks, 'view')} started a new prefix"
        )


def _show_usage(output: Console, usage: Usage) -> None:
    if usage.error_median is not None and usage.error_95 is not None:
        output.print(
            f"\n{counted(usage.reports, 'usage report')} of providers: predictions off by {usage.error_median:.1%} "
            f"(median) and {usage.error_95:.1%} (95th percentile); "
            f"{_percent(usage.cached_tokens, usage.actual_tokens)} of the input came from the cache"
        )
        for name, learned in usage.models.items():
            shown, ratio = one_line(name), learned["ratio"]
            more = round(learned["overhead_tokens"])
            output.print(f"  {shown}: {ratio:.2f} provider tokens for each token counted here, plus {more:,}")


def _table(output: Console, heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    if not rows:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, head in enumerate(heads):
        table.add_column(head, justify="left" if place == 0 or head in ("role", "id") else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    output.print()
    output.print(table)


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "0%"
