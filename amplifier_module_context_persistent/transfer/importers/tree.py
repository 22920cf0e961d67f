"""Sessions that are trees: which entries are live, and which belong to a branch that was left.

Entries name their parents by id. A branch begins at an entry that has a sibling where both may begin one; of such
siblings that one goes on whose descendants reach furthest in the file, the others are roots of branches. A parent that
is not there, or a circle of parents, makes an entry a root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


def parents_of(ids: Sequence[str], named: Sequence[str]) -> list[int]:
    """The index of each entry's parent, -1 for a root; circles are cut.

    Args:
        ids: the entries' ids; of an id that stands twice the first entry has it.
        named: the id of each entry's parent.
    """
    by_id: dict[str, int] = {}
    for index, entry_id in enumerate(ids):
        if entry_id:
            by_id.setdefault(entry_id, index)
    return without_circles([by_id.get(name, -1) if name else -1 for name in named])


def without_circles(given: Sequence[int]) -> list[int]:
    """Parents with one entry of each circle made a root."""
    parents = list(given)
    done = bytearray(len(parents))  # 1: on the way that is being walked, 2: known to end at a root
    for start in range(len(parents)):
        walked, at = [], start
        while at >= 0 and not done[at]:
            done[at] = 1
            walked.append(at)
            at = parents[at]
        if at >= 0 and done[at] == 1 and walked:
            parents[walked[-1]] = -1
        for index in walked:
            done[index] = 2
    return parents


def nearest_of(parents: Sequence[int], counts: Sequence[bool]) -> list[int]:
    """For each entry the nearest one above it that counts; -1 where none does."""
    nearest = [-1] * len(parents)
    for index in _parents_first(parents):
        if (parent := parents[index]) >= 0:
            nearest[index] = parent if counts[parent] else nearest[parent]
    return nearest


def common_with(root: int, roots: Sequence[int], parents: Sequence[int]) -> list[int]:
    """The entries that a branch has in common with the session that it left, in order.

    They are what stands before the first of the siblings that the branch began among, and so on upwards.
    """
    common: list[int] = []
    while root >= 0:
        parent = parents[root]
        stop = next((at for at, other in enumerate(parents) if other == parent), 0)
        root = roots[parent] if parent >= 0 else -1
        common = [at for at in range(stop) if roots[at] == root] + common
    return common


def branches_of(parents: Sequence[int], may_begin: Callable[[int], bool]) -> list[int]:
    """For each entry the root of the branch that it belongs to, -1 for the live session.

    Args:
        parents: the index of each entry's parent, without circles.
        may_begin: whether a branch may begin at an entry.
    """
    order = _parents_first(parents)
    reach = list(range(len(parents)))
    for index in reversed(order):
        if (parent := parents[index]) >= 0:
            reach[parent] = max(reach[parent], reach[index])
    furthest: dict[int, int] = {}
    for index in order:
        if (parent := parents[index]) >= 0 and may_begin(index):
            best = furthest.get(parent, -1)
            if best < 0 or reach[index] > reach[best]:
                furthest[parent] = index
    roots = [-1] * len(parents)
    for index in order:
        parent = parents[index]
        if parent < 0:
            continue
        is_left = may_begin(index) and furthest[parent] != index
        roots[index] = index if is_left else roots[parent]
    return roots


def _parents_first(parents: Sequence[int]) -> list[int]:
    """The entries in an order in which each stands after its parent."""
    order: list[int] = []
    seen = bytearray(len(parents))
    for start in range(len(parents)):
        way, at = [], start
        while at >= 0 and not seen[at]:
            seen[at] = 1
            way.append(at)
            at = parents[at]
        order.extend(reversed(way))
    return order
