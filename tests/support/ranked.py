"""A ranked index in memory, for tests of the ranking."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime

from amplifier_module_context_persistent.messages.message import Message
from amplifier_module_context_persistent.search.question import read_question
from amplifier_module_context_persistent.search.ranked_segment import MessageColumns, Postings, Segment, SegmentBuilder
from amplifier_module_context_persistent.search.ranking import GAP, Ranking, rank

NOW = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)


class MemoryIndex:
    """The index of some logs.

    Args:
        logs: the messages of each log.
        segment_messages: how many of them make a segment.
    """

    def __init__(self, *logs: Sequence[Message], segment_messages: int = 1_000) -> None:
        self.places: list[int] = []
        self.numbers: list[int] = []
        """The number of each segment's first message, over all logs."""
        self.segments: list[Segment] = []
        self.counts: list[int] = []
        place = 0
        for log in logs:
            for first in range(0, len(log), segment_messages):
                builder = SegmentBuilder()
                for offset, message in enumerate(log[first : first + segment_messages], first):
                    builder.add(100 * offset, message)
                self.segments.append(builder.segment())
                self.places.append(place)
                self.numbers.append(sum(self.counts))
                self.counts.append(len(builder))
                place += len(builder)
            place += GAP

    def frequencies(self, keys: Sequence[int]) -> list[int]:
        """How many messages have each term."""
        return [sum(len(found.weights) for _, found in self.postings(key)) for key in keys]

    def postings(self, key: int, among: Collection[int] | None = None) -> Iterator[tuple[int, Postings]]:
        """The postings of a term in each segment, or in some."""
        chosen = range(len(self.segments)) if among is None else sorted(among)
        return ((number, self.segments[number].postings(key)) for number in chosen)

    def seconds(self, segment: int, number: int) -> int:
        """When a message was written."""
        return MessageColumns.unpacked(self.segments[segment].columns).seconds[number]

    def ask(self, question: str, most: int = 10) -> Ranking:
        """The answer to a question."""
        return rank(read_question(question, now=NOW), self, most=most)

    def found(self, question: str, most: int = 10) -> list[int]:
        """The numbers of the messages that were found, over all logs."""
        return [self.numbers[one.segment] + one.number for one in self.ask(question, most).found]


def said(text: str, role: str = "user", name: str = "", time: str = "") -> Message:
    """A message."""
    message: Message = {"role": role, "content": text}
    if name:
        message["name"] = name
    if time:
        message["metadata"] = {"timestamp": time}
    return message
