"""Forms: the shorter versions of a tool group, with the estimated tokens that each saves.

A group is whole; or some of its texts are cut at lines; or it is left out. A cut keeps as much of the end as of the
beginning, because errors are at the end. The promises (`always_kept`) decide which forms a group has at a stage of the
choice. Tokens are estimated here; the final view is counted exactly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from ..messages.elide import LEAST_SHOWN_CHARS, Cut, excerpt_cut, prose_cut
from ..messages.terms import Place
from ..view.entry import Entry
from .always_kept import FIRST_SHARE, LEAST_SAVED, Promise, Stage
from .draft import LEAST_BODY_TOKENS, MARKER_TOKENS, Draft
from .persons_words import bodies_cuts
from .quotes import answers_of_people

# Measured: docs/experiments.md ("Constants of the choice").
BODY_CHARS = 1_000  # of a body that a person pasted, at first: a page of a log, as much as is kept of a result
LEAST_TOKENS = 2 * MARKER_TOKENS  # of a text that is worth a cut
SMALLER = 0.75  # the rest of a text that is shortened because it is among the largest


class Form(NamedTuple):
    """One way to show less of a group."""

    entry: Entry | None
    """The message that is cut; None leaves the group out."""
    cut: Cut
    saved: int
    """About how many tokens that frees."""
    words: float
    """The loss of its words that are not terms: larger if fewer of them stay."""


GONE, GONE_WORDS = Cut(0, 0), 3


def gone_saving(freed_tokens: int) -> Form:
    """The form that leaves a group out, which frees so many tokens."""
    return Form(None, GONE, max(1, freed_tokens), GONE_WORDS)


ENDS_WORDS = 2.2  # of a result with both ends: less than without the group, because its first line often tells it all
SHORTENING = (Stage.SHORTEN, Stage.ANSWERS, Stage.TEXTS, Stage.LAST)
"""The stages that leave nothing out."""


class Forms:
    """The forms that the groups of one draft offer.

    Args:
        draft: the view in the making, in which everything is kept.
        promises: what bounds them.
    """

    def __init__(self, draft: Draft, promises: Iterable[Promise]) -> None:
        self._draft = draft
        self.leave, self.cut = [Stage.FREE] * len(draft.view), [Stage.FREE] * len(draft.view)
        """The stages from which on a group may be left out, and may be cut, by group."""
        self.to: dict[int, Cut] = {}
        """The only cut of a group, by group."""
        for position, leave, cut, to in chain.from_iterable(promise.holds(draft) for promise in promises):
            if leave > self.leave[position]:
                self.leave[position] = leave
            if cut > self.cut[position]:
                self.cut[position] = cut
            if to is not None:
                self.to[position] = to
        chars = draft.config.truncate_chars
        lengths = (chars * 5 // 2, chars, chars // 4 if chars // 4 >= LEAST_SHOWN_CHARS else 0, 0)
        self._lengths = [excerpt_cut(length) for length in dict.fromkeys(lengths)]
        self._long: dict[int, list[Entry]] = {}
        """The texts of a group that are long enough for a cut, by group."""
        self._known: dict[int, list[tuple[Entry, list[Form]]]] = {}
        self._pasted: dict[int, list[tuple[Entry, list[Form]]]] = {}
        self._tried: defaultdict[str, set[Cut]] = defaultdict(set)
        self._with_bodies = {position for position in draft.view.people if self._has_body(position)}

    def offered(self, stage: Stage) -> list[int]:
        """The groups that may offer forms at a stage."""
        leave, cut, bodies = self.leave, self.cut, self._with_bodies
        return [p for p in self._draft.left() if leave[p] <= stage or cut[p] <= stage or p in bodies]

    def _has_body(self, position: int) -> bool:
        """Whether a person's message may have a pasted body that can be cut; the task itself is whole if it fits."""
        draft = self._draft
        head = draft.view.groups[position].head
        if head.tokens < LEAST_BODY_TOKENS or position in draft.fixed:
            return False
        return position != draft.view.first_person or head.tokens > FIRST_SHARE * draft.room_tokens

    def of(self, position: int, stage: Stage) -> list[Form]:
        """The forms of a group at a stage, the one without the group first."""
        gone = self.gone(position, stage)
        return [*([] if gone is None else [gone]), *self.cuts(position, stage)]

    def gone(self, position: int, stage: Stage) -> Form | None:
        """The form of a group that leaves it out; None if it may not be left out at a stage."""
        if not self.may_go(position, stage):
            return None
        return gone_saving(self._draft.freed_by_leaving_out(position))

    def may_go(self, position: int, stage: Stage) -> bool:
        """Whether a group may be left out at a stage."""
        return self.leave[position] <= stage and stage not in SHORTENING

    def cuts(self, position: int, stage: Stage) -> list[Form]:
        """The forms that cut one of a group's messages, if the stage allows cuts."""
        may_cut = self.cut[position] <= stage
        if stage in SHORTENING:
            return list(self._smaller(position, stage)) if may_cut else []
        found = list[Form]()
        for entry, cuts in self._bodies(position):
            found += self._shorter_than_now(entry, cuts, LEAST_SAVED)
        for entry, cuts in self._cuts(position) if may_cut else ():
            found += self._shorter_than_now(entry, cuts, LEAST_SAVED if entry.human else MARKER_TOKENS)
        return found

    def _shorter_than_now(self, entry: Entry, forms: list[Form], least_saved: int) -> Iterable[Form]:
        """Of the cuts of a message, those that were not tried and are shorter than what it shows now."""
        if not forms:
            return forms
        draft = self._draft
        known, tried = draft.cuts.get(entry.id), self._tried.get(entry.id, ())
        less = entry.tokens - draft.tokens_of(entry)
        if known is None and not tried and not less and least_saved <= MARKER_TOKENS:
            return forms  # none saves less than its marker takes
        found = []
        for form in forms:
            is_new = form.cut not in tried and (known is None or form.cut.shown_chars < known.shown_chars)
            if is_new and form.saved - less >= least_saved:
                found.append(form._replace(saved=form.saved - less) if less else form)
        return found

    def with_lines(
        self, position: int, only: frozenset[str], needed: frozenset[str], is_worth: Callable[[int, int], bool]
    ) -> Iterator[Form]:
        """A group's results cut to the lines with terms that nothing else shows, or to the lines with needed terms.

        Args:
            position: the group.
            only: the terms that it alone shows.
            needed: the terms in the arguments of calls.
            is_worth: whether a form may be the best, by the tokens that it saves and the loss of its words.
        """
        draft = self._draft
        if self.cut[position] > Stage.FREE or position in self.to or not only:
            return
        for entry in self._long_texts(position):
            tokens, known = draft.tokens_of(entry), draft.cuts.get(entry.id)
            places = entry.gist.terms.places
            unique = only & places.keys()
            if not unique or tokens < LEAST_TOKENS:
                continue
            if known is not None:
                unique &= draft.terms_of(entry)
            whole = max(1, sum(entry.gist.terms.text_chars))
            before = set[Place]()
            for words, names in enumerate((unique, unique & needed), start=GONE_WORDS):
                lines = {places[name] for name in names}
                chars = sum([last - first + 1 for _, first, last in lines])
                saved = tokens - entry.tokens * chars // whole - MARKER_TOKENS
                if lines and lines != before and saved >= MARKER_TOKENS and is_worth(saved, words):
                    cut = excerpt_cut(0, tuple(sorted(lines)))
                    if cut not in self._tried.get(entry.id, ()):
                        yield Form(entry, cut, saved, words)
                before = lines

    def may_offer_cuts(self, position: int) -> bool:
        """Whether a group has a text that is long enough to be worth a cut before the stages that shorten."""
        return position in self._with_bodies or self._long_texts(position) != []

    def take(self, position: int, form: Form) -> None:
        """Show a group in a form; a person's message takes its answer with it, unless that is held longer."""
        draft, entry = self._draft, form.entry
        if entry is not None:
            self._tried[entry.id].add(form.cut)
            draft.cut_about(position, entry, form.cut, form.saved)
        else:
            answer = draft.view.answers.get(position)
            draft.drop(position)
            if answer is not None and self.leave[answer] <= self.leave[position] and draft.kept[answer]:
                draft.drop(answer)

    def _bodies(self, position: int) -> list[tuple[Entry, list[Form]]]:
        """A person's message with its pasted bodies shortened, in two lengths."""
        if position not in self._with_bodies:
            return []
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
        """A group's messages that may be cut, each with its cuts, whatever was cut so far."""
        if position not in self._known:
            lengths = self._lengths_of(position)
            self._known[position] = [(entry, list(_cuts_of(entry, lengths))) for entry in self._long_texts(position)]
        return self._known[position]

    def _lengths_of(self, position: int) -> list[Cut]:
        """The cuts of a group's messages: the usual ones for results, down to the prescribed one if there is one."""
        has_results = len(self._draft.view.members[position]) > 1
        usual = list(self._lengths) if has_results else []
        shortest = self.to.get(position)
        if not shortest:
            return usual
        return [*(cut for cut in usual if cut.shown_chars > shortest.shown_chars), shortest]

    def _long_texts(self, position: int) -> list[Entry]:
        """A group's results that are long enough to cut; else its one message that has a prescribed cut."""
        if position not in self._long:
            members = self._draft.view.members[position]
            texts = members if len(members) == 1 and position in self.to else members[1:]
            least = {entry.id: LEAST_SAVED for entry, _ in answers_of_people(self._draft.view.groups[position])}
            self._long[position] = [e for e in texts if e.id and e.tokens >= least.get(e.id, LEAST_TOKENS)]
        return self._long[position]

    def _smaller(self, position: int, stage: Stage) -> Iterator[Form]:
        """A quarter less of each text that may be cut at one of the last stages."""
        draft = self._draft
        for entry in self._texts_of(position, stage):
            chars, tokens = draft.chars_of(entry), draft.tokens_of(entry)
            is_long = chars > LEAST_SHOWN_CHARS
            if not entry.id or chars == 0 or not (is_long or stage == Stage.LAST):
                continue
            least_saved = 0
            if stage in (Stage.ANSWERS, Stage.TEXTS):  # words: all their cuts together have to save enough
                least_saved = max(0, LEAST_SAVED - (entry.tokens - tokens))
            keep = min(int(SMALLER * chars), chars - least_saved * chars // max(1, tokens))
            if keep < LEAST_SHOWN_CHARS and least_saved > 0:
                continue
            cut = self._shorter(entry, max(LEAST_SHOWN_CHARS, keep) if is_long else 0)
            saved = int(tokens * (1 - min(1.0, cut.shown_chars / chars)))
            if cut not in self._tried[entry.id]:
                yield Form(entry, cut, max(1, saved), 1 if is_long else 2)

    def _texts_of(self, position: int, stage: Stage) -> Sequence[Entry]:
        """The messages of a group that a stage shortens."""
        members = self._draft.view.members[position]
        head = members[0]
        if stage == Stage.LAST:
            return members
        if stage == Stage.SHORTEN:
            return members[1:]
        is_meant = head.human if stage == Stage.TEXTS else head.role == "assistant"
        return members if is_meant and len(members) == 1 else ()

    def _shorter(self, entry: Entry, keep_chars: int) -> Cut:
        """The cut of a text to a length: of words at paragraphs, of a result at lines."""
        if entry.human and keep_chars > 0:
            return self._draft.words_cut(entry, keep_chars)
        if entry.role == "assistant" and keep_chars > 0:
            return prose_cut(keep_chars - keep_chars // 2, keep_chars // 2)
        return excerpt_cut(keep_chars)


def _cuts_of(entry: Entry, lengths: Iterable[Cut]) -> Iterator[Form]:
    """The cuts of one message to some lengths that are shorter than it is."""
    texts, tokens = entry.gist.terms.text_chars, entry.tokens
    all_chars, longest = max(1, sum(texts)), max(texts, default=0)
    if tokens < LEAST_TOKENS or all_chars <= LEAST_SHOWN_CHARS:
        return
    for number, cut in enumerate(lengths):
        chars = cut.shown_chars
        shown = min(all_chars, chars if cut.lines else chars * len(texts))
        saved = tokens - tokens * shown // all_chars - MARKER_TOKENS * len(texts)
        words: float = 1 + number
        if chars:
            words = min(words, ENDS_WORDS)
        if chars < longest and saved >= MARKER_TOKENS:
            yield Form(entry, cut, saved, words)
