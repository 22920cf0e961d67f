"""The sums of a log's live messages and records: gone on from where they were, and written down for the next time.

Rules:
- Live messages are summed up in segments: runs of records that stand together in the live history. A reset moves
  segments or cuts them; those that are cut are summed up again, the others stay.
- A segment is believed where the live history has its records, one after the other, and nowhere else.
- What is not summed up yet is read from the log and verified, as every reading is.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson

from ..log.index import ASSISTANT, Index, runs_of
from ..log.reader import LogReader
from ..messages.message import Message
from ..messages.metadata import given_id
from ..messages.usage import usage_of_message
from ..tokens.counter import TokenCounter
from .packed import check_numbers, pack, unpack
from .record_sums import RecordSums
from .requests import EarlierAnswers, Request, RequestFinder
from .summary import Summary, tokens_of

logger = logging.getLogger(__name__)

NOTE = "sums"
"""Their name among the notes of a checkpoint."""

VERSION = 5
"""To be raised whenever the same log gives other sums."""

MOST_MESSAGES = 4096
"""The most messages of a segment; what a reset cuts is read again, so it must not be much."""
MOST_BYTES = 8 << 20
_MOST_NOTE_BYTES = 64 << 20
_LEAST_SUM_BYTES = 1 << 20
_LINES_AT_ONCE, _MESSAGES_AT_ONCE = 32, 64
"""Where time is short: so many lines before the clock is looked at, and messages in one run."""


@dataclass(frozen=True, slots=True)
class Segment:
    """So many records from an ordinal on, and their sum in writing; empty where it was put off."""

    first: int
    count: int
    packed: bytes
    is_checked: bool = True
    """Whether it was summed up here, or looked at; anybody may have written what a note has."""


class StoredSums:
    """The sums of one log.

    Args:
        reader: the log, opened; its lines must not have been moved (`can_be_stored`).
        counter: counts tokens; sums by another one are not used.
        most_message_bytes: larger messages are put off: their tokens take long to count.
    """

    def __init__(self, reader: LogReader, counter: TokenCounter, *, most_message_bytes: int | None = None) -> None:
        self._reader, self._counter = reader, counter
        self._most_message_bytes = most_message_bytes
        self.read_bytes = 0
        """So much of the log was read for them, since they were made."""
        self._index: Index | None = None
        self._generation = -1
        self._segments: list[Segment] = []
        """Those of the live history, in its order, up to `_position`."""
        self._position = 0
        self._reusable: dict[int, Segment] = {}
        """Others, by their first records."""
        self._offset = 0
        """Up to where the records are summed up."""
        self._records = RecordSums(self._finder(self._is_repeated))
        self._earlier = EarlierAnswers(reader.index, remembers=False)
        self._line_at = 0

    @staticmethod
    def can_be_stored(reader: LogReader) -> bool:
        """Whether the sums of a log can be gone on from: its lines stand where they were written, one record each."""
        return reader.scanner.order is None and all(found.kind != "glued" for found in reader.index.damage)

    def go_on(self, is_over: Callable[[], bool] = lambda: False) -> bool:
        """Sum up what is not yet, until the time is over; whether all is summed up.

        Raises:
            LogUnreadableError: the log's bytes changed.
        """
        index = self._reader.index
        if index is not self._index:
            self._begin()
        elif index.generation != self._generation:
            self._reusable |= {segment.first: segment for segment in self._segments}
            self._segments, self._position, self._generation = [], 0, index.generation
        self._earlier = EarlierAnswers(index, remembers=self._most_message_bytes is None)
        return self._sum_up_records(is_over) and self._sum_up_messages(is_over)

    @property
    def left_bytes(self) -> int:
        """So many bytes the live messages have that are not summed up yet."""
        index = self._reader.index
        known = self._position if index is self._index and index.generation == self._generation else 0
        return sum(sum(index.lengths[run.start : run.stop]) for run in runs_of(index.live[known:]))

    def total(self) -> tuple[Summary, RecordSums]:
        """All of it; only where `go_on` has come to the end."""
        whole = Summary()
        for segment in self._segments:
            if segment.packed:
                whole.join(_unpack(segment.packed))
        whole.finish()
        return whole, self._records

    def note(self) -> bytes | None:
        """What is summed up, in writing, for `_restore`; None if it would be too large."""
        segments = [*self._segments, *self._reusable.values()]
        records = pack(self._records.to_json())
        head = {
            "version": VERSION,
            "counter": self._counter.name,
            "offset": self._offset,
            "records": len(records),
            "segments": [[one.first, one.count, len(one.packed)] for one in segments],
        }
        packed = [orjson.dumps(head), records, *(one.packed for one in segments)]
        note = b"\n".join((packed[0], b"".join(packed[1:])))
        return note if len(note) <= _MOST_NOTE_BYTES else None

    def restore(self, note: bytes) -> None:
        """Begin with what `note` gave; nothing happens if another version or counter made it.

        Raises:
            ValueError, TypeError, KeyError: it is something else.
        """
        head, _, packed = note.partition(b"\n")
        given = orjson.loads(head)
        if given["version"] != VERSION or given["counter"] != self._counter.name:
            logger.info("%s: its sums are of another version or counter; they are made anew", self._reader.path)
            return
        at, offset, end = given["records"], given["offset"], self._reader.scanner.offset
        check_numbers((at, offset), 0, max(len(packed), end))
        self._records.restore(unpack(packed[:at], _most_bytes(end)))
        self._offset = offset
        for first, count, size in given["segments"]:
            check_numbers((first, count - 1, size))
            self._reusable[first] = Segment(first, count, packed[at : at + size], is_checked=False)
            at += size

    def _begin(self) -> None:
        """Begin anew with what the log's checkpoint says."""
        reader = self._reader
        self._index, self._generation = reader.index, reader.index.generation
        self._segments, self._reusable, self._position, self._offset = [], {}, 0, 0
        self._records = RecordSums(self._finder(self._is_repeated))
        if (note := reader.notes.get(NOTE)) is None:
            return
        try:
            self.restore(note)
        except (ValueError, TypeError, KeyError, AttributeError):
            self._reusable, self._offset = {}, 0
            self._records = RecordSums(self._finder(self._is_repeated))

    def _finder(self, repeats: Callable[[str], bool]) -> RequestFinder:
        return RequestFinder(lambda message: tokens_of(message, self._counter), repeats)

    def _is_repeated(self, message_id: str) -> bool:
        """Whether an answer's id stands in the log before the line at hand."""
        return self._earlier.stands_before(message_id, self._line_at)

    def _sum_up_records(self, is_over: Callable[[], bool]) -> bool:
        reader = self._reader
        if self._offset >= reader.scanner.offset:
            return True
        for number, line in enumerate(reader.whole_lines(self._offset), 1):
            self._line_at = line.offset
            self._records.take(line.content)
            self._offset = line.offset + len(line.content) + 1
            if number % _LINES_AT_ONCE == 0 and is_over():
                return False
        self._offset = reader.scanner.offset
        return True

    def _sum_up_messages(self, is_over: Callable[[], bool]) -> bool:
        live = self._reader.index.live
        while self._position < len(live):
            segment = self._reusable.pop(live[self._position], None)
            is_new = segment is None or not self._fits(segment)
            if segment is None or is_new:
                segment = self._sum_up_run(self._position, is_over)
            self._position += segment.count
            self._push(segment)
            if is_new and self._position < len(live) and is_over():
                return False
        self._reusable = {}
        return True

    def _fits(self, segment: Segment) -> bool:
        """Whether a segment's records stand together where the live history goes on."""
        if not segment.packed and self._most_message_bytes is None:
            return False
        index, end = self._reader.index, self._position + segment.count
        if not index.generation and len(index.live) == len(index):  # every record, one after the other
            stands = segment.first == self._position and end <= len(index)
        else:
            run = index.live[self._position : end]
            stands = len(run) == segment.count and run == array("I", range(segment.first, segment.first + len(run)))
        return stands and (segment.is_checked or not segment.packed or self._is_sound(segment))

    def _is_sound(self, segment: Segment) -> bool:
        """Whether what a note has may be the sum of a segment's messages."""
        size = sum(self._reader.index.lengths[segment.first : segment.first + segment.count])
        try:
            _unpack(segment.packed, _most_bytes(size)).check(segment.count)
        except (ValueError, TypeError, AttributeError):
            return False
        return True

    def _push(self, segment: Segment) -> None:
        """Add a segment; neighbours are joined so that there are few, and larger ones the older they are."""
        while (
            self._segments
            and (last := self._segments[-1]).count <= segment.count <= MOST_MESSAGES - last.count
            and last.first + last.count == segment.first
            and last.packed
            and segment.packed
        ):
            joined = _unpack(last.packed)
            joined.join(_unpack(segment.packed))
            segment = Segment(last.first, last.count + segment.count, pack(joined.to_json()))
            self._segments.pop()
        self._segments.append(segment)

    def _sum_up_run(self, position: int, is_over: Callable[[], bool]) -> Segment:
        """Sum up the next live messages that stand together in the log: at least one."""
        index, most = self._reader.index, self._most_message_bytes
        first, count, size = index.live[position], 0, 0
        for ordinal in index.live[position : position + (MOST_MESSAGES if most is None else _MESSAGES_AT_ONCE)]:
            length = index.lengths[ordinal]
            if ordinal != first + count or size > MOST_BYTES or (count and ordinal in self._reusable):
                break
            if most is not None and length > most:
                if not count:
                    return Segment(first, 1, b"")
                break
            count, size = count + 1, size + length
        messages = list(self._reader.read(range(first, first + count)))
        summary, requests = Summary(), self._requests_of(first, messages)
        for message in messages:
            summary.add(message, tokens_of(message, self._counter), requests.pop(given_id(message) or "", ()))
            if most is not None and is_over():
                break
        self.read_bytes += sum(index.lengths[first : first + summary.messages])
        return Segment(first, summary.messages, pack(summary.to_json()))

    def _requests_of(self, first: int, messages: Sequence[Message]) -> dict[str, list[Request]]:
        """By message id, the requests that some messages answered; `first` is the ordinal of the first one."""
        reader, index = self._reader, self._reader.index
        if not index.control_counts.get("usage") and not any(map(usage_of_message, messages)):
            return {}
        start, end = _answer_before(index, first, self._earlier), index.offsets[first + len(messages) - 1]
        finder = self._finder(self._is_repeated)
        places = zip(reader.scanner.builder.places.headers, index.headers, strict=True)
        headers = [header for place, header in places if place.offset < start]
        finder.forked_from = str(headers[-1].get("forked_from") or "") if headers else ""
        found: dict[str, list[Request]] = {}
        for line in reader.whole_lines(start):
            if line.offset > end:
                break
            self._line_at = line.offset
            for request in finder.take_line(line.content):
                found.setdefault(request.message_id, []).append(request)
        found.pop("", None)
        return found


def _answer_before(index: Index, ordinal: int, earlier: EarlierAnswers) -> int:
    """The offset of the last answer before a record that no earlier one repeats: what was reported before it is its."""
    index.know_ids()
    at = index.roles.rfind(ASSISTANT, 0, ordinal)
    while at >= 0 and earlier.first_with(index.id_hashes[at]) != at:
        at = index.roles.rfind(ASSISTANT, 0, at)
    return index.offsets[at] if at >= 0 else 0


def counter_of(note: bytes) -> str | None:
    """The name of the counter of noted sums; None if there are none that can be used."""
    try:
        head = orjson.loads(note.partition(b"\n")[0])
        return str(head["counter"]) if head["version"] == VERSION else None
    except (ValueError, TypeError, KeyError):
        return None


def _most_bytes(size: int) -> int:
    """How long the sum of messages or records of a size can be at most, in writing."""
    return min(_MOST_NOTE_BYTES, _LEAST_SUM_BYTES + 2 * size)


def _unpack(packed: bytes, most_bytes: int = 0) -> Summary:
    return Summary.from_json(unpack(packed, most_bytes))
