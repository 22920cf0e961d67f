"""The checksum chain: which line continues which.

A record's checksum covers its bytes and all records before it: its seed is the checksum of the record before it. A line
verifies with any of these seeds, so that one bad line does not make the next one fail:
- the checksum that the line before it has;
- the checksum that the line before it should have;
- if the lines before it do not verify, the checksum of any of them, or of the last line that verifies (lines may have
  been inserted).

A chain cannot show three things: records that are missing at the end of a file; whether a line that does not verify was
altered or follows missing lines; and which blocks of a file were written first, if whole blocks changed places or are
old.
"""

from __future__ import annotations

from dataclasses import dataclass

from .checksum import continues

_MOST_SEEDS = 64  # each needs another checksum of every line that does not verify


@dataclass(slots=True)
class Chain:
    """The state of the chain of checksums after the lines that were checked so far."""

    stored: int = 0
    """The checksum in the last line; if the line has no checksum, the CRC of its bytes."""
    computed: int = 0
    """The checksum that the last line should have."""
    begun: bool = False
    """Whether a record was chained or should have been."""
    strange_line: int = 0
    """The last line that does not verify."""
    strange_seeds: tuple[int, ...] = ()
    """The checksums that the next line may continue after lines that do not verify.
    These are the checksum of the line before such lines, and those of the lines themselves except the last.
    """

    def seeds(self, number: int) -> tuple[int, ...]:
        """Return the checksums that the line with this number may continue (the seed of its own checksum)."""
        others = self.strange_seeds if self.strange_line == number - 1 else ()
        return (self.stored, self.computed, *others)

    def pass_verified(self, crc: int) -> None:
        """Note lines that verified; `crc` is the checksum of the last of these lines."""
        self.stored = self.computed = crc
        self.begun = True

    def pass_checksum(self, stored: int, computed: int) -> None:
        """Note a line with a checksum: `stored` is its checksum, `computed` the one that the line should have."""
        self.stored = stored
        self.computed = computed
        self.begun = True

    def pass_strange(self, number: int) -> bool:
        """Remember a line that does not verify, by its number; called before its checksum is stored.

        Returns:
            Whether the line before it verified.
        """
        is_first = self.strange_line != number - 1 or not self.strange_seeds
        if is_first:
            self.strange_seeds = (self.stored,)
        elif len(self.strange_seeds) < _MOST_SEEDS:
            self.strange_seeds = (*self.strange_seeds, self.stored)
        self.strange_line = number
        return is_first

    @property
    def has_most_seeds(self) -> bool:
        """Whether so many lines in a row do not verify that the next one adds no seed."""
        return len(self.strange_seeds) >= _MOST_SEEDS

    def goes_back(self, body: bytes, stored: int) -> bool:
        """Return whether a line continues a line before the last break. If so, all lines since the break were inserted.

        Args:
            body: the line up to its checksum.
            stored: its checksum.
        """
        return any(continues(body, stored, seed) for seed in self.strange_seeds)
