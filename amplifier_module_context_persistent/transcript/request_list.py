"""The requests of a log by their receipts, one after the other, and what their views lack.

Where the index says where the receipts lie, no message is read, and the first request is there at once.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Self

from ..log.base import ReadableLog
from ..log.control_lines import control_lines
from ..log.record import Message, decode, encode_object, name_of
from ..log.record_kinds import control_of
from ..view.receipts import Receipt, text_hash

_MOST_WAITING = 1_000
RECEIPT_HEAD = b'{"_record":"view"'
PLANS = ("plan", "side_plan")


def lacks(receipt: Receipt, plans: Container[str], heads: Container[str]) -> list[str]:
    """Why a view cannot be shown in full, from the ids of the log's plans and the hashes of its head texts."""
    reasons = []
    if receipt.extras:
        reasons.append(f"{receipt.extras:,} of its messages stood in no log")
    if receipt.plan and receipt.plan not in plans:
        reasons.append(f"the log lacks its plan {receipt.plan}")
    if receipt.head and receipt.head not in heads:
        reasons.append(f"the log lacks its head text {receipt.head}")
    return reasons


@dataclass(frozen=True, slots=True)
class ListedRequest:
    """A request: its number, from 1, its receipt, and why its view cannot be shown in full."""

    number: int
    receipt: Receipt
    lacks: list[str]


class RequestList:
    """The requests of a log that was opened, oldest first, read while they are iterated over."""

    def __init__(self, reader: ReadableLog) -> None:
        self._reader = reader
        self._plans: set[str] = set()
        self._heads: set[str] = set()
        self._knows_all = False
        """Whether the plans and head texts of the whole log are known, not only those before the record at hand."""
        self.malformed = 0
        """Receipts that cannot be read, among those that were passed."""

    @property
    def at_most(self) -> int:
        """The number of receipts; fewer are listed if some cannot be read."""
        return self._reader.index.control_counts.get("view", 0)

    def __iter__(self) -> Iterator[ListedRequest]:
        waiting: deque[Receipt] = deque()
        number = self.malformed = 0
        for receipt in self._receipts():
            waiting.append(receipt)
            if len(waiting) > _MOST_WAITING and not self._knows_all:
                self._know_all()
            while waiting and (self._knows_all or not self._lacks(waiting[0], of_log=True)):
                number += 1
                yield ListedRequest(number, waiting[0], self._lacks(waiting.popleft()))
        for last, receipt in enumerate(waiting, number + 1):
            yield ListedRequest(last, receipt, self._lacks(receipt))

    def _receipts(self) -> Iterator[Receipt]:
        """Give the receipts, taking note of plans and head texts between them."""
        for line in control_lines(self._reader):
            if (control := control_of(line)) is None:
                continue
            kind, record = control
            if kind == "view":
                try:
                    yield Receipt.from_record(record)
                except ValueError:
                    self.malformed += 1
            else:
                self._note(kind, record)

    def _note(self, kind: str, record: Message) -> None:
        """Take note of a plan or a head text."""
        if kind in PLANS:
            self._plans.add(name_of(record.get("id")))
        elif kind == "system" and isinstance(text := record.get("text"), str):
            self._heads.add(text_hash(text))

    def _know_all(self) -> None:
        for line in control_lines(self._reader):
            if not line.startswith(RECEIPT_HEAD) and (control := control_of(line)) is not None:
                self._note(*control)
        self._knows_all = True

    def _lacks(self, receipt: Receipt, *, of_log: bool = False) -> list[str]:
        """What is missing for a view; `of_log`: only what may still come in the log, as it may stand after it."""
        reasons = lacks(receipt, self._plans, self._heads)
        return reasons[bool(receipt.extras) :] if of_log else reasons


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
