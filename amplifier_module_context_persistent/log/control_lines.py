"""The control records of a log, read without its messages.

The index says where every message lies; what lies between two of them are control records. So reading those costs what
they hold, whatever the messages between them. Where the index does not say it for sure (lines were moved, something is
damaged, the log is no file), all lines are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from operator import add, lt
from typing import NamedTuple, TypeGuard

from .base import ReadableLog
from .reader import LogReader
from .record import CONTROL_HEAD

_GAP_BYTES = 16 << 10  # control records closer than this are read together, with the messages between them
_BLOCK = 4096
_FIRST_BYTES, _MOST_BYTES = 64 << 10, 1 << 20  # so much is read at once: little at first, so that it begins at once


class ControlLine(NamedTuple):
    """The line of a control record, without LF, and how many message records stand before it."""

    records: int
    line: bytes


def has_known_places(reader: ReadableLog) -> TypeGuard[LogReader]:
    """Whether the index says where a log's control records lie: a line that was moved counts as damage too."""
    return isinstance(reader, LogReader) and not reader.index.damage


def control_lines(reader: ReadableLog) -> Iterator[bytes]:
    """Give the lines of a log's control records, without LF, oldest first.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    if has_known_places(reader):
        return (found.line for found in ControlPlaces(reader).forward())
    return (line.removesuffix(b"\n") for line in reader.records() if line.startswith(CONTROL_HEAD))


class ControlPlaces:
    """Where a log's control records lie: in the stretches between its messages.

    A stretch is named by the number of messages before it.

    Args:
        reader: a log that `has_known_places`.
    """

    def __init__(self, reader: LogReader) -> None:
        self._index, self._file = reader.index, reader.file
        self._count, self._end = len(reader.index), min(reader.scanner.offset, reader.size)

    def forward(self, start: int = 0) -> Iterator[ControlLine]:
        """Give the control records from a stretch on, oldest first.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        most = _FIRST_BYTES
        for first in range(start, self._count + 1, _BLOCK):
            stretches = self._stretches(first, first + _BLOCK)
            while stretches:
                size = 1
                while size < len(stretches) and self._are_near(stretches[: size + 1], most):
                    size += 1
                yield from self._read(stretches[:size])
                stretches, most = stretches[size:], min(2 * most, _MOST_BYTES)

    def backward(self, stop: int | None = None) -> Iterator[ControlLine]:
        """Give the control records up to a stretch, or all, newest first.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        most, end = _FIRST_BYTES, self._count + 1 if stop is None else stop + 1
        for last in range(end, 0, -_BLOCK):
            stretches = self._stretches(max(0, last - _BLOCK), last)
            while stretches:
                size = 1
                while size < len(stretches) and self._are_near(stretches[-size - 1 :], most):
                    size += 1
                yield from reversed(list(self._read(stretches[-size:])))
                stretches, most = stretches[:-size], min(2 * most, _MOST_BYTES)

    def _stretches(self, first: int, stop: int) -> list[int]:
        """The stretches from one to before another, of which there may be none."""
        offsets, lengths = self._index.offsets, self._index.lengths
        begins = list(map(add, offsets[max(0, first - 1) : stop - 1], lengths[max(0, first - 1) : stop - 1]))
        ends = offsets[first:stop].tolist()
        begins, ends = [0, *begins] if not first else begins, [*ends, self._end] if stop > self._count else ends
        return list(compress(range(first, stop), map(lt, begins, ends)))

    def _are_near(self, stretches: Sequence[int], most: int) -> bool:
        """Whether the first two and the last two stretches are near each other, and all not too much."""
        bounds = self._bounds
        near = all(bounds(b)[0] - bounds(a)[1] <= _GAP_BYTES for a, b in (stretches[:2], stretches[-2:]))
        return near and bounds(stretches[-1])[1] - bounds(stretches[0])[0] <= most

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
