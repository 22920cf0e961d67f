"""Pausing the cyclic garbage collector while many messages are parsed, or many small objects made for a plan.

The collector runs by the number of containers that were allocated, and looks at all of them again and again: parsing
100,000 messages into one list, it takes twice the time of the parsing itself, and finds nothing, as parsed JSON has no
cycles. Mercurial pauses it for the same reason (its `util.nogc`).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the collector from running; it is left as it was found."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
