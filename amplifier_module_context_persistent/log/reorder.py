"""Read a log whose lines were moved or repeated in the order in which they were written.

This is done once, after a scan that found a line which does not continue the chain. It costs a second pass.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol
from zlib import crc32

from .chain import Link, order_by_chain, seed_of
from .index import Index
from .record import CRC_TAIL_BYTES, stored_crc
from .scanner import Scanner

_MOST_SEEDS = 10_000  # each costs some 50 microseconds


class Line(NamedTuple):
    """A line of a log: its number, which counts from 1, its offset, and its bytes without LF."""

    number: int
    offset: int
    content: bytes


class LogBytes(Protocol):
    """The bytes of a log, wherever it is kept."""

    def read(self, offset: int, size: int) -> bytes:
        """Read `size` bytes from `offset`; fewer only where the log ends."""
        ...

    def lines(self, end: int, start: int = 0) -> Iterator[bytes]:
        """Give the lines from the offset `start` up to `end`, each with its LF."""
        ...


def lines_as_written(log: LogBytes, scanner: Scanner, end: int, start: int = 0) -> Iterator[Line]:
    """Give the lines that a scanner took, in the order in which they were written; what stands twice is given once.

    Args:
        log: its bytes.
        scanner: has scanned them.
        end: the offset at which the last line ends.
        start: the offset of the first one, if it is not the first of the log.
    """
    number, order = 0, scanner.order
    if order is not None and not start:
        for number, offset, length in order:
            yield Line(number, offset, log.read(offset, length).removesuffix(b"\n"))
        number, start = scanner.order_lines, scanner.order_end
    for content in log.lines(end, start):
        number += 1
        yield Line(number, start, content[:-1])
        start += len(content)


def chain_breaks(index: Index) -> int:
    """How many lines of a scan did not continue the chain: as long as there are none, no line was moved."""
    return sum(found.kind == "checksum" for found in index.damage)


def read_in_order(file: LogBytes, scanned: Scanner, end: int) -> Scanner | None:
    """Scan a log in the order that its checksums give.

    Args:
        file: the log's bytes.
        scanned: what a plain scan made of it.
        end: where its last whole line ends.

    Returns:
        Another scanner that goes on where `scanned` would; None if the order of the file is the right one.

    Raises:
        LogUnreadableError: the system refuses.
    """
    offsets, links, sums, last = [0], list[Link | None](), list[int](), 0
    seeds_left = _MOST_SEEDS
    if any(found.kind == "oversized" for found in scanned.index.damage):
        return None  # a line is too long to be held
    for line in file.lines(end):
        body, stored = line[:-1], stored_crc(line[:-1])
        link = None
        if stored is not None:
            if crc32(b"}", crc32(body[:-CRC_TAIL_BYTES], last)) == stored:
                link = Link(stored, last)
            elif seeds_left:
                seeds_left -= 1
                link = Link(stored, seed_of(body, stored))
        links.append(link)
        sums.append(crc32(body))
        last = crc32(body, last) if stored is None else stored
        offsets.append(offsets[-1] + len(line))
    copies = _copies(links, sums, offsets)
    kept = [number for number in range(len(links)) if number not in copies]
    order = [kept[number] for number in order_by_chain([links[number] for number in kept])]
    if not copies and order == kept:
        return None
    scanner = Scanner(scanned.max_record_bytes)
    moved = set(order) - set(_longest_run(order))
    for number in order:
        line = file.read(offsets[number], offsets[number + 1] - offsets[number]).removesuffix(b"\n")
        scanner.take(line, number + 1, offsets[number])
        if number in moved:
            scanner.builder.report("moved", "it stands elsewhere than it was written; it is read where it was written")
    for number in sorted(copies):
        scanner.leave_out(number + 1, offsets[number], offsets[number + 1] - offsets[number])
    scanner.go_on(scanned)
    scanner.order = [(number + 1, offsets[number], offsets[number + 1] - offsets[number]) for number in order]
    scanner.order_end, scanner.order_lines = offsets[-1], len(links)
    scanner.index.damage.sort(key=lambda found: found.offset)
    return scanner


def _copies(links: Sequence[Link | None], sums: Sequence[int], offsets: Sequence[int]) -> set[int]:
    """The numbers of lines that repeat another one, byte for byte: all but the one that continues the chain."""
    places: dict[tuple[Link, int, int], list[int]] = {}
    for number, link in enumerate(links):
        if link is not None:
            places.setdefault((link, sums[number], offsets[number + 1] - offsets[number]), []).append(number)
    copies: set[int] = set()
    for (link, _, _), numbers in places.items():
        if len(numbers) > 1:
            stored = [before.stored if n and (before := links[n - 1]) is not None else 0 for n in numbers]
            own = next((n for n, value in zip(numbers, stored, strict=True) if value == link.seed), numbers[0])
            copies.update(n for n in numbers if n != own)
    return copies


def _longest_run(order: Sequence[int]) -> list[int]:
    """The longest part of an order in which numbers grow: what was not moved."""
    ends, places, before = list[int](), list[int](), dict[int, int]()
    for number in order:
        at = bisect_left(ends, number)
        if at:
            before[number] = ends[at - 1]
        if at == len(ends):
            ends.append(number)
        else:
            ends[at] = number
    run = [ends[-1]] if ends else places
    while run and run[-1] in before:
        run.append(before[run[-1]])
    return run[::-1]
