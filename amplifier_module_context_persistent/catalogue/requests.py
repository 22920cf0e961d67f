"""Which request a message answered: the usage that its provider reported is in the log, before the answer or in it.

A `usage` record belongs to the next assistant message, unless that brings usage of its own. Messages that a reset
stored again count once, and so do records that a fork copied: they were paid for in the session it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..log.index import ASSISTANT, Index, id_hash_of
from ..log.record import CONTROL_HEAD, decode
from ..messages.message import Message
from ..messages.metadata import given_id, timestamp_of
from ..messages.usage import ReportedUsage, usage_of_message, usage_of_record


@dataclass(frozen=True, slots=True)
class Request:
    """A request that a provider reported, and the id of the message that answered it (empty if there is none)."""

    usage: ReportedUsage
    output_tokens: int
    is_estimate: bool
    """Whether the output was counted here, because the provider's number is not in the log."""
    message_id: str
    time: str = ""
    """When the answer was stored, as its message says."""


class RequestFinder:
    """Finds the requests in records, which it takes in the log's order.

    Args:
        count: counts a message's tokens, for the output of requests where the provider's number is not in the log.
        repeats: whether an assistant message with this id stands before the one at hand; asked where it matters.
    """

    def __init__(self, count: Callable[[Message], int], repeats: Callable[[str], bool]) -> None:
        self._count, self._repeats = count, repeats
        self.waiting: list[ReportedUsage] = []
        """What was reported of requests that no message has answered yet."""
        self.forked_from = ""
        """The id of the last message that a fork copied; usage after it was copied too."""
        self.copies = False
        """Whether the last message was that one."""

    def take(self, record: dict[str, Any]) -> Iterator[Request]:
        """Take the next record; the requests that it answers."""
        kind = record.get("_record")
        if kind == "header":
            self.forked_from = str(record.get("forked_from") or "")
        elif kind == "usage":
            if not self.copies and (reported := usage_of_record(record)) is not None:
                self.waiting.append(reported)
        elif kind is None:
            message_id = given_id(record) or ""
            self.copies = bool(self.forked_from) and message_id == self.forked_from
            own = usage_of_message(record) if record.get("role") == "assistant" else None
            answers = own is not None or (bool(self.waiting) and record.get("role") == "assistant")
            if answers and not (message_id and self._repeats(message_id)):
                yield from self._answered(record, message_id, own)

    def take_line(self, line: bytes) -> Iterator[Request]:
        """Take the next record's line; it is parsed only if it may matter."""
        if line.startswith(CONTROL_HEAD):
            kind = line[len(CONTROL_HEAD) : _KIND_BYTES]
            matters = b'"usage"' in kind or b'"header"' in kind
        else:
            matters = self._may_matter(line)
            self.copies = False
        if matters:
            try:
                record = decode(line)
            except ValueError:
                return  # `verify` reports it
            yield from self.take(record)

    def _may_matter(self, line: bytes) -> bool:
        """Whether a message may bring usage, answer a request or end what a fork copied."""
        if self.waiting or b'"usage"' in line:
            return True
        return bool(self.forked_from) and self.forked_from.encode("utf-8", "replace") in line

    def _answered(self, message: Message, message_id: str, own: ReportedUsage | None) -> Iterator[Request]:
        waiting, self.waiting = self.waiting, []
        reported = [own] if own is not None else waiting
        for number, usage in enumerate(reported, 1):
            if usage.output is None and number == len(reported):
                yield Request(
                    usage, self._count(message), is_estimate=True, message_id=message_id, time=timestamp_of(message)
                )
            else:
                yield _request(usage, message_id, timestamp_of(message))


def _request(usage: ReportedUsage, message_id: str, time: str) -> Request:
    return Request(usage, usage.output or 0, is_estimate=False, message_id=message_id, time=time)


class MetAnswers:
    """Tells whether an assistant message repeats the id of an earlier one, by what was met."""

    def __init__(self) -> None:
        self._met: set[str] = set()
        self._is_repeated = False

    def meet(self, line: bytes) -> None:
        """Take the line of the record at hand."""
        self._is_repeated = False
        if line.startswith(CONTROL_HEAD) or b'"assistant"' not in line:
            return
        try:
            record = decode(line)
        except ValueError:
            return
        if record.get("role") == "assistant" and (message_id := given_id(record)):
            self._is_repeated = message_id in self._met
            self._met.add(message_id)

    def repeats(self, _: str) -> bool:
        """Whether the message at hand does."""
        return self._is_repeated


def is_repeated(index: Index, message_id: str, offset: int) -> bool:
    """Whether an assistant message with an id stands before an offset; offsets must grow with the ordinals."""
    index.id_table.catch_up(index.id_hashes)
    found = index.id_table.positions(id_hash_of(message_id), index.id_hashes)
    return any(index.roles[one] == ASSISTANT and index.offsets[one] < offset for one in found)


_KIND_BYTES = 32
