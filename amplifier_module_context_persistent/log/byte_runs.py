"""Which blocks of neighbouring lines may hold some bytes, told by the runs of bytes that they have.

A line that holds some bytes holds every run of four of them. A block of lines is known by the runs in it, whatever the
case of ASCII letters, written as bits at places that the runs' numbers give: a tenth of the text, whatever it is. A
block with other runs at the same places is looked through in vain, and none is passed over that holds the bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass

RUN_BYTES = 4
_LEAST_BITS = 9  # a block's places are a power of two
_SPREAD = 2_654_435_761  # close numbers go to places far from each other
_SHIFT = 11


@dataclass(frozen=True, slots=True)
class ByteRuns:
    """The runs of one block."""

    mask: int
    places: bytearray

    @classmethod
    def of(cls, lines: Iterable[bytes]) -> ByteRuns:
        """Take the runs of some lines."""
        text = memoryview(b"\n".join(lines).lower())
        runs: set[int] = set()
        for begin in range(RUN_BYTES):
            size = max(0, len(text) - begin) // RUN_BYTES * RUN_BYTES
            runs.update(text[begin : begin + size].cast("I"))
        mask = (1 << max(_LEAST_BITS, len(runs).bit_length() + 1)) - 1
        places = bytearray((mask + 1) // 8)
        for run in runs:
            place = run * _SPREAD >> _SHIFT & mask
            places[place >> 3] |= 1 << (place & 7)
        return cls(mask, places)

    def may_hold(self, asked: Iterable[int]) -> bool:
        """Whether the block has all runs that are asked for, as `asked_of` gives them."""
        mask, places = self.mask, self.places
        for number in asked:
            place = number & mask
            if not places[place >> 3] >> (place & 7) & 1:
                return False
        return True


def asked_of(needle: bytes) -> list[int]:
    """What `may_hold` asks for; nothing for bytes that are fewer than a run."""
    small = needle.lower()
    runs = {small[begin : begin + RUN_BYTES] for begin in range(len(small) - RUN_BYTES + 1)}
    return [int.from_bytes(run, sys.byteorder) * _SPREAD >> _SHIFT for run in runs]
