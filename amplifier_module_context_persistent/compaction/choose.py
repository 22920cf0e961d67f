"""The choice: of all forms that groups offer the one that costs least, again and again, until a view fits.

The same loop, upwards, fills the room that is left. What follows from a choice are functions over a draft, each of
which is called after it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from ..messages.elide import LEAST_SHOWN_CHARS, excerpt_cut
from .always_kept import LEAST_SAVED, Stage, newest_groups
from .draft import GAP_TOKENS, MARKER_TOKENS, Draft
from .losses import Loss
from .markers import SHARE
from .shorter_forms import Forms

LEAST_MARKERS = (
    300  # tokens for markers of gaps (15 of them), or a quarter of a smaller target; docs/experiments.md has others
)
LEAST_USED = 0.85  # of the target; below that a view takes in again what still fits


def choose(draft: Draft, forms: Forms, loss: Loss, goal_tokens: int, positions: list[int] | None = None) -> bool:
    """Take the cheapest forms of a stage until the view fits; whether any was taken.

    Args:
        draft: the view in the making.
        forms: the shorter forms of its groups.
        loss: the cost of each form, with the stage.
        goal_tokens: the largest size of the view.
        positions: the groups to choose from; by default all.
    """
    if draft.fits(goal_tokens):
        return False
    least_saved = MARKER_TOKENS if loss.stage < Stage.SHORTEN else 1
    least_of_people = LEAST_SAVED if loss.stage < Stage.LAST else 0
    offered = set(forms.offered(loss.stage) if positions is None else positions)
    heap: list[tuple[float, int]] = []
    _push(heap, loss, offered)
    taken = False
    while heap:
        if draft.fits(goal_tokens):
            draft.settle(least_saved, least_of_people)
            if draft.fits(goal_tokens):
                return taken
        price, position = heapq.heappop(heap)
        find = loss.gone if draft.total_tokens <= goal_tokens else loss.best  # a shorter message is one message still
        best = find(position) if draft.kept[position] else None
        if best is None:
            continue
        if best[0] > price:  # it has grown since; another one may lose less now
            heapq.heappush(heap, (best[0], position))
            continue
        taken = True
        forms.take(position, best[1])
        near = [position] if best[1].entry is not None else [position - 1, position + 1]  # more is freed beside a gap
        _push(heap, loss, offered.intersection([*near, *loss.took(position)]))
    draft.settle(least_saved, least_of_people)
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
        if not draft.kept[position] and draft.may_fit_again(position, target):
            draft.restore(position)
            if draft.total_tokens > target:
                draft.drop(position)
    for position in newest_groups(draft):
        results = [
            entry
            for entry in draft.view.members[position][1:]
            if entry.id in draft.cuts and entry.form.offload is None  # what is offloaded is never shown longer
        ]
        for number, entry in enumerate(results):
            cut, chars = draft.cuts[entry.id], max(entry.gist.terms.text_chars, default=0)
            room = (target - draft.total_tokens) // (len(results) - number)
            more = int(chars * room * 0.95 / max(1, entry.tokens))
            longer = excerpt_cut(min(chars, cut.head_chars + cut.tail_chars + more), cut.lines)
            is_worth_it = room >= MARKER_TOKENS and longer.shown_chars >= min(chars, LEAST_SHOWN_CHARS)
            if is_worth_it and cut.shortens and not cut.instead:
                draft.cut(position, entry, longer)
                if entry.tokens - draft.tokens_of(entry) < MARKER_TOKENS and entry.form.offload is None:
                    draft.show_whole(position, entry)
    return True


# What follows from it: what a reader could not make sense of goes with what was left out.


def merge_gaps(draft: Draft, forms: Forms) -> None:
    """If the markers of gaps would take too much room, leave out stretches between two gaps.

    The smallest stretches without a person's message go first, then people's messages with their answers, the oldest
    first.
    """
    stretches = _between_gaps(draft)
    room = max(int(SHARE * draft.target_tokens), min(LEAST_MARKERS, draft.target_tokens // 4))
    excess = draft.gap_tokens * (len(stretches) + 1) - room
    if excess <= 0:
        return
    leave, sizes = forms.leave, draft.sizes
    said = {p for p in draft.view.said if p not in draft.fixed and not draft.view.groups[p].head.calls}
    stay = {p for p, stage in enumerate(leave) if stage > Stage.PEOPLE and p not in said} | {draft.view.first_person}
    ranked = []
    for between in stretches:
        if stay.isdisjoint(between):
            human = max([leave[p] for p in between]) >= Stage.PEOPLE
            ranked.append((human, between[0] if human else sum([sizes[p] for p in between]), between))
    for _, _, between in sorted(ranked)[: -(-excess // GAP_TOKENS)]:
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
    """Drop user messages until no three are adjacent without an answer between them.

    The first person's message stays, so the next ones may have lost their answers.
    """
    groups = draft.view.groups
    if draft.request.summary is not None and all(map(draft.kept.__getitem__, draft.view.people)):
        return  # the summary tells the answers
    run = list[int]()
    for position in draft.left():
        if groups[position].head.role == "assistant":
            run = []
        elif groups[position].head.human:
            if run and groups[run[-1]].head.ordinal + 1 == groups[position].head.ordinal:
                run = []  # nobody spoke between them
            run.append(position)
            if len(run) > 2 and run[1] not in draft.fixed:
                draft.drop(run.pop(1))


def close_turn(draft: Draft, forms: Forms) -> None:
    """Move each gap in the turn in progress to the place after a result, which can have a marker."""
    turn = draft.view.turn
    if turn is None:
        return
    after = len(draft.kept)
    for before in reversed([position for position in draft.left() if position > turn]):
        gone = not all(draft.kept[before + 1 : after])
        if gone and forms.leave[before] < Stage.HELD and not draft.view.takes_line(before):
            draft.drop(before)
        else:
            after = before
