"""Losses: what it costs to show less of a group, given what everything else still shows.

The choice takes the cheapest form of all groups, again and again. A price depends on the draft alone, and ties go to
the older group, so that a plan can be made again (I4). To add one, derive from `Loss` and write `of`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import accumulate, chain, takewhile
from operator import itemgetter

from ..messages.outcome import FAILED, REJECTED
from ..view.entry import Entry
from .always_kept import Stage
from .draft import Draft
from .shorter_forms import GONE_WORDS, Form, Forms, gone_saving

# Measured beside other values: docs/experiments.md ("What loses least", "What calls wrote", `SEALED_SHARE`).
NEEDED = 30  # times as much as another name that nothing else shows is one worth that a call in the view was given
AGE = 10  # times as much does a loss weigh in the newest group as in the oldest
TOKENS_A_NAME = 4  # of what a model or a person says are worth one name
CHARS_A_TOKEN = 4  # about, of prose
FULL_WORTH_CHARS = 160  # of results from which on their words count fully; "pending" has seven
SEALED, SEALED_SHARE = 8, 0.4  # times as much at the beginning of what the plan before kept, in the provider's cache

REFERENCED, HUMAN, ERROR, RECENT = 2, 30, 10, 20


class Loss:
    """The cost of each form of one draft: here, older groups cost less, and the first person's message costs most.

    Args:
        draft: the view in the making.
        forms: the shorter forms of its groups.
        stage: the stage of the choice.
    """

    def __init__(self, draft: Draft, forms: Forms, stage: Stage) -> None:
        self.draft, self.forms, self.stage = draft, forms, stage

    def of(self, position: int, form: Form) -> float:
        """The group's position, so that the oldest goes first; the first person's message, the task, costs most."""
        return len(self.draft.view) if position == self.draft.view.first_person else position

    def best(self, position: int) -> tuple[float, Form] | None:
        """The cheapest form of a group, with its price."""
        return self._least(position, self.forms.of(position, self.stage))

    def gone(self, position: int) -> tuple[float, Form] | None:
        """The form that leaves a group out, with its price: nothing else helps if there are too many messages."""
        form = self.forms.gone(position, self.stage)
        return None if form is None else (self.of(position, form), form)

    def _least(self, position: int, forms: Iterable[Form]) -> tuple[float, Form] | None:
        return min(((self.of(position, form), form) for form in forms), key=itemgetter(0), default=None)

    def took(self, position: int) -> Iterable[int]:
        """Take note that a group shows less; the other groups whose prices fell by that."""
        return ()


class LargestTextLoss(Loss):
    """The largest text first, so that all are cut to one level; the first person's text after all others."""

    def of(self, position: int, form: Form) -> float:
        """Larger texts are cheaper; texts at the shortest length go last, the oldest first."""
        if form.entry is None or form.words > 1:
            return position
        return -1 if position == self.draft.view.first_person else -1 - self.draft.tokens_of(form.entry)


class ImportanceLoss(Loss):
    """By score: all results are cut, the least important first, and then groups are left out.

    A group's score is the sum of: `REFERENCED` for each of its names in the arguments of a later call, at most `RECENT`
    for all names; `HUMAN` for a person's message; `ERROR` for a result with an error; and up to `RECENT` for newness.
    """

    def of(self, position: int, form: Form) -> float:
        """The score; leaving out comes after every cut."""
        return self.scores[position] + (1_000 if form.entry is None else 100 * form.words)

    @cached_property
    def scores(self) -> list[int]:
        """The score of each group, in whole numbers."""
        view = self.draft.view
        last_used: dict[str, int] = {}
        for position, group in enumerate(view.groups):
            last_used.update(dict.fromkeys(group.head.gist.terms.used, position))
        newest = max(1, len(view) - 1)
        found = []
        for position, members in enumerate(view.members):
            names = {name for entry in members for name in entry.gist.terms.names}
            references = sum(last_used.get(name, -1) > position for name in names)
            failed = any(entry.gist.outcome in (FAILED, REJECTED) for entry in members)
            score = min(REFERENCED * references, RECENT) + ERROR * failed + RECENT * position // newest
            found.append(score + HUMAN * members[0].human)
        return found


class UniqueTermsLoss(Loss):
    """The content that no other kept group shows, per saved token.

    A name counts 1, or `NEEDED` if a call in the view has it as an argument: a name that was needed once is needed
    again. Plain words count a little, more if few of them stay. Newer groups weigh more. The first part of the plan
    before weighs more too, as long as it is unchanged: the provider has it in its cache.
    """

    def __init__(self, draft: Draft, forms: Forms, stage: Stage) -> None:
        super().__init__(draft, forms, stage)
        view, offered = draft.view, forms.offered(stage)
        self.shown = {position: draft.shown_terms(position) for position in offered}
        """The names that each group shows that is offered."""
        others = [draft.shown_names(position) for position in draft.left() if position not in self.shown]
        self.counts = Counter(chain(*self.shown.values(), *others))
        """The number of kept groups that show a name, by name."""
        self.unique = {name for name, groups in self.counts.items() if groups == 1}
        """The names that one kept group shows."""
        self.needed = frozenset().union(*[view.groups[position].head.gist.terms.used for position in view.calling])
        """The names that calls have as arguments."""
        self.weights = _weights(len(view))
        """The weight of each group's loss: in the newest group `AGE` times the weight in the oldest."""
        self.spoken = {position: _spoken_tokens(view.members[position][0]) for position in offered}
        """The tokens of what a model or a person says in each group that is offered."""
        self.plain = dict.fromkeys(view.repeated.intersection(offered), 0.0)
        """The share of a result's words that still counts, by group: 0 if a later group says the same."""
        for position in offered:
            if position not in self.plain:
                self.plain[position] = _share_of_words(view.members[position])
        self.sealed = _sealed(draft) if stage == Stage.FREE else 0
        """The number of the first groups that stay unchanged as long as possible."""
        self._known: dict[int, tuple[tuple[int, int], int, tuple[float, Form] | None]] = {}
        """The cheapest form of each group, with the inputs of the choice: names and size, and the tokens without it."""

    def of(self, position: int, form: Form) -> float:
        """A group's content that nothing else would show, per token; more if the provider has it in its cache."""
        price = self._price(position, form, self._only(position))
        return price * SEALED if position < self.sealed else price

    def best(self, position: int) -> tuple[float, Form] | None:
        """The cheapest form of a group, with its price; chosen again if the inputs of that choice have changed."""
        only, freed = self._only(position), self.draft.freed_by_leaving_out(position)
        state = len(only), self.draft.sizes[position]
        state_before, freed_before, found = self._known.get(position, ((-1, -1), -1, None))
        if state != state_before:
            found = self._cheapest(position, only, freed)
        elif freed != freed_before:  # a neighbour went, so that leaving it out costs less; no cut does
            gone = self._gone(position, only, freed)
            if gone is not None and (found is None or gone[0] <= found[0]):
                found = gone
        self._known[position] = state, freed, found
        if found is None or position >= self.sealed:
            return found
        price, form = found
        return price * SEALED, form

    def _cheapest(self, position: int, only: frozenset[str], freed: int) -> tuple[float, Form] | None:
        """The cheapest form of a group that alone shows some names, as if the provider had nothing in its cache.

        Args:
            position: the group.
            only: the names that it alone shows.
            freed: the tokens that leaving it out frees.
        """
        found = self._gone(position, only, freed)
        if not self.forms.may_offer_cuts(position):
            return found
        for form in self.forms.cuts(position, self.stage):
            found = self._cheaper(position, form, only, found)
        weight, plain = self.weights[position], self.plain[position]
        price = math.inf if found is None else found[0]
        if GONE_WORDS * plain * weight >= price * self.draft.sizes[position]:
            return found

        def is_worth(saved: int, words: int) -> bool:
            return words * plain * weight < price * saved

        for form in self.forms.with_lines(position, only, self.needed, is_worth):
            found = self._cheaper(position, form, only, found)
        return found

    def _cheaper(
        self, position: int, form: Form, only: frozenset[str], found: tuple[float, Form] | None
    ) -> tuple[float, Form] | None:
        """A form with its price, or what was found if that costs less; names are looked at only if words cost less."""
        words, weight = self._words(position, form), self.weights[position]
        if found is not None and words * weight >= found[0] * form.saved:
            return found
        price = (words + self._worth(position, form, only)) * weight / form.saved
        return (price, form) if found is None or price < found[0] else found

    def _gone(self, position: int, only: frozenset[str], freed: int) -> tuple[float, Form] | None:
        """The form of a group that leaves it out, with its price."""
        if not self.forms.may_go(position, self.stage):
            return None
        form = gone_saving(freed)
        return self._price(position, form, only), form

    def _only(self, position: int) -> frozenset[str]:
        """The names that a group alone shows."""
        return self.shown[position] & self.unique

    def _words(self, position: int, form: Form) -> float:
        """The loss of ordinary words: in a model's or person's text by their number, in a result by how few remain."""
        worth = form.words * self.plain[position]
        entry, spoken = form.entry, self.spoken[position]
        if entry is None:
            return max(0, spoken - self.draft.quoted_tokens(position)) / TOKENS_A_NAME + worth
        if spoken and entry is self.draft.view.groups[position].head:
            return max(0, spoken - entry.tokens + form.saved) / TOKENS_A_NAME + worth
        return worth

    def _price(self, position: int, form: Form, only: frozenset[str]) -> float:
        return (self._words(position, form) + self._worth(position, form, only)) * self.weights[position] / form.saved

    def _worth(self, position: int, form: Form, only: frozenset[str]) -> int:
        """The worth of the names that a form no longer shows."""
        lost = self.lost(position, form, only) if only else only
        return len(lost) + (NEEDED - 1) * len(lost & self.needed) if lost else 0

    def lost(self, position: int, form: Form, shown: frozenset[str]) -> frozenset[str]:
        """Of the names that a group shows, those that it no longer shows in a form."""
        entry, draft = form.entry, self.draft
        if entry is None:
            return shown
        looked_for = shown if form.cut.lines else None
        still_shown = entry.gist.terms.shown(form.cut, looked_for, is_exact=entry.result_of is not None)
        lost = shown.difference(still_shown)
        if not lost:
            return lost
        for other in draft.view.members[position]:
            if other is not entry:
                lost = lost - draft.terms_of(other)
        return lost

    def took(self, position: int) -> Iterable[int]:
        """Take note that a group shows less; the other groups whose prices fell by that.

        Each name that it no longer shows is in one group less. If the group was in the provider's cache, the cache is
        lost for all groups in it.
        """
        still_shown = self.draft.shown_terms(position) if self.draft.kept[position] else frozenset[str]()
        counts, gone = self.counts, self.shown[position] - still_shown
        self.unique -= gone
        for name in gone:
            groups_left = counts[name] - 1
            counts[name] = groups_left
            if groups_left == 1:
                self.unique.add(name)
        self.shown[position] = still_shown
        self._known.pop(position, None)
        if position >= self.sealed:
            return ()
        cheaper = range(self.sealed)
        self.sealed = 0
        return cheaper


def _weights(groups: int) -> list[int]:
    """The weight of the loss of each group, in hundredths."""
    newest = max(1, groups - 1)
    return [100 + (AGE - 1) * 100 * position // newest for position in range(groups)]


def _spoken_tokens(head: Entry) -> int:
    """About the tokens of the text of a person's or a model's message."""
    if not (head.human or head.role == "assistant"):
        return 0
    return sum(head.gist.terms.text_chars) // CHARS_A_TOKEN + head.reasoning.narration_tokens


def _share_of_words(members: Sequence[Entry]) -> float:
    """The share of the worth of a result's words that short results have."""
    chars = 0
    for entry in members[1:] or members:
        chars += sum(entry.gist.terms.text_chars)
        if chars >= FULL_WORTH_CHARS:
            return 1.0
    return chars / FULL_WORTH_CHARS


def _sealed(draft: Draft) -> int:
    """The number of the first groups in the provider's cache: a share of the groups that the plan before kept."""
    kept = set(draft.request.so_far.plan.keep)
    known = list(takewhile(kept.__contains__, (group.head.id for group in draft.view.groups)))
    sums = list(accumulate(draft.sizes[: len(known)]))
    return bisect_right(sums, SEALED_SHARE * sums[-1]) if sums else 0
