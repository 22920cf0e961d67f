"""Fetching the lines of records: neighbours are read together, as blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from .index import Index

_GAP_BYTES = 16 << 10  # records closer than this are read together: copying a larger gap takes longer than a call
_SPAN_BYTES = 4 << 20  # about the most that is read at once

Read = Callable[[int, int], bytes]
"""Gives so many bytes (the second argument) from an offset on (the first)."""


class Block(NamedTuple):
    """Bytes of a log, and the records in them that were asked for."""

    start: int
    content: bytes
    ordinals: list[int]

    def lines(self, index: Index) -> list[bytes]:
        """The lines of the records, without LF."""
        content, start = self.content, self.start
        if len(self.ordinals) == 1:
            return [content[: index.lengths[self.ordinals[0]] - 1]]
        begins = map(index.offsets.__getitem__, self.ordinals)
        lengths = map(index.lengths.__getitem__, self.ordinals)
        return [content[at - start : at - start + size - 1] for at, size in zip(begins, lengths, strict=True)]


class NumberedLine(NamedTuple):
    """A line of a log: its number, its offset, and its bytes without LF."""

    number: int
    offset: int
    content: bytes


def numbered_lines(lines: Iterable[bytes], start: int = 0) -> Iterator[NumberedLine]:
    """Number lines, each with its LF, from 1, the first of which begins at an offset."""
    for number, line in enumerate(lines, 1):
        yield NumberedLine(number, start, line[:-1])
        start += len(line)


def fetch_blocks(index: Index, ordinals: Sequence[int], read: Read) -> Iterator[Block]:
    """Read the blocks in which records lie, in the order asked for.

    Args:
        index: knows where they lie.
        ordinals: which ones; any order, repetitions too.
        read: reads the log.
    """
    offsets, lengths = index.offsets, index.lengths
    at, count = 0, len(ordinals)
    while at < count:
        start = offsets[ordinals[at]]
        end = start + lengths[ordinals[at]]
        stop = at + 1
        while stop < count and end - start < _SPAN_BYTES:
            offset = offsets[ordinals[stop]]
            if not 0 <= offset - end <= _GAP_BYTES:
                break
            end = offset + lengths[ordinals[stop]]
            stop += 1
        yield Block(start, read(start, end - start), list(ordinals[at:stop]))
        at = stop


def fetch_lines(index: Index, ordinals: Sequence[int], read: Read) -> Iterator[tuple[int, bytes]]:
    """The lines of records, without LF, in the order asked for; as `fetch_blocks`."""
    for block in fetch_blocks(index, ordinals, read):
        yield from zip(block.ordinals, block.lines(index), strict=True)
