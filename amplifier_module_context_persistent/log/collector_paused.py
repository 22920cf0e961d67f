"""Pause Python's garbage collector while many messages are read."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector in a `with` statement.

    Afterwards the collector is enabled again if it was before. The collector runs after a number of allocations and
    looks at all new containers again and again. While 100,000 messages are parsed into one list, this takes twice the
    time of the parsing. The collector finds nothing there, as parsed JSON has no cycles. Mercurial pauses the collector
    for the same reason (its `util.nogc`). A scan of 100,000 lines makes it look at all objects of the process, which
    holds every thread up, the event loop's too: 30 to 60 ms.

    If much was parsed, its objects are marked as old. Otherwise the next allocation, usually on the event loop, would
    make the collector look at all these objects at once: a pause of 100 ms for 80,000 messages.
    """
    was_enabled = gc.isenabled()
    young = gc.get_count()[0]
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if gc.get_count()[0] - young > _MANY_YOUNG:  # a process may collect later than after 700
                _let_young_count_as_old()
            gc.enable()


_MANY_YOUNG = 30_000  # containers; the collector needs about 3 ms for them


def _let_young_count_as_old() -> None:
    """Move all new objects to the oldest generation, so that the collector does not scan them during a request."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
