"""A line of JSON that is too long to be parsed, without the texts that make it long.

The line is read in blocks. As soon as more of it is kept than may be, the text that is being read is left out, and
another text says so in its place. So the rest of the line is read in bounded memory: what was said beside a large image
or output, ids, calls.
"""

from __future__ import annotations

import re

from ..left_out import left_out_text

_LEAST_BYTES = 1 << 20
"""A shorter text is not left out: a line that is long without longer ones is given up."""
_QUOTE_OR_ESCAPE = re.compile(rb'["\\]')


class LongLine:
    """Shortens a line while it is read.

    Args:
        most_bytes: how much of it may be kept.
    """

    def __init__(self, most_bytes: int) -> None:
        self.left_out = list[int]()
        """The bytes of each text that was left out."""
        self.is_too_long = False
        """Whether it is too long although texts were left out."""
        self._most = most_bytes
        self._kept = bytearray()
        self._text_at = -1
        """Where the text that is being read begins in what is kept; -1 outside of texts."""
        self._text_bytes = 0
        self._is_left_out = self._is_escaped = False

    def feed(self, block: bytes) -> None:
        """Take the next bytes of the line."""
        at = 0
        if self._is_escaped and block:
            self._is_escaped, at = False, 1
            self._keep(block, 0, 1)
        while at < len(block) and not self.is_too_long:
            at = self._text(block, at) if self._text_at >= 0 else self._between(block, at)

    def finish(self) -> bytes:
        """What is kept of the line."""
        return bytes(self._kept)

    def _between(self, block: bytes, at: int) -> int:
        """Take what stands between texts; returns where the next text begins."""
        quote = block.find(b'"', at)
        end = quote + 1 if quote >= 0 else len(block)
        self._keep(block, at, end)
        if quote >= 0:
            self._text_at, self._text_bytes = len(self._kept), 0
        return end

    def _text(self, block: bytes, at: int) -> int:
        """Take a part of a text, up to its end or to an escape; returns what follows."""
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
        self._text_at, self._is_left_out = -1, False

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
