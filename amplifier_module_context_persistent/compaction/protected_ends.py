"""Protected ends: the first `protect_first` and last `protect_last` messages of a history, which plans do not change.

Rules:
- A protection covers whole tool groups. It acts when a plan is made, like a pin.
- Both together cover at most half of the target, and at most the room that the parts without compaction leave.
- If both ask for more, the side that has used fewer tokens so far takes its next group: `protect_first` from the oldest
  on, `protect_last` from the newest. A group that alone is larger than the room is skipped.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from ..config import Config
from ..view.calls_and_results import tool_groups
from ..view.entry import Entry, with_changes
from .groups import stays_anyway


def protect(
    entries: Sequence[Entry],
    live: Sequence[int],
    *,
    config: Config,
    budget_tokens: int,
    fixed_tokens: int,
    tokens_of: Callable[[Entry], int],
) -> Sequence[Entry]:
    """Mark the entries that a plan must not change because of their places; the same object if there are none.

    Args:
        entries: the entries of the plan, in the history's order.
        live: the ordinals of the live history.
        config: the policy.
        budget_tokens: the budget of the whole request.
        fixed_tokens: the part of it for head text, tool definitions and overhead.
        tokens_of: the tokens of a message with its current cut.
    """
    first, last = set(live[: config.protect_first]), set(live[max(0, len(live) - config.protect_last) :])
    if not first and not last:
        return entries
    groups = tool_groups(entries)
    sizes = [sum(map(tokens_of, group.entries())) for group in groups]
    stays = stays_anyway(groups, preserve_system=config.preserve_system)
    target = int(budget_tokens * config.target_usage)
    room = min(target // 2, target - fixed_tokens - sum(sizes[position] for position in stays))
    most = sys.maxsize if config.max_messages is None else int(config.max_messages * config.target_usage) // 2

    def named(ordinals: AbstractSet[int]) -> list[int]:
        held = (position for position in range(len(groups)) if position not in stays and sizes[position] <= room)
        return [position for position in held if any(entry.ordinal in ordinals for entry in groups[position].entries())]

    sides = {"first": iter(named(first)), "last": iter(named(last)[::-1])}
    used, taken = dict.fromkeys(sides, 0), set[int]()
    while sides:
        side = min(sides, key=used.__getitem__)
        position = next((one for one in sides[side] if one not in taken), None)
        messages = 0 if position is None else 1 + len(groups[position].results)
        if position is None or sum(used.values()) + sizes[position] > room or messages > most:
            del sides[side]
            continue
        used[side] += sizes[position]
        most -= messages
        taken.add(position)
    held = {entry.ordinal for position in taken for entry in groups[position].entries()}
    return [with_changes(e, protected=True) if e.ordinal in held else e for e in entries] if held else entries
