"""The choice: of all forms that groups offer the one that costs least, again and again, until a view fits.

The same loop, upwards, fills the room that is left.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from ..messages.elide import word_cut_for
from .draft import MARKER_TOKENS, Draft
from .forms import Forms
from .losses import Loss
from .promises import newest_groups

LEAST_USED = 0.85  # of the target; below that a view takes in again what still fits


def choose(draft: Draft, forms: Forms, loss: Loss, goal_tokens: int, positions: list[int] | None = None) -> bool:
    """Take the cheapest forms of a stage until the view fits; whether any was taken.

    Args:
        draft: the view in the making.
        forms: what its groups offer.
        loss: what that costs, with the stage.
        goal_tokens: what the view may come to.
        positions: the groups that it is about; else all.
    """
    if draft.fits(goal_tokens):
        return False
    least_saved = MARKER_TOKENS if loss.stage < loss.stage.SHORTEN else 1
    offered = set(forms.offered(loss.stage) if positions is None else positions)
    heap: list[tuple[float, int]] = []
    _push(heap, loss, offered)
    taken = False
    while heap:
        if draft.fits(goal_tokens):
            draft.settle(least_saved)
            if draft.fits(goal_tokens):
                return taken
        price, position = heap[0]
        best = loss.best(position) if draft.kept[position] else None
        if best is None:
            heapq.heappop(heap)
            continue
        if best[0] > price:
            heapq.heapreplace(heap, (best[0], position))
            if heap[0] != (best[0], position):  # it has grown since; another one may lose less now
                continue
        taken = True
        forms.take(position, best[1])
        near = [position] if best[1].entry is not None else [position - 1, position + 1]  # more is freed beside a gap
        _push(heap, loss, offered.intersection([*near, *loss.took(position)]))
    draft.settle(least_saved)
    return taken


def _push(heap: list[tuple[float, int]], loss: Loss, positions: Iterable[int]) -> None:
    """Put groups with the prices that they have now into the heap; higher ones that are in it do no harm."""
    for position in positions:
        if loss.draft.kept[position] and (best := loss.best(position)) is not None:
            heapq.heappush(heap, (best[0], position))


def use_room(draft: Draft) -> bool:
    """Take in again what was left out and still fits, the newest first; whether there was room.

    Then the newest results are shown longer, each by its share of what is left.
    """
    target = draft.target_tokens
    if draft.config.max_messages is not None or draft.total_tokens >= LEAST_USED * target:
        return False
    for position in reversed(range(len(draft.kept))):
        if not draft.kept[position]:
            draft.restore(position)
            if draft.total_tokens > target:
                draft.drop(position)
    for position in newest_groups(draft):
        results = [entry for entry in draft.view.members[position][1:] if entry.id in draft.cuts]
        for number, entry in enumerate(results):
            cut, chars = draft.cuts[entry.id], max(entry.terms.text_chars, default=0)
            room = (target - draft.total_tokens) // (len(results) - number)
            if room >= MARKER_TOKENS and cut.shortens and not cut.instead:
                more = draft.chars_of(entry) + int(chars * room * 0.95 / max(1, entry.tokens))
                draft.cut(position, entry, word_cut_for(min(chars, more)))
    return True
