"""The order that the checksum chain gives to lines.

A line's checksum depends on its bytes and on its seed, the checksum of the line before it. CRC-32 can be run backwards:
from a line's bytes and its checksum follows the seed with which it was written, so the line that stood before it. With
this a line that was moved is read where it was written, and a line that was repeated is read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from zlib import crc32

from .record import CRC_TAIL_BYTES

_POLYNOMIAL = 0xEDB88320
_TOP = 1 << 31


@dataclass(slots=True)
class ChainState:
    """The last stored checksum, the last computed one, and whether a record was chained, or should have been."""

    stored: int = 0
    computed: int = 0
    begun: bool = False
    strange_line: int = 0
    """The last line that does not verify."""
    strange_seed: int = 0
    """The checksum before it and its like."""

    def pass_verified(self, crc: int) -> None:
        """Pass over lines that verified, up to one with a checksum."""
        self.stored = self.computed = crc
        self.begun = True

    def pass_bare(self, lines_before: int, count: int, crc: int, computed: int) -> None:
        """Pass over lines without a checksum that come after so many lines.

        Args:
            lines_before: how many lines there are before them.
            count: how many there are, at least one.
            crc: the CRC up to their end.
            computed: the checksum that the last of them should have.
        """
        if self.strange_line != lines_before:
            self.strange_seed = self.stored
        self.strange_line = lines_before + count
        self.stored, self.computed = crc, computed


@dataclass(frozen=True, slots=True)
class Link:
    """What the chain says of one line: its checksum, and the seed that it was written with."""

    stored: int
    seed: int


def seed_of(line: bytes, stored: int) -> int:
    """The seed with which a line (without LF) was written, if it still has the bytes that it was written with."""
    body = line[:-CRC_TAIL_BYTES] + b"}"
    return unshift(stored ^ crc32(body), len(body))


def order_by_chain(lines: Sequence[Link | None]) -> list[int]:
    """The numbers of lines in the order in which they were written.

    A line follows the one whose checksum is its seed; a line for which there is none, or more than one, stays after the
    line before it. Every line is given once.
    """
    by_stored: dict[int, int] = {}
    for number, link in enumerate(lines):
        if link is not None:
            by_stored[link.stored] = -1 if link.stored in by_stored else number  # -1: two lines have it
    after: dict[int, list[int]] = {}
    heads = []
    for number, link in enumerate(lines):
        before = by_stored.get(link.seed, -1) if link is not None else -1
        if link is None and number:
            before = number - 1
        if before < 0 or before == number:
            heads.append(number)
        else:
            after.setdefault(before, []).append(number)
    order: list[int] = []
    seen = [False] * len(lines)
    for head in [*heads, *range(len(lines))]:  # what follows no head stands in a ring: it stays where it is
        waiting = [head]
        while waiting:
            number = waiting.pop()
            if seen[number]:
                continue
            seen[number] = True
            order.append(number)
            waiting.extend(sorted(after.get(number, ()), reverse=True))
    return order


def unshift(crc: int, size: int) -> int:
    """The CRC that becomes `crc` when `size` zero bytes follow: CRC-32 backwards."""
    power, bits = 0, 8 * size
    while bits:
        if bits & 1:
            crc = _apply(_operator(power), crc)
        power, bits = power + 1, bits >> 1
    return crc


@cache
def _operator(power: int) -> list[int]:
    """What 2**power zero bits do backwards, as the images of the 32 single bits."""
    if not power:
        return [unshift_bit(1 << bit) for bit in range(32)]
    half = _operator(power - 1)
    return [_apply(half, column) for column in half]


def unshift_bit(crc: int) -> int:
    """The CRC that becomes `crc` with one zero bit."""
    return ((crc ^ _POLYNOMIAL) << 1 | 1) & 0xFFFFFFFF if crc & _TOP else crc << 1


def _apply(operator: Sequence[int], value: int) -> int:
    total = 0
    for column in operator:
        if value & 1:
            total ^= column
        value >>= 1
    return total
