"""Term counts: how many of the groups that stay in a draft show each term.

What only one group shows is kept at hand: the choice of what loses least asks for it at every step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, compress

from ..messages.elide import Cut
from ..view.entry import Entry


class TermCounts:
    """Counts for each term the groups that show it, as groups go and their messages are cut."""

    def __init__(self, shown: Iterable[Iterable[str]]) -> None:
        self.counts = counts = Counter(chain.from_iterable(shown))
        """By term, how many groups show it."""
        self.once = set(compress(counts, map((1).__eq__, counts.values())))
        """The terms that one group shows."""

    def hide(self, names: Iterable[str]) -> None:
        """Count a group less for each of some terms, which it showed."""
        counts, once = self.counts, self.once
        for name in names:
            counts[name] = left = counts[name] - 1
            if left == 1:
                once.add(name)
            elif left == 0:
                once.discard(name)

    def show(self, names: Iterable[str]) -> None:
        """Count a group more for each of some terms."""
        counts, once = self.counts, self.once
        for name in names:
            counts[name] = now = counts[name] + 1
            if now == 1:
                once.add(name)
            elif now == 2:
                once.discard(name)


def shown_only_by(
    positions: Sequence[int], shown: Sequence[Sequence[str]], kept: Sequence[bool]
) -> dict[int, set[str]]:
    """By group, the terms that it shows and no kept group shows that is not among these.

    Args:
        positions: of the groups, which are kept.
        shown: the terms that each of all groups shows.
        kept: which groups are kept.
    """
    others = list(kept)
    for position in positions:
        others[position] = False
    only = set(chain.from_iterable([shown[position] for position in positions]))
    only.difference_update(*compress(shown, others))
    return {position: only.intersection(shown[position]) for position in positions}


def shown_by(entry: Entry, cuts: Mapping[str, Cut]) -> tuple[str, ...]:
    """The terms that a message shows."""
    return entry.terms.shown(cuts[entry.id]) if entry.id in cuts else entry.terms.names
