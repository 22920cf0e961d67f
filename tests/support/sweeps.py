"""How much of a sweep a run of the tests tries: of every byte a bit, of every line some faults; or all of them.

With `WHOLE_SWEEPS=1` the tests that flip bits and break lines try every bit and more faults:

    WHOLE_SWEEPS=1 python -m pytest tests/log/test_flips.py tests/log/test_damage.py tests/log/test_one_fault.py
"""

import os

WHOLE = "WHOLE_SWEEPS" in os.environ


def bits_of(place: int) -> range:
    """Which bits of the byte at a place are flipped: one, not that of the seven bytes before; or all eight."""
    return range(8) if WHOLE else range(place % 8, place % 8 + 1)
