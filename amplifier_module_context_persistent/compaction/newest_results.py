"""The newest tool results are shortened, never left out, however large they are.

The newest `protected_tool_results` results, and all of the newest finished group, stay. Where together they take more
than `SHARE` of the room, the largest are brought down to one level, so that older messages have the rest.
"""

from __future__ import annotations

from .draft import Draft
from .level import bring_down

SHARE = 0.5
NEWEST_GROUP_SHARE = 0.6  # of the room, for a newest group that does not fit alone


def hold_newest_results(draft: Draft) -> None:
    """Hold the groups of the newest results, and shorten these where they are too large."""
    positions = newest_results(draft)
    draft.held.update(positions)
    room = draft.target_tokens - draft.fixed_tokens - sum(draft.sizes[p] for p in draft.left() if p in draft.fixed)
    excess = sum(draft.sizes[position] for position in positions) - int(SHARE * max(0, room))
    if excess <= 0 or draft.fits:
        return
    pieces = [(position, entry) for position in positions for entry in draft.members[position][1:] if entry.id]
    bring_down(draft, pieces, max(draft.goal_tokens, draft.total_tokens - excess))


def shorten_newest_group(draft: Draft) -> None:
    """Shorten the results of the newest group where what no step may touch does not fit alone.

    They have to be cut then in any case, so not all else is to go for them before that.
    """
    room = draft.goal_tokens - draft.fixed_tokens
    tokens = sum(draft.sizes[position] for position in draft.fixed)
    if draft.fits or tokens <= room:
        return
    touched = [position for position in sorted(draft.fixed) if not draft.groups[position].pinned]
    pieces = [(position, entry) for position in touched for entry in draft.members[position][1:] if entry.id]
    excess = tokens - int(NEWEST_GROUP_SHARE * max(0, room))
    bring_down(draft, pieces, max(draft.goal_tokens, draft.total_tokens - excess))


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
