"""Term counts: how many of the messages that stay in a draft show each term.

What only one or two messages show is kept at hand: the choice of what loses least asks for it at every step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, compress


class TermCounts:
    """Counts for each term the messages that show it, as messages go and come."""

    def __init__(self, shown: Iterable[Iterable[str]]) -> None:
        self.counts = counts = Counter(chain.from_iterable(shown))
        """By term, how many messages show it."""
        self.once = set(compress(counts, map((1).__eq__, counts.values())))
        """The terms that one message shows."""
        self.twice = set(compress(counts, map((2).__eq__, counts.values())))
        """Those that two messages show."""

    def hide(self, names: Iterable[str]) -> None:
        """Count a message less for each of some terms, which are shown."""
        counts, once, twice = self.counts, self.once, self.twice
        for name in names:
            counts[name] = left = counts[name] - 1
            if left > 2:
                continue
            if left == 2:
                twice.add(name)
            elif left == 1:
                twice.discard(name)
                once.add(name)
            else:
                once.discard(name)

    def show(self, names: Iterable[str]) -> None:
        """Count a message more for each of some terms."""
        counts, once, twice = self.counts, self.once, self.twice
        for name in names:
            counts[name] = now = counts[name] + 1
            if now > 3:
                continue
            if now == 1:
                once.add(name)
            elif now == 2:
                once.discard(name)
                twice.add(name)
            else:
                twice.discard(name)

    def only_in(self, shown: Sequence[Iterable[str]]) -> set[str]:
        """The terms that nothing shows but some messages, given by the terms that each of them shows."""
        if len(shown) == 1:
            return self.once.intersection(shown[0])
        only = self.once.intersection(chain.from_iterable(shown))
        if len(shown) == 2:
            return only | self.twice.intersection(shown[0]).intersection(shown[1])
        seen: set[str] = set()
        repeated: set[str] = set()
        for names in shown:
            repeated |= seen.intersection(names)
            seen.update(names)
        counts, most = self.counts, len(shown)
        few = [name for name in repeated if counts[name] <= most]
        if few:
            each = Counter(chain.from_iterable(shown))
            only.update([name for name in few if each[name] == counts[name]])
        return only
