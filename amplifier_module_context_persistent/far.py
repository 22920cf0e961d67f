"""A history that was never compacted and is far larger than any view: what of its older part is worth a look.

Only columns are read for it; of the messages themselves those are parsed that a view may keep: system text, pins with
their tool groups, the newest human messages and the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .entry import Entry
from .index import PINNED, SYSTEM, TOOL, USER, Index

_BATCH = 256

ClassifyAll = Callable[[Sequence[int]], list[Entry]]


def older_candidates(index: Index, older: Sequence[int], classify_all: ClassifyAll, budget_tokens: int) -> list[Entry]:
    """Pick the entries of an older part that a view may keep, in order."""
    roles, flags = index.roles, index.flags
    wanted: set[int] = set()
    for place, ordinal in enumerate(older):
        if roles[ordinal] == SYSTEM:
            wanted.add(ordinal)
        elif flags[ordinal] & PINNED:
            wanted.update(_group_around(index, older, place))
    people = [ordinal for ordinal in older if roles[ordinal] == USER and ordinal not in wanted]
    found = classify_all(sorted(wanted)) + _newest_humans(people, classify_all, budget_tokens)
    if not found:
        return []
    places = {ordinal: place for place, ordinal in enumerate(older)}
    return sorted(found, key=lambda entry: places[entry.key])


def _group_around(index: Index, older: Sequence[int], place: int) -> Sequence[int]:
    """A message with the results that stand around it, back to the message with the calls."""
    first = last = place
    while first > 0 and index.roles[older[first]] == TOOL:
        first -= 1
    while last + 1 < len(older) and index.roles[older[last + 1]] == TOOL:
        last += 1
    return older[first : last + 1]


def _newest_humans(ordinals: Sequence[int], classify_all: ClassifyAll, budget_tokens: int) -> list[Entry]:
    """The newest human messages that a budget could hold, and the first one."""
    batches: list[list[Entry]] = []
    tokens, end = 0, len(ordinals)
    while end > 0 and tokens <= budget_tokens:
        start = max(0, end - _BATCH)
        humans = [entry for entry in classify_all(ordinals[start:end]) if entry.human]
        tokens += sum(entry.tokens for entry in humans)
        batches.append(humans)
        end = start
    found = [entry for batch in reversed(batches) for entry in batch]
    for at in range(0, end, _BATCH):
        first = next((entry for entry in classify_all(ordinals[at : min(end, at + _BATCH)]) if entry.human), None)
        if first is not None:
            return [first, *found]
    return found
