"""Read a whole history repeatedly: for a page of lines that was verified before, only one checksum is compared.

A host reads the whole history after each tool call, and verifying a line takes longer than parsing it. A *page* has the
records from one multiple of 512 to the next. At the first two reads it is verified line by line, and at the second one
the checksum of all its lines is kept. Later, if the checksum is the same, the page is parsed as one array. Rules:

- A page that has grown, or has another checksum, is verified line by line again; a changed line is an error as always.
- Each read parses new objects, so that changes to a message do not reach another reader.
- Only pages of ordinary lines are kept: each line has its own checksum, an id, and no mark of a special encoding.
- The checksums belong to one index. After a new scan of the log there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

import orjson

from .checksum import CRC_TAIL_BYTES
from .index import Index, runs_of
from .read_back import FOREIGN, Line, checked, parsed
from .record_line import MARK, Message

PAGE = 512
_FEW = 64  # a shorter run of adjacent records is verified line by line
_MARK_AT = -CRC_TAIL_BYTES - len(MARK)

Fetch = Callable[[range], bytes]
"""A function that returns the lines of adjacent records, each with its LF. No other lines are between them."""


class _Known(NamedTuple):
    """The end and the checksum of a verified page."""

    stop: int
    """The ordinal after its last record."""
    checksum: int
    has_members: bool
    """Whether some of its lines belong to a reset."""


class VerifiedPages:
    """The verified pages of one log.

    Args:
        location: the log's location, for errors.
    """

    def __init__(self, location: str) -> None:
        self._location = location
        self._index: Index | None = None
        self._known: dict[int, _Known] = {}
        """The kept pages, by the ordinal of their first record."""
        self._read_once: dict[int, int] = {}
        """The ends of pages that were read once, by first ordinal. A page is kept only at the second read."""

    def read(
        self,
        index: Index,
        ordinals: Sequence[int],
        fetch: Fetch,
        fetch_any: Callable[[Sequence[int]], Iterable[Line]],
    ) -> Iterator[list[Message]]:
        """Yield parsed messages in the given order, some at a time.

        Args:
            index: the index with the checksums of the lines.
            ordinals: the messages, in any order; repetitions are allowed.
            fetch: fetches the lines of adjacent records.
            fetch_any: fetches the lines of any records, as `read_back.fetch_lines` does.

        Raises:
            LogUnreadableError: a line has changed since the index was made.
        """
        if index is not self._index:
            self._index = index
            self._known = {}
            self._read_once = {}
        for part in _parts(ordinals):
            if not isinstance(part, range):
                for message in parsed(index, checked(index, fetch_any(part), self._location), self._location):
                    yield [message]
                continue
            lines = fetch(part)
            checksum = crc32(lines)
            known = self._known.get(part.start)
            if known is not None and (known.stop, known.checksum) == (part.stop, checksum):
                yield _parse(lines, has_members=known.has_members)
            elif self._read_once.get(part.start) == part.stop:
                yield from self._verify(index, part, lines, checksum)
            else:
                if part.start % PAGE == 0:
                    self._read_once[part.start] = part.stop
                for message in parsed(
                    index, checked(index, _split(index, part, lines), self._location), self._location
                ):
                    yield [message]

    def _verify(self, index: Index, ordinals: range, lines: bytes, checksum: int) -> Iterator[list[Message]]:
        """Verify and parse a page line by line, and keep its checksum if all its lines are ordinary."""
        is_ordinary = True
        has_members = False
        for line in checked(index, _split(index, ordinals, lines), self._location):
            messages = list(parsed(index, [line], self._location))
            has_members = has_members or b'"_reset"' in line[1]
            is_ordinary = is_ordinary and _is_ordinary(index, line, messages[0])
            yield messages
        if is_ordinary:
            self._known[ordinals.start] = _Known(ordinals.stop, checksum, has_members)


def _split(index: Index, ordinals: range, lines: bytes) -> Iterator[Line]:
    """Yield the ordinal and the line of each record.

    Each line ends after its length in the index, and not at the next LF, because a changed byte may be an LF.
    """
    position = 0
    for ordinal in ordinals:
        length = index.columns.lengths[ordinal]
        yield ordinal, lines[position : position + length - 1]
        position += length


def _is_ordinary(index: Index, line: Line, message: Message) -> bool:
    """Return whether a verified line gives its message by parsing alone, without the keys that the log added."""
    ordinal, content = line
    is_foreign = index.columns.flags[ordinal] & FOREIGN
    is_marked = content[_MARK_AT:-CRC_TAIL_BYTES] == MARK
    if is_foreign or is_marked or "_reset" in message:
        return False
    (alone,) = _parse(content + b"\n", has_members=True)
    return alone == message


def _parse(lines: bytes, *, has_members: bool) -> list[Message]:
    """Return the messages of ordinary lines (`_is_ordinary`), without the keys that the log added (`_crc`, `_reset`).

    All lines are parsed together as one JSON array, because this is faster than line by line.

    Args:
        lines: the lines, each with its LF.
        has_members: whether some of the messages may have the key `_reset`.
    """
    messages: list[Message] = orjson.loads(b"[%b]" % lines[:-1].replace(b"\n", b","))
    for message in messages:
        del message["_crc"]
    if has_members:
        for message in messages:
            message.pop("_reset", None)
    return messages


def _parts(ordinals: Sequence[int]) -> Iterator[Sequence[int]]:
    """Split ordinals, in their order, into ranges of adjacent ones within a page, and lists of scattered ones."""
    scattered: list[int] = []
    for run in runs_of(ordinals):
        if len(run) < _FEW:
            scattered.extend(run)
            continue
        if scattered:
            yield scattered
            scattered = []
        for first in (run.start, *range((run.start // PAGE + 1) * PAGE, run.stop, PAGE)):
            yield range(first, min(run.stop, (first // PAGE + 1) * PAGE))
    if scattered:
        yield scattered
