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
NO_PARENT = -1
"""The position of the parent of a root."""
_LIVE = -1
"""The line of entries that are in no abandoned branch. Other lines are named by the position of their first entry."""
_NONE = -1


class Branch(NamedTuple):
    """An abandoned branch: its first line, its name, the events that the session has too, and its own events."""

    line: int
    name: str
    common: Iterable[Event]
    own: Iterable[Event]


class TreeBranch(NamedTuple):
    """An abandoned branch of a tree, as positions of entries."""

    common: Sequence[int]
    """The entries that lead to the branch, which the session has too."""
    own: Sequence[int]
    """The entries of the branch itself, its root first."""


def split_tree(parents: Sequence[int], may_begin: Callable[[int], bool]) -> tuple[Sequence[int], Iterator[TreeBranch]]:
    """Split a tree into the live session and its abandoned branches.

    Args:
        parents: the position of each entry's parent, which is smaller than its own; `NO_PARENT` for a root.
        may_begin: returns whether a branch may begin at an entry.

    Returns:
        The positions of the live entries, and the branches. For example, entry 0 has the children 1 and 2, and 3 is a
        child of 2. Then 0, 2 and 3 are live, and there is a branch with the own entry 1 and the common entry 0.
    """
    continues = _continuing_children(parents, may_begin)
    line_of = array("l")
    lines = defaultdict[int, "array[int]"](lambda: array("l"))  # the entries of each line, in order
    for entry, parent in enumerate(parents):
        if parent == NO_PARENT:
            line = _LIVE
        elif may_begin(entry) and continues[parent] != entry:
            line = entry
        else:
            line = line_of[parent]
        line_of.append(line)
        lines[line].append(entry)
    first_children = _first_children(parents)

    def common(branch: int) -> list[int]:
        """Return the entries of the line that a branch left, up to there; before them those of the next line up."""
        found: list[int] = []
        while branch != _LIVE:
            parent = parents[branch]
            branch = line_of[parent]
            found = [entry for entry in lines[branch] if entry < first_children[parent]] + found
        return found

    live = lines[_LIVE]
    return live, (TreeBranch(common(branch), lines[branch]) for branch in list(lines) if branch != _LIVE)


def _continuing_children(parents: Sequence[int], may_begin: Callable[[int], bool]) -> array[int]:
    """Return, for each entry, the child that continues its line.

    Of the children at which a branch may begin, this is the child whose descendants reach furthest in the file. `_NONE`
    stands for no such child.
    """
    continuing = array("l", [_NONE]) * len(parents)
    reach = _reach(parents)
    for entry, parent in enumerate(parents):
        if parent == NO_PARENT or not may_begin(entry):
            continue
        rival = continuing[parent]
        if rival == _NONE or reach[entry] > reach[rival]:
            continuing[parent] = entry
    return continuing


def _first_children(parents: Sequence[int]) -> array[int]:
    """Return the first child of each entry; `_NONE` without children."""
    first = array("l", [_NONE]) * len(parents)
    for entry, parent in enumerate(parents):
        if parent != NO_PARENT and first[parent] == _NONE:
            first[parent] = entry
    return first


def _reach(parents: Sequence[int]) -> array[int]:
    """Return for each entry the position of its last descendant, or its own position if it has none."""
    reach = array("l", range(len(parents)))
    for entry in reversed(range(len(parents))):
        parent = parents[entry]
        if parent != NO_PARENT and reach[parent] < reach[entry]:
            reach[parent] = reach[entry]
    return reach


def branches(found: Iterable[Branch], account: Account, facts: Mapping[str, Any], source_id: str) -> Iterator[Event]:
    """Yield the events of branches as sessions.

    Each session names the last message that it shares with the main session.

    Args:
        found: the branches.
        account: records the branches after the first `MOST_BRANCHES` as lost.
        facts: the facts about the main session.
        source_id: the id of the main session.
    """
    for number, branch in enumerate(found):
        if number >= MOST_BRANCHES:
            account.lose_part(branch.line, f"a branch; at most {MOST_BRANCHES} are imported")
            continue
        start = SessionStart("branch", branch.name or f"line{branch.line}", dict(facts), source_id)
        yield start
        for event in branch.common:
            if isinstance(event, MessageRead):
                start.forked_from = event.message["metadata"]["message_id"]
            yield event
        yield from branch.own
