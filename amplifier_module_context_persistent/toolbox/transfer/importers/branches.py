"""Abandoned branches of a session: in a tree of entries, or turns that were taken back.

In a tree a parent comes before its children. A branch begins at an entry that has a sibling, if both may begin a
branch. The sibling whose descendants reach furthest in the file continues the session; the others are roots of
branches.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .account import Account
from .events import Event, MessageRead, SessionStart

MOST_BRANCHES = 50
"""So many branches of a session are imported; the rest is named as lost."""


class Branch(NamedTuple):
    """A branch that was left: its line, its name, what it has in common with the session, and what is its own."""

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
        may_begin: whether a branch may begin at an entry.

    Returns:
        The positions of the live entries; and for each branch, the entries in common with the session (those before the
        siblings among which it began, and so on upwards), and its own entries, its root first.
    """
    reach = array("l", range(len(parents)))
    for at in reversed(range(len(parents))):
        if (parent := parents[at]) >= 0:
            reach[parent] = max(reach[parent], reach[at])
    furthest, first_child = (array("l", [-1]) * (len(parents) + 1) for _ in range(2))  # the last place is the roots'
    for at, parent in enumerate(parents):
        if first_child[parent] < 0:
            first_child[parent] = at
        if may_begin(at) and (furthest[parent] < 0 or reach[at] > reach[furthest[parent]]):
            furthest[parent] = at
    roots, members = array("l"), defaultdict[int, "array[int]"](lambda: array("l"))
    for at, parent in enumerate(parents):
        is_left = parent >= 0 and may_begin(at) and furthest[parent] != at
        roots.append(at if is_left else roots[parent] if parent >= 0 else -1)
        members[roots[at]].append(at)

    def common(root: int) -> list[int]:
        found: list[int] = []
        while root >= 0:
            parent = parents[root]
            root = roots[parent]
            found = [at for at in members[root] if at < first_child[parent]] + found
        return found

    return members[-1], ((common(root), members[root]) for root in list(members) if root >= 0)


def branches(found: Iterable[Branch], account: Account, facts: Mapping[str, Any], source_id: str) -> Iterator[Event]:
    """The sessions of branches; each names the last message that it has in common with the session that it left.

    Args:
        found: the branches.
        account: told of those that are too many.
        facts: of the session that they left.
        source_id: its id.
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
