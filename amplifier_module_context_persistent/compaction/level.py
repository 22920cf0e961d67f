"""Bringing the largest pieces of a view down to one level."""

from __future__ import annotations

from collections.abc import Sequence

from ..messages.elide import LEAST_SHOWN_CHARS, word_cut_for
from ..view.entry import Entry
from .draft import Draft


def bring_down(
    draft: Draft, pieces: Sequence[tuple[int, Entry]], goal_tokens: int, *, to_nothing: bool = False
) -> None:
    """Shorten the largest of some messages to one level, as high as the goal allows.

    Args:
        draft: the view in the making.
        pieces: messages, each with the position of its group.
        goal_tokens: what the whole view is to come to.
        to_nothing: whether texts may go altogether, the oldest first, where all are at their shortest.
    """
    for tightening in (1.0, 0.9, 0.75, 0.5, 0.0):
        if draft.total_tokens <= goal_tokens:
            return
        excess = draft.total_tokens - goal_tokens
        level = _level([draft.tokens_of(entry) for _, entry in pieces], excess) * tightening
        for position, entry in pieces:
            chars = max(entry.terms.text_chars, default=0)
            if draft.tokens_of(entry) > level and chars > LEAST_SHOWN_CHARS:
                keep = max(LEAST_SHOWN_CHARS, int(chars * level / max(1, entry.tokens)))
                draft.cut(position, entry, word_cut_for(keep), least_saved=1)
    for position, entry in pieces if to_nothing else ():
        if draft.total_tokens <= goal_tokens:
            return
        if any(entry.terms.text_chars):
            draft.cut(position, entry, word_cut_for(0), least_saved=1)


def _level(sizes: Sequence[int], excess: int) -> float:
    """The height to which the tallest must be brought down to lose `excess` altogether."""
    tallest = sorted(sizes, reverse=True)
    removed = 0
    for count, size in enumerate(tallest, start=1):
        lower = tallest[count] if count < len(tallest) else 0
        if removed + (size - lower) * count >= excess:
            return size - (excess - removed) / count
        removed += (size - lower) * count
    return 0.0
