"""The control records of a log, read without its messages.

The index says where every message lies; what lies between two of them are control records. So reading those costs what
they hold, whatever the messages between them. Where the index does not say it for sure (lines were moved, something is
damaged, the log is no file), nothing is given, and all lines are to be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress
from operator import add, lt
from typing import NamedTuple, TypeGuard

from ..log.base import ReadableLog
from ..log.open import file_reader
from ..log.reader import LogReader

_GAP_BYTES = 16 << 10  # control records closer than this are read together, with the messages between them
_BLOCK = 4096
_FIRST_BYTES, _MOST_BYTES = 64 << 10, 1 << 20  # so much is read at once: little at first, so that it begins at once


class ControlLine(NamedTuple):
    """The line of a control record, without LF, and how many message records stand before it."""

    records: int
    line: bytes


def has_known_places(reader: ReadableLog) -> TypeGuard[LogReader]:
    """Whether the index says where a log's control records lie: a line that was moved counts as damage too."""
    return file_reader(reader) is not None and not reader.index.damage


def control_lines(reader: LogReader) -> Iterator[ControlLine]:
    """Give the control records of a log that `has_known_places`, oldest first.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    yield from _ControlPlaces(reader).read()


class _ControlPlaces:
    """Where a log's control records lie: in the stretches between its messages.

    A stretch is named by the number of messages before it.
    """

    def __init__(self, reader: LogReader) -> None:
        self._index, self._file = reader.index, reader.file
        self._count, self._end = len(reader.index), min(reader.scanner.offset, reader.size)

    def read(self) -> Iterator[ControlLine]:
        """Give them in order."""
        blocks = (self._stretches(first, first + _BLOCK) for first in range(0, self._count + 1, _BLOCK))
        for group in self._groups(chain.from_iterable(blocks)):
            yield from self._read(group)

    def _stretches(self, first: int, stop: int) -> list[int]:
        """The stretches from one to before another that hold any bytes."""
        offsets, lengths = self._index.offsets, self._index.lengths
        begins = list(map(add, offsets[max(0, first - 1) : stop - 1], lengths[max(0, first - 1) : stop - 1]))
        ends = offsets[first:stop].tolist()
        begins, ends = [0, *begins] if not first else begins, [*ends, self._end] if stop > self._count else ends
        return list(compress(range(first, stop), map(lt, begins, ends)))

    def _groups(self, stretches: Iterable[int]) -> Iterator[list[int]]:
        """Put stretches together that are near each other and not too much to be read at once."""
        most, group, bounds = _FIRST_BYTES, list[int](), self._bounds
        for one in stretches:
            begin, end = bounds(one)
            if group:
                is_far = begin - bounds(group[-1])[1] > _GAP_BYTES
                if is_far or end - bounds(group[0])[0] > most:
                    yield group
                    most, group = min(2 * most, _MOST_BYTES), []
            group.append(one)
        if group:
            yield group

    def _bounds(self, records: int) -> tuple[int, int]:
        """Where a stretch begins and ends."""
        offsets, lengths = self._index.offsets, self._index.lengths
        begin = offsets[records - 1] + lengths[records - 1] if records else 0
        return begin, offsets[records] if records < self._count else self._end

    def _read(self, stretches: Sequence[int]) -> Iterator[ControlLine]:
        """Read neighbouring stretches at once."""
        begin, end = self._bounds(stretches[0])[0], self._bounds(stretches[-1])[1]
        block = self._file.read(begin, end - begin)
        for records in stretches:
            start, stop = self._bounds(records)
            for line in block[start - begin : stop - begin].split(b"\n"):
                if line:
                    yield ControlLine(records, line)
