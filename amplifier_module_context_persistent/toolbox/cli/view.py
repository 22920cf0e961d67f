"""`context-persistent views` and `view`: list the requests of a session; rebuild the view of one, and prove it.

A view is the list of messages that a request sent to the model. A view is proved if its hash equals the hash in the
request's receipt. Messages are printed as `show` prints them, with notes on what was shortened or left out, or with the
differences from the view before.

Exit codes: 0 proved, 1 the rebuilt view differs from the one in use then, is incomplete or has no receipt, 2 unusable.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click
from rich.console import Console

from ...compaction.why_shown import why
from ...messages.message import Message
from ...messages.metadata import given_id
from ...sessions.find_request import FoundRequest
from ...sessions.transcript import LiveMessage, Transcript
from ...sessions.view_rebuild import PlacedReceipt, RebuiltView, ReceiptLog, config_of
from ...view.entry import classify
from ...view.receipts import Receipt
from ...view.tool_groups import tool_groups
from ..replay.visibility import KEPT, ShownMessage, UnseenRun, annotate, shortening
from .error_messages import UnusableError, unreadable, unusable
from .exit_codes import FINDINGS
from .message_printer import MessagePrinter
from .open_transcript import open_transcript
from .pager import paged
from .sealed_files import reads_sealed
from .session_argument import session_argument
from .tables import aligned, table
from .terminal import console, counted, escaped, one_line

IMPORTED = (
    "Imported: `replay --views` shows it under a policy. This is the history under the compactions of its source, "
    "which no receipt proves."
)
NEXT = "No request was made yet: this is what the next one shows, before the host adds to it. No receipt proves it."
AFTERWARDS = (
    "This is the view that was handed out. The request had more if the host added to it: reminders of hooks, system "
    "text, a longer last result."
)

Piece = ShownMessage | UnseenRun


@click.command()
@session_argument
@reads_sealed
@click.option(
    "--request", "number", type=int, default=-1, help="The request's number in `views`; by default -1, the last one."
)
@click.option("--diff", "as_diff", is_flag=True, help="Show only what differs from the request before.")
@click.option("--why", "message_id", metavar="ID", help="Say why the view shows a message, or leaves it out.")
@click.option("--full", is_flag=True, help="Show long texts whole.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def view(
    context: click.Context, path: str, number: int, *, as_diff: bool, message_id: str | None, full: bool, as_json: bool
) -> None:
    """Show what the model saw, and did not see, at a request of SESSION.

    Messages have the numbers that they had in the history at that time. Shortened messages are marked, and messages
    that are left out are named in their places. [+] marks a message that is not in the history, such as a notice.

    The view is rebuilt from the log alone and compared with the hash in its receipt. Exits with 0 if it is proved, 1 if
    it differs or is incomplete, 2 if nothing can be read. An imported session has no receipts, so its views cannot be
    proved: they show the messages that the source's own compactions left to its model. If a session has no answer yet,
    its next request is shown.
    """
    if as_diff and as_json:
        raise click.UsageError("--diff is for people; compare the views of two --json")
    with open_transcript(path) as transcript, unreadable():
        try:
            request = transcript.request(number)
        except IndexError as error:
            raise UnusableError(str(error)) from error
        rebuilt = transcript.view(number)
        messages = rebuilt.messages or ()
        if message_id is not None:
            reasons = _reasons(transcript, request.noted, messages, message_id)
            _say(json.dumps({"why": reasons}) if as_json else "\n".join(reasons))
        elif as_json:
            _print_json(request, rebuilt, transcript.book)
        else:
            with paged():
                printer = MessagePrinter(full=full, may_grow=True)
                _show_view(transcript, request, rebuilt, printer, as_diff=as_diff)
    if not rebuilt.proved and not request.is_next:
        context.exit(FINDINGS)


def _verdict_on(request: FoundRequest, rebuilt: RebuiltView) -> str:
    """Return a sentence: whether the rebuilt view is proved to be the sent view, or that no view was sent yet."""
    if request.is_next:
        return NEXT
    return verdict(request.noted, rebuilt)


def _group(transcript: Transcript, message_id: str) -> list[Message]:
    """Return the messages of a message's tool group (a call and its results), as the log has them.

    Raises:
        ValueError: no live message has that id.
    """
    messages = list(transcript.messages())
    entries = [classify(number, message, lambda _: 0) for number, message in enumerate(messages)]
    for group in tool_groups(entries):
        if any(entry.id == message_id for entry in group.entries()):
            return [messages[entry.ordinal] for entry in group.entries()]
    raise ValueError(f"no message of the history has the id {message_id}")


def _reasons(transcript: Transcript, noted: PlacedReceipt, view: Sequence[Message], message_id: str) -> list[str]:
    """Return sentences that say why a view shows a message or leaves it out."""
    group = _group(transcript, message_id)
    ids = [given_id(message) or "" for message in group]
    plan = transcript.book.plan(noted.receipt.plan) or {}
    if set(ids).intersection(plan.get("hidden", ())):
        return ["Left out: its turn was hidden when the plan was made; `show-again` brings it back."]
    reasons = list(why(view, group, config_of(noted.receipt), noted.receipt.budget_tokens))
    index = transcript.reader.index
    if index.session.hidden.intersection(index.find_all(ids).values()):
        reasons.append("Its turn is hidden now, from the next plan on.")
    return reasons


def verdict(noted: PlacedReceipt, rebuilt: RebuiltView) -> str:
    """Return a sentence that says whether the view is proved, or why not."""
    if not noted.receipt.hashes.view:
        return IMPORTED
    if rebuilt.proved:
        return f"Proved: its hash equals that of the receipt, {noted.receipt.hashes.view}."
    reasons = "; ".join(rebuilt.reasons)
    if rebuilt.messages is None:
        return f"It cannot be shown: {reasons}."
    if reasons:
        return f"Not proved and incomplete: {reasons}."
    damaged = f" These messages fail their checksums: {', '.join(rebuilt.damaged)}." if rebuilt.damaged else ""
    return f"NOT the view of that request: the log or the receipt was altered since.{damaged}"


def _introduce(request: FoundRequest) -> None:
    """Print which request a view is of, its plan and its size."""
    if request.is_next:
        _say("the next request\n")
        return
    receipt = request.noted.receipt
    place = f"request {request.number:,} of {request.count:,}"
    plan = f"plan {receipt.plan}" if receipt.plan else "no plan"
    if not receipt.hashes.view:
        _say(f"{place} of the source, {receipt.time or 'no time'}, {plan}\n")
        return
    _say(f"{place}, {receipt.time}, {receipt.reader.provider or 'no provider named'}, {plan}")
    size = f"{counted(receipt.messages, 'message')}, {receipt.tokens:,} tokens of {receipt.budget_tokens:,}"
    if receipt.unbound:
        size += f"; {counted(receipt.unbound, 'answer')} without reasoning, as what stood before it had changed"
    _say(f"{size}\n")


def _show_sent(book: ReceiptLog, receipt: Receipt, printer: MessagePrinter) -> None:
    """Print the request that the host reported for a view, and the tokens that the provider counted beyond the view."""
    sent = book.sent_for(receipt)
    if sent is None:
        _say(AFTERWARDS)
    elif not sent["added"] and not sent.get("left_out"):
        _say(f"The host sent it as it is: request {sent.get('hash', '')}.")
    else:
        tokens = sent.get("tokens")
        tokens_text = f", {tokens:,} tokens" if isinstance(tokens, int) else ""
        _say(f"The host sent more than this view{tokens_text}: request {sent.get('hash', '')}.")
        if sent.get("left_out"):
            _say(f"It left out {sent['left_out']} of the view's messages.")
        for addition in sent["added"]:
            _show_addition(addition, printer)
    beyond = book.tokens_beyond_view(receipt)
    if beyond is not None:
        _say(f"The provider counted about {beyond:,} tokens more than this view, with its own framing of messages.")


def _show_addition(addition: Mapping[str, Any], printer: MessagePrinter) -> None:
    """Print a message that the host added to a view, if the log still has it."""
    how = str(addition.get("how"))
    printer.note(f"{_HOW.get(how, how)}, at position {addition.get('at')} of the request")
    message = addition.get("message")
    if isinstance(message, dict) and isinstance(message.get("role"), str):
        printer.show(LiveMessage(0, message, tuple))
    else:
        printer.note("its text is not in the log any more")


_HOW = {"message": "added message", "text": "text added to the view's message", "changed": "message changed"}


def _print_json(request: FoundRequest, rebuilt: RebuiltView, book: ReceiptLog) -> None:
    receipt = request.noted.receipt
    fields = {
        "request": request.number,
        "is_next": request.is_next,
        "receipt": receipt_json(receipt) if receipt.hashes.view else None,
        "proved": rebuilt.proved,
        "verdict": _verdict_on(request, rebuilt),
        "damaged": rebuilt.damaged,
        "note": AFTERWARDS,
        "sent": book.sent_for(receipt),
        "tokens_beyond_view": book.tokens_beyond_view(receipt),
        "messages": rebuilt.messages,
    }
    click.echo(json.dumps(fields))


def _say(text: str) -> None:
    click.echo(escaped(text))


def show_difference(transcript: Transcript, number: int, view: Sequence[Message], printer: MessagePrinter) -> None:
    """Print the differences from the request before: messages that are new or shortened, or newly left out."""
    view_before: Sequence[Message] = ()
    pieces_before: list[ShownMessage | UnseenRun] = []
    if number == 1:
        printer.note("there is no request before this one")
    else:
        view_before = transcript.view(number - 1).messages or ()
        pieces_before = annotate(transcript, number - 1, view_before)
    same = _same_at_beginning(view_before, view)
    printer.note(f"{counted(same, 'message')} at the beginning of the view {'is' if same == 1 else 'are'} the same")
    shown_before = [piece.placed for piece in pieces_before if isinstance(piece, ShownMessage)]
    known = [(placed.number, placed.message) for placed in shown_before]
    numbers_before = {placed.number for placed in shown_before}
    for piece in annotate(transcript, number, view):
        if isinstance(piece, ShownMessage):
            if (piece.placed.number, piece.placed.message) not in known:
                _show(printer, piece)
            continue
        newly = [position for position in range(piece.first, piece.last + 1) if position in numbers_before]
        if newly:
            printer.note(f"newly {piece.mark}: {counted(len(newly), 'message')}, {_range(newly[0], newly[-1])}")
    _show_no_longer_inserted(pieces_before, view, printer)


def _show_no_longer_inserted(
    pieces_before: Iterable[ShownMessage | UnseenRun], view: Sequence[Message], printer: MessagePrinter
) -> None:
    """Print the messages that only the view before contains, and that are not in the history."""
    for piece in pieces_before:
        if not isinstance(piece, ShownMessage):
            continue
        is_inserted = piece.placed.number == 0
        if is_inserted and piece.placed.message not in view:
            printer.note("no longer inserted:")
            _show(printer, piece)


def _same_at_beginning(view_before: Sequence[Message], view: Sequence[Message]) -> int:
    """Return how many messages two views have in common at their beginning."""
    same = 0
    for message_before, message in zip(view_before, view, strict=False):
        if message_before != message:
            break
        same += 1
    return same


def _show_view(
    transcript: Transcript, request: FoundRequest, rebuilt: RebuiltView, printer: MessagePrinter, *, as_diff: bool
) -> None:
    """Print the view of a request, or its differences, with the verdict of the comparison with its receipt."""
    messages = rebuilt.messages or ()
    _introduce(request)
    if as_diff:
        show_difference(transcript, request.number, messages, printer)
    else:
        for piece in annotate(transcript, request.number, messages):
            _show(printer, piece)
    _say(f"\n{_verdict_on(request, rebuilt)}")
    receipt = request.noted.receipt
    if rebuilt.messages is not None and receipt.hashes.view:
        _show_sent(transcript.book, receipt, printer)


def _show(printer: MessagePrinter, piece: Piece) -> None:
    if isinstance(piece, UnseenRun):
        printer.note(f"{counted(len(piece), 'message')} {piece.mark}: {_range(piece.first, piece.last)}")
    else:
        printer.show(piece.placed, note=shortening(piece) if piece.mark != KEPT else "")


def _range(first: int, last: int) -> str:
    return f"[{first}]" if first == last else f"[{first}] to [{last}]"


NO_RECEIPTS = (
    "no receipts: no view was requested here, or `receipts` is off. `view` shows what the source of an imported "
    "session gave its model, `replay --views` what a policy would"
)
_MOST_IN_A_TABLE = 1_000
_NAMES = ("request", "time", "messages", "tokens", "plan", "provider", "reasoning", "whole")
_RIGHT = (0, 2, 3)


@click.command()
@session_argument
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def views(path: str, *, as_json: bool) -> None:
    """List the requests of SESSION.

    Each row has the number, time, messages, tokens, plan and provider of a request, the number of answers whose
    reasoning it leaves out because earlier messages changed, and whether `view` can show the whole request. A request
    is listed if the log has the receipt of its view.
    """
    with open_transcript(path) as transcript, unusable():
        book, location = transcript.book, transcript.path
    if as_json:
        rows = [
            {
                "request": number,
                **receipt_json(request.receipt),
                "lacks": book.missing_parts(request),
                "tokens_beyond_view": book.tokens_beyond_view(request.receipt),
            }
            for number, request in enumerate(book.requests, 1)
        ]
        click.echo(json.dumps({"path": location, "requests": rows, "malformed": book.malformed}))
    else:
        _print_requests(book, console())


def receipt_json(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt as plain JSON types, by the names of its fields."""
    return {
        "id": receipt.id,
        "time": receipt.time,
        "plan": receipt.plan,
        "upto": receipt.upto,
        "messages": receipt.messages,
        "tokens": receipt.tokens,
        "budget_tokens": receipt.budget_tokens,
        "provider": receipt.reader.provider,
        "head": receipt.hashes.head,
        "tools": receipt.hashes.tools,
        "extras": receipt.extras,
        "bound": receipt.hashes.bound,
        "unbound": receipt.unbound,
        "hash": receipt.hashes.view,
    }


def _print_requests(book: ReceiptLog, output: Console) -> None:
    """Print the requests of a log, and the number of receipts that cannot be read."""
    rows = []
    for number, request in enumerate(book.requests, 1):
        rows.append(_cells(number, request.receipt, book.missing_parts(request)))
    if len(rows) > _MOST_IN_A_TABLE:  # rich is too slow for hundreds of thousands of rows
        for line in aligned(_NAMES, rows, right=_RIGHT):
            click.echo(line)
    elif rows:
        output.print(table(_NAMES, rows, right=_RIGHT))
    else:
        output.print(NO_RECEIPTS)
    if book.malformed:
        output.print(f"{book.malformed:,} receipts cannot be read")


def _cells(number: int, receipt: Receipt, lacks: list[str]) -> list[str]:
    cells = [receipt.time[:16].replace("T", " "), f"{receipt.messages:,}", f"{receipt.tokens:,}"]
    text_cells = [one_line(escaped(cell)) for cell in (*cells, receipt.plan, receipt.reader.provider)]
    reasoning = f"{receipt.unbound:,} out" if receipt.unbound else "valid"
    return [f"{number:,}", *text_cells, reasoning, "no" if lacks else "yes"]
