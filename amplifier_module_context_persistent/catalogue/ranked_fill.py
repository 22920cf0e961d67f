"""Fill the ranked index of one log, in batches: read missing messages, index them, and write to the catalogue.

A batch is read on a thread that may read the log, and indexed on any thread. An indexed batch becomes a *segment* of
the catalogue, or of the memory if the catalogue cannot be written. So a fill may stop after any batch, and the next
fill continues there. Nothing is written if another file is in the log's place, as after a purge.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..log.contract import ReadableLog
from ..log.postgres.ranked_rows import RankedLog
from ..log.reader import LogReader
from ..messages.message import Message
from ..search.ranked_segment import Segment, SegmentBuilder
from .catalogue_file import Catalogue, CatalogueError
from .log_coverage import LogCoverage, Stamp, is_same_file
from .ranked_words import MOST_SMALL, SMALL_TEXT, KnownWords, RankedWords, note_covered, take_in_segment

BATCH_MESSAGES = 64
BATCH_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages of a log with their offsets, and how far the index covers the log once these are added.

    Attributes:
        messages: adjacent messages, in the log's order.
        covered: the coverage; None for a log without a file.
    """

    messages: Sequence[tuple[int, Message]]
    covered: LogCoverage | None


@dataclass(frozen=True, slots=True)
class FillTarget:
    """The place to which a log's index is written: the log's entry in a catalogue."""

    catalogue: Catalogue
    name: str
    """The log's name in the catalogue."""
    path: str | Path
    """The log's path; nothing is written if another file has replaced the log."""


class RankedFill:
    """The ranked index of one log, to which missing messages are added.

    Args:
        target: the catalogue to write to; None keeps the index in memory.
        noted: the words that the catalogue has under the log's name.
        known: the same words, if they are still valid for the log.
    """

    def __init__(self, target: FillTarget | None, noted: KnownWords | None, known: KnownWords | None) -> None:
        self._target = target
        self.words_at_begin = noted
        """The log's words in the catalogue when the fill began."""
        self._seen = noted.covered if noted is not None else None
        self.stored = _without_small(known.words) if known is not None else None
        """The log's words that are in the catalogue now."""
        self.memory_segments: list[Segment] = []
        """The segments that are in memory only. They follow the segments in the catalogue or in the database."""
        self.end_offset = self.stored.end_offset if self.stored is not None else 0
        """The offset up to which the log is indexed."""
        self.server_part: RankedLog | None = None
        """The part of the index that the log's database has stored before the segments in memory.

        None for a log in a file.
        """
        self.is_overtaken = False
        """Whether another process has stored words of the log meanwhile, so that this fill does not store its own."""
        self._ends: list[LogCoverage | None] = []
        """The coverage of the log after each segment in `memory_segments`."""
        self._builder = SegmentBuilder()
        self._covered: LogCoverage | None = None

    def still_holds(self, reader: LogReader) -> bool:
        """Return whether a log's file still has the indexed bytes.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        return self._covered is not None and self._covered.still_holds(reader)

    @property
    def memory_bytes(self) -> int:
        """The number of bytes of the log whose index is in memory only."""
        stored = self.stored or self.server_part
        return self.end_offset - (stored.end_offset if stored is not None else 0)

    @property
    def memory_messages(self) -> int:
        """The number of messages whose index is in memory only."""
        return sum(segment.messages for segment in self.memory_segments)

    def is_of(self, path: str | Path) -> bool:
        """Return whether the file at a path is still the indexed file, which may have grown. The log is not opened."""
        return self._covered is not None and is_same_file(path, self._covered.stamp)

    def is_whole_of(self, path: str | Path) -> bool:
        """Return whether the whole log at a path is in segments and its file is unchanged. The log is not opened."""
        return not len(self._builder) and self._covered is not None and self._covered.is_whole_of(path)

    def take(self, batch: Batch) -> None:
        """Index the next messages."""
        for offset, message in batch.messages:
            self._builder.add(offset, message)
        self._covered = batch.covered
        if batch.covered is not None:
            self.end_offset = batch.covered.end_offset
        if self._builder.is_full:
            self.finish()

    def finish(self) -> None:
        """Make a segment of the messages since the last segment, and write it to the catalogue, if there is one.

        Segments that could not be written before are written first.
        """
        if len(self._builder):
            self.memory_segments.append(self._builder.segment())
            self._ends.append(self._covered)
            self._builder = SegmentBuilder()
        if self._target is None or self._covered is None or self.is_overtaken:
            return
        try:
            while self.memory_segments:
                if not self._write(self._target):
                    return
            if self._seen is not None and self._seen != self._covered:
                with self._target.catalogue.writing() as connection:
                    note_covered(connection, self._target.name, seen=self._seen, now=self._covered)
        except CatalogueError:
            return

    def drop_small(self) -> int:
        """If memory has many small segments, drop them, so that one segment can be made instead.

        Return the number of their messages.
        """
        first = len(self.memory_segments)
        while first and self.memory_segments[first - 1].chars < SMALL_TEXT:
            first -= 1
        if len(self.memory_segments) - first < MOST_SMALL:
            return 0
        dropped = sum(segment.messages for segment in self.memory_segments[first:])
        del self.memory_segments[first:], self._ends[first:]
        return dropped

    def _write(self, target: FillTarget) -> bool:
        """Write the first segment in memory to the catalogue. Return False if the segment must stay in memory.

        Raises:
            CatalogueError: the catalogue cannot be written now.
        """
        segment = self.memory_segments[0]
        covered = self._ends[0]
        if covered is None or not is_same_file(target.path, covered.stamp):
            return False
        first = len(self.stored.segments) if self.stored is not None else 0
        with target.catalogue.writing() as connection:
            if not is_same_file(target.path, covered.stamp):
                return False
            stored_words = take_in_segment(connection, target.name, segment, seen=self._seen, first=first, now=covered)
        if stored_words is None:
            self.is_overtaken = True
            return False
        self.stored = stored_words
        self._seen = covered
        del self.memory_segments[0], self._ends[0]
        return True


def _without_small(words: RankedWords) -> RankedWords | None:
    """Return the words without the small segments at their end, if there are at least `MOST_SMALL` of these.

    With fewer small segments the words are unchanged. The result is None if nothing else would be left.
    """
    first = words.first_small()
    if len(words.segments) - first < MOST_SMALL:
        return words
    return replace(words, segments=words.segments[:first]) if first else None


def batches(log: ReadableLog, first: int) -> Iterator[range]:
    """Yield the ordinals of a log from `first` on, in batches that take a few milliseconds to read."""
    lengths = log.index.columns.lengths
    count = len(log.index)
    while first < count:
        end = first
        size = 0
        while end < count and end - first < BATCH_MESSAGES and size < BATCH_BYTES:
            size += lengths[end]
            end += 1
        yield range(first, end)
        first = end


def read_batch(reader: LogReader, ordinals: range, stamp: Stamp) -> Batch:
    """Read a batch of messages from a log's file. The batch also has the coverage of the log after these messages.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    index = reader.index
    messages = [
        (index.columns.offsets[ordinal], message)
        for ordinal, message in zip(ordinals, reader.read(ordinals), strict=True)
    ]
    if ordinals.stop == len(index):  # also if there are no messages
        end = min(reader.scanner.offset, reader.size)
    else:
        last = ordinals.stop - 1
        end = index.columns.offsets[last] + index.columns.lengths[last]
    return Batch(messages, LogCoverage.up_to(reader, end, stamp))


def lacking(reader: LogReader, start: int, stamp: Stamp) -> Iterator[Batch]:
    """Yield the messages of a log's file from an offset on, in batches. Yield one empty batch if there are none.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    first = bisect_left(reader.index.columns.offsets, start)
    if first == len(reader.index):
        yield read_batch(reader, range(first, first), stamp)
    for ordinals in batches(reader, first):
        yield read_batch(reader, ordinals, stamp)


def still_known(reader: LogReader, words: KnownWords | None) -> KnownWords | None:
    """Return the stored words of a log if the log still has the indexed bytes, else None.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    if words is None or not words.covered.still_holds(reader):
        return None
    return words
