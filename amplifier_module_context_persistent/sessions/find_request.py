"""Find a request of a log by its number, with the receipt from which its view can be rebuilt.

A view is the list of messages of a request; a receipt is its record. An imported session has no receipts: they are made
up from the compactions of its source, the agent that the session was imported from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..log.contract import ReadableLog
from ..log.index import ASSISTANT, Index
from ..log.record_line import Message, name_of
from ..messages.message_times import timestamp_of
from ..messages.metadata import given_id
from ..view.plan import IMPORTED, Plan
from ..view.receipts import ReaderName, Receipt, RequestHashes
from ..view.stored_plan import kept_ordinals
from .view_rebuild import PlacedReceipt, ReceiptLog


@dataclass(frozen=True, slots=True)
class FoundRequest:
    """A request of a log.

    Attributes:
        number: the number of the request, from 1.
        count: the number of requests in the log.
        noted: the receipt from which the view is rebuilt.
        is_next: whether the request was not made yet. The session has no answer then, and this is its next request.
    """

    number: int
    count: int
    noted: PlacedReceipt
    is_next: bool = False


def imported_plans(index: Index, book: ReceiptLog) -> Iterator[tuple[int, int, Message]]:
    """Yield the compactions that the source of an imported session made.

    Each has the position of the live message before it, the number of messages that it kept, and its record.
    """
    for packed, _ in book.made_for:
        record = packed.record()
        if record.get("strategy") == IMPORTED:
            try:
                staying_ordinals, position = kept_ordinals(index, record)
                Plan.from_record(record, ())
            except ValueError:  # a reset has hidden messages that the plan names
                continue
            yield position, len(staying_ordinals), record


def find_request(reader: ReadableLog, book: ReceiptLog, number: int) -> FoundRequest:
    """Find a request by its number, from 1, or from -1 for the last request.

    Raises:
        IndexError: there is no such request.
        LogUnreadableError: the log's bytes changed while they were read.
    """
    count = len(book.requests)
    if not count:
        return _source_request(reader, book, number)
    wanted = _from_first(number, count, f"the log has {count:,} receipts")
    return FoundRequest(wanted, count, book.requests[wanted - 1])


def _from_first(number: int, count: int, there_are: str) -> int:
    """Convert the number of a request, from 1 or from -1 for the last request, to a number from 1.

    Args:
        number: the number as the user gave it: from 1, or from -1 backwards.
        count: the number of requests.
        there_are: the end of the error message, which says how many requests there are.

    Raises:
        IndexError: there is no such request.
    """
    wanted = number if number > 0 else count + 1 + number
    if number == 0 or not 1 <= wanted <= count:
        raise IndexError(f"there is no request {number:,}: {there_are}")
    return wanted


def _source_request(reader: ReadableLog, book: ReceiptLog, number: int) -> FoundRequest:
    """Reconstruct a request of an imported session. Each of its answers had one, with the history before the answer.

    The log of such a session has no receipts. So the result has a receipt without a hash, which proves nothing. A
    session without answers, imported or not, has one request: its next one, number 1.

    Args:
        reader: a log without receipts.
        book: the plans of the log.
        number: the number of the request, from 1, or from -1 for the last request.

    Raises:
        IndexError: there is no such request, or the session was not imported.
        LogUnreadableError: the log's bytes changed while they were read.
    """
    index = reader.index
    answers = [place for place, ordinal in enumerate(index.live) if index.columns.roles[ordinal] == ASSISTANT]
    if not answers and index.live:
        wanted = _from_first(number, 1, "the session has no answer yet, and its next request is number 1")
        return FoundRequest(wanted, 1, _made_up(reader, book, len(index.live), ""), is_next=True)
    if not any("imported_from" in header for header in index.headers):
        raise IndexError(
            "the log has no receipts: no view was requested, or `receipts` is off; "
            "`replay --views` shows what the default policy would have shown"
        )
    wanted = _from_first(number, len(answers), f"the source made one before each answer, {len(answers):,}")
    place = answers[wanted - 1]
    (answer,) = reader.read([index.live[place]])
    return FoundRequest(wanted, len(answers), _made_up(reader, book, place, timestamp_of(answer)))


def _made_up(reader: ReadableLog, book: ReceiptLog, place: int, time: str) -> PlacedReceipt:
    """Make up a receipt without a hash for the request before the live message at position `place`."""
    index = reader.index
    plan_id = ""
    for position, _, record in imported_plans(index, book):
        if position < place:
            plan_id = name_of(record.get("id"))
    upto = ""
    if place > 0:
        (last_message,) = reader.read([index.live[place - 1]])
        upto = given_id(last_message) or ""
    receipt = Receipt(
        id="",
        time=time,
        plan=plan_id,
        upto=upto,
        messages=0,
        tokens=0,
        budget_tokens=0,
        reader=ReaderName(),
        hashes=RequestHashes(),
    )
    return PlacedReceipt(receipt, index.live, len(index), 0)
