"""The memory of one window's plans: facts about unchanged messages, so that a plan examines only new ones.

Every fact follows from a message and a cut alone: with an empty memory a plan is the same and takes longer. The facts
about a message are valid as long as its entry has the same terms and tokens; a purge changes these.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ..messages.elide import Cut
from ..messages.terms import Terms
from ..view.entry import Entry
from .persons_words import Divided, Told


class _Known:
    """The facts about one message."""

    __slots__ = ("bodies", "counted", "divided", "shown", "terms", "tokens", "told")

    def __init__(self, terms: Terms, tokens: int) -> None:
        self.terms, self.tokens = terms, tokens
        self.shown: tuple[Cut, frozenset[str]] | None = None
        """The names that it shows, with the cut by which it shows them."""
        self.counted: dict[Cut, tuple[Cut, int]] = {}
        """For each cut that was tried: the cut extended to whole rows, and the tokens that it shows."""
        self.divided: Sequence[Divided] | None = None
        """The texts of a person's message, divided into prose and what was pasted."""
        self.bodies: Sequence[Cut] | None = None
        """The cuts of what was pasted into it."""
        self.told: Sequence[Told] | None = None
        """Its prominent lines."""


class PlanMemory:
    """A memory of messages, by id; what is in no log is not remembered."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self._briefs: dict[str, tuple[tuple[object, ...], str]] = {}
        """The shortest text of a gap's marker with its inputs, by the message after the gap."""

    def shown(self, entry: Entry, cut: Cut) -> frozenset[str]:
        """The names that a message shows by a cut."""
        known = self._of(entry)
        if known.shown is None or known.shown[0] != cut:
            known.shown = cut, frozenset(entry.gist.terms.shown(cut))
        return known.shown[1]

    def counted(self, entry: Entry, cut: Cut) -> tuple[Cut, int] | None:
        """The remembered result of a cut: the cut extended to whole rows, and its tokens; None if it was not tried."""
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

    def divided(self, entry: Entry, find: Callable[[], Sequence[Divided]]) -> Sequence[Divided]:
        """The texts of a person's message, divided once."""
        known = self._of(entry)
        if known.divided is None:
            known.divided = find()
        return known.divided

    def told(self, entry: Entry, find: Callable[[], Sequence[Told]]) -> Sequence[Told]:
        """The prominent lines of a person's message, found once."""
        known = self._of(entry)
        if known.told is None:
            known.told = find()
        return known.told

    def brief(self, before: str, basis: tuple[object, ...], write: Callable[[], str]) -> str:
        """The shortest marker text for the gap before a message, cached; `write` makes it if `basis` has changed."""
        known = self._briefs.get(before)
        if known is None or known[0] != basis:
            known = self._briefs[before] = basis, write()
        return known[1]

    def keep_only(self, ids: Collection[str]) -> None:
        """Forget all but some messages."""
        self._known = {key: known for key, known in self._known.items() if key in ids}
        self._briefs = {key: brief for key, brief in self._briefs.items() if key in ids}

    def _of(self, entry: Entry) -> _Known:
        known = self._known.get(entry.id)
        if known is None or known.terms is not entry.gist.terms or known.tokens != entry.tokens:
            known = _Known(entry.gist.terms, entry.tokens)
            if entry.id:
                self._known[entry.id] = known
        return known
