"""Find abandoned branches of a session: in a tree of entries, or turns that were taken back.

In a tree, a parent comes before its children. A branch begins at an entry with a sibling, if both may begin a branch.
The sibling whose descendants reach furthest in the file continues the session; the others are roots of branches.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .account import Account
from .events import Event, MessageRead, SessionStart

MOST_BRANCHES = 50
"""The most branches of a session that are imported; the others are reported as lost."""


class Branch(NamedTuple):
    """An abandoned branch: its first line, its name, the events that the session has too, and its own events."""

    line: int
    name: str
    common: Iterable[Event]
    own: Iterable[Event]


def split_tree(
    parents: Sequence[int], may_begin: Callable[[int], bool]
) -> tuple[Sequence[int], Iterator[tuple[Sequence[int], Sequence[int]]]]:
    """Split a tree into the live session and its abandoned branches.

    Args:
        parents: the position of each entry's parent, which is smaller than its own; -1 for a root.
        may_begin: returns whether a branch may begin at an entry.

    Returns:
        The positions of the live entries; and for each branch, the entries in common with the session (those before the
        siblings among which it began, and so on upwards), and its own entries, its root first.
    """
    # The last item of these two arrays is for the roots, whose parent is -1.
    continued_by, first_child = (array("l", [-1]) * (len(parents) + 1) for _ in range(2))
    reach = _reach(parents)
    for at, parent in enumerate(parents):
        if first_child[parent] < 0:
            first_child[parent] = at
        if may_begin(at) and (continued_by[parent] < 0 or reach[at] > reach[continued_by[parent]]):
            continued_by[parent] = at
    branch_of, members = array("l"), defaultdict[int, "array[int]"](lambda: array("l"))
    for at, parent in enumerate(parents):
        branch = branch_of[parent] if parent >= 0 else -1
        if parent >= 0 and may_begin(at) and continued_by[parent] != at:
            branch = at
        branch_of.append(branch)
        members[branch].append(at)

    def common(branch: int) -> list[int]:
        found: list[int] = []
        while branch >= 0:
            parent = parents[branch]
            branch = branch_of[parent]
            found = [at for at in members[branch] if at < first_child[parent]] + found
        return found

    return members[-1], ((common(branch), members[branch]) for branch in list(members) if branch >= 0)


def _reach(parents: Sequence[int]) -> array[int]:
    """Return for each entry the position of its last descendant, or its own position if it has none."""
    reach = array("l", range(len(parents)))
    for at in reversed(range(len(parents))):
        parent = parents[at]
        if parent >= 0:
            reach[parent] = max(reach[parent], reach[at])
    return reach


def branches(found: Iterable[Branch], account: Account, facts: Mapping[str, Any], source_id: str) -> Iterator[Event]:
    """Yield the events of branches as sessions.

    Each names the last message that it has in common with the main session.

    Args:
        found: the branches.
        account: records the branches after the first `MOST_BRANCHES` as lost.
        facts: the facts about the main session.
        source_id: the id of the main session.
    """
    for number, one in enumerate(found):
        if number >= MOST_BRANCHES:
            account.lose_part(one.line, f"a branch; at most {MOST_BRANCHES} are imported")
            continue
        start = SessionStart("branch", one.name or f"line{one.line}", dict(facts), source_id)
        yield start
        for event in one.common:
            if isinstance(event, MessageRead):
                start.forked_from = event.message["metadata"]["message_id"]
            yield event
        yield from one.own
