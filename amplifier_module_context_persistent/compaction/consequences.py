"""What follows from a choice: what a reader could not make sense of goes with what was left out.

Each rule is one function over a draft, called once, after the choice.
"""

from __future__ import annotations

from .draft import Draft
from .inserted_text import SHARE
from .promises import Bounds, Stage

LEAST_MARKERS = 600  # tokens that the markers of gaps may come to; in small views a quarter of the target at most


def merge_gaps(draft: Draft, bounds: Bounds) -> None:
    """Where the markers of gaps would take too much, leave out what stands between two gaps.

    The smallest stretches that no person wrote go first, then people's messages with their answers, the oldest first.
    """
    stretches = _between_gaps(draft)
    room = max(int(SHARE * draft.target_tokens), min(LEAST_MARKERS, draft.target_tokens // 4))
    excess = draft.gap_tokens * (len(stretches) + 1) - room
    said = {p for p in draft.view.said if p not in draft.fixed and not draft.view.groups[p].head.calls}
    ranked = []
    for between in stretches if excess > 0 else ():
        if draft.view.first_person not in between and all(
            bounds.leave[p] <= Stage.PEOPLE or p in said for p in between
        ):
            human = any(bounds.leave[p] >= Stage.PEOPLE for p in between)
            ranked.append((human, between[0] if human else sum([draft.sizes[p] for p in between]), between))
    for _, _, between in sorted(ranked)[: -(-excess // max(1, draft.gap_tokens))]:
        for position in between:
            draft.drop(position)


def _between_gaps(draft: Draft) -> list[list[int]]:
    """The stretches of kept groups between two gaps each."""
    found: list[list[int]] = [[]]
    for position, kept in enumerate(draft.kept):
        if draft.gap_before[position] or not kept:
            found.append([])
        if kept:
            found[-1].append(position)
    return [some for some in found[1:] if some][:-1]


def leave_nobody_unanswered(draft: Draft) -> None:
    """Where people's messages are left out, leave out more, until no three stand together without anything between.

    The first person's message stays, so the next ones may have lost their answers.
    """
    people, groups = draft.view.people, draft.view.groups
    run = list[int]()
    for position in draft.left() if not all(map(draft.kept.__getitem__, people)) else ():
        if groups[position].head.role == "assistant":
            run = []
        elif groups[position].head.human:
            if run and groups[run[-1]].head.ordinal + 1 == groups[position].head.ordinal:
                run = []  # nobody spoke between them
            run.append(position)
            if len(run) > 2 and run[1] not in draft.fixed and run[1] != people[0]:
                draft.drop(run.pop(1))


def close_turn(draft: Draft, bounds: Bounds) -> None:
    """Let every gap in the turn in progress begin after a result, where it can be marked."""
    turn = draft.view.turn
    if turn is None:
        return
    after = len(draft.kept)
    for before in reversed([position for position in draft.left() if position > turn]):
        gone = not all(draft.kept[before + 1 : after])
        if gone and after < len(draft.kept) and bounds.leave[before] < Stage.HELD and not draft.view.takes_line(before):
            draft.drop(before)
        else:
            after = before
