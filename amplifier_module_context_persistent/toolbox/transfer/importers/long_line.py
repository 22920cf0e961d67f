"""Shorten a line of JSON that is too long to be parsed: leave out the texts that make it long.

The line is read in blocks. As soon as the kept part is too long, the text (JSON string) that is being read is left out,
and a note is put in its place. So the rest of the line is read with bounded memory: ids, calls, and texts beside a
large image or output.
"""

from __future__ import annotations

import re

from ..imports.too_large_value import left_out_text

_LEAST_BYTES = 1 << 20
"""The least size of a text that is left out. If a line is too long and has no such text, it is lost."""
_QUOTE_OR_ESCAPE = re.compile(rb'["\\]')


class LongLine:
    """Shortens a long line while the line is read.

    Args:
        most_bytes: the most bytes of the line that are kept.
    """

    def __init__(self, most_bytes: int) -> None:
        self.left_out = list[int]()
        """The size in bytes of each text that was left out."""
        self.is_too_long = False
        """Whether the line is too long even without the texts that were left out."""
        self._most = most_bytes
        self._kept = bytearray()
        self._text_at = -1
        """The offset in the kept bytes at which the current text begins; -1 outside of texts."""
        self._text_bytes = 0
        self._is_left_out = self._is_escaped = False

    def feed(self, block: bytes) -> None:
        """Process the next bytes of the line."""
        at = 0
        if self._is_escaped and block:
            self._is_escaped = False
            at = 1
            self._keep(block, 0, 1)
        while at < len(block) and not self.is_too_long:
            at = self._text(block, at) if self._text_at >= 0 else self._between(block, at)

    def finish(self) -> bytes:
        """Return the shortened line."""
        return bytes(self._kept)

    def _between(self, block: bytes, at: int) -> int:
        """Keep the bytes up to the next text, and return the offset in the block where that text begins."""
        quote = block.find(b'"', at)
        end = quote + 1 if quote >= 0 else len(block)
        self._keep(block, at, end)
        if quote >= 0:
            self._text_at = len(self._kept)
            self._text_bytes = 0
        return end

    def _text(self, block: bytes, at: int) -> int:
        """Process a text up to its end or past an escape, and return the offset in the block that follows."""
        found = _QUOTE_OR_ESCAPE.search(block, at)
        if found is None:
            self._keep(block, at, len(block))
            return len(block)
        if found[0] == b'"':
            self._keep(block, at, found.start())
            self._end_text()
            return found.end()
        end = found.end() + 1
        self._is_escaped = end > len(block)
        self._keep(block, at, min(end, len(block)))
        return end

    def _end_text(self) -> None:
        if self._is_left_out:
            self.left_out.append(self._text_bytes)
            self._kept += left_out_text(self._text_bytes).encode()
        self._kept += b'"'
        self._text_at = -1
        self._is_left_out = False

    def _keep(self, block: bytes, start: int, end: int) -> None:
        self._text_bytes += end - start
        if self._is_left_out:
            return
        self._kept += memoryview(block)[start:end]
        if len(self._kept) <= self._most:
            return
        if self._text_at >= 0 and self._text_bytes >= _LEAST_BYTES:
            del self._kept[self._text_at :]
            self._is_left_out = True
        else:
            self.is_too_long = True
            self._kept.clear()
