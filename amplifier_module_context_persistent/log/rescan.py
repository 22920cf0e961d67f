"""After a checkpoint proved wrong: let the index that callers hold go on with what a full scan found.

An ordinal is valid as long as the index is the same object. Where a full scan finds the same messages at the same
places, as when one of them was altered, the object can stay, and whoever reads goes on.
"""

from __future__ import annotations

from dataclasses import fields

from .index import Index
from .index_builder import IndexBuilder
from .scanner import Scanner


def adopt_index(scanned: Scanner, index: Index) -> Scanner | None:
    """Put an index that callers hold in the place of a scanner's own; None if it has not the same messages."""
    fresh, snapshot = scanned.index, scanned.snapshot()
    if snapshot is None or (fresh.offsets, fresh.lengths, fresh.live) != (index.offsets, index.lengths, index.live):
        return None
    for field in fields(Index):
        setattr(index, field.name, getattr(fresh, field.name))
    scanner = Scanner(scanned.max_record_bytes, IndexBuilder(index, scanned.builder.places))
    scanner.restore(snapshot)
    return scanner
