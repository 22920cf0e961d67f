"""The last words of finished turns: what the model concluded stays, so that nobody stands unanswered.

The last message of a turn, if it has text and no calls, is shortened to about `MOST_CHARS` and not left out, within
`SHARE` of the target, or what the rest of the view leaves of it. Where that is too little for all of them, all are
shortened more, down to `LEAST_CHARS`; then they may take `MOST_SHARE`. Beyond that every second one of the oldest
counts as other messages do: of two in succession one is held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..messages.elide import Cut
from ..view.rules import Group, first_human
from .draft import Draft

SHARE, MOST_SHARE = 0.25, 0.5
MOST_CHARS, LEAST_CHARS = 400, 270
_STEPS = (MOST_CHARS, 330, LEAST_CHARS)
_MARKER_TOKENS = 16
_MUCH = 1.4  # a text that is not so much longer than its cut is left as it is


def last_words(groups: Sequence[Group]) -> list[int]:
    """The positions of the last words of finished turns."""
    found: list[int] = []
    candidate: int | None = None
    for position, (head, _) in enumerate(groups):
        if head.human:
            if candidate is not None:
                found.append(candidate)
            candidate = None
        elif head.role == "assistant":
            said = not head.calls and head.id and any(head.terms.text_chars)
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


def hold_last_words(draft: Draft) -> int:
    """Hold the last words of finished turns, and say how they may be shortened; about what they come to then."""
    positions = [p for p in last_words(draft.groups) if draft.kept[p] and p not in draft.fixed]
    spare = draft.target_tokens - draft.total_tokens + sum([draft.sizes[position] for position in positions])
    room = max(int(SHARE * draft.target_tokens), spare)
    known = [_known(draft, position) for position in positions]
    sizes: list[int] = []
    for chars in _STEPS:
        sizes = [
            size if chars_now <= _MUCH * chars else min(size, tokens * chars // chars_now + _MARKER_TOKENS)
            for size, tokens, chars_now in known
        ]
        if sum(sizes) <= room:
            break
    excess = sum(sizes) - max(room, int(MOST_SHARE * draft.target_tokens))
    free = _every_second(draft, dict(zip(positions, sizes, strict=True)), excess) if excess > 0 else set()
    cut = Cut(chars, 0, whole_words=True, brief=True)
    for position in positions:
        if position in free:
            continue
        draft.held.add(position)
        head = draft.groups[position].head
        if sum(head.terms.text_chars) > _MUCH * chars and draft.chars_of(head) > chars:
            draft.shorter[position] = cut
    return sum(sizes) - max(0, excess)


def leave_nobody_unanswered(draft: Draft) -> None:
    """Where people's messages are left out, leave out more, until no three stand together without anything between.

    The first person's message stays, so the next ones may have lost their answers.
    """
    if not any(group.head.human and not kept for group, kept in zip(draft.groups, draft.kept, strict=True)):
        return
    first, run = first_human(draft.groups), list[int]()
    for position in draft.left():
        head = draft.groups[position].head
        if not head.human:
            run = [] if head.role == "assistant" else run
            continue
        if run and draft.groups[run[-1]].head.ordinal + 1 == head.ordinal:  # nobody spoke between them
            run = []
        run.append(position)
        if len(run) > 2 and run[1] not in draft.fixed and run[1] != first:
            draft.drop(run.pop(1))


def _every_second(draft: Draft, sizes: Mapping[int, int], excess: int) -> set[int]:
    """Choose last words that are not held, the oldest first, until they come to `excess` together.

    What is said right before and right after them, to the neighbouring messages of people, stays. So does what was said
    last of all.

    Args:
        draft: the view in the making.
        sizes: what last words come to, by position.
        excess: how many tokens are too many.
    """
    found = set[int]()
    by_human = answers_by_human(draft.groups)
    answers = [by_human.get(position) for position in draft.left() if draft.groups[position].head.human]
    shown = [position is not None and draft.kept[position] for position in answers]
    for turn, position in enumerate(answers[:-2]):
        if excess <= 0:
            break
        if position is not None and position in sizes and shown[turn + 1] and (turn == 0 or shown[turn - 1]):
            shown[turn] = False
            found.add(position)
            excess -= sizes[position]
    return found


def _known(draft: Draft, position: int) -> tuple[int, int, int]:
    """What the size of last words that are shortened follows from: theirs now, their tokens and characters whole.

    Those that are cut already count as short: they stay as they are.
    """
    head = draft.groups[position].head
    return (
        draft.sizes[position] - (0 if head.id in draft.silent else head.thinking_tokens),
        head.tokens - head.thinking_tokens,
        0 if head.id in draft.cuts else sum(head.terms.text_chars),
    )
