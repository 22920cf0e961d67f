"""Plans in the log: a plan as a control record, and back. Records name messages by id; here ids meet ordinals."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..log.index import Index
from ..log.record import encode_control, name_of
from .entry import Entry
from .plan import Plan


def plan_record(plan: Plan, index: Index, entries: Sequence[Entry]) -> bytes:
    """Encode a plan as a control record; `entries` are those that it keeps, which become runs of the live history."""
    kept = [(entry.ordinal, entry.id) for entry in entries]
    positions = live_positions(index.live, [ordinal for ordinal, _ in kept])
    runs = keep_runs((position, message_id) for position, (_, message_id) in zip(positions, kept, strict=True))
    return encode_control("plan", **plan.to_record(runs))


def kept_ordinals(index: Index, record: Mapping[str, Any]) -> tuple[list[int], int]:
    """The ordinals that a plan's record keeps, and the position of its last message in the live history.

    Raises:
        ValueError: the record names messages that the live history lacks, or is not of this shape.
    """
    runs = record.get("keep")
    if not isinstance(runs, list) or not all(isinstance(run, list) and len(run) == 2 for run in runs):
        raise ValueError("its record has no list of runs")
    ids = [name_of(message_id) for run in runs for message_id in run] + [name_of(record.get("upto"))]
    found = index.find_all(ids)
    try:
        positions = dict(zip(ids, live_positions(index.live, [found[message_id] for message_id in ids]), strict=True))
    except KeyError as error:
        raise ValueError(f"it names a message that is not in the live history: {error}") from error
    ordinals: list[int] = []
    for first, last in runs:
        ordinals.extend(index.live[positions[name_of(first)] : positions[name_of(last)] + 1])
    return ordinals, positions[ids[-1]]


def live_positions(live: array[int], ordinals: Sequence[int]) -> list[int]:
    """The positions of records in the live history.

    Raises:
        KeyError: one is not live.
    """
    positions = [bisect_left(live, ordinal) for ordinal in ordinals]  # right wherever no reset changed the order
    if all(at < len(live) and live[at] == ordinal for at, ordinal in zip(positions, ordinals, strict=True)):
        return positions
    by_ordinal = {ordinal: position for position, ordinal in enumerate(live)}
    return [by_ordinal[ordinal] for ordinal in ordinals]


def keep_runs(positions: Iterable[tuple[int, str]]) -> list[tuple[str, str]]:
    """Join messages at neighbouring positions of the live history into runs, as first and last ids."""
    runs: list[tuple[str, str]] = []
    last = -2
    for position, message_id in positions:
        if runs and position == last + 1:
            runs[-1] = (runs[-1][0], message_id)
        else:
            runs.append((message_id, message_id))
        last = position
    return runs
