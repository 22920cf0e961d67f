"""A plan as a record of a log: it is encoded, its messages are found in the log, and it is asked whether it is in use.

A record names messages by id. The functions here translate between ids and the log's ordinals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from ..log.index import Index, live_positions
from ..log.record_line import encode_control, name_of
from .entry import Entry
from .plan import Plan, keep_runs

_BYTES_A_TOKEN = 4  # in a log, roughly
_DRIFT = 0.1  # budgets that differ by less than this share are treated as equal


def plan_record(plan: Plan, index: Index, entries: Sequence[Entry]) -> bytes:
    """Encode a plan as a control record.

    Args:
        plan: the plan, complete, with its id.
        index: the index of the log.
        entries: the entries that the plan keeps.
    """
    positions = live_positions(index.live, [entry.ordinal for entry in entries])
    runs = keep_runs((position, entry.id) for position, entry in zip(positions, entries, strict=True))
    return encode_control("plan", **plan.to_record(runs))


def kept_ordinals(index: Index, record: Mapping[str, Any]) -> tuple[list[int], int]:
    """Return the ordinals that a plan's record keeps, and the position of its message `upto` in the live history.

    Raises:
        ValueError: the record names messages that the live history lacks, or is not of this shape.
    """
    native = record.get("native")
    runs = native.get("keep") if isinstance(native, dict) else record.get("keep")
    if not isinstance(runs, list) or not all(isinstance(run, list) and len(run) == 2 for run in runs):
        raise ValueError("its record has no list of runs")
    ends = [(name_of(first), name_of(last)) for first, last in runs]
    upto = name_of(record.get("upto"))
    ids = [*chain.from_iterable(ends), upto]
    ordinals = index.find_all(ids)
    try:
        places = live_positions(index.live, [ordinals[message_id] for message_id in ids])
        positions = dict(zip(ids, places, strict=True))
    except KeyError as error:
        raise ValueError(f"it names a message that is not in the live history: {error}") from error
    kept_list: list[int] = []
    for first, last in ends:
        kept_list += index.live[positions[first] : positions[last] + 1]
    return kept_list, positions[upto]


def budget_in_use(index: Index, record: Mapping[str, Any] | None) -> int:
    """Return the budget of a stored plan that is still in use, or 0 if the plan is no longer in use.

    A plan is in use as long as its last message is live and the messages appended since fit its budget.
    """
    if record is None:
        return 0
    budget = record.get("budget_tokens")
    upto = index.find(name_of(record.get("upto")))
    if not isinstance(budget, int) or upto is None or not index.is_live(upto):
        return 0
    [position] = live_positions(index.live, [upto])
    appended_bytes = sum(map(index.columns.lengths.__getitem__, index.live[position + 1 :]))
    if appended_bytes > _BYTES_A_TOKEN * budget:
        return 0
    return budget


def is_plan_for(index: Index, record: Mapping[str, Any] | None, budget_tokens: int) -> bool:
    """Return whether a stored plan is in use for about this budget.

    Budgets drift, since they follow providers' counts.
    """
    return abs(budget_in_use(index, record) - budget_tokens) <= _DRIFT * budget_tokens
