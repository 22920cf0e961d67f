"""Forms: the shorter versions of a tool group, with the estimated tokens that each saves.

A tool group is a message with the results of its calls. A view shows the group whole, shows some of its texts cut at
lines, or leaves it out. A cut keeps as much of the end as of the beginning, because errors are at the end.

The choice of forms has stages: a later stage takes what earlier stages spare. The promises (`always_kept`) decide
which forms a group has at a stage. Tokens are estimated here; the final view is counted exactly.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from ..messages.elide import LEAST_SHOWN_CHARS, Cut, excerpt_cut
from ..messages.paths_and_ids import Place
from ..view.entry import Entry
from .always_kept import FIRST_SHARE, LEAST_SAVED, Promise, Stage
from .draft import LEAST_BODY_TOKENS, MARKER_TOKENS, Draft
from .form import Form
from .persons_words import bodies_cuts

# Measured: docs/experiments.md ("Constants of the choice").
BODY_CHARS = 1_000  # that the first cut keeps of a pasted body: a page of a log, as much as is kept of a result
LEAST_TOKENS = 2 * MARKER_TOKENS  # of a text that is worth a cut
LEAST_ELIDED_CHARS = 400  # of a result of which nothing may be shown; of a shorter one a marker saves little
SMALLER = 0.75  # the share that stays of a text that is shortened because it is among the largest
GONE, GONE_WORDS = Cut(0, 0), 3


def leave_out_form(freed_tokens: int) -> Form:
    """Return the `Form` that leaves a whole group out. It frees `freed_tokens`, or 1 if that is less."""
    return Form(None, GONE, max(1, freed_tokens), GONE_WORDS)


# `Form.word_loss` of a result with both ends; below `GONE_WORDS`, because the first line often says everything.
ENDS_WORDS = 2.2
SHORTENING = (Stage.SHORTEN, Stage.ANSWERS, Stage.TEXTS, Stage.LAST)
"""The stages that only shorten texts and leave no group out."""


class Forms:
    """The forms of all groups of one draft: the ways to show less of each group.

    Args:
        draft: the view in the making, in which everything is kept.
        promises: the rules that limit which forms a group has.
    """

    def __init__(self, draft: Draft, promises: Iterable[Promise]) -> None:
        self._draft = draft
        self.leave, self.cut = [Stage.FREE] * len(draft.view), [Stage.FREE] * len(draft.view)
        """The first stage at which each group may be left out, and the first at which it may be cut."""
        self.shortest_cut: dict[int, Cut] = {}
        """The shortest cut of a group's texts before the `SHORTENING` stages, by position, if a promise sets one."""
        for position, leave, cut, shortest_cut in chain.from_iterable(promise.holds(draft) for promise in promises):
            if leave > self.leave[position]:
                self.leave[position] = leave
            if cut > self.cut[position]:
                self.cut[position] = cut
            if shortest_cut is not None:
                self.shortest_cut[position] = shortest_cut
        self._truncate_chars = chars = draft.config.truncate_chars
        lengths = (chars * 5 // 2, chars, chars // 4 if chars // 4 >= LEAST_SHOWN_CHARS else 0, 0)
        self._lengths = [excerpt_cut(length) for length in dict.fromkeys(lengths)]
        self._known: dict[int, list[tuple[Entry, list[Form]]]] = {}
        self._pasted: dict[int, list[tuple[Entry, list[Form]]]] = {}
        self._tried: defaultdict[str, set[Cut]] = defaultdict(set)
        self._with_bodies = {position for position in draft.view.people if self._has_body(position)}

    def offered(self, stage: Stage) -> list[int]:
        """Return the positions of the kept groups that may have forms at a stage."""
        leave = self.leave
        cut = self.cut
        bodies = self._with_bodies
        found = [p for p in self._draft.kept_positions() if leave[p] <= stage or cut[p] <= stage or p in bodies]
        if stage in SHORTENING:
            return found
        return [p for p in found if leave[p] <= stage or p in bodies or not self._is_shortest(p)]

    def _is_shortest(self, position: int) -> bool:
        """Return whether a group is one message, and an earlier plan made its text as short as a promise allows."""
        members = self._draft.view.facts[position].members
        shortest = self.shortest_cut.get(position)
        if len(members) > 1 or shortest is None:
            return False
        known = self._draft.cuts.get(members[0].id)
        return known is not None and known.shown_chars <= shortest.shown_chars

    def _has_body(self, position: int) -> bool:
        """Return whether a person's message has a pasted body that can be cut, or cut further than before.

        The first message that a person wrote is the task. Its bodies may be cut only if the message exceeds
        `FIRST_SHARE` of the room.
        """
        draft = self._draft
        head = draft.view.groups[position].head
        if head.tokens < LEAST_BODY_TOKENS or position in draft.fixed:
            return False
        if position == draft.view.first_person and head.tokens <= FIRST_SHARE * draft.room_tokens:
            return False
        [(entry, forms)] = self._bodies(position)
        return any(self._shorter_than_now(entry, forms, LEAST_SAVED))

    def forms_at(self, position: int, stage: Stage) -> list[Form]:
        """Return the forms of a group at a stage. The form that leaves the group out, if allowed, is first."""
        form = self.leaving_out(position, stage)
        return [*([] if form is None else [form]), *self.cuts(position, stage)]

    def leaving_out(self, position: int, stage: Stage) -> Form | None:
        """Return the form that leaves a group out, or None if the group may not be left out at this stage."""
        if not self.may_leave_out(position, stage):
            return None
        return leave_out_form(self._draft.freed_by_leaving_out(position))

    def may_leave_out(self, position: int, stage: Stage) -> bool:
        """Return whether a group may be left out at a stage."""
        return self.leave[position] <= stage and stage not in SHORTENING

    def cuts(self, position: int, stage: Stage) -> list[Form]:
        """Return the forms that each cut one message of a group; an empty list if the stage allows no cuts."""
        may_cut = self.cut[position] <= stage
        if stage in SHORTENING:
            return list(self._smaller(position, stage)) if may_cut else []
        found = list[Form]()
        if position in self._with_bodies:
            for entry, cuts in self._bodies(position):
                found += self._shorter_than_now(entry, cuts, LEAST_SAVED)
        for entry, cuts in self._cuts(position) if may_cut else ():
            found += self._shorter_than_now(entry, cuts, LEAST_SAVED if entry.human else MARKER_TOKENS)
        return found

    def _shorter_than_now(self, entry: Entry, forms: list[Form], least_saved: int) -> Iterable[Form]:
        """Return the forms of a message that are new, shorter than its current form, and save enough.

        A form is new if its cut was not tried before. The saved tokens are relative to the current form.
        """
        if not forms:
            return forms
        draft = self._draft
        known = draft.cuts.get(entry.id)
        tried = self._tried.get(entry.id, ())
        less = entry.tokens - draft.tokens_of(entry)
        if known is None and not tried and not less and least_saved <= MARKER_TOKENS:
            return forms  # each form already saves at least `MARKER_TOKENS`
        found = []
        shown_chars = math.inf if known is None else known.shown_chars
        for form in forms:
            cut = form.cut
            saved = form.saved - less
            if saved >= least_saved and cut not in tried and cut.shown_chars < shown_chars:
                found.append(Form(entry, cut, saved, form.word_loss))
        return found

    def with_lines(
        self, position: int, only: frozenset[str], needed: frozenset[str], is_worth: Callable[[int, int], bool]
    ) -> Iterator[Form]:
        """Yield forms that cut a result of a group to lines with terms that no other group shows.

        Each result has up to two forms. The first form keeps all lines with such a term. The second form keeps only the
        lines with a term that is also in the arguments of a call. Forms that save too little are left out.

        Args:
            position: the position of the group.
            only: the terms that only this group shows.
            needed: the terms in the arguments of calls.
            is_worth: takes the tokens that a form saves and its loss of words (`Form.word_loss`), and returns whether
                the form may be the best one.
        """
        draft = self._draft
        if self.cut[position] > Stage.FREE or position in self.shortest_cut or not only:
            return
        for entry in self._long_texts(position):
            tokens_now = draft.tokens_of(entry)
            if tokens_now < LEAST_TOKENS or not is_worth(tokens_now - MARKER_TOKENS, GONE_WORDS):
                continue  # even a cut to lines of no length would be dearer
            places = entry.gist.terms.places
            unique = only & places.keys()
            if not unique:
                continue
            is_cut_now = entry.id in draft.cuts
            if is_cut_now:
                unique &= draft.terms_of(entry)
            all_chars = max(1, sum(entry.gist.terms.text_chars))
            lines_before = set[Place]()
            for word_loss, terms in enumerate((unique, unique & needed), start=GONE_WORDS):
                lines = {places[term] for term in terms}
                is_repeated = lines == lines_before
                lines_before = lines
                if not lines or is_repeated:
                    continue
                chars = sum([last - first + 1 for _, first, last in lines])
                saved = tokens_now - entry.tokens * chars // all_chars - MARKER_TOKENS
                if saved >= MARKER_TOKENS and is_worth(saved, word_loss):
                    cut = with_short_texts(excerpt_cut(0, tuple(sorted(lines))), entry.gist.terms.text_chars)
                    if cut not in self._tried.get(entry.id, ()):
                        yield Form(entry, cut, saved, word_loss)

    def may_offer_cuts(self, position: int) -> bool:
        """Return whether a group has a text that is worth a cut before the `SHORTENING` stages."""
        return position in self._with_bodies or self._long_texts(position) != []

    def apply(self, position: int, form: Form) -> None:
        """Show a group in a form.

        If the form leaves out a person's message, its answer is left out too, unless a promise holds the answer until
        a later stage.
        """
        draft = self._draft
        entry = form.entry
        if entry is not None:
            self._tried[entry.id].add(form.cut)
            draft.cut_about(position, entry, form.cut, form.saved)
        else:
            answer = draft.view.answers.get(position)
            draft.leave_out(position)
            if answer is not None and self.leave[answer] <= self.leave[position] and draft.kept[answer]:
                draft.leave_out(answer)

    def _bodies(self, position: int) -> list[tuple[Entry, list[Form]]]:
        """Return a person's message with two forms, which shorten the texts pasted into it to two lengths."""
        if position not in self._pasted:
            entry = self._draft.view.members[position][0]
            cuts = self._draft.request.so_far.memory.bodies(entry, partial(self._bodies_of, entry))
            self._pasted[position] = [(entry, list(_cuts_of(entry, cuts)))]
        return self._pasted[position]

    def _bodies_of(self, entry: Entry) -> list[Cut]:
        draft = self._draft
        cuts = bodies_cuts(draft.message_of(entry), draft.divided(entry), (BODY_CHARS, LEAST_SHOWN_CHARS))
        return list(dict.fromkeys(cuts))

    def _cuts(self, position: int) -> list[tuple[Entry, list[Form]]]:
        """Return the messages of a group that may be cut, each with all its forms.

        The forms do not depend on the current cuts, so they are found only once.
        """
        if position not in self._known:
            facts = self._draft.view.facts[position]
            shortest = self.shortest_cut.get(position)
            if shortest is not None:
                self._known[position] = self._forms_of(position, self._lengths_of(position, shortest))
            elif facts.forms is not None and facts.forms[0] == self._truncate_chars:
                self._known[position] = facts.forms[1]
            else:
                self._known[position] = self._forms_of(position, self._lengths)
                facts.forms = self._truncate_chars, self._known[position]
        return self._known[position]

    def _forms_of(self, position: int, lengths: Sequence[Cut]) -> list[tuple[Entry, list[Form]]]:
        """Return the messages of a group that may be cut, each with its forms for the cuts `lengths`."""
        return [(entry, list(_cuts_of(entry, lengths))) for entry in self._long_texts(position)]

    def _lengths_of(self, position: int, shortest: Cut) -> list[Cut]:
        """Return the cuts to try on a group's messages, the longest first, if a promise sets the shortest one.

        Results also have the usual cuts that are longer.
        """
        has_results = len(self._draft.view.members[position]) > 1
        usual = self._lengths if has_results else []
        return [*(cut for cut in usual if cut.shown_chars > shortest.shown_chars), shortest]

    def _long_texts(self, position: int) -> list[Entry]:
        """Return the messages of a group that are long enough to cut.

        These messages are results. In a group of one message, this message counts if a promise sets its cut
        (`shortest_cut`).
        """
        facts = self._draft.view.facts[position]
        if len(facts.members) == 1:
            if position not in self.shortest_cut:
                return []
            return [e for e in facts.members if e.id and e.tokens >= LEAST_TOKENS]
        if facts.long_results is None:
            least = {entry.id: LEAST_SAVED for entry, _ in facts.answers_of_people}
            results = facts.members[1:]
            facts.long_results = [e for e in results if e.id and e.tokens >= least.get(e.id, LEAST_TOKENS)]
        return facts.long_results

    def _smaller(self, position: int, stage: Stage) -> Iterator[Form]:
        """Yield forms that shorten each text of a group by about a quarter, at a `SHORTENING` stage.

        At the last stage, a text that is already at the shortest length is removed.
        """
        draft = self._draft
        for entry in self._texts_of(position, stage):
            chars = draft.chars_of(entry)
            tokens = draft.tokens_of(entry)
            is_long = chars > LEAST_SHOWN_CHARS
            if not entry.id or chars == 0 or not (is_long or stage == Stage.LAST):
                continue
            least_saved = 0
            if stage in (Stage.ANSWERS, Stage.TEXTS):  # all cuts of a written text together have to save enough
                least_saved = max(0, LEAST_SAVED - (entry.tokens - tokens))
            keep = min(int(SMALLER * chars), chars - least_saved * chars // max(1, tokens))
            if keep < LEAST_SHOWN_CHARS and least_saved > 0:
                continue
            cut = self._shorter(entry, max(LEAST_SHOWN_CHARS, keep) if is_long else 0)
            saved = int(tokens * (1 - min(1.0, cut.shown_chars / chars)))
            if cut not in self._tried[entry.id]:
                yield Form(entry, cut, max(1, saved), 1 if is_long else 2)

    def _texts_of(self, position: int, stage: Stage) -> Sequence[Entry]:
        """Return the messages of a group that a `SHORTENING` stage shortens; empty if the stage shortens none."""
        members = self._draft.view.members[position]
        head = members[0]
        if stage == Stage.LAST:
            return members
        if stage == Stage.SHORTEN:
            return members[1:]
        is_meant = head.human if stage == Stage.TEXTS else head.role == "assistant"
        if is_meant and len(members) == 1:
            return members
        return ()

    def _shorter(self, entry: Entry, keep_chars: int) -> Cut:
        """Return the cut that keeps about `keep_chars` characters of a message.

        The texts of people and of the model are cut at paragraphs and sentences, results at lines.
        """
        if keep_chars > 0 and (entry.human or entry.role == "assistant"):
            return self._draft.words_cut(entry, keep_chars)
        return excerpt_cut(keep_chars)


def _cuts_of(entry: Entry, cuts: Iterable[Cut]) -> Iterator[Form]:
    """Yield a form of one message for each cut that saves more tokens than its marker costs."""
    texts = entry.gist.terms.text_chars
    tokens = entry.tokens
    all_chars = max(1, sum(texts))
    longest = max(texts, default=0)
    if tokens < LEAST_TOKENS or all_chars <= LEAST_SHOWN_CHARS:
        return
    for number, shorter in enumerate(cuts):
        cut = with_short_texts(shorter, texts)
        chars = cut.shown_chars
        shown_chars = min(all_chars, chars if cut.lines else chars * len(texts))
        saved = tokens - tokens * shown_chars // all_chars - MARKER_TOKENS * len(texts)
        word_loss: float = 1 + number
        if not chars and all_chars < LEAST_ELIDED_CHARS:
            continue
        if shorter.shown_chars:
            word_loss = min(word_loss, ENDS_WORDS)
        if chars < longest and saved >= MARKER_TOKENS:
            yield Form(entry, cut, saved, word_loss)


def with_short_texts(cut: Cut, text_chars: Sequence[int]) -> Cut:
    """Return a cut that keeps the short texts of a message whole: a marker is as long as such a text.

    Args:
        cut: a cut for all texts of the message.
        text_chars: the length of each text, in characters.
    """
    if len(text_chars) < 2 or cut.head_chars + cut.tail_chars >= LEAST_SHOWN_CHARS:
        return cut
    short = {number: chars for number, chars in enumerate(text_chars) if chars <= LEAST_SHOWN_CHARS}
    lines = [line for line in cut.lines if line[0] not in short]
    lines += [(number, 0, chars) for number, chars in short.items()]
    return replace(cut, lines=tuple(sorted(lines)))
