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
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import compress
from math import inf

from ..messages.elide import LEAST_SHOWN_CHARS, Cut, word_cut_for
from ..view.entry import Entry
from ..view.group_table import CALLS, HUMAN
from .draft import MIN_SAVED_TOKENS, Draft
from .term_counts import TermCounts, shown_by, shown_only_by

TERM, NEEDED = 2, 20
CUT, DROPPED = (1, 2, 3, 4), 3
AGE = 10
SEALED = 4
MARKERS_SHARE = 0.025  # of the target; where the markers of cuts come to more, groups are left out instead,
LEAST_MARKED = 8  # but so many messages may be cut, however small the target is
_MARKER_TOKENS = 20
_LEAST_CUT_TOKENS = MIN_SAVED_TOKENS + _MARKER_TOKENS  # of a message; a cut of a shorter one saves too little


_Operation = tuple[Entry | None, int]
"""The result of a group to be cut, and to how many characters; None leaves the group out."""
_LEAVE_OUT: _Operation = None, 0

_Length = tuple[int, int, Cut, int]
"""How a message may be cut: what its words weigh then, the length, the cut, and about how many tokens it saves."""
_ANY_CHARS = 1 << 60


@dataclass(slots=True)
class Candidates:
    """What may be done with the groups of a draft, and what it costs."""

    draft: Draft
    spared: tuple[int, int]
    """The position of the last group with results that may be cut, and how many of them."""
    lengths: tuple[tuple[int, Cut], ...]
    """The lengths that a result may be cut to, with their cuts."""
    marked: set[str]
    """The messages that are cut and stay, as far as they have ids."""
    most_marked: int
    """No more of them are cut: a marker says nothing of the session."""
    shown: dict[int, set[str]]
    """By group, the terms that it shows and nothing does that stays in any case."""
    terms: TermCounts
    """How many of the groups show each of them."""
    needed: frozenset[str]
    """The terms in the arguments of the calls that the view began with."""
    tried: set[tuple[int, int]] = field(default_factory=set)
    """Cuts that were made, by ordinal and characters; some turn out to save too little."""
    options: dict[int, list[tuple[Entry, list[_Length]]]] = field(default_factory=dict)
    """By group, its messages that may be cut and are long enough for it, each with how."""
    known: dict[int, tuple[tuple[int, bool], tuple[float, _Operation | None]]] = field(default_factory=dict)
    """By group, the operation that was the best one, and for how many terms that only it showed."""

    def weight(self, names: AbstractSet[str]) -> int:
        """What terms weigh that nothing shows any more."""
        return TERM * len(names) + (NEEDED - TERM) * len(self.needed.intersection(names)) if names else 0

    def best(self, position: int) -> tuple[float, _Operation | None]:
        """The operation on a group that costs least, with what it costs; None where there is none.

        No person wrote the group. What it costs is its loss for a saved token, more for what is sealed.
        """
        only = self.terms.once.intersection(self.shown[position])
        full = len(self.marked) >= self.most_marked
        known = self.known.get(position)
        if known is not None and known[0] == (len(only), full):  # terms only join them until the group is cut
            loss, operation = known[1]
        else:
            loss, operation = self._least(position, only, full=full)
            self.known[position] = (len(only), full), (loss, operation)
        return (loss * SEALED if position < self.draft.sealed else loss), operation

    def _least(self, position: int, only: set[str], *, full: bool) -> tuple[float, _Operation | None]:
        """The operation that loses least for a saved token, with that loss.

        Args:
            position: of the group.
            only: the terms that only the group shows.
            full: whether no more messages may be cut.
        """
        draft, least = self.draft, inf
        found: _Operation | None = None
        age = 100 + (AGE - 1) * 100 * position // max(1, len(draft.groups) - 1)
        if position not in draft.held:
            least = (DROPPED + self.weight(only)) * age / max(1, draft.sizes[position])
            found = _LEAVE_OUT
        options = self.options.get(position)
        for result, lengths in self._options(position) if options is None else options:
            known, freed, now = draft.cuts.get(result.id), 0, _ANY_CHARS
            if known is not None:
                now = known.head_chars + known.tail_chars
            elif full and position not in draft.shorter:
                continue
            if known is not None or result.id in draft.silent:
                freed = result.tokens - draft.tokens_of(result)
            for plain, chars, cut, saved in lengths:
                if freed:
                    saved -= freed
                    if saved < MIN_SAVED_TOKENS:
                        continue
                if plain * age >= least * saved or chars >= now:
                    continue
                if (result.ordinal, chars) not in self.tried:
                    lost = self._lost(position, result, only, result.terms.lost(known, cut)) if only else only
                    loss = (plain + self.weight(lost)) * age / saved
                    if loss < least:
                        least, found = loss, (result, chars)
        return least, found

    def _options(self, position: int) -> list[tuple[Entry, list[_Length]]]:
        """The messages of a group that may be cut, each with how."""
        members, cut, lengths = self.draft.members[position], self.draft.shorter.get(position), self.lengths
        if cut is not None:
            lengths = ((cut.head_chars, cut),)
        if len(self.draft.groups[position].results):
            last, number = self.spared
            members = members[1:] if position < last else members[1 : number + 1] if position == last else ()
            members = tuple([result for result in members if result.id and result.terms.text_chars])
        elif cut is None:
            members = ()
        ways = [(entry, self.estimate(entry, lengths)) for entry in members if entry.tokens >= _LEAST_CUT_TOKENS]
        self.options[position] = found = [one for one in ways if one[1]]
        return found

    def _lost(self, position: int, result: Entry, shown: set[str], names: tuple[str, ...]) -> set[str]:
        """Of the terms that a group shows, those that go with some of a message, as no other message shows them."""
        lost = shown.intersection(names)
        if lost:
            cuts = self.draft.cuts
            for entry in self.draft.members[position]:
                if entry is not result:
                    lost.difference_update(shown_by(entry, cuts))
        return lost

    def estimate(self, entry: Entry, lengths: Iterable[tuple[int, Cut]]) -> list[_Length]:
        """How a message may be cut, of some lengths those that are shorter than it is.

        Tokens are counted exactly only for cuts that are made in the end.
        """
        texts, tokens = entry.terms.text_chars, entry.tokens
        number, longest = len(texts), max(texts, default=0)
        whole, markers = max(1, sum(texts)), _MARKER_TOKENS * number
        return [
            (plain, chars, cut, saved)
            for plain, (chars, cut) in zip(CUT, lengths, strict=False)
            if chars < longest
            and (saved := tokens - tokens * min(whole, chars * number) // whole - markers) >= MIN_SAVED_TOKENS
        ]

    def apply(self, position: int, operation: _Operation) -> None:
        """Do it."""
        draft, (entry, to_chars) = self.draft, operation
        if entry is None:
            self.terms.hide(self.shown[position])
            draft.drop(position)
            for message in draft.members[position]:
                self.marked.discard(message.id)
            return
        self.marked.add(entry.id)
        self.tried.add((entry.ordinal, to_chars))
        lengths = next(lengths for result, lengths in self.options[position] if result is entry)
        cut, saved = next((cut, saved) for _, chars, cut, saved in lengths if chars == to_chars)
        shown = self.shown[position]
        gone = self._lost(position, entry, shown, entry.terms.lost(draft.cuts.get(entry.id), cut))
        shown -= gone
        self.terms.hide(gone)
        del self.known[position]
        draft.cut_about(position, entry, cut, entry.tokens - saved)

    def settle(self) -> None:
        """Count exactly what was estimated."""
        for position, entry, known, cut in self.draft.settle():
            counted = self.terms.counts.keys() & entry.terms.lost(known, cut)
            back = counted - self.shown[position]
            self.shown[position] |= back
            self.terms.show(back)
        self.known.clear()


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
    stays = draft.held.difference(draft.shorter, draft.table.positions(CALLS))
    stays |= draft.fixed.union(draft.table.positions(HUMAN))
    positions = [position for position in compress(range(start), draft.kept) if position not in stays]
    choice = _choice(draft, positions, draft.config.protected_tool_results if spared is None else spared)
    heap = [(choice.best(position)[0], position) for position in positions]
    heapq.heapify(heap)
    while heap:
        if draft.fits:
            choice.settle()
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
    choice.settle()


def _choice(draft: Draft, positions: Sequence[int], spared: int) -> Candidates:
    kept = draft.config.truncate_chars
    least = kept // 4 if kept // 4 >= LEAST_SHOWN_CHARS else 0
    lengths = [word_cut_for(chars) for chars in (kept * 5 // 2, kept, least, 0)]
    shown = shown_only_by(positions, draft.shown_terms(), draft.kept)
    return Candidates(
        draft,
        spared=_last_result(draft, spared),
        marked={entry.id for entry in draft.cut_entries()},
        most_marked=max(LEAST_MARKED, int(MARKERS_SHARE * draft.target_tokens / _MARKER_TOKENS)),
        shown=shown,
        terms=TermCounts(shown.values()),
        needed=frozenset().union(
            *[draft.groups[position].head.terms.used for position in draft.table.positions(CALLS)]
        ),
        lengths=tuple((cut.head_chars + cut.tail_chars, cut) for cut in dict.fromkeys(lengths)),
    )


def _last_result(draft: Draft, spared: int) -> tuple[int, int]:
    """Of the kept results but for so many of the newest ones, the last: the position of its group, and its number."""
    for position in reversed(draft.left()):
        number = len(draft.members[position]) - 1
        if number > spared:
            return position, number - spared
        spared -= number
    return -1, 0
