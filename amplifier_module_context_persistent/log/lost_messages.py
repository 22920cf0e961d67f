"""How many messages a log held and no longer holds, by two scans of it."""

from __future__ import annotations

from collections import Counter

from .index import UNKNOWN_ID, Index


def count_lost(known: Index, found: Index) -> int:
    """Count the messages that were known, and so acknowledged or read, and that no purge removed since.

    An id that was not derived yet can no longer be: what it is derived from stands for it, the line's place and bytes.
    """
    if found.control_counts.get("purge", 0) > known.control_counts.get("purge", 0):
        return 0
    known_ids = Counter(known.id_hashes)
    del known_ids[UNKNOWN_ID]
    gone = known_ids - Counter(found.id_hashes)
    if gone and found.unknown_end:
        found.know_ids()
        gone = known_ids - Counter(found.id_hashes)
    unknown = [ordinal for ordinal, one in enumerate(known.id_hashes[: known.unknown_end]) if one == UNKNOWN_ID]
    places = set(zip(found.offsets, found.checks, strict=True)) if unknown else set()
    return gone.total() + sum((known.offsets[one], known.checks[one]) not in places for one in unknown)
