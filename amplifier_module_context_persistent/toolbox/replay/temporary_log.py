"""`TemporaryLog`: a log in memory whose lines are in a temporary file without a name.

It is for a log that is needed only while a session is played. Such a log may be too large for a process's memory, and
must not remain afterwards. It is searched often for texts that are known in advance, so it notes which lines contain
them.
"""

from __future__ import annotations

import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence

from ...log.filesystem import FileSystem
from ...log.memory import MemoryLog
from ...log.read_back import fetch_lines
from ...log.record_limits import MAX_RECORD_BYTES

_BLOCK_BYTES = 1 << 20
_FILES = FileSystem()

FindIn = Callable[[bytes], Iterable[bytes]]
"""Returns the watched byte strings that a lower-case line contains."""


class TemporaryLog(MemoryLog):
    """A log whose lines are in a temporary file, which the system removes when the file is closed.

    Args:
        max_record_bytes: larger records are refused.
    """

    def __init__(self, *, max_record_bytes: int = MAX_RECORD_BYTES) -> None:
        super().__init__(max_record_bytes=max_record_bytes)
        self._file = tempfile.TemporaryFile("a+b", prefix="context-")  # noqa: SIM115 - `close` closes it
        self._written = True
        self._holders: dict[bytes, array[int]] = {}
        """The messages whose lines contain a watched byte string, in order, by the byte string."""
        self._find_in: FindIn = lambda _line: ()
        self._searched = 0
        """The number of messages that were searched for the watched byte strings."""

    def watch(self, needles: Iterable[bytes], find_in: FindIn) -> None:
        """Note which lines contain some byte strings, so that a later search for these strings need not read the lines.

        Args:
            needles: the byte strings, in lower case; no message may have been searched before.
            find_in: returns the byte strings that a line contains.
        """
        self._holders = {needle: array("I") for needle in needles}
        self._find_in = find_in

    def _keep(self, line: bytes, _messages: int) -> None:
        self._file.write(line)
        self._written = False

    def _read(self, offset: int, size: int) -> bytes:
        if not self._written:
            self._file.flush()
            self._written = True
        return _FILES.read(self._file.fileno(), size, offset)

    def _neighbours(self, ordinals: range) -> bytes:
        return b"".join(line + b"\n" for _, line in self._lines_of(ordinals))

    def _lines_of(self, ordinals: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        return fetch_lines(self.index, ordinals, self._read)

    def records(self) -> Iterator[bytes]:
        """Yield the line of every record with its LF, the oldest first."""
        at, begun = 0, b""
        while block := self._read(at, _BLOCK_BYTES):
            at += len(block)
            *lines, begun = (begun + block).split(b"\n")
            yield from (line + b"\n" for line in lines)

    def find_bytes(self, ordinals: Sequence[int], needle: bytes, *, ignores_case: bool) -> set[int]:
        """Return the messages whose lines contain some bytes, or all messages if JSON may escape the bytes."""
        if not needle.isascii():
            return set(ordinals)
        if ignores_case and needle in self._holders:
            return self._find_watched(ordinals, needle)
        found = set[int]()
        for ordinal, line in self._lines_of(ordinals):
            searched = line.lower() if ignores_case else line
            if needle in searched:
                found.add(ordinal)
        return found

    def _find_watched(self, ordinals: Sequence[int], needle: bytes) -> set[int]:
        """Return the messages whose lines contain a watched byte string."""
        self._search_new()
        holders = self._holders[needle]
        if isinstance(ordinals, range) and ordinals.step == 1:
            first = bisect_left(holders, ordinals.start)
            stop = bisect_left(holders, ordinals.stop)
            return set(holders[first:stop])
        return set(holders).intersection(ordinals)

    def _search_new(self) -> None:
        """Search the messages appended since the last search for the watched byte strings."""
        new = range(self._searched, len(self.index))
        for ordinal, line in self._lines_of(new):
            for needle in self._find_in(line.lower()):
                self._holders[needle].append(ordinal)
        self._searched = new.stop

    def close(self) -> None:
        """Close the file, which removes all records; the log cannot be used afterwards."""
        self._file.close()
