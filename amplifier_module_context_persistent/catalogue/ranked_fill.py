"""Filling the ranked index of one log: what is lacking is read, taken and written to the catalogue, in batches.

Whoever fills reads each batch where it may read the log, and takes it on any thread. What was taken counts at once: it
is a segment of the catalogue, or a segment in memory if the catalogue cannot be written. So a fill may end at any
batch, and the next one goes on there. Nothing is written if another file is in the log's place, such as a purge puts
there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..log.base import ReadableLog
from ..log.reader import LogReader
from ..messages.message import Message
from ..search.ranked_segment import Segment, SegmentBuilder
from .catalogue_file import Catalogue, CatalogueError
from .covered import LogCoverage, Stamp, is_same_file
from .ranked_words import MOST_SMALL, SMALL_TEXT, KnownWords, RankedWords, note_covered, take_in_segment

BATCH_MESSAGES = 64
BATCH_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages of a log, each with its offset, and how far the log is covered once they were taken.

    Attributes:
        messages: neighbours, in the log's order.
        covered: None for a log that has no file.
    """

    messages: Sequence[tuple[int, Message]]
    covered: LogCoverage | None


@dataclass(frozen=True, slots=True)
class FillTarget:
    """Where a fill is written: the catalogue, the log's name in it, and the log's path."""

    catalogue: Catalogue
    name: str
    path: str | Path


class RankedFill:
    """The fill of one log.

    Args:
        target: where it is written; None keeps it in memory.
        noted: what the catalogue has under the log's name.
        known: the same, if the log still has it.
    """

    def __init__(self, target: FillTarget | None, noted: KnownWords | None, known: KnownWords | None) -> None:
        self._target = target
        self._seen = noted.covered if noted is not None else None
        self.stored = _without_small(known.words) if known is not None else None
        """What the catalogue has of the log."""
        self.made: list[Segment] = []
        """Segments that follow those of the catalogue, and are not in it."""
        self.end_offset = self.stored.end_offset if self.stored is not None else 0
        """Up to where the log was taken."""
        self._builder = SegmentBuilder()
        self._covered: LogCoverage | None = None

    def still_holds(self, reader: LogReader) -> bool:
        """Whether a log's file still has what was taken.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        return self._covered is not None and self._covered.still_holds(reader)

    def take(self, batch: Batch) -> None:
        """Take the next messages."""
        for offset, message in batch.messages:
            self._builder.add(offset, message)
        self._covered = batch.covered
        if batch.covered is not None:
            self.end_offset = batch.covered.end_offset
        if self._builder.is_full:
            self.finish()

    def finish(self) -> None:
        """Make a segment of what was taken since the last one, and write it."""
        builder, self._builder = self._builder, SegmentBuilder()
        if len(builder):
            self.made.append(builder.segment())
        if self._target is None or self._covered is None or len(self.made) > 1:
            return  # an earlier one could not be written
        if self.made:
            self._write(self._target, self.made[0], self._covered)
        elif self._seen is not None and self._seen != self._covered:
            try:
                with self._target.catalogue.writing() as connection:
                    note_covered(connection, self._target.name, seen=self._seen, now=self._covered)
            except CatalogueError:
                return

    def drop_small(self) -> int:
        """Drop many small segments at the end of those in memory, for one to be made of them; how many messages."""
        first = len(self.made)
        while first and self.made[first - 1].chars < SMALL_TEXT:
            first -= 1
        if len(self.made) - first < MOST_SMALL:
            return 0
        dropped = sum(segment.messages for segment in self.made[first:])
        del self.made[first:]
        return dropped

    def _write(self, target: FillTarget, segment: Segment, covered: LogCoverage) -> None:
        first = len(self.stored.segments) if self.stored is not None else 0
        try:
            with target.catalogue.writing() as connection:
                if not is_same_file(target.path, covered.stamp):
                    return
                kept = take_in_segment(connection, target.name, segment, seen=self._seen, first=first, now=covered)
        except CatalogueError:
            return
        if kept is not None:
            self.stored, self._seen = kept, covered
            self.made.clear()


def _without_small(words: RankedWords) -> RankedWords | None:
    """The words without the small segments at their end, if these are so many that one is to replace them."""
    first = words.first_small()
    if len(words.segments) - first < MOST_SMALL:
        return words
    return replace(words, segments=words.segments[:first]) if first else None


def batches(log: ReadableLog, first: int) -> Iterator[range]:
    """The ordinals of a log from the first one on, in batches of a size that is read in a few milliseconds."""
    lengths, count = log.index.columns.lengths, len(log.index)
    while first < count:
        end, size = first, 0
        while end < count and end - first < BATCH_MESSAGES and size < BATCH_BYTES:
            size += lengths[end]
            end += 1
        yield range(first, end)
        first = end


def read_batch(reader: LogReader, ordinals: range, stamp: Stamp) -> Batch:
    """Read some messages of a log's file; with the last of them, the log is covered to its end.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    index = reader.index
    messages = [
        (index.columns.offsets[ordinal], message)
        for ordinal, message in zip(ordinals, reader.read(ordinals), strict=True)
    ]
    is_last = ordinals.stop == len(index)
    last = ordinals.stop - 1
    end = index.columns.offsets[last] + index.columns.lengths[last]
    if is_last:
        end = min(reader.scanner.offset, reader.size)
    return Batch(messages, LogCoverage.up_to(reader, end, stamp))


def lacking(reader: LogReader, start: int, stamp: Stamp) -> Iterator[Batch]:
    """Read what a log's file has from an offset on; one empty batch if that is no message.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    first = bisect_left(reader.index.columns.offsets, start)
    if first == len(reader.index):
        yield read_batch(reader, range(first, first), stamp)
    for ordinals in batches(reader, first):
        yield read_batch(reader, ordinals, stamp)


def still_known(reader: LogReader, known: KnownWords | None) -> KnownWords | None:
    """What is known of a log, if the log still has the bytes that were taken in.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    return known if known is not None and known.covered.still_holds(reader) else None
