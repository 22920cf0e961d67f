"""What the plans of one window know of messages that do not change, so that a plan looks closely only at what is new.

All of it follows from a message and a cut alone: with an empty memory a plan is the same and takes longer. What is
known of a message holds as long as its entry has the same terms and tokens; a purge gives it others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ..messages.elide import Cut
from ..messages.terms import Terms
from ..view.entry import Entry


class _Known:
    """What is known of one message."""

    __slots__ = ("bodies", "counted", "shown", "terms", "tokens")

    def __init__(self, terms: Terms, tokens: int) -> None:
        self.terms, self.tokens = terms, tokens
        self.shown: tuple[Cut, frozenset[str]] | None = None
        """The names that it shows, with the cut by which it shows them."""
        self.counted: dict[Cut, tuple[Cut, int]] = {}
        """By cuts that were tried, the cuts grown to whole rows, and the tokens of what they show."""
        self.bodies: Sequence[Cut] | None = None
        """Of a person's message, the cuts of what was pasted into it."""


class PlanMemory:
    """A memory of messages, by id; what is in no log is not remembered."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def shown(self, entry: Entry, cut: Cut) -> frozenset[str]:
        """The names that a message shows by a cut."""
        known = self._of(entry)
        if known.shown is None or known.shown[0] != cut:
            known.shown = cut, frozenset(entry.gist.terms.shown(cut))
        return known.shown[1]

    def counted(self, entry: Entry, cut: Cut) -> tuple[Cut, int] | None:
        """A cut grown to whole rows with the tokens of what it shows; None if it was not tried."""
        return self._of(entry).counted.get(cut)

    def count(self, entry: Entry, cut: Cut, grown: Cut, tokens: int) -> None:
        """Remember a cut that was tried."""
        self._of(entry).counted[cut] = grown, tokens

    def bodies(self, entry: Entry, find: Callable[[], Sequence[Cut]]) -> Sequence[Cut]:
        """The cuts of what was pasted into a person's message, found once."""
        known = self._of(entry)
        if known.bodies is None:
            known.bodies = find()
        return known.bodies

    def keep_only(self, ids: Collection[str]) -> None:
        """Forget all but some messages."""
        self._known = {key: known for key, known in self._known.items() if key in ids}

    def _of(self, entry: Entry) -> _Known:
        known = self._known.get(entry.id)
        if known is None or known.terms is not entry.gist.terms or known.tokens != entry.tokens:
            known = _Known(entry.gist.terms, entry.tokens)
            if entry.id:
                self._known[entry.id] = known
        return known
