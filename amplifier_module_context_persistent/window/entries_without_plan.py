"""Choose which older messages to load when a long log has no plan.

The choice reads only the index. Only messages that a view may keep are parsed: system text, pins with their tool
groups, the messages of `protect_first`, the newest human messages and the first one.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from operator import itemgetter

from ..config import Config
from ..log.index import ASSISTANT, DEVELOPER, PINNED, SYSTEM, USER, Index, live_positions
from ..view.entry import Entry, with_closed
from ..view.missing_results import closed_calls
from ..view.tool_groups import tool_groups

BATCH = 256
"""The number of messages to read at once, from the end of a history to its beginning."""
_FIRST_BATCH = 8
_AROUND = 64
"""The distance from a pin within which the messages of its tool group are searched."""

_INSTRUCTIONS = re.compile(b"[%c%c]" % (SYSTEM, DEVELOPER))
_WORDS = re.compile(b"%c?%c" % (ASSISTANT, USER))
"""Matches in the roles of a history: a user message, and an assistant message right before it."""
_PINNED = bytes(1 if flags & PINNED else 0 for flags in range(256))

ClassifyAll = Callable[[Sequence[int]], list[Entry]]
"""Describes messages of a log by their ordinals."""

FAR_BUDGETS = 1
"""The part of the newest history to load message by message, in budgets."""


def near_and_older(index: Index, classify_all: ClassifyAll, budget_tokens: int, config: Config) -> list[Entry]:
    """Return entries of a live history without a plan: the newest `FAR_BUDGETS` budgets, and older ones to keep.

    Args:
        index: the index of the log.
        classify_all: makes the entries of messages, from their ordinals.
        budget_tokens: the budget of the view.
        config: gives `target_usage` and `protect_first`.
    """
    near, start = _newest(index.live, classify_all, FAR_BUDGETS * budget_tokens)
    most = int(config.target_usage * budget_tokens)  # a plan keeps no more than this, even of human messages
    return older_candidates(index, start, classify_all, most, first=config.protect_first) + near


def older_candidates(
    index: Index, start: int, classify_all: ClassifyAll, budget_tokens: int, *, first: int = 0
) -> list[Entry]:
    """Choose the entries before `start` that a view may keep, and the `first` messages of the history, in order.

    Args:
        index: the index of the log.
        start: the position in the live history before which entries are chosen.
        classify_all: makes the entries of messages, from their ordinals.
        budget_tokens: the budget of the view.
        first: the number of messages at the beginning that are kept.
    """
    live = index.live
    looked_at = live[: start + _AROUND]
    roles = bytes(map(index.columns.roles.__getitem__, looked_at))
    pinned = bytes(map(index.columns.flags.__getitem__, looked_at)).translate(_PINNED)
    instructions = [found.start() for found in _INSTRUCTIONS.finditer(roles)]
    candidates = classify_all([live[at] for at in instructions if not pinned[at]])
    for pin in re.finditer(b"\1", pinned):
        candidates += group_around(live, pin.start(), classify_all)
    first = min(first, budget_tokens)  # a message has at least one token
    if first:
        near = classify_all(live[: first + _AROUND])
        candidates += _groups_of(near, set(live[:first]), to_the_end=len(near) == len(live))
    wanted = {entry.ordinal: entry for entry in candidates}
    people: list[int] = []
    for found in _WORDS.finditer(roles, 0, start):
        people += [ordinal for ordinal in live[found.start() : found.end()] if ordinal not in wanted]
    entries = [*wanted.values(), *_peoples_words(people, classify_all, budget_tokens)]
    return [entry for position, entry in in_place(live, entries) if position < start]


def in_place(live: array[int], entries: Sequence[Entry]) -> list[tuple[int, Entry]]:
    """Return entries in the order of the live history, each with its position."""
    positions = live_positions(live, [entry.ordinal for entry in entries])
    return sorted(zip(positions, entries, strict=True), key=itemgetter(0))


def group_around(live: Sequence[int], position: int, classify_all: ClassifyAll) -> list[Entry]:
    """Return the tool group of a pinned message, even if other messages are between the messages of the group."""
    near = classify_all(live[max(0, position - _AROUND) : position + _AROUND])
    return _groups_of(near, {live[position]}, to_the_end=position + _AROUND >= len(live))


def _groups_of(near: Sequence[Entry], ordinals: AbstractSet[int], *, to_the_end: bool) -> list[Entry]:
    """Return the entries of the tool groups that contain the messages at `ordinals`.

    Calls that no later message can answer are closed.
    """
    groups = tool_groups(near)
    is_wanted = [any(entry.ordinal in ordinals for entry in group.entries()) for group in groups]
    entries: list[Entry] = []
    for group, is_kept in zip(groups, is_wanted, strict=True):
        if is_kept:
            entries += group.entries()
    return with_closed(entries, closed_calls(groups, is_wanted, to_the_end=to_the_end))


def _newest(
    ordinals: Sequence[int], classify_all: ClassifyAll, budget_tokens: int, *, words_alone: bool = False
) -> tuple[list[Entry], int]:
    """Return the newest messages, and the position of the first one.

    The messages are taken in batches of `BATCH` until they exceed the budget.

    Args:
        ordinals: the messages to choose from.
        classify_all: describes messages.
        budget_tokens: the budget.
        words_alone: take only human messages and answers without calls, and count the tokens of human messages only.
    """
    batches: list[list[Entry]] = []
    tokens = 0
    start = len(ordinals)
    while start > 0 and tokens <= budget_tokens:
        end = start
        start = max(0, end - BATCH)
        batch = classify_all(ordinals[start:end])
        if words_alone:
            batch = [entry for entry in batch if entry.human or _may_be_final(entry)]
        tokens += sum(entry.tokens for entry in batch if entry.human or not words_alone)
        batches.append(batch)
    return list(chain.from_iterable(reversed(batches))), start


def _may_be_final(entry: Entry) -> bool:
    """Return whether an entry may be the final answer of a turn."""
    return entry.role == "assistant" and not entry.calls and not entry.form.blank


def _peoples_words(ordinals: Sequence[int], classify_all: ClassifyAll, budget_tokens: int) -> list[Entry]:
    """Return the newest human messages that fit a budget, the answers between these, and the first human message."""
    newest, start = _newest(ordinals, classify_all, budget_tokens, words_alone=True)
    for at in range(0, start, _FIRST_BATCH):
        for entry in classify_all(ordinals[at : min(start, at + _FIRST_BATCH)]):
            if entry.human:
                return [entry, *newest]
    return newest
