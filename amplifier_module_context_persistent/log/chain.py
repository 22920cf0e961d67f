"""The checksum chain: which line continues which.

A record's checksum stands for its bytes and for all before it: its seed is the checksum of the record before it. A line
verifies after one of these seeds, so that one bad line does not condemn the next:
- what the line before it carries;
- what the line before it should have;
- where the line before it does not verify, what the last line carries that does: somebody may have put lines in.

What a chain cannot see: records that are missing at the very end of a file; whether a line that does not verify was
altered, or follows lines that are gone; and, where whole blocks of a file changed places or are old, so that the lines
at their borders are torn, which of them was written first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from zlib import crc32

from .record_line import CRC_TAIL_BYTES, continues

_MOST_STRAYS, _MOST_STRAY_BYTES = 64, 64 << 10


class Stray(NamedTuple):
    """A line that does not continue the chain where it stands."""

    line: int
    stored: int
    length: int
    remainder: int
    """Which seeds it was written after: those whose CRC over `length` zero bytes is this."""
    ordinal: int
    """Of the first message at this line or after it."""
    is_message: bool
    """Whether it is itself a message, and its place says where it belongs."""

    @classmethod
    def of(cls, line: bytes, number: int, stored: int, ordinal: int, *, is_message: bool) -> Stray:
        """The stray that a line (without LF) is."""
        body = line[:-CRC_TAIL_BYTES] + b"}"
        zeros = crc32(bytes(len(body)))
        return cls(number, stored, len(body), stored ^ crc32(body) ^ zeros, ordinal, is_message)

    def was_written_after(self, seed: int) -> bool:
        """Whether it continues a line with this checksum: CRC-32 is linear, so its bytes are not needed."""
        return crc32(bytes(self.length), seed) == self.remainder


@dataclass(slots=True)
class Chain:
    """The state of the chain after some lines."""

    stored: int = 0
    """The checksum that the last line carries; of a line without one, the CRC of its bytes."""
    computed: int = 0
    """The one that it should have."""
    begun: bool = False
    """Whether a record was chained, or should have been."""
    strange_line: int = 0
    """The last line that does not verify."""
    strange_seed: int = 0
    """The checksum before it and its like."""
    strays: list[Stray] = field(default_factory=list)
    """The first lines that carry a checksum which does not hold."""

    def seeds(self, number: int) -> tuple[int, ...]:
        """What the line with a number may continue."""
        inserted = (self.strange_seed,) if self.strange_line == number - 1 else ()
        return (self.stored, self.computed, *inserted)

    def pass_verified(self, crc: int) -> None:
        """Pass over lines that verified, up to one with a checksum."""
        self.stored = self.computed = crc
        self.begun = True

    def pass_strange(self, number: int) -> None:
        """Take note that the line with a number does not verify, before its own checksum is put in."""
        if self.strange_line != number - 1:
            self.strange_seed = self.stored
        self.strange_line = number

    def written_before(self, line: bytes, stored: int) -> Stray | None:
        """The stray that a line (without LF) which does not verify continues: that one stands too early."""
        body = line[:-CRC_TAIL_BYTES]
        return next((stray for stray in self._few() if continues(body, stored, stray.stored)), None)

    def written_after(self, stored: int) -> Stray | None:
        """The stray that continues a line which does not verify: the line with this checksum stands too late.

        Its own place is taken by another stray.
        """
        taken = {stray.line + 1 for stray in self._few()}
        places = (stray for stray in self._few() if stray.line in taken)
        return next((stray for stray in places if stray.was_written_after(stored)), None)

    def add_stray(self, stray: Stray) -> None:
        """Remember a line that does not verify; where there are many, what was moved is not looked for."""
        if stray.length <= _MOST_STRAY_BYTES and len(self.strays) <= _MOST_STRAYS:
            self.strays.append(stray)

    def _few(self) -> Iterator[Stray]:
        return iter(self.strays if len(self.strays) <= _MOST_STRAYS else ())
