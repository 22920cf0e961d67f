"""Fetching records' lines back from where they were written, neighbours with one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from .index import Index

_GAP_BYTES = 16 << 10  # records closer than this are read together: copying a larger gap takes longer than a call
_SPAN_BYTES = 4 << 20  # about the most that is read at once


def fetch_lines(
    index: Index, ordinals: Sequence[int], read: Callable[[int, int], bytes]
) -> Iterator[tuple[int, bytes]]:
    """The lines of records, without LF, in the order asked for.

    Args:
        index: knows where they lie.
        ordinals: which ones; any order, repetitions too.
        read: gives so many bytes (the second argument) from an offset on (the first).
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
        block = read(start, end - start)
        for ordinal in ordinals[at:stop]:
            begin = offsets[ordinal] - start
            yield ordinal, block[begin : begin + lengths[ordinal] - 1]
        at = stop
