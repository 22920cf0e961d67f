"""The lines of the messages that a window shows, kept in memory as they were verified.

Between two plans a view is the one before it with what was appended. So a request reads and verifies only what is new,
and parses the rest from these bytes. Rules:
- What is handed out is parsed for each request, so nothing that is done to a message reaches another view.
- The lines are those of one index. Before each request `Log.follow` notices a purge, a lost tail, and a file that was
  replaced or removed; then the index is another object, and the lines are forgotten.
- At most `MOST_BYTES` are kept. What a view shows beyond is read and verified for each request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..log.base import Log
from ..log.index import Index
from ..log.read_back import Line, parsed
from ..messages.message import Message

MOST_BYTES = 8 << 20


class ShownLines:
    """The lines of one window's last view."""

    def __init__(self) -> None:
        self._index: Index | None = None
        self._lines: dict[int, bytes] = {}

    def read(self, log: Log, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse messages afresh, in the order asked for; errors as `Log.read`."""
        return parsed(log.index, self._lines_of(log, ordinals), log.describe().location)

    def show(self, log: Log, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse the messages of a view, as `read`, and keep their lines and no others."""
        lines, size = list(self._lines_of(log, ordinals)), 0
        self._lines = {}
        for ordinal, line in lines:
            size += len(line)
            if size > MOST_BYTES:
                break
            self._lines[ordinal] = line
        return parsed(log.index, lines, log.describe().location)

    def _lines_of(self, log: Log, ordinals: Sequence[int]) -> Iterator[Line]:
        if log.index is not self._index:
            self._index, self._lines = log.index, {}
        known = list(map(self._lines.get, ordinals))
        read = log.lines([ordinal for ordinal, line in zip(ordinals, known, strict=True) if line is None])
        return (
            (ordinal, line) if line is not None else next(read) for ordinal, line in zip(ordinals, known, strict=True)
        )
