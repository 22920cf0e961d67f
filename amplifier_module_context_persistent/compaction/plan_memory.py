"""The memory of one session's plans: facts about unchanged messages, so that a plan examines only new messages.

Every fact follows from a message and a cut alone; a cut says which parts of a message's text a view shows. So with an
empty memory a plan is the same and takes longer. The facts about a message are valid as long as its entry has the same
terms and tokens; a purge changes these. The facts about a tool group (`group_facts`) are valid as long as the group has
the very same entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

from ..messages.elide import Cut
from ..messages.paths_and_ids import Terms
from ..view.entry import Entry
from ..view.plan import Gap
from ..view.tool_groups import Group
from .group_facts import GroupFacts
from .marker_wording import brief_marker
from .persons_words import Divided, Told


class _Known:
    """The facts about one message that plans computed earlier."""

    __slots__ = (
        "answer_cuts",
        "bodies",
        "counted",
        "divided",
        "lines",
        "repeated_in_vain",
        "shown",
        "terms",
        "tokens",
        "told",
    )

    def __init__(self, terms: Terms, tokens: int) -> None:
        self.terms = terms
        self.tokens = tokens
        self.shown: tuple[Cut, frozenset[str]] | None = None
        """The cut that was asked for last, and the names that the message shows with this cut. None if no cut was asked
        for."""
        self.counted: dict[Cut, tuple[Cut, int]] = {}
        """For each cut that was tried: the cut extended to whole rows, and the tokens of the message with it."""
        self.divided: Sequence[Divided] | None = None
        """The texts of a person's message, divided into prose and pasted bodies; None if not known yet."""
        self.bodies: Sequence[Cut] | None = None
        """The cuts that shorten the pasted bodies of a person's message; None if not known yet."""
        self.told: Sequence[Told] | None = None
        """The prominent lines of a person's message; None if not known yet."""
        self.lines: frozenset[str] | None = None
        """The lines of a person's message; None if not known yet."""
        self.repeated_in_vain: frozenset[str] | None = None
        """The lines that newer messages repeated when a cut to the other lines saved too little; None if none did."""
        self.answer_cuts: dict[int, Cut] = {}
        """The cuts of a model's answer that were asked for, by the number of characters that they keep."""


class PlanMemory:
    """A cache of facts about messages and groups, by message id. Messages that are in no log are not cached."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self._briefs: dict[str, tuple[tuple[object, ...], str]] = {}
        """The inputs and the shortest text of a gap's marker, by the id of the message after the gap."""
        self._groups: dict[str, GroupFacts] = {}
        """The facts about groups, by the id of the group's first message."""

    def facts_of(self, groups: Sequence[Group]) -> list[GroupFacts]:
        """Return the facts about each group of a view. An unchanged group has the same facts as in the last plan."""
        known = self._groups
        found = list[GroupFacts]()
        for group in groups:
            head_id = group.head.id
            facts = known.get(head_id)
            if facts is None or not facts.is_of(group):
                facts = GroupFacts(group)
                if head_id:
                    known[head_id] = facts
            found.append(facts)
        return found

    def shown(self, entry: Entry, cut: Cut) -> frozenset[str]:
        """Return the names that a message shows with a cut. The answer for the last cut is cached."""
        known = self._of(entry)
        if known.shown is None or known.shown[0] != cut:
            known.shown = cut, frozenset(entry.gist.terms.shown(cut))
        return known.shown[1]

    def counted(self, entry: Entry, cut: Cut) -> tuple[Cut, int] | None:
        """Return what `count` stored for a cut: the cut extended to whole rows, and the message's tokens with it.

        Return None if the cut was not tried.
        """
        return self._of(entry).counted.get(cut)

    def count(self, entry: Entry, cut: Cut, grown: Cut, tokens: int) -> None:
        """Store the result of a cut that was tried: the cut extended to whole rows, and the message's tokens then."""
        self._of(entry).counted[cut] = grown, tokens

    def bodies(self, entry: Entry, find: Callable[[], Sequence[Cut]]) -> Sequence[Cut]:
        """Return the cuts that shorten the pasted text in a person's message. `find` computes them at first."""
        known = self._of(entry)
        if known.bodies is None:
            known.bodies = find()
        return known.bodies

    def divided(self, entry: Entry, find: Callable[[], Sequence[Divided]]) -> Sequence[Divided]:
        """Return the texts of a person's message, divided into prose and pasted bodies.

        `find` is called only if the divided texts are not cached.
        """
        known = self._of(entry)
        if known.divided is None:
            known.divided = find()
        return known.divided

    def told(self, entry: Entry, find: Callable[[], Sequence[Told]]) -> Sequence[Told]:
        """Return the prominent lines of each text of a person's message; `find` is called only if not cached."""
        known = self._of(entry)
        if known.told is None:
            known.told = find()
        return known.told

    def lines(self, entry: Entry, find: Callable[[], frozenset[str]]) -> frozenset[str]:
        """Return the lines of a person's message; `find` is called only if the lines are not cached."""
        known = self._of(entry)
        if known.lines is None:
            known.lines = find()
        return known.lines

    def repeated_in_vain(self, entry: Entry) -> frozenset[str] | None:
        """Return the repeated lines with which the last cut of a person's message saved too little.

        The result is None if there was no such cut. The cut follows from the message and these lines, so with the same
        lines a cut saves too little again.
        """
        return self._of(entry).repeated_in_vain

    def remember_in_vain(self, entry: Entry, repeated: frozenset[str]) -> None:
        """Store the lines that newer messages repeat, and with which a cut of a person's message saves too little."""
        self._of(entry).repeated_in_vain = repeated

    def answer_cut(self, entry: Entry, keep_chars: int, find: Callable[[], Cut]) -> Cut:
        """Return the cut that keeps this many characters of a model's answer.

        `find` is called only if no such cut is cached.
        """
        cuts = self._of(entry).answer_cuts
        if keep_chars not in cuts:
            cuts[keep_chars] = find()
        return cuts[keep_chars]

    def brief(self, gap: Gap, *, recall: bool, after_next_call: bool) -> str:
        """Return the shortest marker text of a gap, as `brief_marker`, which writes the text if it is not cached."""
        basis = gap.messages, gap.after, gap.did, gap.reference, gap.said, recall, after_next_call
        known = self._briefs.get(gap.before)
        if known is None or known[0] != basis:
            text = brief_marker(gap, recall=recall, after_next_call=after_next_call)
            known = self._briefs[gap.before] = basis, text
        return known[1]

    def keep_only(self, ids: Set[str]) -> None:
        """Forget all messages except those with these ids."""
        caches: tuple[dict[str, Any], ...] = (self._known, self._briefs, self._groups)
        for cache in caches:
            for old_id in cache.keys() - ids:
                del cache[old_id]

    def _of(self, entry: Entry) -> _Known:
        known = self._known.get(entry.id)
        if known is None or known.terms is not entry.gist.terms or known.tokens != entry.tokens:
            known = _Known(entry.gist.terms, entry.tokens)
            if entry.id:
                self._known[entry.id] = known
        return known
