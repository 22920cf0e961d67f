"""How much of a sweep a run of the tests tries: of every byte some bits, of every line some faults; or all of them.

With `WHOLE_SWEEPS=1` the tests that flip bits and break lines try every bit and more faults:

    WHOLE_SWEEPS=1 python -m pytest tests/log/test_flips.py tests/log/test_damage.py tests/log/test_one_fault.py
"""

import os

WHOLE = "WHOLE_SWEEPS" in os.environ


def bits_of(place: int) -> tuple[int, ...]:
    """Which bits of the byte at a place are flipped: two, other ones at each of four neighbours; or all eight."""
    return tuple(range(8)) if WHOLE else (place % 4, place % 4 + 4)
