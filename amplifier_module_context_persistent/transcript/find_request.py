"""One request of a log by its number, with what its view is made of, without reading the whole log.

It costs what lies between the request and the nearer end of the log, no message among it. Where it cannot be told so,
`view_rebuild.read_receipts` reads the log in one pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest

from ..log.base import ReadableLog
from ..log.control_lines import ControlLine, ControlPlaces, has_known_places
from ..log.index import ASSISTANT, Index
from ..log.reader import LogReader
from ..log.record import Message, name_of
from ..log.record_kinds import control_of, kind_of
from ..messages.metadata import given_id, timestamp_of
from ..view.plan import IMPORTED, Plan, kept_ordinals
from ..view.receipts import Receipt, text_hash
from .request_list import PLANS, RECEIPT_HEAD, PackedRecord
from .view_rebuild import Noted, ReceiptLog


@dataclass(frozen=True, slots=True)
class FoundRequest:
    """A request, the number of requests in its log, and what its view is made of."""

    number: int
    count: int
    noted: Noted
    book: ReceiptLog


def find_request(reader: ReadableLog, number: int) -> FoundRequest | None:
    """Find a request by its number: from 1, or from -1 for the last one.

    None where it cannot be told without reading the whole log: if the history was replaced since, where the index does
    not say where the receipts lie, and if there is none of that number.
    """
    count = reader.index.control_counts.get("view", 0)
    wanted = number if number > 0 else count + 1 + number
    if not (has_known_places(reader) and 1 <= wanted <= count and number):
        return None
    places = ControlPlaces(reader)
    found = _find(reader, places, wanted, count)
    if found is None or (control := control_of(found.line)) is None:
        return None
    try:
        receipt = Receipt.from_record(control[1])
    except ValueError:
        return None
    noted = Noted(receipt, reader.index.live, found.records, 0)
    book = ReceiptLog([noted], index=reader.index)
    _find_named(book, places, found.records, reader.index.plan)
    return FoundRequest(wanted, count, noted, book)


def _find(reader: LogReader, places: ControlPlaces, wanted: int, count: int) -> ControlLine | None:
    """Find a receipt from the nearer end; None if the history was replaced after it."""
    from_start = wanted <= count // 2 and not reader.index.generation
    left = wanted if from_start else count + 1 - wanted
    for found in places.forward() if from_start else places.backward():
        if found.line.startswith(RECEIPT_HEAD):
            left -= 1
            if not left:
                return found
        elif not from_start and (control := control_of(found.line)) is not None and kind_of(control[0]).frames:
            return None
    return None


def _find_named(book: ReceiptLog, places: ControlPlaces, stretch: int, in_force: Message | None) -> None:
    """Find the plan and the head text of a request: mostly right before it, at the latest at the end of the log."""
    receipt = book.requests[0].receipt
    if in_force is not None and name_of(in_force.get("id")) == receipt.plan:
        book.plans[receipt.plan] = PackedRecord.of(in_force)
    near, far = (places.backward(stretch), places.forward(stretch)), places.forward()
    for found in chain.from_iterable(zip_longest(*near, far)):
        if (not receipt.plan or receipt.plan in book.plans) and (not receipt.head or receipt.head in book.heads):
            return
        if found is None or found.line.startswith(RECEIPT_HEAD) or (control := control_of(found.line)) is None:
            continue
        kind, record = control
        if kind in PLANS and name_of(record.get("id")) == receipt.plan:
            book.plans[receipt.plan] = PackedRecord.of(record)
        elif kind == "system" and isinstance(text := record.get("text"), str) and text_hash(text) == receipt.head:
            book.heads[receipt.head] = text


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


def source_request(reader: ReadableLog, book: ReceiptLog, number: int) -> FoundRequest:
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
    if not any("imported_from" in header for header in index.headers):
        raise IndexError(
            "the log has no receipts: no view was requested, or `receipts` is off; "
            "`replay --views` shows what the default policy would have shown"
        )
    answers = [place for place, ordinal in enumerate(index.live) if index.roles[ordinal] == ASSISTANT]
    wanted = number if number > 0 else len(answers) + 1 + number
    if number == 0 or not 1 <= wanted <= len(answers):
        raise IndexError(f"there is no request {number:,}: the source made one before each answer, {len(answers):,}")
    place = answers[wanted - 1]
    plans = [name_of(record.get("id")) for position, _, record in imported_plans(index, book) if position < place]
    answer, *before = reader.read([index.live[at] for at in (place, place - 1) if at >= 0])
    receipt = Receipt(
        id="",
        time=timestamp_of(answer),
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
    return FoundRequest(wanted, len(answers), Noted(receipt, index.live, len(index), 0), book)
