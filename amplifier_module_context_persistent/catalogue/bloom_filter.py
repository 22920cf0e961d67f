"""The Bloom filters of a block: they tell which runs of three characters its text may contain.

A *block* is the text of some adjacent messages of one session. A Bloom filter (Bloom 1970,
https://doi.org/10.1145/362686.362692) says "no" only if a run is not in the text. It has one byte for each different
run, and sets two bits for each. So it wrongly says "maybe" for one run in twenty.

The runs of a block are divided among `PARTS` filters by their hash, so that a search reads few of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

RUN_CHARS = 3
PARTS = 8
_SPREAD = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio spreads a checksum over 64 bits (Knuth, The Art of Computer Programming, 6.4)."""
_MASK = (1 << 64) - 1

Places = tuple[int, int]
"""The two numbers of a run of characters. Modulo the number of bits of a filter, these are the run's bits in the
filter."""


def _hashed(run: str) -> tuple[int, Places]:
    """Return the number of the filter that a run belongs to, and the run's two bit positions before the modulo."""
    spread = crc32(run.encode("utf-8", "surrogatepass")) * _SPREAD & _MASK
    return spread >> 61, (spread >> 32 & 0x1FFFFFFF, spread & 0xFFFFFFFF)


def _by_part(runs: Iterable[str]) -> dict[int, list[Places]]:
    """Return the bit positions of runs, by the number of their filter."""
    parts: dict[int, list[Places]] = {}
    for run in runs:
        part, places = _hashed(run)
        parts.setdefault(part, []).append(places)
    return parts


def make_filters(runs: Iterable[str]) -> list[bytes]:
    """Make the `PARTS` filters of a block from its different runs."""
    parts = _by_part(runs)
    return [_filter_of(parts.get(part, [])) for part in range(PARTS)]


def _filter_of(all_places: list[Places]) -> bytes:
    filter_bytes = bytearray(len(all_places) + 1)
    bits = 8 * len(all_places) + 8
    for first, second in all_places:
        filter_bytes[first % bits >> 3] |= 1 << (first % bits & 7)
        filter_bytes[second % bits >> 3] |= 1 << (second % bits & 7)
    return bytes(filter_bytes)


def asked_parts(runs: Iterable[str]) -> list[tuple[int, list[Places]]]:
    """Return the filters that are needed to test some runs, with the runs' bit positions.

    The filters with the most runs come first.
    """
    return sorted(_by_part(runs).items(), key=lambda one: (-len(one[1]), one[0]))


def may_hold(filter_bytes: bytes, all_places: Iterable[Places]) -> bool:
    """Return whether the block of a filter may contain all these runs of characters."""
    bits = 8 * len(filter_bytes)
    for places in all_places:
        for place in places:
            if not filter_bytes[place % bits >> 3] >> (place % bits & 7) & 1:
                return False
    return True
