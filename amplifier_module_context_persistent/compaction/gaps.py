"""Gaps: the places where a view leaves messages out.

A gap ends before a kept group that is in the log, and never before the system text at the beginning. What is shown
though no group has it (messages beside the entries, blank ones, orphaned results) is not missing from a gap.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import compress
from typing import NamedTuple

from ..view.plan import Gap
from .groups import Groups
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


def find_gaps(view: Groups, kept: Sequence[bool], request: PlanRequest) -> list[OpenGap]:
    """The gaps of a view that keeps these groups, in order."""
    index, previous = request.index_of, request.previous
    grouped = {entry.ordinal for members in view.members for entry in members}
    beside = {*request.shown_anyway, *(e.ordinal for e in request.entries if e.ordinal not in grouped)}
    members = [entry.ordinal for some in compress(view.members, kept) for entry in some]
    shown = sorted(index(ordinal) for ordinal in {*beside, *members} if ordinal >= 0)
    known = {gap.before: gap for gap in previous.gaps or ()} if previous is not None else {}
    found: list[OpenGap] = []
    last, at, begun = -1, -1, False
    for position, group in enumerate(view.groups):
        begun = begun or not group.head.instructs
        if not kept[position] or not group.head.id or not begun:
            continue
        here = index(group.head.ordinal)
        missing = here - at - 1 - (bisect_left(shown, here) - bisect_right(shown, at))
        if missing > 0:
            dropped = [p for p in range(last + 1, position) if not kept[p]]
            heads = [view.groups[p].head.id for p in range(last + 1, position + 1)]
            parts = [known[head] for head in heads if head in known]
            found.append(OpenGap(position, last if last >= 0 else None, missing, dropped, parts))
        last, at = position, here
    return found
