"""Room is used: what a plan left out comes back where it still fits.

A group that is much larger than the others may have gone for a view that ended far below its target. As long as the
view is below `LEAST_USED` of the target, the newest groups that fit are taken in again, and then the newest results
are shown longer.
"""

from __future__ import annotations

from ..messages.elide import word_cut_for
from .draft import Draft
from .newest_results import newest_results

LEAST_USED = 0.85
_WORTH_TOKENS = 64  # less is not worth showing a result longer
_SAFETY = 0.95


def use_room(draft: Draft) -> bool:
    """Fill a view that is below `LEAST_USED` of its target; whether there was something to be done."""
    if draft.goal_messages is not None or draft.total_tokens >= LEAST_USED * draft.target_tokens:
        return False
    left_out = [position for position, kept in enumerate(draft.kept) if not kept]
    for position in reversed(left_out):
        if draft.total_tokens + draft.sizes[position] <= draft.target_tokens:
            draft.restore(position)
    for position in reversed(newest_results(draft)):  # an older one may show what a change replaced that is long gone
        if position in draft.held:
            _show_longer(draft, position)
    return True


def _show_longer(draft: Draft, position: int) -> None:
    """Show the cut results of a group longer, each by its share of the room."""
    results = [entry for entry in draft.members[position][1:] if entry.id in draft.cuts]
    for number, entry in enumerate(results):
        cut = draft.cuts[entry.id]
        room = (draft.target_tokens - draft.total_tokens) // (len(results) - number)
        if room < _WORTH_TOKENS or cut.instead or not cut.shortens:
            continue
        chars = max(entry.terms.text_chars)
        more = int(chars * room * _SAFETY / max(1, entry.tokens))
        known = cut.head_chars + cut.tail_chars
        if known + more > known:
            draft.show_by(position, entry, word_cut_for(min(chars, known + more)))
