"""Messages read from a file, verified: by their checksums, or because their bytes are some that were verified before.

A request reads nearly the same lines again as the one before it. Blocks that were verified are kept in memory, up to
`KEPT_BYTES` for a log. What is handed out is always read from the file: bytes that equal those kept are what they were
when their checksums were looked at, and to compare them takes a tenth of the time. Any others are verified.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from ..errors import LogUnreadableError
from .index import Index
from .line_blocks import Block, Read, fetch_blocks, fetch_lines
from .read_back import BATCH_LINES, Line, checked, parsed_together
from .record import Message

KEPT_BYTES = 4 << 20
"""The bytes of as many messages as a large model takes."""
_JOINED_BYTES = 32 << 10  # what follows a shorter piece is compared together with it

T = TypeVar("T")
Piece = tuple[int, bytes]
"""Where bytes begin, and the bytes."""
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
                lines, is_whole = block.lines(index), block.is_whole(index)
                for start, stop in (*_batches(0, known), *_batches(known, count)):
                    some = block.ordinals[start:stop]
                    found = parsed_together(index, some, lines[start:stop], location, known=stop <= known)
                    messages, error = _up_to_error(found)
                    if stop == count and is_whole and not error and size <= KEPT_BYTES:
                        verified.append(block)
                    if not left and stop == count and size <= KEPT_BYTES:
                        self._keep(verified, index)
                    yield from messages
                    if error:
                        raise error

    def kept(self, index: Index, ordinals: Sequence[int]) -> list[Block]:
        """The blocks in which records lie, as they were verified, up to the first record whose bytes are not kept."""
        blocks, at, kept = list[Block](), 0, self._kept if self._index is index else {}
        while at < len(ordinals) and (block := kept.get(index.offsets[ordinals[at]])) is not None:
            asked = ordinals[at : at + len(block.ordinals)]
            pairs = enumerate(zip(block.ordinals, asked, strict=False))
            same = next((number for number, (one, other) in pairs if one != other), len(asked))
            blocks.append(block if same == len(block.ordinals) else block.part(index, same))
            at += same
        return blocks

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


class VerifiedBytes:
    """The bytes of some records of a log, as they were verified, to be compared with what its file holds.

    So who kept what was made of these records knows whether it still stands, and need not parse them again.

    Args:
        blocks: the blocks that were verified last.
        index: that of the log.
        holds: whether the file holds bytes at their offsets.
    """

    def __init__(self, blocks: VerifiedBlocks, index: Index, holds: Callable[[Iterable[Piece]], bool]) -> None:
        self._blocks, self._index, self._holds = blocks, index, holds
        self._pieces = list[Piece]()
        self._firsts = list[int]()
        """By piece, how many records come before it."""
        self._count = self._size = 0

    def add(self, ordinals: Sequence[int]) -> bool:
        """Add records that were read last; False, and nothing done, where not all of their bytes are kept."""
        blocks = self._blocks.kept(self._index, ordinals)
        size = self._size + sum(len(block.content) for block in blocks)
        if sum(len(block.ordinals) for block in blocks) < len(ordinals) or size > KEPT_BYTES:
            return False
        for start, content, records in blocks:
            before, known = self._pieces[-1] if self._pieces else (-1, b"")
            if before + len(known) == start and len(known) < _JOINED_BYTES:
                self._pieces[-1] = before, known + content
            else:
                self._pieces.append((start, content))
                self._firsts.append(self._count)
            self._count += len(records)
        self._size = size
        return True

    def cut(self, count: int) -> None:
        """Forget all but the first records; what is read together with one of them may stay."""
        while self._firsts and self._firsts[-1] >= count:
            self._firsts.pop()
            self._size -= len(self._pieces.pop()[1])
        self._count = count

    def unchanged(self) -> bool:
        """Whether the file holds them still.

        Raises:
            LogUnreadableError: it cannot be read.
        """
        return self._holds(self._pieces)


def _up_to_error(read: Iterable[Message]) -> tuple[Sequence[Message], LogUnreadableError | None]:
    """What is read, and the error that ends it."""
    if isinstance(read, list):
        return read, None
    messages = list[Message]()
    try:
        messages.extend(read)
    except LogUnreadableError as error:
        return messages, error
    return messages, None


def _batches(start: int, stop: int) -> list[tuple[int, int]]:
    return [(at, min(at + BATCH_LINES, stop)) for at in range(start, stop, BATCH_LINES)]
