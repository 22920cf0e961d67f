"""What a plan leaves as it is because of its place: `protect_first` and `protect_last` messages of a history.

Rules:
- A protection holds whole tool groups. It acts when a plan is made, as pins do.
- Together they hold at most half of the target, and no more than what stays of it beside what is never compacted.
- Where they ask for more, each gets half of that room, and what one leaves is the other's. `protect_first` then gives
  up its newest groups, `protect_last` its oldest. A group that alone is larger than the room is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from ..config import Config
from ..view.entry import Entry
from ..view.rules import Group, last_human, tool_groups


def protect(entries: Sequence[Entry], live: Sequence[int], **how: Any) -> Sequence[Entry]:
    """Mark the entries that a plan has to leave as they are because of their places; the very same if there are none.

    Args:
        entries: what the plan is made of, in the history's order.
        live: the keys of the live history.
        how: as `protected_keys`.
    """
    config: Config = how["config"]
    first, last = live[: config.protect_first], live[max(0, len(live) - config.protect_last) :]
    keys = protected_keys(entries, first=set(first), last=set(last), **how)
    return [replace(entry, protected=True) if entry.key in keys else entry for entry in entries] if keys else entries


def protected_keys(
    entries: Sequence[Entry],
    *,
    first: AbstractSet[int],
    last: AbstractSet[int],
    config: Config,
    budget_tokens: int,
    fixed_tokens: int,
    tokens_of: Callable[[Entry], int],
) -> set[int]:
    """Choose those entries.

    Args:
        entries: what the plan is made of, in the history's order.
        first: keys of the messages that `protect_first` names.
        last: keys of those that `protect_last` names.
        config: the policy.
        budget_tokens: the budget of the whole request.
        fixed_tokens: what of it is taken by head text, tool definitions and overhead.
        tokens_of: what a message comes to, cut as it is.
    """
    if not first and not last:
        return set()
    groups = tool_groups(entries)
    sizes = [sum(map(tokens_of, group.entries())) for group in groups]
    stays = _stays_anyway(groups, preserve_system=config.preserve_system)
    target = int(budget_tokens * config.target_usage)
    room = min(target // 2, target - fixed_tokens - sum(sizes[place] for place in stays))
    most = len(entries) if config.max_messages is None else int(config.max_messages * config.target_usage) // 2

    def named(keys: AbstractSet[int]) -> list[int]:
        held = (place for place in range(len(groups)) if place not in stays and sizes[place] <= room)
        return [place for place in held if any(entry.key in keys for entry in groups[place].entries())]

    def take(places: Iterable[int], tokens: int, messages: int) -> set[int]:
        taken: set[int] = set()
        for place in places:
            tokens, messages = tokens - sizes[place], messages - 1 - len(groups[place].results)
            if tokens < 0 or messages < 0:
                break
            taken.add(place)
        return taken

    def left(taken: AbstractSet[int]) -> tuple[int, int]:
        used = sum(1 + len(groups[place].results) for place in taken)
        return room - sum(sizes[place] for place in taken), most - used

    oldest, newest = named(first), named(last)[::-1]
    ahead = take(oldest, room // 2, most // 2)
    behind = take((place for place in newest if place not in ahead), *left(ahead))
    ahead = take((place for place in oldest if place not in behind), *left(behind))
    return {entry.key for place in ahead | behind for entry in groups[place].entries()}


def _stays_anyway(groups: Sequence[Group], *, preserve_system: bool) -> set[int]:
    """What no step ever touches."""
    turn = last_human(groups)
    return {
        place
        for place, group in enumerate(groups)
        if group.pinned or place == turn or (group.head.instructs and (preserve_system or place == 0))
    }
