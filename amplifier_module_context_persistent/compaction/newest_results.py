"""The newest tool results are shortened, never left out, however large they are.

The newest `protected_tool_results` results, and all of the newest finished group, stay. Where together they take more
than `SHARE` of the room, the largest are brought down to one level, so that older messages have the rest. Of groups
whose calls have large arguments the newest is held, and as many more as fit `CALLS_SHARE` of the target.
"""

from __future__ import annotations

from collections.abc import Sequence

from .draft import Draft
from .level import bring_down

SHARE = 0.5
CALLS_SHARE = 0.25  # of the target, for the messages that called for the newest results, which no cut makes shorter
NEWEST_GROUP_SHARE = 0.6  # of the room, for a newest group that does not fit alone


def hold_newest_results(draft: Draft) -> None:
    """Hold the groups of the newest results, and shorten these where they are too large."""
    positions = _with_short_calls(draft, newest_results(draft))
    draft.held.update(positions)
    room = draft.target_tokens - draft.fixed_tokens - sum(draft.sizes[p] for p in draft.fixed if draft.kept[p])
    excess = sum(draft.sizes[position] for position in positions) - int(SHARE * max(0, room))
    if excess <= 0 or draft.fits:
        return
    _bring_down_results(draft, positions, max(draft.goal_tokens, draft.total_tokens - excess))


def _with_short_calls(draft: Draft, positions: Sequence[int]) -> list[int]:
    """The newest one of some groups, and others while what cannot be cut of them takes little: calls may be long."""
    room = int(CALLS_SHARE * draft.target_tokens)
    found: list[int] = []
    for position in reversed(positions):
        room -= draft.tokens_of(draft.groups[position].head)
        if not found or room >= 0:
            found.append(position)
    return found[::-1]


def shorten_newest_group(draft: Draft) -> None:
    """Shorten the results of the newest group where what no step may touch does not fit alone.

    They have to be cut then in any case, so not all else is to go for them before that.
    """
    room = draft.goal_tokens - draft.fixed_tokens
    tokens = sum(draft.sizes[position] for position in draft.fixed)
    if draft.fits or tokens <= room:
        return
    excess = tokens - int(NEWEST_GROUP_SHARE * max(0, room))
    _bring_down_results(draft, sorted(draft.fixed), max(draft.goal_tokens, draft.total_tokens - excess))


def shorten_for_people(draft: Draft) -> None:
    """Shorten results that are held, and then those of the newest group, before people's messages go for them.

    Both are only shorter then, and can be had again; the newest group keeps `NEWEST_GROUP_SHARE` of the room.
    """
    held = [position for position in sorted(draft.held - draft.fixed) if draft.kept[position]]
    _bring_down_results(draft, held, draft.goal_tokens)
    fixed = sorted(draft.fixed)
    excess = sum(draft.sizes[p] for p in fixed) - int(NEWEST_GROUP_SHARE * (draft.goal_tokens - draft.fixed_tokens))
    if excess > 0:
        _bring_down_results(draft, fixed, max(draft.goal_tokens, draft.total_tokens - excess))


def _bring_down_results(draft: Draft, positions: Sequence[int], goal_tokens: int) -> None:
    """Bring the results of some groups down to one level, none that is pinned."""
    touched = [position for position in positions if not draft.groups[position].pinned]
    pieces = [(position, entry) for position in touched for entry in draft.members[position][1:] if entry.id]
    bring_down(draft, pieces, goal_tokens)


def newest_results(draft: Draft) -> list[int]:
    """The positions of the groups with the newest results, of such as may be touched at all."""
    found: list[int] = []
    left = max(1, draft.config.protected_tool_results)
    for position in reversed(draft.left()):
        results = len(draft.members[position]) - 1
        if results and not draft.groups[position].pinned:
            if position not in draft.fixed:
                found.append(position)
            left -= results
            if left <= 0:
                break
    return found[::-1]
