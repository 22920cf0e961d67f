"""Read a log whose lines were moved or repeated in the order in which they were written.

This is done once, after a scan that found a line which does not continue the chain. It costs a second pass.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from zlib import crc32

from .chain import Link, order_by_chain, seed_of
from .open_log import OpenLog
from .record import CRC_TAIL_BYTES, stored_crc
from .scanner import Scanner

_MOST_SEEDS = 10_000  # each costs some 50 microseconds


def read_in_order(file: OpenLog, scanned: Scanner, end: int) -> Scanner | None:
    """Scan a log in the order that its checksums give.

    Args:
        file: the open log.
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
