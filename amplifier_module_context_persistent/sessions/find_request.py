"""One request of a log by its number, with what its view is made of: by its receipt, or as the source made it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..log.base import ReadableLog
from ..log.index import ASSISTANT, Index
from ..log.record_line import Message, name_of
from ..messages.metadata import given_id, timestamp_of
from ..view.plan import IMPORTED, Plan, kept_ordinals
from ..view.receipts import Receipt
from .view_rebuild import PlacedReceipt, ReceiptLog


@dataclass(frozen=True, slots=True)
class FoundRequest:
    """A request, the number of requests in its log, and the receipt by which its view is made.

    `is_next` says that it was not made yet: the session has no answer, and its next request would show this.
    """

    number: int
    count: int
    noted: PlacedReceipt
    is_next: bool = False


def imported_plans(index: Index, book: ReceiptLog) -> Iterator[tuple[int, int, Message]]:
    """The compactions that the source of an imported session made.

    Each with the position of the live message that it came after, and how many messages it kept.
    """
    for packed, _ in book.made_for:
        record = packed.record()
        if record.get("strategy") == IMPORTED:
            try:
                kept, position = kept_ordinals(index, record)
                Plan.from_record(record, ())
            except ValueError:  # a reset hid what it names
                continue
            yield position, len(kept), record


def find_request(reader: ReadableLog, book: ReceiptLog, number: int) -> FoundRequest:
    """Find a request by its number: from 1, or from -1 for the last one.

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
    """A number from 1 on, or from -1 for the last one, as one from 1 on.

    Raises:
        IndexError: there is no such request.
    """
    wanted = number if number > 0 else count + 1 + number
    if number == 0 or not 1 <= wanted <= count:
        raise IndexError(f"there is no request {number:,}: {there_are}")
    return wanted


def _source_request(reader: ReadableLog, book: ReceiptLog, number: int) -> FoundRequest:
    """A request of the agent from which a session was imported: there was one before each answer.

    What its model was given is the history under the last compaction before it. No receipt proves that, so the one
    that this makes up has no hash.

    Args:
        reader: a log without receipts.
        book: what its plans are.
        number: the request's number, from 1, or from -1 for the last one.

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
    """Make up a receipt, without a hash, for the request before the message at a place; none was stored."""
    index = reader.index
    plans = [name_of(record.get("id")) for position, _, record in imported_plans(index, book) if position < place]
    before = list(reader.read([index.live[place - 1]] if place else []))
    receipt = Receipt(
        id="",
        time=time,
        plan=plans[-1] if plans else "",
        upto=(given_id(before[0]) or "") if before else "",
        messages=0,
        tokens=0,
        budget_tokens=0,
        provider="",
        head="",
        extras=0,
        hash="",
    )
    return PlacedReceipt(receipt, index.live, len(index), 0)
