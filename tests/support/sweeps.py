"""How much of a sweep a run of the tests tries: a sample spread evenly over it, or with `WHOLE_SWEEPS=1` all of it.

WHOLE_SWEEPS=1 python -m pytest tests/log tests/catalogue tests/toolbox/maintenance
"""

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

import pytest

WHOLE = "WHOLE_SWEEPS" in os.environ
takes_long = pytest.mark.skipif(not WHOLE, reason="takes seconds, and is run with WHOLE_SWEEPS=1, as CI does")

Case = TypeVar("Case")


def some(examples: int) -> int:
    """How many of so many random examples a run tries: a third, or all of them."""
    return examples if WHOLE else -(-examples // 3)


def spread(cases: Iterable[Case], each: int, first: int = 0) -> Iterator[Case]:
    """Every so many-th of the cases, from the first one on; or all of them."""
    return iter(cases) if WHOLE else islice(cases, first, None, each)


def bits_of(place: int, each: int = 1) -> range:
    """Which bits of the byte at a place are flipped: all; or one in every so many-th byte, not always the same one."""
    return range(8) if WHOLE else range(0) if place % each else range(place // each % 8, place // each % 8 + 1)
