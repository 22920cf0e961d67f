"""The last words of finished turns: what the model concluded stays, so that nobody stands unanswered.

The last message of a turn, if it has text and no calls, is shortened to about `MOST_CHARS` and not left out, within
`SHARE` of the target, or what the rest of the view leaves of it. Where that is too little for all of them, all are
shortened more, down to `LEAST_CHARS`; then they may take `MOST_SHARE`. Beyond that every second one of the oldest
counts as other messages do: of two in succession one is held.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from ..messages.elide import Cut
from ..view.group_table import ASSISTANT, CALLS, HUMAN, SAID, GroupTable
from .draft import Draft

SHARE, MOST_SHARE = 0.25, 0.5
MOST_CHARS, LEAST_CHARS = 400, 270
_STEPS = (MOST_CHARS, 330, LEAST_CHARS)
_MARKER_TOKENS = 16
_MUCH = 1.4  # a text that is not so much longer than its cut is left as it is


def last_words(draft: Draft) -> list[int]:
    """The positions of the last words of finished turns."""
    if draft.last_words is None:
        draft.last_words = _last_words(draft.table)
    return draft.last_words


def _last_words(table: GroupTable) -> list[int]:
    found: list[int] = []
    said, start = table.positions(ASSISTANT), -1
    for end in table.positions(HUMAN):
        number = bisect_left(said, end)
        if number and said[number - 1] > start and table.traits[said[number - 1]] & (SAID | CALLS) == SAID:
            found.append(said[number - 1])
        start = end
    return found


def answers_by_human(draft: Draft) -> dict[int, int]:
    """By the position of a person's message, that of the last words of its turn."""
    people, ends = draft.table.positions(HUMAN), last_words(draft)
    asked = [bisect_left(people, position) - 1 for position in ends]
    return {people[turn]: position for turn, position in zip(asked, ends, strict=True) if turn >= 0}


def hold_last_words(draft: Draft) -> int:
    """Hold the last words of finished turns, and say how they may be shortened; about what they come to then."""
    positions = [p for p in last_words(draft) if draft.kept[p] and p not in draft.fixed]
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
    people = draft.table.positions(HUMAN)
    left = [position for position in people if draft.kept[position]]
    if len(left) == len(people):
        return
    said = [position for position in draft.table.positions(ASSISTANT) if draft.kept[position]]
    first, run, before = people[0], list[int](), -1
    for position in left:
        number = bisect_left(said, position)
        if number and said[number - 1] > before:
            run = []
        before = position
        if run and draft.groups[run[-1]].head.ordinal + 1 == draft.groups[position].head.ordinal:
            run = []  # nobody spoke between them
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
    by_human = answers_by_human(draft)
    answers = [by_human.get(position) for position in draft.table.positions(HUMAN) if draft.kept[position]]
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
