"""Rebuild the views of a session from its log alone, and prove that they are equal to the views that models got.

A view is the list of messages that a model gets in a request. A receipt is the record of a view: its parameters and its
hash. A plan is the record of a compaction: it says which messages views keep. A reset is a record that replaces the
live history, as a clear or a rewind does.

A view is rebuilt by the code that made it, from the history of that time. A reset may be recorded between a view and
its receipt. So if the history at the receipt does not result in the view, the histories that earlier resets replaced
are tried, the newest first. The hash shows which history is the right one.

Between two plans, each view begins with the previous view. So a `Rebuilder` extends its window by the appended messages
to make the next view. If the hash does not prove this view, the view is made again from the beginning.
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
from ..log.contract import LogDescription, Outcome, Prepare, ReadableLog
from ..log.index import DAMAGED, Index, live_positions
from ..log.message_columns import MessageColumns
from ..log.record_kinds import control_of
from ..log.record_line import Message, decode, encode_object, name_of
from ..log.scanner import Scanner
from ..messages.message import metadata_of
from ..view.plan import Plan
from ..view.receipts import LINE, RENDERING, RULES_KEY, Receipt, text_hash
from ..view.recipients import RULES, Recipient
from ..view.rules_of_log import LINES, WIRE
from ..view.stored_plan import kept_ordinals
from ..window.ephemerals import UnloggedMessages
from ..window.request import ViewRequest
from ..window.window import Window


@dataclass(frozen=True, slots=True)
class PlacedReceipt:
    """A receipt and its place in the log.

    The live history at that time was `live` up to the last message of the receipt.
    """

    receipt: Receipt
    live: array[int]
    records: int
    """The number of message records before the receipt."""
    resets: int
    """The number of resets before the receipt."""


_LEVEL = 1


@dataclass(frozen=True, slots=True)
class PackedRecord:
    """A record, kept as compressed JSON."""

    packed: bytes
    upto: str = ""
    """For a plan: the id of the last message of the history that the plan was made for; else ""."""

    @classmethod
    def of(cls, record: Message) -> Self:
        """Compress a record."""
        return cls(zlib.compress(encode_object(record) + b"}", _LEVEL), name_of(record.get("upto")))

    def record(self) -> Message:
        """Decompress and parse the record."""
        return decode(zlib.decompress(self.packed))


@dataclass(slots=True)
class ReceiptLog:
    """The receipts of the log in order (records of requests to a model), and the records to which these refer."""

    requests: list[PlacedReceipt] = field(default_factory=list)
    plans: dict[str, PackedRecord] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)
    replaced: list[array[int]] = field(default_factory=list)
    """The live histories that resets replaced, in order."""
    made_for: list[tuple[PackedRecord, array[int]]] = field(default_factory=list)
    """The session's plans in order, each with the live history for which the plan was made (it may have grown since).
    """
    index: Index = field(default_factory=Index)
    malformed: int = 0
    """The number of receipts that cannot be parsed."""
    sent: dict[str, PackedRecord] = field(default_factory=dict)
    """The records of the requests that the host finally sent, by the id of the receipt."""
    added: dict[str, PackedRecord] = field(default_factory=dict)
    """The messages that hosts added to requests, by hash."""
    usage: dict[str, Message] = field(default_factory=dict)
    """The usage records with the provider's token counts, by the id of the receipt."""

    def sent_for(self, receipt: Receipt) -> Message | None:
        """Return the record of the request that the host sent for a view, with the messages that the host added.

        Return None if the host did not report the request.
        """
        packed = self.sent.get(receipt.id)
        if packed is None:
            return None
        record = packed.record()
        listed = record.get("added")
        additions = listed if isinstance(listed, list) else []
        added = [self._complete(addition) for addition in additions if isinstance(addition, dict)]
        return {**record, "added": added}

    def _complete(self, addition: Message) -> Message:
        """Return an addition with its message, if another record of the log has the message."""
        if "message" in addition:
            return addition
        record = self.added.get(name_of(addition.get("hash")))
        if record is None:
            return addition
        return {**addition, "message": record.record()}

    def tokens_beyond_view(self, receipt: Receipt) -> int | None:
        """Estimate how many tokens a request contained in addition to its view, from the provider's token count.

        Return None if the provider reported no usable count.
        """
        usage = self.usage.get(receipt.id)
        if usage is None:
            return None
        actual = usage.get("actual_tokens")
        ratio = usage.get("ratio")
        if type(actual) is not int or actual == 0:
            return None
        if not isinstance(ratio, int | float) or ratio <= 0:
            return None
        view_tokens = round(receipt.tokens * ratio)
        return max(0, actual - view_tokens)

    def plan(self, plan_id: str) -> Message | None:
        """Return the record of a plan; None if the log has no plan with this id."""
        packed = self.plans.get(plan_id)
        return packed.record() if packed is not None else None

    def missing_parts(self, noted: PlacedReceipt) -> list[str]:
        """Return the reasons why a view cannot be rebuilt in full; an empty list if the view can be rebuilt."""
        receipt = noted.receipt
        reasons = []
        if receipt.extras:
            reasons.append(f"{receipt.extras:,} of its messages stood in no log")
        if receipt.plan and receipt.plan not in self.plans:
            reasons.append(f"the log lacks its plan {receipt.plan}")
        if receipt.hashes.head and receipt.hashes.head not in self.heads:
            reasons.append(f"the log lacks its head text {receipt.hashes.head}")
        return reasons


@dataclass(frozen=True, slots=True)
class RebuiltView:
    """A rebuilt view.

    Attributes:
        messages: the messages of the view; None if no view could be made.
        reasons: what is missing in the log. If this is empty and the view is not proved, the log lacks nothing, but the
            rebuilt view differs from the original view.
        damaged: the ids of messages in the view whose lines do not match their checksums.
        proved: whether the view has the length and the hash in its receipt, and nothing is missing.
    """

    messages: list[Message] | None
    reasons: list[str]
    damaged: list[str] = field(default_factory=list)
    proved: bool = False


def read_receipts(reader: ReadableLog) -> ReceiptLog:
    """Read all receipts of an open log, in one pass."""
    book, scanner = ReceiptLog(), Scanner()
    index = book.index = scanner.index
    for line in reader.records():
        live = index.live
        scanner.feed(line)
        if index.live is not live:
            book.replaced.append(live)
        control = control_of(line)
        if control is not None:
            _take(book, *control)
    return book


def _take(book: ReceiptLog, kind: str, record: Message) -> None:
    if kind in ("plan", "side_plan"):
        packed = book.plans[name_of(record.get("id"))] = PackedRecord.of(record)
        if kind == "plan":
            book.made_for.append((packed, book.index.live))
    elif kind == "system" and isinstance(text := record.get("text"), str):
        book.heads[text_hash(text)] = text  # by its computed hash, not by the hash in the record
    elif kind == "sent":
        book.sent[name_of(record.get("view"))] = PackedRecord.of(record)
        _take_additions(book, record.get("added"))
    elif kind == "usage" and book.requests:
        last = book.requests[-1].receipt
        if (record.get("provider"), record.get("counted_tokens")) == (last.reader.provider, last.tokens):
            book.usage.setdefault(last.id, record)
    elif kind == "view":
        try:
            receipt = Receipt.from_record(record)
        except ValueError:
            book.malformed += 1
            return
        book.requests.append(PlacedReceipt(receipt, book.index.live, len(book.index), len(book.replaced)))


def _take_additions(book: ReceiptLog, additions: object) -> None:
    """Note the messages that a host added to a view, by their hashes. Malformed entries are skipped."""
    if not isinstance(additions, list):
        return
    for addition in additions:
        message = addition.get("message") if isinstance(addition, dict) else None
        if isinstance(message, dict):
            book.added[name_of(addition.get("hash"))] = PackedRecord.of(message)


def config_of(receipt: Receipt) -> Config:
    """Return the options with which a view was rendered.

    Raises:
        ConfigError: an option has an invalid value.
    """
    return Config.load({key: receipt.render.get(key, usual) for key, usual in RENDERING.items()})


def _window_of(config: Config, receipt: Receipt) -> Window:
    """Return a window that makes views in the way in which the receipt's view was made."""
    return Window(
        config, _CharacterCounter(), UnloggedMessages(), str, store=False, for_reader=bool(receipt.hashes.bound)
    )


def view_request_of(book: ReceiptLog, receipt: Receipt) -> ViewRequest:
    """Return a view request with the parameters of a receipt and without a token limit."""
    head_text = None
    if receipt.hashes.head:
        head_text = book.heads.get(receipt.hashes.head) or ""
    return ViewRequest(
        budget_tokens=sys.maxsize,
        head_text=head_text,
        reader=Recipient.of(receipt.reader.provider, receipt.reader.model, rules=receipt.rules),
        line_last=LINES in receipt.render,
        tools=receipt.hashes.tools,
    )


_PAST_COLUMNS = ("offsets", "lengths", "roles", "flags", "id_hashes", "answered_by")
"""The columns of an index that are cut to get the index at an earlier time."""


def _index_of(index: Index, records: int) -> Index:
    """Return the index at the time when the log contained this number of message records."""
    columns = {name: getattr(index.columns, name)[:records] for name in _PAST_COLUMNS}
    return Index(MessageColumns(**columns), models=index.models, headers=index.headers)


def _as_of(known: Index, live: array[int], upto: str, record: Message | None) -> Index | None:
    """Return a copy of an index in which the live history ends with a given message and a given plan is in force.

    Return None if the live history lacks the message or a message of the plan, or if the plan is not valid.

    Args:
        known: the index without the live history.
        live: the ordinals of the live history.
        upto: the id of the last message; "" for an empty history.
        record: the record of the plan; None for no plan.
    """
    index = replace(known.under_plan(record), live=live)
    try:
        positions = live_positions(live, [index.find_all([upto])[upto]]) if upto else [-1]
        index.live = live[: positions[0] + 1]
        if record is not None:
            Plan.from_record(record, kept_ordinals(index, record)[0])  # type: ignore[arg-type]  # a value that is not an object raises too
    except (KeyError, ValueError, OverflowError):
        return None
    return index


class _CharacterCounter:
    """A token counter that counts characters.

    Such a counter is enough here: the size of a rebuilt view is not limited.
    """

    name = "estimate"

    def count_text(self, text: str) -> int:
        """Return the number of characters of a text."""
        return len(text)


def _damaged(view: Sequence[Message], index: Index) -> list[str]:
    """Return the ids of a view's messages whose lines do not match their checksums."""
    ids = [str(metadata_of(message).get("message_id", "")) for message in view]
    ordinals = index.find_all([message_id for message_id in ids if message_id])
    flags = index.columns.flags
    return [message_id for message_id in ids if message_id in ordinals and flags[ordinals[message_id]] & DAMAGED]


class PastLog:
    """A log at an earlier time: the bytes of a reader with the index of that time. Such a log accepts no appends."""

    def __init__(self, reader: ReadableLog, index: Index) -> None:
        self._reader = reader
        self.index = index

    @property
    def waits_for_storage(self) -> bool:
        """Always False, because nothing is written."""
        return False

    def follow(self) -> None:
        """Do nothing: the past does not change."""

    def append(self, batch: Sequence[Prepare], *, wait: bool = True) -> list[Outcome]:
        """Raise `NotImplementedError`: a past log accepts no records."""
        raise NotImplementedError("the past takes no records")

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Return an iterator over parsed message records."""
        return self._reader.read(ordinals)

    def lines(self, ordinals: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Return an iterator over the lines of message records, each with its ordinal."""
        return self._reader.lines(ordinals)

    def records(self) -> Iterator[bytes]:
        """Raise `NotImplementedError`: a past log is read by its index."""
        raise NotImplementedError("the past is read by its index")

    def stored_bytes(self) -> Iterator[bytes]:
        """Return an iterator over the current bytes of the log."""
        return self._reader.stored_bytes()

    def describe(self) -> LogDescription:
        """Describe the current log."""
        return self._reader.describe()

    def close(self) -> None:
        """Do nothing."""


class Rebuilder:
    """Rebuilds the views of a session. Rebuilding is fastest in the order of the requests.

    Args:
        reader: the log.
        book: the receipts of the log.
    """

    def __init__(self, reader: ReadableLog, book: ReceiptLog) -> None:
        self._reader = reader
        self._book = book
        self._key: object = None
        """The history, the plan and the options of the previous view if that view was proved; else None."""
        self._window: Window | None = None
        self._index = Index()

    def view(self, noted: PlacedReceipt) -> RebuiltView:
        """Rebuild the view of a request and compare it with its receipt.

        Raises:
            LogUnreadableError: the log's bytes changed while they were read.
        """
        receipt, book = noted.receipt, self._book
        reasons = book.missing_parts(noted)
        try:
            config = config_of(receipt)
        except ConfigError as error:
            return RebuiltView(None, [*reasons, str(error)])
        if not 0 < receipt.rules <= RULES:
            return RebuiltView(None, [*reasons, f"it was made by rules that are unknown here: {receipt.render!r}"])
        unknown = {*receipt.render} - {*RENDERING, LINE, LINES, RULES_KEY, WIRE}
        if unknown:
            reasons.append(f"it was rendered with options that are unknown here: {', '.join(sorted(unknown))}")
        if receipt.plan and book.plan(receipt.plan) is None:
            return RebuiltView(None, reasons)

        # A view with the same plan and options as the last one is quickly made from the same index.
        key = (id(noted.live), receipt.plan, sorted(map(repr, receipt.render.items())), bool(receipt.hashes.bound))
        if key == self._key and self._advance_to(noted):
            rebuilt = self._make(noted, reasons)
            if rebuilt.proved:
                return rebuilt
        self._key = None
        made_anew, is_of_noted_history = self._make_anew(noted, config, reasons)
        if made_anew is None:
            why = f"the log lacks the message {receipt.upto}, or one that its plan keeps"
            return RebuiltView(None, [*reasons, why])
        if made_anew.proved and is_of_noted_history:
            self._key = key
        return made_anew

    def _make_anew(self, noted: PlacedReceipt, config: Config, reasons: list[str]) -> tuple[RebuiltView | None, bool]:
        """Rebuild a view from the history with which its receipt was noted, else from one that a reset replaced before.

        Return the first view that is proved, or else the first one, or None. Also return whether the view is proved and
        of the history with which its receipt was noted.
        """
        receipt, book = noted.receipt, self._book
        plan = book.plan(receipt.plan)
        first_made: RebuiltView | None = None
        columns_then = _index_of(book.index, noted.records)
        for live in (noted.live, *reversed(book.replaced[: noted.resets])):
            index = _as_of(columns_then, live, receipt.upto, plan)
            if index is None:
                continue
            self._index = index
            self._window = _window_of(config, receipt)
            rebuilt = self._make(noted, reasons)
            if rebuilt.proved:
                return rebuilt, live is noted.live
            first_made = first_made or rebuilt
        return first_made, False

    def _make(self, noted: PlacedReceipt, reasons: list[str]) -> RebuiltView:
        """Rebuild a view with the current window and index. The view is proved if its hash is that of the receipt."""
        assert self._window is not None  # noqa: S101 - it was made with the index
        receipt, index = noted.receipt, self._index
        request = view_request_of(self._book, receipt)
        built = self._window.build(PastLog(self._reader, index), request)
        view = built.view or []
        head = request.head

        def messages_from(item: int) -> Sequence[Message]:
            return view[len(head) + item :]

        view_hash = self._window.chain.hash_of(built.items, messages_from, head, of=index)
        proved = not reasons and len(view) == receipt.messages and view_hash == receipt.hashes.view
        damaged = _damaged(view, index) if self._book.index.damage else []
        return RebuiltView(view, reasons, damaged, proved=proved)

    def _advance_to(self, noted: PlacedReceipt) -> bool:
        """Extend the current index to its state at a request.

        Return False if the current index is not an earlier state of the log at that request.
        """
        index = self._index
        upto = noted.receipt.upto
        if len(index) > noted.records:
            return False
        for name in _PAST_COLUMNS:
            column = getattr(index.columns, name)
            whole_column = getattr(self._book.index.columns, name)
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
