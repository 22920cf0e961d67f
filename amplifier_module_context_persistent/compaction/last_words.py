"""The last words of finished turns: what the model concluded stays, so that nobody stands unanswered.

The last message of a turn, if it has text and no calls, is shortened to about `MOST_CHARS` and not left out, the newest
first, within `SHARE` of the target. Where that is too little for all of them, all are shortened more, down to
`LEAST_CHARS`; then the oldest count as other messages do.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..messages.elide import Cut
from ..view.rules import Group
from .draft import Draft

SHARE = 0.25
MOST_CHARS, LEAST_CHARS = 400, 270
_STEPS = (MOST_CHARS, 330, LEAST_CHARS)
_MARKER_TOKENS = 24
_MUCH = 1.4  # a text that is not so much longer than its cut is left as it is


def last_words(groups: Sequence[Group]) -> list[int]:
    """The positions of the last words of finished turns."""
    found: list[int] = []
    candidate: int | None = None
    for position, group in enumerate(groups):
        head = group.head
        if head.human:
            if candidate is not None:
                found.append(candidate)
            candidate = None
        elif head.role == "assistant":
            said = not head.calls and head.id and sum(head.terms.text_chars) > 0
            candidate = position if said else None
    return found


def answers_by_human(groups: Sequence[Group]) -> dict[int, int]:
    """By the position of a person's message, that of the last words of its turn."""
    answers: dict[int, int] = {}
    human: int | None = None
    ends = set(last_words(groups))
    for position, group in enumerate(groups):
        if group.head.human:
            human = position
        elif human is not None and position in ends:
            answers[human] = position
    return answers


def hold_last_words(draft: Draft) -> None:
    """Hold the last words of finished turns, and say how they may be shortened."""
    positions = [p for p in last_words(draft.groups) if draft.kept[p] and p not in draft.fixed]
    room = int(SHARE * draft.target_tokens)
    known = [_known(draft, position) for position in positions]
    sizes: list[int] = []
    for chars in _STEPS:
        sizes = [
            size if chars_now <= _MUCH * chars else min(size, tokens * chars // chars_now + _MARKER_TOKENS)
            for size, tokens, chars_now in known
        ]
        if sum(sizes) <= room:
            break
    cut = Cut(chars, 0, whole_words=True)
    for position, tokens in zip(reversed(positions), reversed(sizes), strict=True):
        room -= tokens
        if room < 0:
            break
        draft.held.add(position)
        head = draft.groups[position].head
        if sum(head.terms.text_chars) > _MUCH * chars and draft.chars_of(head) > chars:
            draft.shorter[position] = cut


def _known(draft: Draft, position: int) -> tuple[int, int, int]:
    """What the size of last words that are shortened follows from: theirs now, their tokens and characters whole.

    Those that are cut already count as short: they stay as they are.
    """
    head = draft.groups[position].head
    return draft.sizes[position], head.tokens, 0 if head.id in draft.cuts else sum(head.terms.text_chars)
