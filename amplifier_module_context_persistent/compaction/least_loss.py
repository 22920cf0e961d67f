"""Steps 1 and 3 of the ladder as one choice: at each moment, what costs least for the tokens that it frees.

An operation shortens an old tool result to one of a few lengths, or leaves out an old group that no person wrote. Its
loss is what no other kept message shows any more: each term (`messages/identifiers.py`) weighs `TERM`, and `NEEDED` if
the arguments of a call in the view use it, for what was needed once is needed again; and the words that are no terms
weigh `CUT`, by how little of them stays, or `DROPPED`. The newer a group is, the more its loss weighs, up to `AGE`
times. The operation with the least loss for a saved token comes first. Losses only grow while others go, so a heap
whose top is looked at anew gives the true order.

The beginning of the view that the plan before left (`Draft.sealed`) is in the provider's cache as long as nothing of it
changes: a loss there counts `SEALED` times, until the first operation on it is the cheapest that is left.

All of it is in whole numbers, so that the order in which terms are added changes nothing (I4).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import compress
from math import inf

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


_Operation = tuple[Entry | None, int]
"""The result of a group to be cut, and to how many characters; None leaves the group out."""


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
    options: dict[int, list[tuple[int, int, Cut, int]]] = field(default_factory=dict)

    def weight(self, names: AbstractSet[str]) -> int:
        """What terms weigh that nothing shows any more."""
        return TERM * len(names) + (NEEDED - TERM) * len(self.draft.needed.intersection(names)) if names else 0

    def group_weight(self, entries: tuple[Entry, ...]) -> int:
        """What the terms weigh that only this group shows."""
        cuts = self.draft.cuts
        return self.weight(self.draft.term_counts.only_in([e.terms.shown(cuts.get(e.id)) for e in entries]))

    def best(self, position: int) -> tuple[float, _Operation | None]:
        """The operation on a group that costs least, with what it costs; None where there is none."""
        loss, operation = self._least(position)
        return (loss * SEALED if position < self.draft.sealed else loss), operation

    def _least(self, position: int) -> tuple[float, _Operation | None]:
        """The operation on a group that loses least for a saved token, with that loss; no person wrote the group."""
        draft = self.draft
        entries, cuts, once = draft.members[position], draft.cuts, draft.term_counts.once
        age = 100 + (AGE - 1) * 100 * position // max(1, len(draft.groups) - 1)
        least: float = inf
        found: _Operation | None = None
        if position not in draft.held:
            least = (DROPPED + self.group_weight(entries)) * age / max(1, draft.sizes[position])
            found = None, 0
        for result in entries:
            if result.ordinal not in self.elidable:
                continue
            known, tokens = cuts.get(result.id), result.tokens
            if known is not None or result.id in draft.silent:
                tokens = draft.tokens_of(result)
            if tokens < MIN_SAVED_TOKENS:
                continue
            if known is None and len(self.marked) >= self.most_marked and position not in draft.shorter:
                continue
            now = draft.chars_of(result)
            for plain, chars, cut, after in self.shorter(result):
                saved = tokens - after
                if saved < MIN_SAVED_TOKENS or plain * age >= least * saved or chars >= now:
                    continue
                if (result.ordinal, chars) not in self.tried:
                    loss = (plain + self.weight(once.intersection(result.terms.lost(known, cut)))) * age / saved
                    if loss < least:
                        least, found = loss, (result, chars)
        return least, found

    def shorter(self, result: Entry) -> list[tuple[int, int, Cut, int]]:
        """How a result may be cut: what its words weigh then, the length, the cut, and about what it comes to.

        Tokens are counted exactly only for cuts that are made in the end.
        """
        known = self.options.get(result.ordinal)
        if known is None:
            known = self.options[result.ordinal] = self.estimate(result, self.lengths)
        return known

    def estimate(self, entry: Entry, lengths: Iterable[tuple[int, Cut]]) -> list[tuple[int, int, Cut, int]]:
        """The same for some lengths; those that are none shorter are left out."""
        texts = entry.terms.text_chars
        number, longest = len(texts), max(texts, default=0)
        whole, markers, tokens = max(1, sum(texts)), _MARKER_TOKENS * number, entry.tokens
        return [
            (plain, chars, cut, tokens * min(whole, chars * number) // whole + markers)
            for plain, (chars, cut) in zip(CUT, lengths, strict=False)
            if chars < longest
        ]

    def apply(self, position: int, operation: _Operation) -> None:
        """Do it."""
        draft, (entry, to_chars) = self.draft, operation
        if entry is None:
            draft.drop(position)
            self.marked.difference_update([entry.id for entry in draft.members[position]])
            return
        self.marked.add(entry.id)
        self.tried.add((entry.ordinal, to_chars))
        cut, tokens = next((cut, tokens) for _, chars, cut, tokens in self.shorter(entry) if chars == to_chars)
        draft.cut_about(position, entry, cut, tokens)


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
    positions = [p for p in positions if p not in draft.held or p in draft.shorter or groups[p].results]
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
        choice.apply(position, operation)
        if draft.kept[position]:
            heapq.heapreplace(heap, (choice.best(position)[0], position))
        else:
            heapq.heappop(heap)
    draft.settle()


def _choice(draft: Draft, spared: int) -> Candidates:
    alive = [members for members in compress(draft.members, draft.kept) if len(members) > 1]
    results = [result for members in alive for result in members[1:]]
    old = results[: max(0, len(results) - spared)]
    kept = draft.config.truncate_chars
    least = kept // 4 if kept // 4 >= LEAST_SHOWN_CHARS else 0
    lengths = [word_cut_for(chars) for chars in (kept * 5 // 2, kept, least, 0)]
    heads = {position: draft.groups[position].head for position in draft.shorter if draft.kept[position]}
    candidates = Candidates(
        draft,
        elidable={result.ordinal for result in old if result.id and result.terms.text_chars},
        marked={entry.id for members in compress(draft.members, draft.kept) for entry in members} & draft.cuts.keys(),
        most_marked=max(LEAST_MARKED, int(MARKERS_SHARE * draft.target_tokens / _MARKER_TOKENS)),
        lengths=tuple((cut.head_chars + cut.tail_chars, cut) for cut in dict.fromkeys(lengths)),
    )
    for position, head in heads.items():
        candidates.elidable.add(head.ordinal)
        cut = draft.shorter[position]
        candidates.options[head.ordinal] = candidates.estimate(head, [(cut.head_chars, cut)])
    return candidates
