"""The choice: take the cheapest form of all groups, again and again, until the view fits.

A group is a message with the results of its calls, and a form is a shorter version of it. `use_room` goes the other
way: it puts groups back while there is room. The other functions change the draft (the view in the making) after a
choice, so that a reader can understand what is left.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Iterable

from ..messages.elide import LEAST_SHOWN_CHARS, excerpt_cut
from ..view.entry import Entry
from .always_kept import LEAST_SAVED, Stage, groups_of_newest_results
from .draft import GAP_TOKENS, MARKER_TOKENS, Draft
from .losses import Loss
from .markers import SHARE
from .shorter_forms import Forms

LEAST_MARKERS = (
    300  # tokens for markers of gaps (15 of them), or a quarter of a smaller target; other values: docs/experiments.md
)
LEAST_USED = 0.85  # of the target; a smaller view gets back groups that still fit


def choose(draft: Draft, forms: Forms, loss: Loss, goal_tokens: int, positions: list[int] | None = None) -> bool:
    """Take the cheapest form again and again until the view fits, and return whether any form was taken.

    Args:
        draft: the view in the making.
        forms: the shorter forms of its groups.
        loss: the price of each form, and the stage.
        goal_tokens: the largest size of the view.
        positions: the positions of the groups to choose from; None for all groups that the stage may change.
    """
    if draft.fits(goal_tokens):
        return False
    least_saved = MARKER_TOKENS if loss.stage < Stage.SHORTEN else 1
    least_of_people = LEAST_SAVED if loss.stage < Stage.LAST else 0
    offered = set(loss.offered if positions is None else positions)
    heap: list[tuple[float, int]] = []
    _push(heap, loss, offered)
    taken = False
    while heap:
        if draft.fits(goal_tokens):
            draft.settle(least_saved, least_of_people)  # this may undo cuts, so that the view no longer fits
            if draft.fits(goal_tokens):
                return taken
        pushed_price, position = heapq.heappop(heap)
        if not draft.kept[position]:
            continue
        has_too_many_messages = draft.total_tokens <= goal_tokens  # a cut does not reduce their number
        best = loss.leave_out_price(position) if has_too_many_messages else loss.best(position)
        if best is None:
            continue
        price, form = best
        if price > pushed_price:  # it has risen since it was pushed; another group may be cheaper now
            heapq.heappush(heap, (price, position))
            continue
        forms.apply(position, form)
        taken = True
        is_left_out = form.entry is None  # leaving out a group beside a gap frees more
        cheaper = [position - 1, position + 1] if is_left_out else [position]
        _push(heap, loss, offered.intersection([*cheaper, *loss.update_after(position)]))
    draft.settle(least_saved, least_of_people)
    return taken


def _push(heap: list[tuple[float, int]], loss: Loss, positions: Iterable[int]) -> None:
    """Push groups with their current prices into the heap.

    Older entries of a group, with higher prices, may stay in the heap: the price is computed again when an entry is
    popped.
    """
    for position in positions:
        if loss.draft.kept[position] and (best := loss.best(position)) is not None:
            heapq.heappush(heap, (best[0], position))


def use_room(draft: Draft) -> bool:
    """Put back the left-out groups that still fit, the newest first, and then show the newest results longer.

    The room that is left is divided among the results. Return whether there was room to use: False if the view is close
    enough to the target, or if the number of messages is limited.
    """
    target = draft.target_tokens
    if draft.config.max_messages is not None or draft.total_tokens >= LEAST_USED * target:
        return False
    for position in reversed(range(len(draft.kept))):
        if not draft.kept[position] and draft.may_fit_again(position, target):
            draft.put_back(position)
            if draft.total_tokens > target:
                draft.leave_out(position)
    for position in groups_of_newest_results(draft):
        results = [
            entry
            for entry in draft.view.members[position][1:]
            if entry.id in draft.cuts and entry.form.offload is None  # an offloaded result is never shown longer
        ]
        for number, entry in enumerate(results):
            results_left = len(results) - number
            _show_longer(draft, position, entry, (target - draft.total_tokens) // results_left)
    return True


def _show_longer(draft: Draft, position: int, result: Entry, room_tokens: int) -> None:
    """Show more of a shortened result, or the whole result if the longer cut would save too little.

    Nothing changes if there is too little room, or if a note is shown in place of the result.

    Args:
        draft: the view in the making.
        position: the position of the result's group.
        result: the result.
        room_tokens: the tokens that the result may take beyond its present ones.
    """
    cut = draft.cuts[result.id]
    if room_tokens < MARKER_TOKENS or not cut.shortens or cut.instead:
        return
    all_chars = max(result.gist.terms.text_chars, default=0)
    more_chars = int(all_chars * room_tokens * 0.95 / max(1, result.tokens))
    longer = excerpt_cut(min(all_chars, cut.head_chars + cut.tail_chars + more_chars), cut.lines)
    shows_enough = longer.shown_chars >= min(all_chars, LEAST_SHOWN_CHARS)
    if not shows_enough:
        return
    draft.cut(position, result, longer)
    saved_tokens = result.tokens - draft.tokens_of(result)
    if saved_tokens < MARKER_TOKENS:
        draft.show_whole(position, result)


# Consequences of a choice: groups that a reader could not understand without the left-out ones are left out too.


def merge_gaps(draft: Draft, forms: Forms) -> None:
    """Leave out groups between two gaps if the markers of all gaps would take too much room.

    A stretch is all kept groups between two gaps. The smallest stretches without a person's message are left out
    first, then the stretches with people's messages and their answers, the oldest first.
    """
    stretches = _between_gaps(draft)
    room = max(int(SHARE * draft.target_tokens), min(LEAST_MARKERS, draft.target_tokens // 4))
    excess = draft.gap_tokens * (len(stretches) + 1) - room
    if excess <= 0:
        return
    leave = forms.leave
    sizes = draft.sizes
    spoken = {p for p in draft.view.said if p not in draft.fixed and not draft.view.groups[p].head.calls}
    stay = {p for p, stage in enumerate(leave) if stage > Stage.PEOPLE and p not in spoken} | {draft.view.first_person}
    ranked = []
    for between in stretches:
        if stay.isdisjoint(between):
            is_persons = max([leave[p] for p in between]) >= Stage.PEOPLE
            order = between[0] if is_persons else sum([sizes[p] for p in between])  # the oldest first, or the smallest
            ranked.append((is_persons, order, between))
    wanted = (excess + GAP_TOKENS - 1) // GAP_TOKENS  # rounded up: each stretch that goes merges two gaps
    for _, _, between in sorted(ranked)[:wanted]:
        for position in between:
            draft.leave_out(position)


def _between_gaps(draft: Draft) -> list[list[int]]:
    """Return the stretches of kept groups between two gaps, each as a list of positions."""
    found: list[list[int]] = [[]]
    for position, is_kept in enumerate(draft.kept):
        if draft.gap_before[position] or not is_kept:
            found.append([])
        if is_kept:
            found[-1].append(position)
    return [some for some in found[1:] if some][:-1]


def leave_nobody_unanswered(draft: Draft) -> None:
    """Drop user messages until no three are adjacent without an answer between them.

    The first of three adjacent messages stays, and so do messages that are adjacent in the history too.
    """
    groups = draft.view.groups
    if draft.request.summary is not None and all(map(draft.kept.__getitem__, draft.view.people)):
        return  # the summary contains the answers
    spoken = draft.view.said
    run = list[int]()
    answers_before = 0  # the number of the model's messages before the last person's message
    for position in [position for position in draft.view.people if draft.kept[position]]:
        answers = bisect_left(spoken, position)
        if any(draft.kept[answer] for answer in spoken[answers_before:answers]):
            run = []
        answers_before = answers
        if run and groups[run[-1]].head.ordinal + 1 == groups[position].head.ordinal:
            run = []  # no message was between the two in the history
        run.append(position)
        if len(run) > 2 and run[1] not in draft.fixed:
            draft.leave_out(run.pop(1))


def close_turn(draft: Draft, forms: Forms) -> None:
    """Leave out groups before each gap in the turn in progress, until a result is before the gap and can mark it."""
    turn = draft.view.turn
    if turn is None:
        return
    after = len(draft.kept)
    for before in reversed([position for position in draft.kept_positions() if position > turn]):
        has_gap = not all(draft.kept[before + 1 : after])
        if has_gap and forms.leave[before] < Stage.HELD and not draft.view.facts[before].takes_line:
            draft.leave_out(before)
        else:
            after = before
