"""`context-persistent views` and `view`: list the views of a session, rebuild one and prove it.

Exit codes: 0 done or proved, 1 the rebuilt view differs from the one in use then or is incomplete, 2 unusable.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ..errors import LogError
from ..log.record import Message
from ..transcript.request_list import RequestList
from ..view.receipts import Receipt
from .exit_codes import DONE, FINDINGS
from .pager import paged
from .request_table import print_requests
from .session_argument import session_argument
from .terminal import UnusableError, console, counted, escaped, open_transcript, reason

if TYPE_CHECKING:  # what makes views again is half of all that `view` loads, and `views` needs none of it
    from ..transcript.view_rebuild import Noted, Rebuilt

IMPORTED = (
    "Imported: `replay --views` shows it under a policy. This is the history under the compactions of its source, "
    "which no receipt proves."
)
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
        try:
            listed = RequestList(transcript.reader)
            if as_json:
                rows = [{"request": one.number, **_receipt(one.receipt), "lacks": one.lacks} for one in listed]
                click.echo(json.dumps({"path": transcript.path, "requests": rows, "malformed": listed.malformed}))
            else:
                print_requests(listed, console())
        except (OSError, ValueError) as error:
            raise UnusableError(reason(error)) from error


@click.command()
@session_argument
@click.option("--request", "number", type=int, default=-1, help="Its number in `views`; -1, the default, is the last.")
@click.option("--diff", "as_diff", is_flag=True, help="Show only what differs from the request before.")
@click.option("--full", is_flag=True, help="Fold nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def view(context: click.Context, path: str, number: int, *, as_diff: bool, full: bool, as_json: bool) -> None:
    """Show what the model saw, and did not see, at a request of SESSION.

    Messages have the numbers that they had in the history then. Those that are shortened are marked, those that are
    left out are named in their place, and [+] is a message that the history does not hold, such as a notice.

    The view is rebuilt from the log alone and compared with the hash in its receipt. Exits with 0 if it is proved, 1 if
    it differs or is incomplete, 2 if nothing can be read. An imported session has no receipts: what its source gave its
    model is shown, by the source's own compactions, and cannot be proved.
    """
    from .message_printer import MessagePrinter
    from .view_printer import show_difference, show_view

    if as_diff and as_json:
        raise click.UsageError("--diff is for people; compare the views of two --json")
    with open_transcript(path) as transcript:
        try:
            found = transcript.request(number)
            wanted, noted, made = found.number, found.noted, transcript.view(number)
            if as_json:
                _print_json(wanted, noted, made)
            else:
                with paged():
                    _introduce(wanted, found.count, noted)
                    printer = MessagePrinter(full=full, may_grow=True)
                    if as_diff:
                        show_difference(transcript, wanted, made.messages or (), printer)
                    else:
                        show_view(transcript, wanted, made.messages or (), printer)
                    _say(f"\n{verdict(noted, made)}")
                    if made.messages is not None and noted.receipt.hash:
                        _say(AFTERWARDS)
        except IndexError as error:
            raise UnusableError(str(error)) from error
        except (LogError, ValueError) as error:
            raise UnusableError(escaped(str(error))) from error
    context.exit(DONE if made.proved else FINDINGS)


def verdict(noted: Noted, made: Rebuilt) -> str:
    """Say in one sentence whether the view is proved, or why not."""
    if not noted.receipt.hash:
        return IMPORTED
    if made.proved:
        return f"Proved: its hash equals that of the receipt, {noted.receipt.hash}."
    if made.messages is None:
        return f"It cannot be shown: {'; '.join(made.reasons)}."
    if made.reasons:
        return f"Not proved and incomplete: {'; '.join(made.reasons)}."
    damaged = f" These messages fail their checksums: {', '.join(made.damaged)}." if made.damaged else ""
    return f"NOT the view of that request: the log or the receipt was altered since.{damaged}"


def _receipt(receipt: Receipt) -> dict[str, Any]:
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


def _introduce(number: int, count: int, noted: Noted) -> None:
    receipt = noted.receipt
    plan = f"plan {receipt.plan}" if receipt.plan else "no plan"
    if not receipt.hash:
        _say(f"request {number:,} of {count:,} of the source, {receipt.time or 'no time'}, {plan}\n")
        return
    _say(f"request {number:,} of {count:,}, {receipt.time}, {receipt.provider or 'no provider named'}, {plan}")
    _say(f"{counted(receipt.messages, 'message')}, {receipt.tokens:,} tokens of {receipt.budget_tokens:,}\n")


def _print_json(number: int, noted: Noted, made: Rebuilt) -> None:
    messages: Sequence[Message] | None = made.messages
    shown = {
        "request": number,
        "receipt": _receipt(noted.receipt) if noted.receipt.hash else None,
        "proved": made.proved,
        "verdict": verdict(noted, made),
        "damaged": made.damaged,
        "note": AFTERWARDS,
        "messages": messages,
    }
    click.echo(json.dumps(shown))


def _say(text: str) -> None:
    click.echo(escaped(text))
