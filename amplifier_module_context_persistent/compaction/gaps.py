"""Gaps: the places where a view leaves messages out, found from a draft.

A gap ends before a kept group that is in the log, and never before the system text at the beginning. What is shown
though no group of the draft has it (messages beside the entries, blank ones, orphaned results) is not missing from a
gap.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import chain, compress, pairwise
from operator import and_
from typing import NamedTuple

from ..view.entry import INSTRUCTING, Entry
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
        positions, groups = request.positions, draft.groups
        beside = set(request.shown_anyway)
        if sum(map(len, draft.members)) < len(request.entries):
            grouped = {entry.ordinal for members in draft.members for entry in members}
            beside.update(entry.ordinal for entry in request.entries if entry.ordinal not in grouped)
        self._beside = [request.index_of(ordinal) for ordinal in beside if ordinal >= 0]
        indexes = {e.ordinal: e.ordinal for e in request.entries} if positions is None else positions
        self._shown = [[indexes[e.ordinal] for e in members if e.ordinal >= 0] for members in draft.members]
        """By group, where its messages are in the live history."""
        heads = [group.head for group in groups]
        self._ends = [
            indexes.get(head.ordinal, -1) if head.id and (head.late or head.role not in INSTRUCTING) else -1
            for head in heads
        ]
        """By group, where its first message is in the live history, if a gap can end before it; else -1."""
        self._ids = [head.id for head in heads]
        previous = request.previous
        marked = previous is not None and previous.gaps is not None
        self._known = {gap.before: gap for gap in previous.gaps or ()} if previous is not None else {}
        self._end_at_system_text(indexes, heads)
        self._can_end = [end >= 0 for end in self._ends]
        self._old = set(previous.keep) if previous is not None and marked else set[str]()
        known = (entry.ordinal for entry in reversed(request.entries) if entry.id in self._old)
        self._newest_old = request.index_of(next(known, -1))
        pairs = zip(self._ends, self._ids, strict=True)
        self._restored = [here < self._newest_old and name not in self._old for here, name in pairs]
        """By group, whether the plan before left it out, and kept newer ones."""
        everywhere, known_gaps = not self._old, self._known
        self._notable = [
            before or restored or everywhere or name in known_gaps
            for name, (before, restored) in zip(self._ids, pairwise(chain((False,), self._restored)), strict=True)
        ]
        """By group, whether a gap may end before it though nothing right before it was left out now."""
        self._kept: list[bool] = []
        self._found: list[OpenGap] = []

    def _end_at_system_text(self, indexes: Mapping[int, int], heads: Sequence[Entry]) -> None:
        """Let gaps end before system text too that came after other messages.

        Earlier versions let them end after it; a gap of theirs that has messages from before it stays where it is.
        """
        ends, ids = self._ends, self._ids
        texts = [p for p, end in enumerate(ends) if end < 0 and heads[p].id and heads[p].role in INSTRUCTING]
        start = next((position for position, end in enumerate(ends) if end >= 0), len(ends))
        for position in reversed(texts):
            if position < start:
                return
            here = indexes.get(heads[position].ordinal, -1)
            after = next((p for p in range(position, len(ends)) if ends[p] >= 0), None)
            known = None if after is None else self._known.get(ids[after])
            if after is None or known is None or known.messages < ends[after] - here:
                ends[position] = here

    def find(self) -> list[OpenGap]:
        """The gaps of the draft as it stands, in order."""
        if self._kept != self._draft.kept:
            self._found, self._kept = self._find(), list(self._draft.kept)
        return self._found

    def _find(self) -> list[OpenGap]:
        draft, ids, known, ends, restored = self._draft, self._ids, self._known, self._ends, self._restored
        everywhere, kept, notable = not self._old, draft.kept, self._notable
        shown = sorted(chain(self._beside, *compress(self._shown, kept)))
        found: list[OpenGap] = []
        left = list(compress(range(len(kept)), map(and_, kept, self._can_end)))
        reach = -1  # where the last result is of what is left out so far: it may have come after the next groups
        for last, position in pairwise(chain((-1,), left)):
            if position == last + 1 and not notable[position] and reach <= ends[last]:
                continue
            dropped: Sequence[int] = ()
            parts: Sequence[Gap] = ()
            if position > last + 1:
                dropped = [p for p in range(last + 1, position) if not kept[p]]
                reach = max(chain((reach,), *[self._shown[p][-1:] for p in dropped]))
                parts = [known[ids[p]] for p in range(last + 1, position + 1) if ids[p] in known]
            elif (part := known.get(ids[position])) is not None:
                parts = [part]
            at = -1 if last < 0 else ends[last]
            if dropped or parts or everywhere or reach > at or restored[position] or (last >= 0 and restored[last]):
                here = ends[position]
                missing = here - at - 1
                if missing:
                    missing -= bisect_left(shown, here) - bisect_right(shown, at)
                if missing > 0:
                    found.append(OpenGap(position, last if last >= 0 else None, missing, dropped, parts))
        return found


def first_id(draft: Draft, positions: Sequence[int]) -> str:
    """The id of the first of some groups that has one."""
    return next((draft.groups[p].head.id for p in positions if draft.groups[p].head.id), "")
