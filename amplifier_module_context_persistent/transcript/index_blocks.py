"""What goes into the search index: the messages of logs, a block of neighbouring ones at a time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from ..errors import LogError
from ..log.reader import LogReader
from ..search.trigrams import Runs
from .full_text import Block, Covered, Stamp
from .search import searched_text

BLOCK_BYTES = 1 << 16
"""Of text: smaller blocks make the index larger, and larger ones make it rule out less."""
RUN_BYTES = 1 << 25
"""Of logs that are read for one writing of the index; the next one goes on."""
TAIL_BYTES = 32
"""Of a log before a place; in a chained log they hold a record's checksum."""
_LEAST_WORD_BYTES = 4
"""A block with more words than one for so many bytes is dense."""
_BATCH = 256


class Blocks:
    """Gives what is to be added, block by block.

    Args:
        stale: by session, its log and the offset from which on its messages are to be added.
    """

    def __init__(self, stale: Mapping[str, tuple[Path, int]]) -> None:
        self.covered: dict[str, Covered] = {}
        """What was taken in, by session; whole after the last block."""
        self._stale = stale
        self._left_bytes = RUN_BYTES
        self._block, self._runs, self._text_bytes = Block(), Runs(), 0

    def __iter__(self) -> Iterator[Block]:
        for name, (path, done) in self._stale.items():
            if self._left_bytes <= 0:
                break
            try:
                with closing(LogReader(path)) as reader:
                    reader.follow()
                    if reader.file.opened_status is not None and not reader.index.damage:
                        yield from self._take_in(name, reader, Stamp.of(reader.file.opened_status), done)
            except (LogError, ValueError, RecursionError):
                continue  # the search reported it
        if self._block.parts:
            yield self._finished()

    def _take_in(self, name: str, reader: LogReader, stamp: Stamp, done: int) -> Iterator[Block]:
        offsets, lengths = reader.index.offsets, reader.index.lengths
        first = bisect_left(offsets, done)
        ordinals = range(first, len(offsets))
        for begin in range(0, len(ordinals), _BATCH):
            if self._left_bytes <= 0:
                end = offsets[ordinals[begin]]
                break
            batch = ordinals[begin : begin + _BATCH]
            for ordinal, message in zip(batch, reader.read(batch), strict=True):
                self._add(name, offsets[ordinal], searched_text(message))
                self._left_bytes -= lengths[ordinal]
                if self._text_bytes >= BLOCK_BYTES:
                    yield self._finished()
        else:
            end = min(reader.scanner.offset, reader.size)
        self.covered[name] = Covered(stamp, end, reader.file.read(max(0, end - TAIL_BYTES), min(end, TAIL_BYTES)))

    def _add(self, name: str, offset: int, text: str) -> None:
        self._runs.add(text)
        first, _ = self._block.parts.get(name, (offset, offset))
        self._block.parts[name] = first, offset
        self._text_bytes += len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))

    def _finished(self) -> Block:
        block, words = self._block, self._runs.words()
        if len(words) * _LEAST_WORD_BYTES <= self._text_bytes:
            block.words = words
        self._block, self._runs, self._text_bytes = Block(), Runs(), 0
        return block
