"""Interrupted turns: of two in succession something stays, so that no three people's messages stand together.

A person broke in before the last words, or the turn ended with a call. Then something else that was said in the turn is
held: what was said last, with its calls, or what takes least where that takes much. Its results may be cut to nothing.
"""

from __future__ import annotations

from itertools import pairwise

from ..messages.elide import Cut
from ..view.group_table import HUMAN, SAID
from .draft import Draft
from .last_words import answers_by_human

SHARE = 0.25  # of the target, for all of them,
SHARE_WITH_ANSWERS = 0.5  # and of the target, for them and the last words
_MUCH_TOKENS = 120  # that a group may take to be held where another of its turn takes less
_CUT_RESULT_TOKENS = 12  # about what a result comes to of which nothing is shown
_NOTHING = Cut(0, 0, whole_words=True, brief=True)


def hold_interrupted_turns(draft: Draft, answers_tokens: int) -> None:
    """Of two turns in succession without last words that are held, hold something that was said in one.

    They are chosen from the oldest turn on, so that a later plan chooses the same again; where they do not fit, the
    oldest are not held.

    Args:
        draft: the view in the making; its last words are held.
        answers_tokens: what the last words come to.
    """
    groups, answers = draft.groups, answers_by_human(draft)
    people = draft.table.positions(HUMAN)
    chosen: list[tuple[int, int]] = []
    alone = False
    for start, end in pairwise(people):
        if groups[start].head.ordinal + 1 == groups[end].head.ordinal:  # nobody spoke between them
            continue
        if answers.get(start) in draft.held:
            alone = False
            continue
        said = [position for position in range(start + 1, end) if draft.table.traits[position] & SAID] if alone else []
        if said:
            costs = [_least_tokens(draft, position) for position in said]
            best = -1 if costs[-1] <= _MUCH_TOKENS else costs.index(min(costs))
            chosen.append((said[best], costs[best]))
            alone = False
        else:
            alone = True
    target = draft.target_tokens
    room = min(int(SHARE * target), int(SHARE_WITH_ANSWERS * target) - answers_tokens)
    for position, tokens in reversed(chosen):
        room -= tokens
        if room < 0:
            return
        draft.held.add(position)
        if groups[position].results:
            draft.shorter[position] = _NOTHING


def _least_tokens(draft: Draft, position: int) -> int:
    """What a group comes to with its results cut to nothing."""
    head, *results = draft.members[position]
    return head.tokens - head.thinking_tokens + sum([min(result.tokens, _CUT_RESULT_TOKENS) for result in results])
