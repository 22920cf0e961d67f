"""Choose which older messages to load when a long log has no plan.

Only columns are read for it; of the messages themselves those are parsed that a view may keep: system text, pins with
their tool groups, what `protect_first` names, the newest human messages and the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from ..config import Config
from ..log.index import ASSISTANT, DEVELOPER, PINNED, SYSTEM, USER, Index
from ..view.entry import Entry, with_closed
from ..view.rules import closed_calls, tool_groups

_BATCH = 256
_AROUND = 64
"""How far from a pin the other messages of its tool group are looked for."""

ClassifyAll = Callable[[Sequence[int]], list[Entry]]


FAR_BUDGETS = 1
"""History older than so many budgets is not loaded message by message."""


def near_and_older(index: Index, classify_all: ClassifyAll, budget_tokens: int, config: Config) -> list[Entry]:
    """Entries of a live history that has no plan: all back to `FAR_BUDGETS` budgets, and of the rest what may stay."""
    live, near, tokens = index.live, list[list[Entry]](), 0
    start = len(live)
    while start > 0 and tokens <= FAR_BUDGETS * budget_tokens:
        batch = classify_all(live[max(0, start - _BATCH) : start])
        tokens += sum(entry.tokens for entry in batch)
        near.append(batch)
        start = max(0, start - _BATCH)
    most = int(config.target_usage * budget_tokens)  # a plan keeps no more, even of people's words
    older = older_candidates(index, live, start, classify_all, most, first=config.protect_first)
    return older + [entry for batch in reversed(near) for entry in batch]


def older_candidates(
    index: Index, live: Sequence[int], start: int, classify_all: ClassifyAll, budget_tokens: int, *, first: int = 0
) -> list[Entry]:
    """Pick of a live history the entries before `start` that a view may keep, in order; also its `first` messages."""
    positions = {ordinal: position for position, ordinal in enumerate(live[:start])}
    held: list[Entry] = []
    texts: list[int] = []
    for position, ordinal in enumerate(live[: start + _AROUND]):
        if index.flags[ordinal] & PINNED:
            held += group_around(live, position, classify_all)
        elif index.roles[ordinal] in (SYSTEM, DEVELOPER):
            texts.append(ordinal)
    if first:
        held += _first_groups(live, first, classify_all, budget_tokens)
    wanted = {entry.ordinal: entry for entry in classify_all(texts) + held if entry.ordinal in positions}
    people = [ordinal for ordinal in _people_and_answers(index, live[:start]) if ordinal not in wanted]
    found = [*wanted.values(), *_newest_humans(people, classify_all, budget_tokens)]
    return sorted(found, key=lambda entry: positions[entry.ordinal])


def group_around(live: Sequence[int], position: int, classify_all: ClassifyAll) -> list[Entry]:
    """The tool group of a pinned message, even if other messages are between its own."""
    near = classify_all(live[max(0, position - _AROUND) : position + _AROUND])
    return _groups_of(near, {live[position]}, to_the_end=position + _AROUND >= len(live))


def _groups_of(near: Sequence[Entry], ordinals: AbstractSet[int], *, to_the_end: bool) -> list[Entry]:
    """The tool groups of some messages, their calls closed where nothing may answer them."""
    groups = tool_groups(near)
    kept = [any(entry.ordinal in ordinals for entry in group.entries()) for group in groups]
    held = (entry for group, keeps in zip(groups, kept, strict=True) if keeps for entry in group.entries())
    return with_closed(held, closed_calls(groups, kept, to_the_end=to_the_end))


def _first_groups(live: Sequence[int], first: int, classify_all: ClassifyAll, budget_tokens: int) -> list[Entry]:
    """The tool groups of the first messages, as far as a budget could hold them."""
    found: list[Entry] = []
    tokens = 0
    while len(found) < min(first, len(live)) and tokens <= budget_tokens:
        batch = classify_all(live[len(found) : min(first, len(found) + _BATCH)])
        tokens += sum(entry.tokens for entry in batch)
        found += batch
    named = {entry.ordinal for entry in found}
    near = found + classify_all(live[len(found) : len(found) + _AROUND])
    return _groups_of(near, named, to_the_end=len(near) == len(live))


def _people_and_answers(index: Index, live: Sequence[int]) -> Iterator[int]:
    """The messages that people may have written, each after the message before it if that may answer the one before."""
    roles, before = index.roles, -1
    for ordinal in live:
        if roles[ordinal] == USER:
            if before >= 0 and roles[before] == ASSISTANT:
                yield before
            yield ordinal
        before = ordinal


def _newest_humans(ordinals: Sequence[int], classify_all: ClassifyAll, budget_tokens: int) -> list[Entry]:
    """The newest human messages that a budget could hold, with their answers, and the first one."""
    batches: list[list[Entry]] = []
    tokens, end = 0, len(ordinals)
    while end > 0 and tokens <= budget_tokens:
        start = max(0, end - _BATCH)
        humans = [entry for entry in classify_all(ordinals[start:end]) if entry.human or _may_be_last_words(entry)]
        tokens += sum(entry.tokens for entry in humans if entry.human)
        batches.append(humans)
        end = start
    found = [entry for batch in reversed(batches) for entry in batch]
    for at in range(0, end, _BATCH):
        first = next((entry for entry in classify_all(ordinals[at : min(end, at + _BATCH)]) if entry.human), None)
        if first is not None:
            return [first, *found]
    return found


def _may_be_last_words(entry: Entry) -> bool:
    return entry.role == "assistant" and not entry.calls and not entry.blank
