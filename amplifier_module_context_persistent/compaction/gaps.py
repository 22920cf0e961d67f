"""Gaps: the places where a view leaves messages out, found from a draft.

A gap ends before a kept group that is in the log, and never before the system text at the beginning. What is shown
though no group of the draft has it (messages beside the entries, blank ones, orphaned results) is not missing from a
gap.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import chain, compress
from operator import and_, not_
from typing import NamedTuple

from ..view.group_table import IN_LOG, INSTRUCTS
from ..view.plan import Gap
from .draft import Draft
from .plan_request import PlanRequest


class OpenGap(NamedTuple):
    """A gap as it is found."""

    before: int
    """The position of the next kept group."""
    after: int | None
    """The position of the kept group before it."""
    messages: int
    dropped: Sequence[int] = ()
    """Positions of the groups that this plan leaves out in it."""
    known: Sequence[Gap] = ()
    """Gaps of the plan before that are parts of it."""


class GapFinder:
    """Finds the gaps of a draft, as often as it changes: what does not depend on what is kept is looked up once."""

    def __init__(self, draft: Draft, request: PlanRequest) -> None:
        self._draft = draft
        table, previous = draft.table, request.previous
        self._index = int if request.positions is None else request.positions.__getitem__
        beside = set(request.shown_anyway)
        if sum(map(len, table.members)) < len(request.entries):
            grouped = {entry.ordinal for members in table.members for entry in members}
            beside.update(entry.ordinal for entry in request.entries if entry.ordinal not in grouped)
        self._beside = [request.index_of(ordinal) for ordinal in beside if ordinal >= 0]
        pairs = zip(table.ordinals, table.traits, strict=True)
        self._ends = [self._index(ordinals[0]) if traits & IN_LOG else -1 for ordinals, traits in pairs]
        """By group, where its first message is in the live history, if a gap can end before it; else -1."""
        known = {gap.before: gap for gap in previous.gaps or ()} if previous is not None else {}
        self._known = list(map(known.get, table.ids))
        """By group, the gap of the plan before that ended before it."""
        self._end_at_system_text()
        self._can_end = list(map((-1).__lt__, self._ends))
        old = set(previous.keep) if previous is not None and previous.gaps is not None else set[str]()
        newest = next((entry.ordinal for entry in reversed(request.entries) if entry.id in old), -1)
        newest_index = request.index_of(newest)
        later = compress(range(len(table.ids)), map(not_, map(old.__contains__, table.ids)))
        self._restored = {position for position in later if self._ends[position] < newest_index}
        """The groups that the plan before left out, though it kept newer ones."""
        self._everywhere = not old
        shown = self._shown(table.ordinals)
        self._anywhere = self._everywhere or bool(self._restored) or shown != sorted(shown)
        """Whether a gap may end before any group; else only before one that comes after others that are left out, by
        this plan or the one before it."""
        self._kept: list[bool] = []
        self._found: list[OpenGap] = []

    def _end_at_system_text(self) -> None:
        """Let gaps end before system text too that came after other messages.

        Earlier versions let them end after it; a gap of theirs that has messages from before it stays where it is.
        """
        ends, table = self._ends, self._draft.table
        texts = [position for position in table.positions(INSTRUCTS) if ends[position] < 0 and table.ids[position]]
        start = next((position for position, end in enumerate(ends) if end >= 0), len(ends)) if texts else 0
        for position in reversed(texts):
            if position < start:
                return
            here = self._index(table.ordinals[position][0])
            after = next((p for p in range(position, len(ends)) if ends[p] >= 0), None)
            known = None if after is None else self._known[after]
            if after is None or known is None or known.messages < ends[after] - here:
                ends[position] = here

    def find(self) -> list[OpenGap]:
        """The gaps of the draft as it stands, in order."""
        if self._kept != self._draft.kept:
            self._found, self._kept = self._find(), list(self._draft.kept)
        return self._found

    def _shown(self, ordinals: Iterable[Sequence[int]]) -> list[int]:
        """Where messages are in the live history, of those that are in the log."""
        found = list(chain.from_iterable(ordinals))
        return list(map(self._index, found if min(found, default=0) >= 0 else filter((-1).__lt__, found)))

    def _find(self) -> list[OpenGap]:
        known, ends, restored, kept = self._known, self._ends, self._restored, self._draft.kept
        ordinals = self._draft.table.ordinals
        shown = sorted([*self._beside, *self._shown(compress(ordinals, kept))])
        left = list(compress(range(len(kept)), map(and_, kept, self._can_end)))
        pairs = list(zip([-1, *left], left, strict=False))
        if not self._anywhere:
            pairs = [(last, position) for last, position in pairs if position > last + 1 or known[position] is not None]
        found: list[OpenGap] = []
        reach = -1  # where the last result is of what is left out so far: it may have come after the next groups
        for last, position in pairs:
            here, at = ends[position], ends[last] if last >= 0 else -1
            dropped: Sequence[int] = ()
            parts: Sequence[Gap] = ()
            if position > last + 1:
                dropped = [p for p in range(last + 1, position) if not kept[p]]
                reach = max([reach, *self._shown([ordinals[p][-1:] for p in dropped])])
                parts = [gap for gap in known[last + 1 : position + 1] if gap is not None]
            elif (part := known[position]) is not None:
                parts = [part]
            back = self._everywhere or position in restored or last in restored
            if dropped or parts or back or reach > at:
                missing = here - at - 1
                if missing:
                    missing -= bisect_left(shown, here) - bisect_right(shown, at)
                if missing > 0:
                    found.append(OpenGap(position, last if last >= 0 else None, missing, dropped, parts))
        return found


def first_id(draft: Draft, positions: Sequence[int]) -> str:
    """The id of the first of some groups that has one."""
    return next((draft.groups[p].head.id for p in positions if draft.groups[p].head.id), "")
