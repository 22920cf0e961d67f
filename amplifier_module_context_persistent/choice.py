"""Steps 1 and 3 of the ladder as one choice: at each moment, what costs least for the tokens that it frees.

An operation shortens an old tool result to one of a few lengths, or leaves out an old group that no person wrote. Its
loss is what no other kept message shows any more: each term (`terms.py`) weighs 1, and `NEEDED` if the arguments of a
call in the view use it, for what was needed once is needed again; and the words that are no terms weigh `CUT`, by how
little of them stays, or `DROPPED`. The newer a group stands, the more its loss weighs, up to `AGE` times. The operation
with the least loss for a saved token comes first. Losses only grow while others go, so a heap whose top is looked at
anew gives the true order.

All of it is in whole numbers, so that the order in which terms are added changes nothing (I4).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from .draft import MIN_SAVED_TOKENS, Draft
from .elide import cut_for
from .entry import Entry
from .shape import Message, normalise
from .terms import Terms, argument_terms, terms_of

NEEDED = 10
CUT, DROPPED = (1, 2, 3, 4), 5
AGE = 10
SHORTEST_CHARS = 80
_MARKER_TOKENS = 20


@dataclass(frozen=True, slots=True)
class _Operation:
    place: int
    entry: Entry | None = None
    """The result to be cut; None leaves the group out."""
    chars: int = 0


@dataclass(slots=True)
class _Choice:
    """What is known of a draft while it is chosen from."""

    draft: Draft
    messages: dict[int, Message] = field(default_factory=dict)
    terms: dict[int, Terms] = field(default_factory=dict)
    shown: dict[int, frozenset[str]] = field(default_factory=dict)
    """By key, the terms that a kept message shows."""
    holders: Counter[str] = field(default_factory=Counter)
    """By term, how many kept messages show it."""
    needed: set[str] = field(default_factory=set)
    elidable: set[int] = field(default_factory=set)
    """Keys of the results that may be cut."""
    tried: set[tuple[int, int]] = field(default_factory=set)
    """Cuts that turned out to save too little, by key and characters."""

    def loss(self, place: int, lost: Counter[str], plain: int) -> int:
        """What is lost where so many holders of each term go, and plain words of that weight."""
        gone = (term for term, count in lost.items() if self.holders[term] <= count)
        weight = sum(NEEDED if term in self.needed else 1 for term in gone)
        last = max(1, len(self.draft.groups) - 1)
        return (plain + weight) * (100 + (AGE - 1) * 100 * place // last)

    def operations(self, place: int) -> Iterator[tuple[float, int, _Operation]]:
        """What may be done with a group, with its loss for a saved token."""
        draft, group = self.draft, self.draft.groups[place]
        number = 0
        for result in group.results:
            if result is None or result.key not in self.elidable:
                continue
            for plain, chars in self.lengths(result):
                number += 1
                saved = self.saving(result, chars)
                if saved >= MIN_SAVED_TOKENS and (result.key, chars) not in self.tried:
                    lost = Counter(self.shown[result.key] - self.terms[result.key].visible(cut_for(chars)))
                    yield self.loss(place, lost, plain) / saved, number, _Operation(place, result, chars)
        if not group.head.human:
            lost = Counter(term for entry in group.entries() for term in self.shown[entry.key])
            yield self.loss(place, lost, DROPPED) / max(1, draft.group_tokens(group)), 0, _Operation(place)

    def lengths(self, result: Entry) -> list[tuple[int, int]]:
        """The lengths that a result may be cut to, shorter than it is now, each with the weight of its plain words."""
        kept = self.draft.config.truncate_chars
        known = self.draft.cuts.get(result.id)
        now = known.head_chars + known.tail_chars if known else max(n for n, _ in self.terms[result.key].texts)
        lengths = (kept * 5 // 2, kept, kept // 4, min(kept, SHORTEST_CHARS))
        return [(plain, chars) for plain, chars in zip(CUT, lengths, strict=True) if chars < now]

    def saving(self, result: Entry, chars: int) -> int:
        """About how many tokens a cut frees; counted only where it is made."""
        whole = max(1, sum(length for length, _ in self.terms[result.key].texts))
        texts = len(self.terms[result.key].texts)
        after = result.tokens * min(whole, chars * texts) // whole + _MARKER_TOKENS * texts
        return self.draft.tokens_of(result) - after

    def best(self, place: int) -> tuple[float, int, _Operation] | None:
        """The operation on a group that loses least."""
        return min(self.operations(place), key=lambda one: one[:2], default=None)

    def apply(self, operation: _Operation) -> None:
        """Do it, and see what is shown then."""
        draft = self.draft
        if operation.entry is None:
            for entry in draft.groups[operation.place].entries():
                self.holders.subtract(self.shown[entry.key])
            draft.drop(operation.place)
            return
        entry, cut = operation.entry, cut_for(operation.chars)
        self.tried.add((entry.key, operation.chars))
        draft.cut(entry, self.messages[entry.key], cut)
        if draft.cuts.get(entry.id) == cut:
            shown = self.shown[entry.key] & self.terms[entry.key].visible(cut)
            self.holders.subtract(self.shown[entry.key] - shown)
            self.shown[entry.key] = shown


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
    places = [place for place in draft.left() if place < start and place not in draft.fixed]
    choice = _look_at(draft, draft.config.protected_tool_results if spared is None else spared)
    heap: list[tuple[float, int]] = []
    for place in places:
        best = choice.best(place)
        if best is not None:
            heap.append((best[0], place))
    heapq.heapify(heap)
    while heap and not draft.fits:
        _, place = heapq.heappop(heap)
        best = choice.best(place)
        if best is None:
            continue
        if heap and (best[0], place) > heap[0]:  # it has grown since; another one may lose less now
            heapq.heappush(heap, (best[0], place))
            continue
        choice.apply(best[2])
        if draft.kept[place] and (again := choice.best(place)) is not None:
            heapq.heappush(heap, (again[0], place))


def _look_at(draft: Draft, spared: int) -> _Choice:
    choice = _Choice(draft)
    left = draft.left()
    entries = [entry for place in left for entry in draft.groups[place].entries()]
    for entry, message in zip(entries, draft.fetch(entries), strict=True):
        accepted = normalise(message) or message
        terms = terms_of(accepted)
        choice.messages[entry.key], choice.terms[entry.key] = message, terms
        shown = terms.visible(draft.cuts.get(entry.id))
        choice.shown[entry.key] = shown
        choice.holders.update(shown)
        if entry.calls:
            choice.needed |= argument_terms(accepted)
    results = [result for place in left for result in draft.groups[place].results if result is not None]
    old = results[: max(0, len(results) - spared)]
    choice.elidable = {result.key for result in old if result.id and choice.terms[result.key].texts}
    return choice
