"""Add a whole log up: from the notes of its checkpoint where they go, and from its records."""

from __future__ import annotations

from collections.abc import Iterable

from ..log.base import ReadableLog
from ..log.reader import LogReader
from ..messages.message import Message
from ..messages.metadata import given_id
from ..tokens.counter import TokenCounter
from .record_sums import RecordSums
from .requests import MetAnswers, Request, RequestFinder
from .stored_sums import NOTE, StoredSums, counter_of
from .summary import FAILED_AT, Summary, tokens_of


class _NoTokens:
    """A counter for who asks about no tokens; it has the name of the one whose sums are noted."""

    def __init__(self, name: str) -> None:
        self.name = name

    def count_text(self, _: str) -> int:
        return 0


def noted_sum(log: ReadableLog, counter: TokenCounter | None = None) -> Summary | None:
    """Give the sum of the live messages, where a checkpoint notes what most of them come to.

    Args:
        log: the log.
        counter: what must have counted the tokens; None for whatever did, if nobody looks at them.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    name = counter_of(log.notes.get(NOTE, b"")) if isinstance(log, LogReader) else None
    if name is None or not isinstance(log, LogReader) or not StoredSums.can_be_stored(log):
        return None
    if counter is not None and counter.name != name:
        return None
    sums = StoredSums(log, counter or _NoTokens(name))
    sums.go_on()
    return sums.total()[0]


def count_failed(log: ReadableLog) -> int | None:
    """How many results among the live messages tell of an error, where `noted_sum` says it; errors as there."""
    summary = noted_sum(log)
    return _failed(summary) if summary is not None else None


def count_failed_among(messages: Iterable[Message]) -> int:
    """How many results among some messages tell of an error, by what their calls asked."""
    summary = Summary()
    for message in messages:
        summary.add(message, 0)
    summary.finish()
    return _failed(summary)


def _failed(summary: Summary) -> int:
    return sum(numbers[FAILED_AT] for numbers in summary.tools.values())


def add_up(log: ReadableLog, counter: TokenCounter) -> tuple[Summary, RecordSums]:
    """Give the sum of the live messages, and that of all records.

    Raises:
        LogUnreadableError: the log's bytes changed while they were read.
    """
    if isinstance(log, LogReader) and StoredSums.can_be_stored(log):
        sums = StoredSums(log, counter)
        sums.go_on()
        return sums.total()
    met, summary = MetAnswers(), Summary()
    records = RecordSums(RequestFinder(lambda message: tokens_of(message, counter), met.repeats))
    answered: dict[str, list[Request]] = {}
    for line in log.records():
        met.meet(line)
        for request in records.take(line):
            answered.setdefault(request.message_id, []).append(request)
    answered.pop("", None)
    for message in log.read(log.index.live):
        summary.add(message, tokens_of(message, counter), answered.pop(given_id(message) or "", ()))
    summary.finish()
    return summary, records
