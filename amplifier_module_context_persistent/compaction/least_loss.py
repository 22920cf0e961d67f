"""Steps 1 and 3 of the ladder as one choice: at each moment, what costs least for the tokens that it frees.

An operation shortens an old tool result to one of a few lengths, or leaves out an old group that no person wrote. Its
loss is what no other kept message shows any more: each term (`terms.py`) weighs 1, and `NEEDED` if the arguments of a
call in the view use it, for what was needed once is needed again; and the words that are no terms weigh `CUT`, by how
little of them stays, or `DROPPED`. The newer a group is, the more its loss weighs, up to `AGE` times. The operation
with the least loss for a saved token comes first. Losses only grow while others go, so a heap whose top is looked at
anew gives the true order.

The beginning of the view that the plan before left (`Draft.sealed`) is in the provider's cache as long as nothing of it
changes: a loss there counts `SEALED` times, until the first operation on it is the cheapest that is left.

All of it is in whole numbers, so that the order in which terms are added changes nothing (I4).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from ..messages.elide import LEAST_SHOWN_CHARS, Cut, word_cut_for
from ..view.entry import Entry
from .draft import MIN_SAVED_TOKENS, Draft

TERM, NEEDED = 2, 20
CUT, DROPPED = (1, 2, 3, 4), 3
AGE = 10
SEALED = 4
MARKERS_SHARE = 0.025  # of the target; where the markers of cuts come to more, groups are left out instead,
LEAST_MARKED = 8  # but so many messages may be cut, however small the target is
_MARKER_TOKENS = 20


class _Operation(NamedTuple):
    position: int
    entry: Entry | None = None
    """The result to be cut; None leaves the group out."""
    chars: int = 0


@dataclass(slots=True)
class Candidates:
    """What may be done with the groups of a draft, and what it costs."""

    draft: Draft
    elidable: set[int]
    """Ordinals of the messages that may be cut."""
    lengths: tuple[tuple[int, Cut], ...]
    """The lengths that a result may be cut to, with their cuts."""
    marked: set[str]
    """The messages that are cut and stay, as far as they have ids."""
    most_marked: int
    """No more of them are cut: a marker says nothing of the session."""
    tried: set[tuple[int, int]] = field(default_factory=set)
    """Cuts that were made, by ordinal and characters; some turn out to save too little."""
    estimates: dict[int, list[tuple[int, Cut, int]]] = field(default_factory=dict)

    def weight(self, names: Iterable[str]) -> int:
        """What terms weigh of which one holder goes."""
        holders, needed = self.draft.holders, self.draft.needed
        return sum([NEEDED if name in needed else TERM for name in names if holders[name] <= 1])

    def group_weight(self, entries: tuple[Entry, ...]) -> int:
        """What the terms weigh that only this group shows."""
        cuts = self.draft.cuts
        if len(entries) == 1:
            return self.weight(entries[0].terms.shown(cuts.get(entries[0].id)))
        holders, needed, most = self.draft.holders, self.draft.needed, len(entries)
        shown = [entry.terms.shown(cuts.get(entry.id)) for entry in entries]
        rare = [name for names in shown for name in names if holders[name] <= most]  # the others have holders elsewhere
        lost = [name for name in rare if holders[name] == 1]
        if len(lost) < len(rare):
            several = Counter([name for name in rare if holders[name] > 1])
            lost += [name for name, count in several.items() if holders[name] == count]
        return sum([NEEDED if name in needed else TERM for name in lost])

    def best(self, position: int) -> tuple[float, _Operation | None]:
        """The operation on a group that costs least, with what it costs; None where there is none."""
        loss, operation = self._least(position)
        return (loss * SEALED if position < self.draft.sealed else loss), operation

    def _least(self, position: int) -> tuple[float, _Operation | None]:
        """The operation on a group that loses least for a saved token, with that loss; no person wrote the group."""
        draft = self.draft
        entries = draft.members[position]
        age = 100 + (AGE - 1) * 100 * position // max(1, len(draft.groups) - 1)
        found: tuple[float, _Operation | None] = inf, None
        if position not in draft.held:
            loss = (DROPPED + self.group_weight(entries)) * age / max(1, draft.sizes[position])
            found = loss, _Operation(position)
        for result in entries:
            if result.ordinal not in self.elidable:
                continue
            known, now, tokens = draft.cuts.get(result.id), draft.chars_of(result), draft.tokens_of(result)
            if known is None and len(self.marked) >= self.most_marked and position not in draft.shorter:
                continue
            for plain, (chars, cut, after) in zip(CUT, self.shorter(result), strict=False):
                saved = tokens - after
                if saved < MIN_SAVED_TOKENS or chars >= now or plain * age >= found[0] * saved:
                    continue
                if (result.ordinal, chars) not in self.tried:
                    loss = (plain + self.weight(result.terms.lost(known, cut))) * age / saved
                    if loss < found[0]:
                        found = loss, _Operation(position, result, chars)
        return found

    def shorter(self, result: Entry) -> list[tuple[int, Cut, int]]:
        """The lengths that a result may be cut to, with the cuts and about what it comes to then.

        Tokens are counted exactly only for cuts that are made in the end.
        """
        known = self.estimates.get(result.ordinal)
        if known is None:
            known = self.estimates[result.ordinal] = self.estimate(result, self.lengths)
        return known

    def estimate(self, entry: Entry, lengths: Iterable[tuple[int, Cut]]) -> list[tuple[int, Cut, int]]:
        """About what a message comes to when it is cut to each of some lengths."""
        number = len(entry.terms.text_chars)
        whole, markers, tokens = max(1, sum(entry.terms.text_chars)), _MARKER_TOKENS * number, entry.tokens
        return [(chars, cut, tokens * min(whole, chars * number) // whole + markers) for chars, cut in lengths]

    def apply(self, operation: _Operation) -> None:
        """Do it."""
        draft, entry = self.draft, operation.entry
        if entry is None:
            draft.drop(operation.position)
            self.marked.difference_update(entry.id for entry in draft.members[operation.position])
            return
        self.marked.add(entry.id)
        self.tried.add((entry.ordinal, operation.chars))
        cut, tokens = next((cut, tokens) for chars, cut, tokens in self.shorter(entry) if chars == operation.chars)
        draft.cut_about(operation.position, entry, cut, tokens)


def lose_least(draft: Draft, *, share: float | None = None, spared: int | None = None) -> None:
    """Steps 1 and 3: shorten old results and leave old groups out, what loses least for a saved token first.

    Args:
        draft: the view in the making.
        share: the newest share of the target's tokens that is left alone; else `protected_recent`.
        spared: how many of the newest results are not cut; else `protected_tool_results`.
    """
    if draft.fits:
        return
    start = draft.recent_start(draft.config.protected_recent if share is None else share)
    groups, fixed = draft.groups, draft.fixed
    positions = [p for p in draft.left() if p < start and p not in fixed and not groups[p].head.human]
    choice = _choice(draft, draft.config.protected_tool_results if spared is None else spared)
    heap = [(choice.best(position)[0], position) for position in positions]
    heapq.heapify(heap)
    while heap:
        if draft.fits:
            draft.settle()
            if draft.fits:
                return
        position = heap[0][1]
        loss, operation = choice.best(position)
        if operation is None:
            heapq.heappop(heap)
            continue
        if len(heap) > 1 and (loss, position) > min(heap[1:3]):  # it has grown since; another one may lose less now
            heapq.heapreplace(heap, (loss, position))
            continue
        if position < draft.sealed:  # from here on nothing of the view stays in the cache
            heap = [(cost / SEALED if at < draft.sealed else cost, at) for cost, at in heap]
            heapq.heapify(heap)
            draft.sealed = 0
            continue
        choice.apply(operation)
        if draft.kept[position]:
            heapq.heapreplace(heap, (choice.best(position)[0], position))
        else:
            heapq.heappop(heap)
    draft.settle()


def _choice(draft: Draft, spared: int) -> Candidates:
    results = [result for position in draft.left() for result in draft.members[position][1:]]
    old = results[: max(0, len(results) - spared)]
    kept, left = draft.config.truncate_chars, draft.left()
    least = kept // 4 if kept // 4 >= LEAST_SHOWN_CHARS else 0
    lengths = [word_cut_for(chars) for chars in (kept * 5 // 2, kept, least, 0)]
    heads = {p: draft.groups[p].head for p in left if p in draft.shorter}
    candidates = Candidates(
        draft,
        elidable={result.ordinal for result in old if result.id and result.terms.text_chars},
        marked={entry.id for position in draft.left() for entry in draft.members[position] if entry.id in draft.cuts},
        most_marked=max(LEAST_MARKED, int(MARKERS_SHARE * draft.target_tokens / _MARKER_TOKENS)),
        lengths=tuple((cut.head_chars + cut.tail_chars, cut) for cut in dict.fromkeys(lengths)),
    )
    for position, head in heads.items():
        candidates.elidable.add(head.ordinal)
        cut = draft.shorter[position]
        candidates.estimates[head.ordinal] = candidates.estimate(head, [(cut.head_chars, cut)])
    return candidates
