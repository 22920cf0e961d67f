"""Choose which older messages to load when a long log has no plan.

Only columns are read for it; of the messages themselves those are parsed that a view may keep: system text, pins with
their tool groups, what `protect_first` names, the newest human messages and the first one.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from operator import itemgetter

from ..config import Config
from ..log.index import ASSISTANT, DEVELOPER, PINNED, SYSTEM, USER, Index
from ..view.calls_and_results import closed_calls, tool_groups
from ..view.entry import Entry, with_closed
from ..view.plan import live_positions

BATCH = 256
"""So many messages are read at once, from the end of a history to its beginning."""
_FIRST_BATCH = 8
_AROUND = 64
"""How far from a pin the other messages of its tool group are looked for."""

_INSTRUCTIONS = re.compile(b"[%c%c]" % (SYSTEM, DEVELOPER))
_WORDS = re.compile(b"%c?%c" % (ASSISTANT, USER))
"""In the roles of neighbours: what a person may have written, after the message before it if that may be an answer."""
_PINNED = bytes(1 if flags & PINNED else 0 for flags in range(256))

ClassifyAll = Callable[[Sequence[int]], list[Entry]]
"""Describes messages of a log by their ordinals."""

FAR_BUDGETS = 1
"""History older than so many budgets is not loaded message by message."""


def near_and_older(index: Index, classify_all: ClassifyAll, budget_tokens: int, config: Config) -> list[Entry]:
    """Entries of a live history that has no plan: all back to `FAR_BUDGETS` budgets, and of the rest what may stay."""
    near, start = _newest(index.live, classify_all, FAR_BUDGETS * budget_tokens)
    most = int(config.target_usage * budget_tokens)  # a plan keeps no more, even of people's words
    return older_candidates(index, start, classify_all, most, first=config.protect_first) + near


def older_candidates(
    index: Index, start: int, classify_all: ClassifyAll, budget_tokens: int, *, first: int = 0
) -> list[Entry]:
    """Pick of a live history the entries before `start` that a view may keep, in order; also its `first` messages."""
    live = index.live
    looked_at = live[: start + _AROUND]
    roles = bytes(map(index.columns.roles.__getitem__, looked_at))
    pinned = bytes(map(index.columns.flags.__getitem__, looked_at)).translate(_PINNED)
    texts = [at for found in _INSTRUCTIONS.finditer(roles) if not pinned[at := found.start()]]
    held = classify_all([live[at] for at in texts])
    for pin in re.finditer(b"\1", pinned):
        held += group_around(live, pin.start(), classify_all)
    if first := min(first, budget_tokens):  # more than one message a token fits no budget
        near = classify_all(live[: first + _AROUND])
        held += _groups_of(near, set(live[:first]), to_the_end=len(near) == len(live))
    wanted = {entry.ordinal: entry for entry in held}
    people = [live[at] for found in _WORDS.finditer(roles, 0, start) for at in range(*found.span())]
    people = [ordinal for ordinal in people if ordinal not in wanted]
    entries = [*wanted.values(), *_peoples_words(people, classify_all, budget_tokens)]
    return [entry for position, entry in in_place(live, entries) if position < start]


def in_place(live: array[int], entries: Sequence[Entry]) -> list[tuple[int, Entry]]:
    """Entries in the order of the live history, with their positions in it."""
    positions = live_positions(live, [entry.ordinal for entry in entries])
    return sorted(zip(positions, entries, strict=True), key=itemgetter(0))


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


def _newest(
    ordinals: Sequence[int], classify_all: ClassifyAll, budget_tokens: int, *, words_alone: bool = False
) -> tuple[list[Entry], int]:
    """The newest messages that a budget could hold, and where they begin; or people's words, with their answers."""
    batches, tokens, start = list[list[Entry]](), 0, len(ordinals)
    while start > 0 and tokens <= budget_tokens:
        batch = classify_all(ordinals[max(0, start - BATCH) : start])
        if words_alone:
            said = (entry.role == "assistant" and not entry.calls and not entry.form.blank for entry in batch)
            batch = [entry for entry, may_be_last in zip(batch, said, strict=True) if entry.human or may_be_last]
        tokens += sum(entry.tokens for entry in batch if entry.human or not words_alone)
        batches.append(batch)
        start = max(0, start - BATCH)
    return [entry for batch in reversed(batches) for entry in batch], start


def _peoples_words(ordinals: Sequence[int], classify_all: ClassifyAll, budget_tokens: int) -> list[Entry]:
    """The newest human messages that a budget could hold, with their answers, and the first one."""
    newest, start = _newest(ordinals, classify_all, budget_tokens, words_alone=True)
    batches = (classify_all(ordinals[at : min(start, at + _FIRST_BATCH)]) for at in range(0, start, _FIRST_BATCH))
    first = next((entry for batch in batches for entry in batch if entry.human), None)
    return [first, *newest] if first is not None else newest
