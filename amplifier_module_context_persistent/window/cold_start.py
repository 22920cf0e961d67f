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
from typing import Protocol

from ..config import Config
from ..log.index import ASSISTANT, DEVELOPER, PINNED, SYSTEM, USER, Index
from ..messages.message import Message, call_id_of
from ..messages.metadata import is_human
from ..view.entry import Entry, with_closed
from ..view.plan import live_positions
from ..view.rules import closed_calls, tool_groups

_BATCH = 256
_FIRST_BATCH = 8
_AROUND = 64
"""How far from a pin the other messages of its tool group are looked for."""

_INSTRUCTIONS = re.compile(b"[%c%c]" % (SYSTEM, DEVELOPER))
_WORDS = re.compile(b"%c?%c" % (ASSISTANT, USER))
"""In the roles of neighbours: what a person may have written, after the message before it if that may be an answer."""
_PINNED = bytes(1 if flags & PINNED else 0 for flags in range(256))

ClassifyAll = Callable[[Sequence[int]], list[Entry]]


class Describe(Protocol):
    """What describes messages of a log."""

    def __call__(self, ordinals: Sequence[int], where: Callable[[Message], bool] | None = None) -> list[Entry]:
        """Describe messages by their ordinals; where `where` is given, those of which it is true."""


FAR_BUDGETS = 1
"""History older than so many budgets is not loaded message by message."""


def near_and_older(index: Index, describe: Describe, budget_tokens: int, config: Config) -> list[Entry]:
    """Entries of a live history that has no plan: all back to `FAR_BUDGETS` budgets, and of the rest what may stay."""
    live, near, tokens = index.live, list[list[Entry]](), 0
    start = len(live)
    while start > 0 and tokens <= FAR_BUDGETS * budget_tokens:
        batch = describe(live[max(0, start - _BATCH) : start])
        tokens += sum(entry.tokens for entry in batch)
        near.append(batch)
        start = max(0, start - _BATCH)
    most = int(config.target_usage * budget_tokens)  # a plan keeps no more, even of people's words
    older = older_candidates(index, start, describe, most, first=config.protect_first)
    return older + [entry for batch in reversed(near) for entry in batch]


def older_candidates(
    index: Index, start: int, describe: Describe, budget_tokens: int, *, first: int = 0
) -> list[Entry]:
    """Pick of a live history the entries before `start` that a view may keep, in order; also its `first` messages."""
    live = index.live
    looked_at = live[: start + _AROUND]
    roles = bytes(map(index.roles.__getitem__, looked_at))
    pinned = bytes(map(index.flags.__getitem__, looked_at)).translate(_PINNED)
    held: list[Entry] = []
    position = pinned.find(1)
    while position >= 0:
        held += group_around(live, position, describe)
        position = pinned.find(1, position + 1)
    texts = [at for found in _INSTRUCTIONS.finditer(roles) if not pinned[at := found.start()]]
    if first:
        held += _first_groups(live, first, describe, budget_tokens)
    wanted = {entry.ordinal: entry for entry in describe([live[at] for at in texts]) + held}
    people = [live[at] for found in _WORDS.finditer(roles, 0, start) for at in range(*found.span())]
    people = [ordinal for ordinal in people if ordinal not in wanted]
    entries = [*wanted.values(), *_newest_humans(people, describe, budget_tokens)]
    placed = zip(live_positions(live, [entry.ordinal for entry in entries]), entries, strict=True)
    return [entry for position, entry in sorted(placed, key=itemgetter(0)) if position < start]


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


def _first_groups(live: array[int], first: int, classify_all: ClassifyAll, budget_tokens: int) -> list[Entry]:
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


def _newest_humans(ordinals: Sequence[int], describe: Describe, budget_tokens: int) -> list[Entry]:
    """The newest human messages that a budget could hold, with their answers, and the first one."""
    batches: list[list[Entry]] = []
    tokens, end = 0, len(ordinals)
    while end > 0 and tokens <= budget_tokens:
        start = max(0, end - _BATCH)
        words = describe(ordinals[start:end], _may_be_words)
        humans = [entry for entry in words if entry.human or _may_be_last_words(entry)]
        tokens += sum(entry.tokens for entry in humans if entry.human)
        batches.append(humans)
        end = start
    found = [entry for batch in reversed(batches) for entry in batch]
    at, size = 0, _FIRST_BATCH
    while at < end:
        if humans := describe(ordinals[at : min(end, at + size)], is_human):
            return [humans[0], *found]
        at, size = at + size, min(_BATCH, 2 * size)
    return found


def _may_be_words(message: Message) -> bool:
    """Whether a person wrote a message, or it is an answer that may call nothing."""
    if message.get("role") != "assistant":
        return is_human(message)
    listed = message.get("tool_calls")
    calls = listed if isinstance(listed, list) else ()
    return not any(isinstance(call, dict) and call_id_of(call) is not None for call in calls)


def _may_be_last_words(entry: Entry) -> bool:
    return entry.role == "assistant" and not entry.calls and not entry.blank
