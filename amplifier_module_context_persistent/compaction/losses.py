"""Losses: what it costs to show less of a group, given what everything else still shows.

A form is a shorter version of a group (a message with the results of its calls), and a loss gives each form a price.
The choice takes the cheapest form of all groups, again and again. A price depends on the draft (the view in the making)
alone, and of equal prices the older group's is taken, so that the same plan can be made again (I4). To add a loss,
derive from `Loss` and write `price`.

A name is a term of a message: a path, an identifier or a figure that may be needed again.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate, chain, takewhile
from operator import itemgetter

from ..messages.outcome import FAILED, REJECTED
from .always_kept import Stage
from .draft import Draft
from .form import Form
from .shorter_forms import GONE_WORDS, Forms, leave_out_form

# Measured beside other values: docs/experiments.md ("What loses least", "What calls wrote", `SEALED_SHARE`).
NEEDED = 30  # worth of a name that is an argument of a call in the view; any other name is worth 1
AGE = 10  # weight of a loss in the newest group, relative to the oldest group
TOKENS_A_NAME = 4  # tokens of a model's or a person's text that are worth as much as one name
# Price factor of groups in the provider's cache, and the share of the unchanged tokens that counts as cached.
SEALED, SEALED_SHARE = 8, 0.4

REFERENCED, HUMAN, ERROR, RECENT = 2, 30, 10, 20


class Loss:
    """The price of each form in one draft. In this class older groups are cheaper.

    The first message that a person wrote, the task, is the most expensive.

    Args:
        draft: the view in the making.
        forms: the shorter forms of its groups.
        stage: the stage of the choice.
    """

    def __init__(self, draft: Draft, forms: Forms, stage: Stage) -> None:
        self.draft = draft
        self.forms = forms
        self.stage = stage

    @cached_property
    def offered(self) -> list[int]:
        """The positions of the groups that had forms at this stage when this was first asked."""
        return self.forms.offered(self.stage)

    def price(self, position: int, form: Form) -> float:
        """Return the price of a form: the group's position, or a higher price for the first message of a person."""
        return len(self.draft.view) if position == self.draft.view.first_person else position

    def best(self, position: int) -> tuple[float, Form] | None:
        """Return a group's cheapest form with its price, or None if the group has no form at this stage."""
        return self._least(position, self.forms.forms_at(position, self.stage))

    def leave_out_price(self, position: int) -> tuple[float, Form] | None:
        """Return the price and the form that leaves a group out, or None if the group may not be left out.

        Only such forms help if the view has too many messages.
        """
        form = self.forms.leaving_out(position, self.stage)
        return None if form is None else (self.price(position, form), form)

    def _least(self, position: int, forms: Iterable[Form]) -> tuple[float, Form] | None:
        return min(((self.price(position, form), form) for form in forms), key=itemgetter(0), default=None)

    def update_after(self, position: int) -> Iterable[int]:
        """Update the prices after the choice has shortened a group or left it out.

        Returns:
            The positions of the groups whose prices may have fallen.
        """
        return ()


class LargestTextLoss(Loss):
    """A loss that shortens the largest text first, so that all texts approach one length.

    The first message that a person wrote is shortened after all other texts, but before the rest of a text is removed.
    """

    def price(self, position: int, form: Form) -> float:
        """Return the price of a form, which is lower for larger texts.

        Forms that remove the rest of a text are the most expensive, and cheaper in older groups.
        """
        if form.entry is None or form.word_loss > 1:
            return position
        return -1 if position == self.draft.view.first_person else -1 - self.draft.tokens_of(form.entry)


class ImportanceLoss(Loss):
    """A loss by a score of importance. All cuts are cheaper than leaving a group out; then lower scores are cheaper.

    A group's score is the sum of: `REFERENCED` for each of its names in the arguments of a later call, at most `RECENT`
    for all names; `HUMAN` for a person's message; `ERROR` if a result has an error; and up to `RECENT` for being new.
    """

    def price(self, position: int, form: Form) -> float:
        """Return the price of a form.

        It is the group's score, plus 1,000 for leaving the group out or 100 times `Form.word_loss` for a cut.
        """
        return self.scores[position] + (1_000 if form.entry is None else 100 * form.word_loss)

    @cached_property
    def scores(self) -> list[int]:
        """The score of each group (see the class), as a whole number."""
        view = self.draft.view
        last_used: dict[str, int] = {}
        for position, group in enumerate(view.groups):
            last_used.update(dict.fromkeys(group.head.gist.terms.used, position))
        newest = max(1, len(view) - 1)
        found = list[int]()
        for position, members in enumerate(view.members):
            names = {name for entry in members for name in entry.gist.terms.names}
            used_later = [name for name in names if last_used.get(name, -1) > position]
            score = min(REFERENCED * len(used_later), RECENT)
            score += RECENT * position // newest
            if any(entry.gist.outcome in (FAILED, REJECTED) for entry in members):
                score += ERROR
            if members[0].human:
                score += HUMAN
            found.append(score)
        return found


class UniqueTermsLoss(Loss):
    """A loss by the content that no other kept group shows, divided by the saved tokens.

    A name counts 1, or `NEEDED` if a call in the view has it as an argument: a name that was needed once may be needed
    again. Plain words count a little, and more if few plain words stay. Newer groups weigh more. The first groups of
    the previous plan also weigh more while they are unchanged, because the provider has them in its cache.
    """

    def __init__(self, draft: Draft, forms: Forms, stage: Stage) -> None:
        super().__init__(draft, forms, stage)
        view = draft.view
        offered = self.offered
        self.shown = {position: draft.shown_terms(position) for position in offered}
        """The names that each group with forms at this stage shows, by position."""
        others = [draft.shown_terms(position) for position in draft.kept_positions() if position not in self.shown]
        self.counts = dict(Counter(chain(*self.shown.values(), *others)))
        """The number of kept groups that show a name, by name."""
        self.unique = {name for name, groups in self.counts.items() if groups == 1}
        """The names that exactly one kept group shows."""
        self.needed = frozenset().union(*[view.groups[position].head.gist.terms.used for position in view.calling])
        """The names that calls have as arguments."""
        self.weights = _weights(offered, len(view))
        """The weight of each group's loss, by position. The newest group has `AGE` times the weight of the oldest."""
        self.written_tokens = {position: view.facts[position].written_tokens for position in offered}
        """The estimated tokens of the text of a model or a person in each group of `shown`, by position."""
        self.plain = dict.fromkeys(view.repeated.intersection(offered), 0.0)
        """The share (0 to 1) of the worth of plain words that counts, by position. The share is 0 if a later group
        repeats the words."""
        for position in offered:
            if position not in self.plain:
                self.plain[position] = view.facts[position].word_share
        self.gone_words = {p: self._words_of_group(p) for p in offered if forms.may_leave_out(p, stage)}
        """The loss of ordinary words if a group is left out, measured in names, by position. For the groups that may be
        left out at this stage."""
        self.cached_groups = _count_cached_groups(draft) if stage == Stage.FREE else 0
        """The number of groups at the beginning that are in the provider's cache; their prices are `SEALED` times."""
        self._known: dict[int, tuple[tuple[int, int], int, tuple[float, Form] | None]] = {}
        """A cache of the cheapest form of each group, by position.

        Each value has the inputs of the choice (the number of unique names and the size; the tokens that leaving the
        group out frees), and the price with the form.
        """

    def price(self, position: int, form: Form) -> float:
        """Return the price of a form: the content lost per saved token, times `SEALED` if it is in the cache."""
        price = self._price_outside_cache(position, form, self._only(position))
        return price * SEALED if position < self.cached_groups else price

    def best(self, position: int) -> tuple[float, Form] | None:
        """Return a group's cheapest form with its price, or None if the group has no form at this stage.

        The form is cached, and chosen again if the inputs of the choice have changed.
        """
        only = self._only(position)
        freed = self.draft.freed_by_leaving_out(position)
        state = len(only), self.draft.sizes[position]
        state_before, freed_before, found = self._known.get(position, ((-1, -1), -1, None))
        if state != state_before:
            found = self._cheapest(position, only, freed)
        elif freed != freed_before:  # a neighbour was left out: only the price of leaving out this group changed
            left_out = self._leave_out_price(position, only, freed)
            if left_out is not None and (found is None or left_out[0] <= found[0]):
                found = left_out
        self._known[position] = state, freed, found
        if found is None or position >= self.cached_groups:
            return found
        price, form = found
        return price * SEALED, form

    def _words_of_group(self, position: int) -> float:
        """Return the loss of ordinary words if a group is left out, measured in names."""
        worth = GONE_WORDS * self.plain[position]
        written_tokens = self.written_tokens[position]
        if not written_tokens:
            return worth
        return max(0, written_tokens - self.draft.quoted_tokens(position)) / TOKENS_A_NAME + worth

    def _cheapest(self, position: int, only: frozenset[str], freed: int) -> tuple[float, Form] | None:
        """Find the cheapest form of a group without regard to the provider's cache.

        Args:
            position: the position of the group.
            only: the names that only this group shows.
            freed: the tokens that leaving the group out frees.

        Returns:
            The price and the form; None if the group has no form.
        """
        found = self._leave_out_price(position, only, freed)
        if not self.forms.may_offer_cuts(position):
            return found
        found = self._cheapest_cut(position, self.forms.cuts(position, self.stage), only, found)
        weight = self.weights[position]
        plain = self.plain[position]
        price = math.inf if found is None else found[0]
        if not only or GONE_WORDS * plain * weight >= price * self.draft.sizes[position]:
            return found

        def is_worth(saved: int, word_loss: int) -> bool:
            return word_loss * plain * weight < price * saved

        return self._cheapest_cut(position, self.forms.with_lines(position, only, self.needed, is_worth), only, found)

    def _cheapest_cut(
        self, position: int, forms: Iterable[Form], only: frozenset[str], found: tuple[float, Form] | None
    ) -> tuple[float, Form] | None:
        """Return the cheapest of some cuts with its price, or `found` (which may be None) if no cut is cheaper.

        A price has two parts: the words and the names that a form no longer shows. The names are looked up only if the
        words alone do not make the form dearer.
        """
        weight = self.weights[position]
        for form in forms:
            words = self._words(position, form)
            saved = form.saved
            if found is not None and words * weight >= found[0] * saved:
                continue
            price = (words + self._worth(self.lost(position, form, only))) * weight / saved
            if found is None or price < found[0]:
                found = price, form
        return found

    def _leave_out_price(self, position: int, only: frozenset[str], freed: int) -> tuple[float, Form] | None:
        """Return the price and the form that leaves a group out, or None if the group may not be left out."""
        words = self.gone_words.get(position)
        if words is None:
            return None
        form = leave_out_form(freed)
        return (words + self._worth(only)) * self.weights[position] / form.saved, form

    def _only(self, position: int) -> frozenset[str]:
        """Return the names that only this group shows."""
        return self.shown[position] & self.unique

    def _words(self, position: int, form: Form) -> float:
        """Return the loss of ordinary words in a form, measured in names.

        In the text of a model or a person the loss depends on the number of lost words. In a result it depends on how
        few words stay.
        """
        entry = form.entry
        if entry is None:
            return self._words_of_group(position)
        worth = form.word_loss * self.plain[position]
        written_tokens = self.written_tokens[position]
        if written_tokens and entry is self.draft.view.groups[position].head:
            return max(0, written_tokens - entry.tokens + form.saved) / TOKENS_A_NAME + worth
        return worth

    def _price_outside_cache(self, position: int, form: Form, only: frozenset[str]) -> float:
        worth = self._worth(self.lost(position, form, only))
        return (self._words(position, form) + worth) * self.weights[position] / form.saved

    def _worth(self, names: frozenset[str]) -> int:
        """Return the worth of names that a view no longer shows."""
        return len(names) + (NEEDED - 1) * len(names & self.needed) if names else 0

    def lost(self, position: int, form: Form, shown: frozenset[str]) -> frozenset[str]:
        """Return the names that a group loses by a form: the names of `shown` that the form does not show."""
        entry = form.entry
        draft = self.draft
        if entry is None or not shown:
            return shown
        terms = entry.gist.terms
        if entry.result_of is not None or not form.cut.lines:
            lost = terms.lost(form.cut, shown)
        else:  # the lines of a cut of prose are not places of terms
            lost = shown.difference(terms.shown(form.cut))
        if not lost:
            return lost
        for other in draft.view.members[position]:
            if other is not entry:
                lost = lost.difference(draft.names_of(other))
        return lost

    def update_after(self, position: int) -> Iterable[int]:
        """Update the counts of names after the choice has shortened a group or left it out.

        If that group was in the provider's cache, the cache is lost for all groups after it. So no group costs
        `SEALED` times its price any more.

        Returns:
            The positions of the groups whose prices have fallen for that reason; empty if the group was not in the
            cache.
        """
        still_shown = self.draft.shown_terms(position) if self.draft.kept[position] else frozenset[str]()
        lost_names = self.shown[position] - still_shown
        shown_nowhere = lost_names & self.unique
        self.unique -= shown_nowhere
        counts = self.counts
        counts.update(dict.fromkeys(shown_nowhere, 0))
        for name in lost_names - shown_nowhere:
            groups_left = counts.get(name, 0) - 1  # 0 if a cut that was undone shows the name again
            counts[name] = groups_left
            if groups_left == 1:
                self.unique.add(name)
        self.shown[position] = still_shown
        self._known.pop(position, None)
        if position >= self.cached_groups:
            return ()
        cheaper = range(self.cached_groups)
        self.cached_groups = 0
        return cheaper


def _weights(positions: Iterable[int], groups: int) -> dict[int, int]:
    """Return the weights of the losses of some groups, in hundredths, by position, in a view of so many groups."""
    newest = max(1, groups - 1)
    return {position: 100 + (AGE - 1) * 100 * position // newest for position in positions}


def _count_cached_groups(draft: Draft) -> int:
    """Return the number of groups at the beginning that count as being in the provider's cache.

    Such groups are the first ones that the previous plan kept too, up to `SEALED_SHARE` of their tokens.
    """
    kept_before = set(draft.request.so_far.plan.keep)
    known = list(takewhile(kept_before.__contains__, (group.head.id for group in draft.view.groups)))
    sums = list(accumulate(draft.sizes[: len(known)]))
    return bisect_right(sums, SEALED_SHARE * sums[-1]) if sums else 0
