"""`context-persistent views` and `view`: list the views of a session, rebuild one and prove it.

Exit codes: 0 done or proved, 1 the rebuilt view differs from the one in use then or is incomplete, 2 unusable.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from ..errors import LogError
from ..log.record import Message
from ..transcript.rebuild import Noted, Rebuilt, ReceiptLog
from ..transcript.transcript import Transcript
from .exit_codes import DONE, FINDINGS
from .message_printer import MessagePrinter
from .pager import paged
from .session_argument import session_argument
from .terminal import UnusableError, console, counted, escaped, open_transcript, reason
from .view_printer import show_difference, show_view

AFTERWARDS = "This is what the loop received; a loop may add to a view before it sends it."


@click.command()
@session_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def views(path: str, *, as_json: bool) -> None:
    """List the requests of SESSION.

    For each: number, time, messages, tokens, plan and provider, and whether `view` can show all of it. A request is
    listed if its view left a receipt in the log.
    """
    with open_transcript(path) as transcript:
        book = _book(transcript)
        if as_json:
            rows = [
                {"request": number, **_receipt(noted), "lacks": book.lacks(noted)}
                for number, noted in enumerate(book.requests, 1)
            ]
            click.echo(json.dumps({"path": transcript.path, "requests": rows, "malformed": book.malformed}))
            return
    _list(book)


@click.command()
@session_argument
@click.option("--request", "number", type=int, default=-1, help="Its number in `views`; -1, the default, is the last.")
@click.option("--diff", "as_diff", is_flag=True, help="Show only what differs from the request before.")
@click.option("--full", is_flag=True, help="Fold nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def view(context: click.Context, path: str, number: int, *, as_diff: bool, full: bool, as_json: bool) -> None:
    """Show what the model saw at a request of SESSION, and prove it.

    Messages have the numbers that they had in the history then. Those that are shortened are marked, those that are
    left out are named in their place, and [+] is a message that the history does not hold, such as a notice.

    The view is rebuilt from the log alone and compared with the hash in its receipt. Exits with 0 if it is proved, 1 if
    it differs or is incomplete, 2 if nothing can be read.
    """
    if as_diff and as_json:
        raise click.UsageError("--diff is for people; compare the views of two --json")
    with open_transcript(path) as transcript:
        book = _book(transcript)
        count = len(book.requests)
        wanted = number if number > 0 else count + 1 + number
        if number == 0 or not 1 <= wanted <= count:
            raise UnusableError(f"there is no request {number:,}: the log has {counted(count, 'receipt')}")
        noted = book.requests[wanted - 1]
        try:
            made = transcript.view(wanted)
            if as_json:
                _print_json(wanted, noted, made)
            else:
                with paged():
                    _introduce(wanted, count, noted)
                    printer = MessagePrinter(full=full, may_grow=True)
                    if as_diff:
                        show_difference(transcript, wanted, made.messages or (), printer)
                    else:
                        show_view(transcript, wanted, made.messages or (), printer)
                    _say(f"\n{verdict(noted, made)}")
                    if made.messages is not None:
                        _say(AFTERWARDS)
        except (LogError, ValueError) as error:
            raise UnusableError(escaped(str(error))) from error
    context.exit(DONE if made.proved else FINDINGS)


def verdict(noted: Noted, made: Rebuilt) -> str:
    """Say in one sentence whether the view is proved, or why not."""
    if made.proved:
        return f"Proved: its hash equals that of the receipt, {noted.receipt.hash}."
    if made.messages is None:
        return f"It cannot be shown: {'; '.join(made.reasons)}."
    if made.reasons:
        return f"Not proved and incomplete: {'; '.join(made.reasons)}."
    damaged = f" These messages fail their checksums: {', '.join(made.damaged)}." if made.damaged else ""
    return f"NOT the view of that request: the log or the receipt was altered since.{damaged}"


def _book(transcript: Transcript) -> ReceiptLog:
    try:
        return transcript.book
    except (OSError, ValueError) as error:
        raise UnusableError(reason(error)) from error


def _receipt(noted: Noted) -> dict[str, Any]:
    receipt = noted.receipt
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
        "extras": receipt.extras,
        "hash": receipt.hash,
    }


def _list(book: ReceiptLog) -> None:
    output = console()
    if not book.requests:
        output.print("no receipts: no view was requested, or `receipts` is off")
    else:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("request", "time", "messages", "tokens", "plan", "provider", "in full"):
            right = name in ("request", "messages", "tokens")
            table.add_column(name, justify="right" if right else "left", overflow="fold")
        for number, noted in enumerate(book.requests, 1):
            receipt = noted.receipt
            full = "no" if book.lacks(noted) else "yes"
            time = receipt.time[:16].replace("T", " ")
            cells = (time, f"{receipt.messages:,}", f"{receipt.tokens:,}", receipt.plan, receipt.provider, full)
            table.add_row(f"{number:,}", *(Text(escaped(cell)) for cell in cells))
        output.print(table)
    if book.malformed:
        output.print(f"{book.malformed:,} receipts cannot be read")


def _introduce(number: int, count: int, noted: Noted) -> None:
    receipt = noted.receipt
    plan = f"plan {receipt.plan}" if receipt.plan else "no plan"
    _say(f"request {number:,} of {count:,}, {receipt.time}, {receipt.provider or 'no provider named'}, {plan}")
    _say(f"{counted(receipt.messages, 'message')}, {receipt.tokens:,} tokens of {receipt.budget_tokens:,}\n")


def _print_json(number: int, noted: Noted, made: Rebuilt) -> None:
    messages: Sequence[Message] | None = made.messages
    shown = {
        "request": number,
        "receipt": _receipt(noted),
        "proved": made.proved,
        "verdict": verdict(noted, made),
        "damaged": made.damaged,
        "note": AFTERWARDS,
        "messages": messages,
    }
    click.echo(json.dumps(shown))


def _say(text: str) -> None:
    click.echo(escaped(text))
