"""A draft: which groups a view keeps and how their messages are cut, while a plan is being chosen.

A group is a message with the results of its calls. A cut says which parts of a message's text a view shows. A gap is a
place where the view leaves groups out. The choice changes a draft by three operations, which also update its sums:
leave a group out, put it back, and cut a message. The facts about a view that do not change are in `groups`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import compress
from typing import NamedTuple

from ..messages.elide import Cut
from ..messages.message import Message
from ..view.entry import Entry
from ..view.render import shorten
from ..view.tool_groups import Group
from .answer_items import answer_cut
from .groups import Groups
from .persons_words import Divided, divided, prose_chars, told_lines, words_cut
from .plan_request import PlanRequest
from .quotes import SAID_SHARE
from .whole_rows import with_whole_rows

MARKER_TOKENS = 20  # the approximate size of a cut's marker; a cut that saves less is not worth it
GAP_TOKENS = 20  # the approximate size of a gap's marker that names two tools and the reference
LEAST_BODY_TOKENS = 200  # of a person's message with a pasted body that is worth a cut
CHARS_A_TOKEN = 3  # approximately, in the markers of gaps
OTHER_MESSAGES = "other messages"
_SYSTEM = "system messages"
_PINS = "pins"
_LAST_HUMAN = "last human message"
_NEWEST = "newest messages"


class _Estimated(NamedTuple):
    """A message whose tokens are an estimate, with its state before it was cut."""

    position: int
    entry: Entry
    cut: Cut | None
    """The cut before the tokens were estimated; None if the message was shown whole."""
    tokens: int
    """The tokens of the message with the earlier cut."""


class Draft:
    """A view in the making. At first the draft keeps every group, with the cuts of the previous plan.

    Args:
        request: the input of the plan.
    """

    def __init__(self, request: PlanRequest) -> None:
        self.request = request
        self.config = request.config
        self.view = view = Groups(request.entries, request.count, request.so_far.memory)
        self.fixed_tokens = request.fixed_tokens
        """Tokens that are counted in the total and cannot be compacted."""
        self.silent = request.so_far.plan.silent | request.reader.unbound
        """The ids of messages whose thinking the view will not show."""
        self.gap_tokens = GAP_TOKENS if request.config.compaction_notice_enabled else 0
        """The tokens of a gap's marker; 0 if gaps are not marked."""
        known = {gap.before for gap in request.so_far.plan.left_out.gaps or ()}
        self.gap_before = [group.head.id in known for group in view.groups]
        """For each group, whether an earlier plan left out messages right before it."""
        self.kept = [True] * len(view)
        self.fixed = frozenset(view.untouchable(preserve_system=request.config.preserve_system))
        """The positions of the groups that no plan may leave out. A plan may shorten some of them."""
        self.cuts: dict[str, Cut] = {}
        self.cut_tokens: dict[str, int] = {}
        """The tokens of each cut message, its thinking included, by message id."""
        self._ever_cut = set[int]()
        """The positions of the groups with a message that is cut now, or was cut before in this draft."""
        self.sizes = list(view.tokens)
        """The tokens of each group with its current cuts."""
        self._apply_earlier_cuts()
        self._compute_targets()
        self.total_messages = sum([1 + len(group.results) for group in view.groups])
        self._is_quoted = self.gap_tokens > 0 and not request.summary_so_far
        """Whether gaps have quotes."""
        self.total_tokens = self.fixed_tokens + sum(self.sizes) + self.gap_tokens * sum(self.gap_before)
        """The tokens of the view, without quotes, which come on top of the target (`quotes_room`)."""
        self._shown: dict[str | int, tuple[Cut | None, frozenset[str]]] = {}
        self._estimated: dict[str, _Estimated] = {}
        """The messages whose tokens are estimated, by id."""
        self._least_saved = MARKER_TOKENS
        self._least_of_people = 0

    def _apply_earlier_cuts(self) -> None:
        """Give messages the cuts of the previous plan or of their offload, and correct the sizes of their groups."""
        cut_before = self.request.so_far.plan.cuts
        changed = cut_before.keys() | self.silent
        for position, members in enumerate(self.view.members):
            for entry in members:
                if entry.id not in changed and entry.form.offload is None:
                    continue
                if entry.id in cut_before or entry.form.offload is not None:
                    self._cut_as_before(entry)
                    self._ever_cut.add(position)
                self.sizes[position] += self.tokens_of(entry) - entry.tokens

    def _compute_targets(self) -> None:
        """Divide the budget: the tokens that stay anyway, and the room for all others. The sizes must be known."""
        self.unmovable_tokens = self.fixed_tokens + sum([self.sizes[position] for position in self._unmovable()])
        """The tokens that no plan can remove: head text, tool definitions, system text that stays, and pins."""
        movable = max(0, self.request.budget_tokens - self.unmovable_tokens)
        self.room_tokens = int(movable * self.config.target_usage)
        """The tokens that a plan aims at for all other messages. Promises and quotes may take shares of them."""
        self.usual_target_tokens = self.unmovable_tokens + self.room_tokens
        """The target of a plan that is not early."""
        self.target_tokens = self.unmovable_tokens + int(self.room_tokens * self.request.target_share)
        self.threshold_tokens = self.unmovable_tokens + int(movable * self.config.compact_threshold)

    def _unmovable(self) -> list[int]:
        """Return the positions of the groups that no plan can remove: lasting system text, and groups with a pin."""
        unmovable = []
        for position in self.fixed:
            group = self.view.groups[position]
            if group.head.instructs or any(entry.pinned for entry in group.entries()):
                unmovable.append(position)
        return unmovable

    def message_of(self, entry: Entry) -> Message:
        """Return the stored message of an entry."""
        (message,) = self.request.fetch([entry])
        return message

    def words_cut(self, entry: Entry, keep_chars: int) -> Cut:
        """Return the cut that keeps about this many characters of a text that a person or the model wrote."""
        memory = self.request.so_far.memory
        if entry.human:
            return words_cut(memory.told(entry, lambda: told_lines(self.message_of(entry))), keep_chars)
        return memory.answer_cut(entry, keep_chars, lambda: answer_cut(self.message_of(entry), keep_chars))

    def prose_tokens(self, position: int) -> int:
        """Estimate the number of tokens in a person's message without its pasted bodies.

        A message that is cut, short or without text counts in full, with its current cut.
        """
        head = self.view.groups[position].head
        size = self.sizes[position]
        if head.tokens < LEAST_BODY_TOKENS or head.id in self.cuts:
            return size
        chars = sum(head.gist.terms.text_chars)
        return size if chars == 0 else size * prose_chars(self.divided(head)) // chars

    def divided(self, entry: Entry) -> Sequence[Divided]:
        """Return the texts of a person's message, each divided into prose and pasted bodies."""
        return self.request.so_far.memory.divided(entry, lambda: divided(self.message_of(entry)))

    def _cut_as_before(self, entry: Entry) -> None:
        """Give a message the cut that it had in the previous plan, or else the cut of its offload.

        The lines that the previous plan put after the text, such as a gap's marker, are removed from the cut.
        """
        cut = self.request.so_far.plan.cuts.get(entry.id, entry.form.offload)
        if cut is None or (cut.then and not cut.shortens and entry.form.offload is None):
            return
        line_tokens = len(cut.then) // CHARS_A_TOKEN
        self.cuts[entry.id] = cut.with_line("") if cut.then else cut
        self.cut_tokens[entry.id] = self.request.so_far.cut_tokens.get(entry.id, entry.tokens) - line_tokens

    def fits(self, goal_tokens: int) -> bool:
        """Return whether the view has at most `goal_tokens` tokens, and not too many messages for `max_messages`."""
        most = self.config.max_messages
        few = most is None or self.total_messages <= max(1, int(most * self.config.target_usage))
        return few and self.total_tokens <= goal_tokens

    def kept_positions(self) -> list[int]:
        """Return the positions of the groups that the view keeps, in order."""
        return list(compress(range(len(self.kept)), self.kept))

    def tokens_of(self, entry: Entry) -> int:
        """Return the tokens of a message with its current cut. Thinking that the view does not show is not counted."""
        tokens = self.cut_tokens.get(entry.id, entry.tokens)
        return tokens - entry.tokens + entry.silent_tokens if entry.id in self.silent else tokens

    def chars_of(self, entry: Entry) -> int:
        """Return the approximate number of characters that a message's longest text shows with its current cut."""
        known = self.cuts.get(entry.id)
        if known is None:
            return max(entry.gist.terms.text_chars, default=0)
        return known.shown_chars

    def reserve(self, tokens: int) -> None:
        """Count this many tokens for texts that the plan will insert; a negative number gives tokens back."""
        self.fixed_tokens += tokens
        self.unmovable_tokens += tokens
        self.total_tokens += tokens

    def freed_by_leaving_out(self, position: int) -> int:
        """Return the number of tokens that leaving out a group saves.

        These are the group's own tokens, minus the marker of a new gap. If the group is between two gaps, a marker is
        saved too, because the gaps become one.
        """
        is_kept = self.kept
        after = position + 1
        gap_before = self.gap_before[position] or (position > 0 and not is_kept[position - 1])
        gap_after = after < len(is_kept) and (self.gap_before[after] or not is_kept[after])
        return self.sizes[position] + self.gap_tokens * (gap_before + gap_after - 1)

    @property
    def quotes_room(self) -> int:
        """The tokens that quotes may take on top of the others: at most a quarter of what is left to the threshold.

        The rest delays the next plan, and leaves room for the notice.
        """
        if not self._is_quoted:
            return 0
        return max(0, min(int(SAID_SHARE * self.room_tokens), (self.threshold_tokens - self.total_tokens) // 4))

    @property
    def all_quoted_tokens(self) -> int:
        """The estimated tokens of the quotes of all groups, as if each were left out."""
        return sum([facts.quote_tokens for facts in self.view.facts]) if self._is_quoted else 0

    def quoted_tokens(self, position: int) -> int:
        """Estimate the number of tokens in the quotes that are shown of a group if it is left out."""
        return self.view.facts[position].quote_tokens if self._is_quoted else 0

    def leave_out(self, position: int) -> None:
        """Leave a group out of the view."""
        self.total_tokens -= self.freed_by_leaving_out(position)
        self.total_messages -= 1 + len(self.view.groups[position].results)
        self.kept[position] = False

    def may_fit_again(self, position: int, most_tokens: int) -> bool:
        """Return whether the view may have at most `most_tokens` tokens after a left-out group is put back.

        True does not promise that the group fits: put it back (`put_back`) and look at the total.
        """
        if any(estimated.position == position for estimated in self._estimated.values()):
            return True  # the estimated tokens are counted when the group is put back
        return self.total_tokens + self.sizes[position] - self.gap_tokens <= most_tokens

    def put_back(self, position: int) -> None:
        """Put a left-out group back into the view."""
        self.kept[position] = True
        self.total_messages += 1 + len(self.view.groups[position].results)
        self.total_tokens += self.freed_by_leaving_out(position)
        if self._estimated:
            self._settle([estimate for estimate in self._estimated.values() if estimate.position == position])

    def cut(self, position: int, entry: Entry, cut: Cut) -> None:
        """Cut a message of a group and count it exactly, even if the cut saves nothing."""
        message = self.message_of(entry)
        cut = self._with_marker_wording(cut)
        if entry.result_of is not None:
            cut = with_whole_rows(message, cut)
        after = self.request.count(shorten(entry, message, cut, self.config.truncate_boundary))
        self._set_cut(position, entry, cut, after)

    def show_whole(self, position: int, entry: Entry) -> None:
        """Remove the cut of a message of a group."""
        self._set_cut(position, entry, None, entry.tokens)

    def cut_about(self, position: int, entry: Entry, cut: Cut, saved: int) -> None:
        """Cut a message of a group and estimate that this saves `saved` tokens; `settle` counts the message exactly."""
        tokens = self.cut_tokens.get(entry.id, entry.tokens)
        if entry.id not in self._estimated:
            self._estimated[entry.id] = _Estimated(position, entry, self.cuts.get(entry.id), tokens)
        self._set_cut(position, entry, self._with_marker_wording(cut), tokens - saved)

    def _with_marker_wording(self, cut: Cut) -> Cut:
        """Return the cut with the wording of its marker.

        The marker names `recall` only if the session has this tool.
        """
        if self.config.offers_recall or cut.instead:
            return cut
        return replace(cut, no_recall=True)

    def settle(self, least_saved: int = MARKER_TOKENS, least_of_people: int = 0) -> None:
        """Count all estimated messages exactly, and undo each cut that saves too little.

        Messages of groups that are left out now are counted when their group is put back (`put_back`).

        Args:
            least_saved: the tokens that a new cut has to save.
            least_of_people: the tokens that all cuts of a person's message together have to save.
        """
        self._least_saved = least_saved
        self._least_of_people = least_of_people
        self._settle([estimate for estimate in self._estimated.values() if self.kept[estimate.position]])

    def _settle(self, estimated: Sequence[_Estimated]) -> None:
        """Count some of the estimated messages exactly, and undo each cut that saves too little."""
        messages = self.request.fetch([estimate.entry for estimate in estimated])
        for (position, entry, known, before), message in zip(estimated, messages, strict=True):
            del self._estimated[entry.id]
            cut, after = self._counted(entry, message, self.cuts[entry.id])
            is_too_little = entry.human and entry.tokens - after < self._least_of_people
            if before - after >= self._least_saved and not is_too_little:
                self._set_cut(position, entry, cut, after)
            else:
                self._set_cut(position, entry, known, before)

    def _counted(self, entry: Entry, message: Message, cut: Cut) -> tuple[Cut, int]:
        """Return a cut of a message, and the tokens that it leaves. The cut of a result is extended to whole rows."""
        memory = self.request.so_far.memory
        known = memory.counted(entry, cut)
        if known is None:
            grown = cut if entry.result_of is None else with_whole_rows(message, cut)
            shown_message = shorten(entry, message, grown, self.config.truncate_boundary)
            is_whole = shown_message.get("content") == message.get("content")
            tokens = entry.tokens if is_whole else self.request.count(shown_message)
            known = (grown, tokens)
            memory.count(entry, cut, *known)
        return known

    def shown_terms(self, position: int) -> frozenset[str]:
        """Return the set of terms that a group shows with its current cuts."""
        facts = self.view.facts[position]
        if position not in self._ever_cut:
            return facts.names
        cuts = [self.cuts.get(entry.id) for entry in facts.members]
        return facts.names_with(cuts, self.names_of)

    def names_of(self, entry: Entry) -> Collection[str]:
        """Return the terms that a message shows, each once, as a collection that need not be a set."""
        return self.terms_of(entry) if entry.id in self.cuts else entry.gist.terms.names

    def terms_of(self, entry: Entry) -> frozenset[str]:
        """Return the set of terms that a message shows. The set is cached until the message's cut changes."""
        cut = self.cuts.get(entry.id)
        key = entry.id or entry.ordinal
        known = self._shown.get(key)
        if known is None or known[0] is not cut:
            if cut is not None and cut.lines:
                names = self.request.so_far.memory.shown(entry, cut)
            else:
                names = frozenset(entry.gist.terms.shown(cut))
            known = self._shown[key] = cut, names
        return known[1]

    def _set_cut(self, position: int, entry: Entry, cut: Cut | None, tokens: int) -> None:
        self._ever_cut.add(position)
        freed = self.cut_tokens.get(entry.id, entry.tokens) - tokens
        self.sizes[position] -= freed
        self.total_tokens -= freed * self.kept[position]
        if cut is None:
            del self.cuts[entry.id], self.cut_tokens[entry.id]
        else:
            self.cuts[entry.id] = cut
            self.cut_tokens[entry.id] = tokens


def floor(draft: Draft) -> dict[str, int]:
    """Return the tokens of a draft's parts (system messages, pins, other messages, …), for errors and events."""
    fixed_tokens = {_SYSTEM: 0, _PINS: 0, _LAST_HUMAN: 0, _NEWEST: 0}
    for position in draft.fixed:
        fixed_tokens[_part_of(draft, position)] += draft.sizes[position]
    kept_tokens = sum([draft.sizes[position] for position in draft.kept_positions()])
    other_tokens = kept_tokens - sum(fixed_tokens.values())
    return {"system prompt, tools and overhead": draft.fixed_tokens, **fixed_tokens, OTHER_MESSAGES: other_tokens}


def _part_of(draft: Draft, position: int) -> str:
    """Return the name of the part to which a group that must stay is counted."""
    group = draft.view.groups[position]
    if group.pinned:
        return _PINS
    if group.head.instructs:
        return _SYSTEM
    if position == draft.view.turn:
        return _LAST_HUMAN
    return _NEWEST


def pinned(draft: Draft) -> list[tuple[str, int]]:
    """Return the ids of a draft's pinned messages, each with the tokens of its tool group, which stays too."""
    groups = ((position, draft.view.groups[position]) for position in draft.kept_positions())
    return [(_pin_of(group), draft.sizes[position]) for position, group in groups if group.pinned]


def _pin_of(group: Group) -> str:
    """Return the id of a group's pinned message, of its head if none is pinned, or a phrase if there is no id."""
    pins = (entry.id for entry in group.entries() if entry.pinned and entry.id)
    return next(pins, group.head.id) or "a message in no log"
