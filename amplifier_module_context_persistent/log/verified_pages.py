"""Read a whole history again and again: pages of lines that were verified once are only compared after that.

A host reads the whole history after each tool call. To verify each line takes longer than to parse it. So a page, the
records from one multiple of 512 to the next, is verified line by line when it is read, and when it is read again the
checksum of all its lines is kept: as long as that is the same, so are they, and the page is parsed as one array. Rules:

- A page whose lines have another checksum, or that has grown, is verified line by line again; a changed line is the
  error that it always is.
- Messages are parsed afresh for each read, so nothing that a caller does to one reaches another.
- Only pages of ordinary lines are kept: with a checksum of their own, an id, and nothing that JSON needs a mark for.
- What is kept belongs to one index. A log that is scanned anew begins with none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

import orjson

from .index import Index, runs_of
from .read_back import FOREIGN, Line, checked, parsed
from .record_line import CRC_TAIL_BYTES, MARK, Message

PAGE = 512
_FEW = 64  # a shorter run of neighbours is verified line by line
_MARK_AT = -CRC_TAIL_BYTES - len(MARK)

Fetch = Callable[[range], bytes]
"""Gives the lines of neighbouring records, each with its LF, and nothing that lies between them."""


class _Known(NamedTuple):
    """What was found when a page was verified."""

    stop: int
    """The ordinal after its last one."""
    checksum: int
    has_members: bool
    """Whether some lines belong to a reset."""


class VerifiedPages:
    """The pages of one log that were verified.

    Args:
        location: names the log in errors.
    """

    def __init__(self, location: str) -> None:
        self._location = location
        self._index: Index | None = None
        self._known: dict[int, _Known] = {}
        """By the ordinal of the first record."""
        self._read_once: dict[int, int] = {}
        """Where pages that were read once end, by their first ordinals: keeping a page costs as much as reading it."""

    def read(
        self,
        index: Index,
        ordinals: Sequence[int],
        fetch: Fetch,
        fetch_any: Callable[[Sequence[int]], Iterable[Line]],
    ) -> Iterator[list[Message]]:
        """Parse messages afresh, in the order asked for; some at a time.

        Args:
            index: what the lines are verified against.
            ordinals: which ones; any order, repetitions too.
            fetch: fetches the lines of neighbours.
            fetch_any: fetches the lines of any others, as `read_back.fetch_lines` does.

        Raises:
            LogUnreadableError: a line is not what it was when the index was made.
        """
        if index is not self._index:
            self._index, self._known, self._read_once = index, {}, {}
        for part in _parts(ordinals):
            if not isinstance(part, range):
                for message in parsed(index, checked(index, fetch_any(part), self._location), self._location):
                    yield [message]
                continue
            lines = fetch(part)
            checksum, known = crc32(lines), self._known.get(part.start)
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
        is_ordinary, has_members = True, False
        for line in checked(index, _split(index, ordinals, lines), self._location):
            messages = list(parsed(index, [line], self._location))
            has_members = has_members or b'"_reset"' in line[1]
            is_ordinary = is_ordinary and _is_ordinary(index, line, messages[0])
            yield messages
        if is_ordinary:
            self._known[ordinals.start] = _Known(ordinals.stop, checksum, has_members)


def _split(index: Index, ordinals: range, lines: bytes) -> Iterator[Line]:
    """Part lines by the lengths that the index knows: a changed byte may be an LF."""
    at = 0
    for ordinal in ordinals:
        length = index.columns.lengths[ordinal]
        yield ordinal, lines[at : at + length - 1]
        at += length


def _is_ordinary(index: Index, line: Line, message: Message) -> bool:
    """Whether a line that was verified gives its message by parsing it and dropping the keys of the log."""
    ordinal, content = line
    is_foreign, is_marked = index.columns.flags[ordinal] & FOREIGN, content[_MARK_AT:-CRC_TAIL_BYTES] == MARK
    if is_foreign or is_marked or "_reset" in message:
        return False
    (alone,) = _parse(content + b"\n", has_members=True)
    return alone == message


def _parse(lines: bytes, *, has_members: bool) -> list[Message]:
    """Parse ordinary lines, each with its LF, as one array, and drop the keys of the log."""
    messages: list[Message] = orjson.loads(b"[%b]" % lines[:-1].replace(b"\n", b","))
    for message in messages:
        del message["_crc"]
    if has_members:
        for message in messages:
            message.pop("_reset", None)
    return messages


def _parts(ordinals: Sequence[int]) -> Iterator[Sequence[int]]:
    """Cut a list of ordinals, in its order, into ranges within one page, and lists of those that are scattered."""
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
