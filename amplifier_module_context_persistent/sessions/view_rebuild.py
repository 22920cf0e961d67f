"""Rebuilding views from a log alone, by their receipts, and proving that they are the same that models got.

A view is made by the same code as in its session, from the history of that time. A reset may come between a view and
its receipt. So if the history at the receipt's place does not give the view, the histories that earlier resets replaced
are tried, the newest first: the hash tells which one is right.

Between two plans a view begins with the view before it. So a `Rebuilder` makes the next view with the same window, from
the appended messages. The view is accepted only if the hash proves it, else it is made anew.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from ..config import Config
from ..errors import ConfigError
from ..log.base import LogDescription, Outcome, Prepare, ReadableLog
from ..log.index import DAMAGED, Index
from ..log.message_columns import MessageColumns
from ..log.record_kinds import control_of
from ..log.record_line import Message, decode, encode_object, name_of
from ..log.scanner import Scanner
from ..messages.metadata import metadata_of
from ..view.plan import Plan, kept_ordinals, live_positions
from ..view.receipts import LINE, RENDERING, RULES_KEY, Receipt, text_hash
from ..view.recipients import RULES, Recipient
from ..view.wire_rules import LINES, WIRE
from ..window.ephemerals import Extras
from ..window.request import ViewRequest
from ..window.window import Window


@dataclass(frozen=True, slots=True)
class PlacedReceipt:
    """A receipt in its place: the live history then is `live` up to the receipt's last message."""

    receipt: Receipt
    live: array[int]
    records: int
    """Message records before it."""
    resets: int
    """Resets before it."""


_LEVEL = 1


@dataclass(frozen=True, slots=True)
class PackedRecord:
    """The JSON of a record, compressed."""

    packed: bytes
    upto: str = ""
    """Of a plan, the id of the last message that it was made for."""

    @classmethod
    def of(cls, record: Message) -> Self:
        """Pack a record that was read."""
        return cls(zlib.compress(encode_object(record) + b"}", _LEVEL), name_of(record.get("upto")))

    def record(self) -> Message:
        """Parse it afresh."""
        return decode(zlib.decompress(self.packed))


@dataclass(slots=True)
class ReceiptLog:
    """The receipts of a log in order, and what they name."""

    requests: list[PlacedReceipt] = field(default_factory=list)
    plans: dict[str, PackedRecord] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)
    replaced: list[array[int]] = field(default_factory=list)
    """The live histories that resets put an end to."""
    made_for: list[tuple[PackedRecord, array[int]]] = field(default_factory=list)
    """The session's plans in order, each with the history that it was made for (which may have grown since)."""
    index: Index = field(default_factory=Index)
    malformed: int = 0
    """Receipts that cannot be read."""
    sent: dict[str, PackedRecord] = field(default_factory=dict)
    """The request that the host finally sent, by the id of the receipt."""
    added: dict[str, PackedRecord] = field(default_factory=dict)
    """Messages that hosts added to requests, by their hashes."""
    usage: dict[str, Message] = field(default_factory=dict)
    """The request's tokens as the provider counted them, by the id of the receipt."""

    def sent_for(self, receipt: Receipt) -> Message | None:
        """The request that the host sent for a view, with its additions; None if it did not tell."""
        packed = self.sent.get(receipt.id)
        if packed is None:
            return None
        record = packed.record()
        listed = record.get("added")
        entries = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        return {**record, "added": [self._complete(one) for one in entries]}

    def _complete(self, addition: Message) -> Message:
        known = self.added.get(name_of(addition.get("hash")))
        return {**addition, "message": known.record()} if known is not None and "message" not in addition else addition

    def tokens_beyond(self, receipt: Receipt) -> int | None:
        """About how many tokens more than its view a request had, by what the provider counted; None if unknown."""
        usage = self.usage.get(receipt.id)
        if usage is None:
            return None
        actual, ratio = usage.get("actual_tokens"), usage.get("ratio")
        if type(actual) is not int or not isinstance(ratio, int | float) or not actual or ratio <= 0:
            return None
        return max(0, actual - round(receipt.tokens * ratio))

    def plan(self, plan_id: str) -> Message | None:
        """The record of a plan; None if the log has none with that id."""
        packed = self.plans.get(plan_id)
        return packed.record() if packed is not None else None

    def lacks(self, noted: PlacedReceipt) -> list[str]:
        """Why a view cannot be shown in full; an empty list if it can."""
        receipt, reasons = noted.receipt, []
        if receipt.extras:
            reasons.append(f"{receipt.extras:,} of its messages stood in no log")
        if receipt.plan and receipt.plan not in self.plans:
            reasons.append(f"the log lacks its plan {receipt.plan}")
        if receipt.head and receipt.head not in self.heads:
            reasons.append(f"the log lacks its head text {receipt.head}")
        return reasons


@dataclass(frozen=True, slots=True)
class RebuiltView:
    """A rebuilt view.

    `messages` is None if no view could be made. The view is proved if its hash is the receipt's. Else `reasons` say
    what is missing; without reasons, nothing is missing and the view is another one all the same. `damaged` names the
    messages of the view whose lines fail their checksums.
    """

    messages: list[Message] | None
    reasons: list[str]
    damaged: list[str] = field(default_factory=list)
    proved: bool = False


def read_receipts(reader: ReadableLog) -> ReceiptLog:
    """Read all receipts of a log that was opened, in one pass."""
    book, scanner = ReceiptLog(), Scanner()
    index = book.index = scanner.index
    for line in reader.records():
        live = index.live
        scanner.feed(line)
        if index.live is not live:
            book.replaced.append(live)
        if (control := control_of(line)) is not None:
            _take(book, *control)
    return book


def _take(book: ReceiptLog, kind: str, record: Message) -> None:
    if kind in ("plan", "side_plan"):
        packed = book.plans[name_of(record.get("id"))] = PackedRecord.of(record)
        if kind == "plan":
            book.made_for.append((packed, book.index.live))
    elif kind == "system" and isinstance(text := record.get("text"), str):
        book.heads[text_hash(text)] = text  # under the hash that it has, not the one that it claims
    elif kind == "sent":
        book.sent[name_of(record.get("view"))] = PackedRecord.of(record)
        listed = record.get("added")
        for one in listed if isinstance(listed, list) else ():
            if isinstance(one, dict) and isinstance(message := one.get("message"), dict):
                book.added[name_of(one.get("hash"))] = PackedRecord.of(message)
    elif kind == "usage" and book.requests:
        last = book.requests[-1].receipt
        if (record.get("provider"), record.get("counted_tokens")) == (last.provider, last.tokens):
            book.usage.setdefault(last.id, record)
    elif kind == "view":
        try:
            receipt = Receipt.from_record(record)
        except ValueError:
            book.malformed += 1
            return
        book.requests.append(PlacedReceipt(receipt, book.index.live, len(book.index), len(book.replaced)))


def config_of(receipt: Receipt) -> Config:
    """The options by which a view was rendered.

    Raises:
        ConfigError: one has a value that it cannot have.
    """
    return Config.load({key: receipt.render.get(key, usual) for key, usual in RENDERING.items()})


def _window_of(config: Config, receipt: Receipt) -> Window:
    """A window that makes views as the receipt's was made."""
    return Window(config, _CharacterCounter(), Extras(), str, store=False, for_reader=bool(receipt.bound))


def request_of(book: ReceiptLog, receipt: Receipt) -> ViewRequest:
    """A requested rebuild, at any cost."""
    text = book.heads.get(receipt.head)
    return ViewRequest(
        budget_tokens=sys.maxsize,
        head_text=(text or "") if receipt.head else None,
        reader=Recipient.of(receipt.provider, receipt.model, rules=receipt.rules),
        line_last=LINES in receipt.render,
        tools=receipt.tools,
    )


_PAST_COLUMNS = ("offsets", "lengths", "roles", "flags", "id_hashes", "answered_by")
"""The columns of an index at an earlier time."""


def _index_of(index: Index, records: int) -> Index:
    """The index at the time when the log held this many messages."""
    columns = {name: getattr(index.columns, name)[:records] for name in _PAST_COLUMNS}
    return Index(MessageColumns(**columns), models=index.models, headers=index.headers)


def _as_of(known: Index, live: array[int], upto: str, record: Message | None) -> Index | None:
    """The index with a live history up to one message, under a plan; None if it lacks the message or the plan."""
    index = replace(known.under_plan(record), live=live)
    try:
        positions = live_positions(live, [index.find_all([upto])[upto]]) if upto else [-1]
        index.live = live[: positions[0] + 1]
        if record is not None:
            Plan.from_record(record, kept_ordinals(index, record)[0])  # type: ignore[arg-type]  # what is no object raises as well
    except (KeyError, ValueError, OverflowError):
        return None
    return index


class _CharacterCounter:
    """Counts characters; a rebuilt view is never refused for its size."""

    name = "estimate"

    def count_text(self, text: str) -> int:
        """Its characters."""
        return len(text)


def _damaged(view: Sequence[Message], index: Index) -> list[str]:
    ids = [str(metadata_of(message).get("message_id", "")) for message in view]
    found = index.find_all([message_id for message_id in ids if message_id])
    return [
        message_id for message_id in ids if message_id in found and index.columns.flags[found[message_id]] & DAMAGED
    ]


class PastLog:
    """A log at an earlier time: the reader's bytes under the index of that time. It accepts no appends."""

    def __init__(self, reader: ReadableLog, index: Index) -> None:
        self._reader, self.index = reader, index

    @property
    def waits_for_storage(self) -> bool:
        """It takes nothing."""
        return False

    def follow(self) -> None:
        """Do nothing: the past does not change."""

    def append(self, batch: Sequence[Prepare], *, wait: bool = True) -> list[Outcome]:
        """Refuse."""
        raise NotImplementedError("the past takes no records")

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse records afresh."""
        return self._reader.read(ordinals)

    def lines(self, ordinals: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Read records' lines."""
        return self._reader.lines(ordinals)

    def records(self) -> Iterator[bytes]:
        """Refuse."""
        raise NotImplementedError("the past is read by its index")

    def stored_bytes(self) -> Iterator[bytes]:
        """Give what the log holds now."""
        return self._reader.stored_bytes()

    def describe(self) -> LogDescription:
        """Describe the current log."""
        return self._reader.describe()

    def close(self) -> None:
        """Do nothing."""


class Rebuilder:
    """Makes the views of a session again, best in the order of its requests.

    Args:
        reader: the log.
        book: its receipts.
    """

    def __init__(self, reader: ReadableLog, book: ReceiptLog) -> None:
        self._reader, self._book = reader, book
        self._key: object = None
        """The history, the plan and the options by which the view before was made, if that was proved."""
        self._window: Window | None = None
        self._index = Index()

    def view(self, noted: PlacedReceipt) -> RebuiltView:
        """Make the view of a request again and compare it with its receipt.

        Raises:
            LogUnreadableError: the log's bytes changed while they were read.
        """
        receipt, book = noted.receipt, self._book
        reasons = book.lacks(noted)
        try:
            config = config_of(receipt)
        except ConfigError as error:
            return RebuiltView(None, [*reasons, str(error)])
        if not 0 < receipt.rules <= RULES:
            return RebuiltView(None, [*reasons, f"it was made by rules that are unknown here: {receipt.render!r}"])
        unknown = {*receipt.render} - {*RENDERING, LINE, LINES, RULES_KEY, WIRE}
        if unknown:
            reasons.append(f"it was rendered with options that are unknown here: {', '.join(sorted(unknown))}")
        record = book.plan(receipt.plan)
        if receipt.plan and record is None:
            return RebuiltView(None, reasons)

        key = (id(noted.live), receipt.plan, sorted(map(repr, receipt.render.items())), bool(receipt.bound))
        if key == self._key and self._reach(noted):
            made = self._make(noted, reasons)
            if made.proved:
                return made
        self._key = None
        first_made: RebuiltView | None = None
        columns_then = _index_of(book.index, noted.records)
        for live in (noted.live, *reversed(book.replaced[: noted.resets])):
            index = _as_of(columns_then, live, receipt.upto, record)
            if index is None:
                continue
            self._index, self._window = index, _window_of(config, receipt)
            made = self._make(noted, reasons)
            if made.proved:
                self._key = key if live is noted.live else None
                return made
            first_made = first_made or made
        if first_made is not None:
            return first_made
        return RebuiltView(None, [*reasons, f"the log lacks the message {receipt.upto}, or one that its plan keeps"])

    def _make(self, noted: PlacedReceipt, reasons: list[str]) -> RebuiltView:
        """Make a view with the window at hand."""
        assert self._window is not None  # noqa: S101 - it was made with the index
        receipt, index, request = noted.receipt, self._index, request_of(self._book, noted.receipt)
        built = self._window.build(PastLog(self._reader, index), request)
        view, head = built.view or [], request.head
        found = self._window.chain.hash_of(built.items, lambda at: view[len(head) + at :], head, of=index)
        proved = not reasons and len(view) == receipt.messages and found == receipt.hash
        damaged = _damaged(view, index) if self._book.index.damage else []
        return RebuiltView(view, reasons, damaged, proved=proved)

    def _reach(self, noted: PlacedReceipt) -> bool:
        """Extend the index at hand to the state that it had at a request; False if it is not an earlier state."""
        index, upto = self._index, noted.receipt.upto
        if len(index) > noted.records:
            return False
        for name in _PAST_COLUMNS:
            column, whole_column = getattr(index.columns, name), getattr(self._book.index.columns, name)
            column.extend(whole_column[len(column) : noted.records])
        if not upto:
            return not index.live
        ordinal = index.find(upto)
        if ordinal is None:
            return False
        try:
            (position,) = live_positions(noted.live, [ordinal])
        except KeyError:
            return False
        if position + 1 < len(index.live):
            return False
        index.live.extend(noted.live[len(index.live) : position + 1])
        return True
