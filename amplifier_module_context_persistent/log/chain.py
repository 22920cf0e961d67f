"""The checksum chain: which line continues which.

A record's checksum stands for its bytes and for all before it: its seed is the checksum of the record before it. A line
verifies after one of these seeds, so that one bad line does not condemn the next:
- what the line before it carries;
- what the line before it should have;
- where the lines before it do not verify, what one of these carries, and what the last line carries that does: somebody
  may have put lines in.

What a chain cannot see: records that are missing at the very end of a file; whether a line that does not verify was
altered, or follows lines that are gone; and, where whole blocks of a file changed places or are old, so that the lines
at their borders are torn, which of them was written first.
"""

from __future__ import annotations

from dataclasses import dataclass

from .record_line import continues

_MOST_SEEDS = 64  # each costs a checksum of every line that does not verify


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
    strange_seeds: tuple[int, ...] = ()
    """What is carried by the lines in a row that do not verify, but the last one, and by the line before them."""

    def seeds(self, number: int) -> tuple[int, ...]:
        """What the line with a number may continue."""
        others = self.strange_seeds if self.strange_line == number - 1 else ()
        return (self.stored, self.computed, *others)

    def pass_verified(self, crc: int) -> None:
        """Pass over lines that verified, up to one with a checksum."""
        self.stored = self.computed = crc
        self.begun = True

    def pass_strange(self, number: int) -> bool:
        """Take note that the line with a number does not verify, before its own checksum is put in.

        Returns:
            Whether it is the first one in a row.
        """
        is_first = self.strange_line != number - 1 or not self.strange_seeds
        if is_first:
            self.strange_seeds = (self.stored,)
        elif len(self.strange_seeds) < _MOST_SEEDS:
            self.strange_seeds = (*self.strange_seeds, self.stored)
        self.strange_line = number
        return is_first

    def goes_back(self, body: bytes, stored: int) -> bool:
        """Whether a line continues what stands before the last lines that do not verify: all since then was put in.

        Args:
            body: the line up to its checksum.
            stored: its checksum.
        """
        return any(continues(body, stored, seed) for seed in self.strange_seeds)
