"""Messages read from a file, verified: by their checksums, or because their bytes are some that were verified before.

A request reads nearly the same lines again as the one before it. Blocks that were verified are kept in memory, up to
`KEPT_BYTES` for a log. What is handed out is always read from the file: bytes that equal those kept are what they were
when their checksums were looked at, and to compare them takes a tenth of the time. Any others are verified.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from .index import Index
from .line_blocks import Block, Read, fetch_blocks, fetch_lines
from .read_back import BATCH_LINES, Line, checked, parsed_together
from .record import Message

KEPT_BYTES = 4 << 20
"""The bytes of as many messages as a large model takes."""

T = TypeVar("T")
ReadBack = Callable[[Index, Sequence[int]], Iterator[T]]
"""Reads records of an index, in the order asked for."""


def verified_lines(index: Index, ordinals: Sequence[int], read: Read, location: str) -> Iterator[Line]:
    """Read the lines of records, without LF, in the order asked for; errors as `checked`."""
    return checked(index, fetch_lines(index, ordinals, read), location)


class VerifiedBlocks:
    """The blocks of one log that were verified last."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget them: the log is read anew."""
        self._index: Index | None = None
        """What they were verified for."""
        self._kept: OrderedDict[int, Block] = OrderedDict()
        """By their offsets; the last one that was verified comes last."""
        self._kept_bytes = 0

    def parsed(self, index: Index, ordinals: Sequence[int], read: Read, location: str) -> Iterator[Message]:
        """Parse the messages of records afresh, in the order asked for, each with an id.

        Raises:
            LogUnreadableError: as `parsed` of `read_back`.
        """
        verified, size, left = list[Block](), 0, len(ordinals)
        again, their_lines = list[int](), list[bytes]()  # of blocks that were verified before, until they are enough
        for block in fetch_blocks(index, ordinals, read):
            known, count = self._known(block, index), len(block.ordinals)
            size += len(block.content)
            left -= count
            if size > KEPT_BYTES:  # more than is kept: a long log is passed by, not held
                verified.clear()
            if known == count:
                again += block.ordinals
                their_lines += block.lines(index)
                if left and len(again) < BATCH_LINES:
                    continue
            if not left and known == count and size <= KEPT_BYTES:  # who reads may not come back for the end
                self._keep(verified, index)
            if again:
                yield from parsed_together(index, again, their_lines, location, known=True)
                again, their_lines = [], []
            if known < count:
                lines, is_own = block.lines(index), block.is_whole(index)
                for start, stop in (*_batches(0, known), *_batches(known, count)):
                    some = block.ordinals[start:stop]
                    messages = parsed_together(index, some, lines[start:stop], location, known=stop <= known)
                    is_own = is_own and isinstance(messages, list)
                    if stop == count and is_own and size <= KEPT_BYTES:
                        verified.append(block)
                    if not left and stop == count and size <= KEPT_BYTES:
                        self._keep(verified, index)
                    yield from messages

    def _known(self, block: Block, index: Index) -> int:
        """How many records of a block, from its first one on, have bytes that were verified before."""
        known = self._kept.get(block.start) if self._index is index else None
        if known is None:
            return 0
        if known.content == block.content and known.ordinals == block.ordinals:
            return len(block.ordinals)  # only whole blocks are kept
        if not block.is_whole(index):
            return 0
        count = min(len(known.ordinals), len(block.ordinals))
        if known.ordinals[:count] != block.ordinals[:count]:
            return 0
        shorter, longer = sorted((known.content, block.content), key=len)
        return count if longer.startswith(shorter) else 0

    def _keep(self, blocks: Sequence[Block], index: Index) -> None:
        """Keep blocks; those go that were verified longest ago."""
        if self._index is not index:
            self.clear()
            self._index = index
        kept = self._kept
        for block in blocks:
            if (before := kept.pop(block.start, None)) is not None:
                self._kept_bytes -= len(before.content)
            kept[block.start] = block
            self._kept_bytes += len(block.content)
        while self._kept_bytes > KEPT_BYTES:
            self._kept_bytes -= len(kept.popitem(last=False)[1].content)


def _batches(start: int, stop: int) -> list[tuple[int, int]]:
    return [(at, min(at + BATCH_LINES, stop)) for at in range(start, stop, BATCH_LINES)]
