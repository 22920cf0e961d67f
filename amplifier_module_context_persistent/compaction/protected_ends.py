"""Protected ends: the first `protect_first` and last `protect_last` messages of a history, which plans do not change.

Rules:
- A protection covers whole tool groups: a message with the results of its calls. It acts when a plan is made, like a
  pin.
- Both ends together cover at most half of the target, and at most the part of it that other fixed text leaves.
- If both ends need more, they take groups in turn: the end with fewer tokens so far takes its next group. The first end
  goes from the oldest group on, the last end from the newest. A group that alone is larger than the room is skipped.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..config import Config
from ..view.entry import Entry, with_changes
from ..view.tool_groups import tool_groups
from .group_facts import GroupFacts
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
    """Return the entries. Those at a protected end, which a plan must not change, are marked.

    Args:
        entries: the entries of the plan, in the history's order. The same object is returned if none is protected.
        live: the ordinals of the live history.
        config: the policy.
        budget_tokens: the budget of the whole request.
        fixed_tokens: the part of the budget for head text, tool definitions and overhead.
        tokens_of: returns the tokens of a message with its current cut.
    """
    first = set(live[: config.protect_first])
    last = set(live[max(0, len(live) - config.protect_last) :])
    if not first and not last:
        return entries
    groups = tool_groups(entries)
    sizes = [sum(map(tokens_of, group.entries())) for group in groups]
    stays = stays_anyway([GroupFacts(group) for group in groups], preserve_system=config.preserve_system)
    target = int(budget_tokens * config.target_usage)
    room_tokens = min(target // 2, target - fixed_tokens - sum(sizes[position] for position in stays))
    room_messages = sys.maxsize
    if config.max_messages is not None:
        room_messages = int(config.max_messages * config.target_usage) // 2

    fitting = [
        _Candidate(position, sizes[position], 1 + len(group.results), {entry.ordinal for entry in group.entries()})
        for position, group in enumerate(groups)
        if position not in stays and sizes[position] <= room_tokens
    ]
    of_first = [group for group in fitting if not first.isdisjoint(group.ordinals)]
    of_last = [group for group in reversed(fitting) if not last.isdisjoint(group.ordinals)]
    protected = _take_in_turn(of_first, of_last, room_tokens, room_messages)
    if not protected:
        return entries
    return [with_changes(entry, protected=True) if entry.ordinal in protected else entry for entry in entries]


class _Candidate(NamedTuple):
    """A tool group that may be protected."""

    position: int
    tokens: int
    messages: int
    """The number of the group's messages, with stand-ins for missing results."""
    ordinals: set[int]
    """The ordinals of its stored messages."""


def _take_in_turn(
    of_first: Sequence[_Candidate], of_last: Sequence[_Candidate], room_tokens: int, room_messages: int
) -> set[int]:
    """Take groups for both ends until nothing more fits. The end with fewer tokens so far takes its next group.

    Returns:
        The ordinals of the messages of all taken groups.
    """
    sides = {"first": iter(of_first), "last": iter(of_last)}
    tokens = dict.fromkeys(sides, 0)
    taken = set[int]()
    ordinals = set[int]()
    while sides:
        side = min(sides, key=tokens.__getitem__)
        group = next((candidate for candidate in sides[side] if candidate.position not in taken), None)
        if group is None or sum(tokens.values()) + group.tokens > room_tokens or group.messages > room_messages:
            del sides[side]
            continue
        tokens[side] += group.tokens
        room_messages -= group.messages
        taken.add(group.position)
        ordinals |= group.ordinals
    return ordinals
