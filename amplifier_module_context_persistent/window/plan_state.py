"""The entries of a window under its plan, and the same state with several messages shown in full again.

A message is shown in full if its tool group is shown and no message of the group is cut or offloaded. A message that a
plan left out is read from the log again with its group, and shown in its place.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial

from ..config import Config
from ..log.contract import Log
from ..log.index import USER, Index, live_positions
from ..messages.elide import WHOLE
from ..messages.late_output_text import LateCall
from ..view.arrangement import Count
from ..view.entry import (
    Entry,
    gives_way,
    media_left_out,
    with_changes,
)
from ..view.plan import NO_PLAN, Plan
from ..view.tool_groups import Group, last_human, tool_groups
from .entries_without_plan import ClassifyAll, group_around, in_place, near_and_older
from .message_source import MessageSource


@dataclass(frozen=True, slots=True)
class PlanState:
    """Entries of the live history in order, the plan that kept these, and the number of messages that it leaves out."""

    entries: list[Entry]
    plan: Plan | None = None
    cut_tokens: Mapping[str, int] = field(default_factory=dict)
    """Tokens of the cut messages after the cut, by message id."""
    left_out: int = 0
    covers: int = 0
    """The ordinal after the last message that the plan covers."""

    def shows_whole(self, ordinals: AbstractSet[int]) -> bool:
        """Return whether the messages at `ordinals` are shown in full in this state.

        Messages with negative ordinals, which no log has, are ignored.
        """
        if not ordinals:
            return True
        whole = set[int]()
        for group in tool_groups(self.entries):
            members = group.entries()
            if not any(map(self._is_cut, members)):
                whole.update(entry.ordinal for entry in members)
        return all(ordinal in whole for ordinal in ordinals if ordinal >= 0)

    def _is_cut(self, entry: Entry) -> bool:
        cut = entry.form.offload
        if self.plan is not None:
            if entry.id in self.plan.silent:
                return True
            cut = self.plan.cuts.get(entry.id, cut)
        return cut is not None and cut.shortens

    def hides_in_item(self, index: Index) -> bool:
        """Return whether a hidden turn is among the messages that the provider's item replaces."""
        hidden_turns = index.session.hidden
        plan = self.plan
        if not hidden_turns or plan is None or plan.native is None:
            return False
        known = {entry.ordinal for entry in self.entries} | {*index.find_all(plan.left_out.hidden).values()}
        return any(index.columns.roles[ordinal] == USER for ordinal in hidden_turns - known)

    def with_whole(self, ordinals: AbstractSet[int], log: Log, source: MessageSource) -> PlanState:
        """Return the state in which the given messages are shown in full; self if they are shown in full already.

        Args:
            ordinals: the messages; each must be live.
            log: the open log of the session.
            source: describes and counts its messages.
        """
        if self.shows_whole(ordinals):
            return self
        entries = self._with_groups(ordinals, log.index.live, partial(source.describe, log))
        whole_entries: dict[str, Entry] = {}  # the messages and their groups, by id
        for group in tool_groups(entries):
            members = group.entries()
            if any(entry.ordinal in ordinals for entry in members):
                whole_entries.update((entry.id, entry) for entry in members)
        plan = self.plan or NO_PLAN
        cuts = {message_id: cut for message_id, cut in plan.cuts.items() if message_id not in whole_entries}
        changed: list[Entry] = []
        for entry in whole_entries.values():
            marker = plan.cuts.get(entry.id, WHOLE).then  # the text of a gap after this message stays
            if marker or entry.form.offload is not None:
                cuts[entry.id] = replace(WHOLE, then=marker)
                changed.append(entry)
        cut_tokens = {
            message_id: tokens for message_id, tokens in self.cut_tokens.items() if message_id not in whole_entries
        }
        cut_tokens |= source.cut_sizes(log, changed, cuts)
        followed = None
        if self.plan is not None or changed:
            followed = replace(plan, cuts=cuts, silent=plan.silent - whole_entries.keys())
        left_out = self.left_out - (len(entries) - len(self.entries))
        return PlanState(entries, followed, cut_tokens, left_out, self.covers)

    def _with_groups(self, ordinals: AbstractSet[int], live: array[int], classify_all: ClassifyAll) -> list[Entry]:
        """Return the entries with the tool groups of messages that are not shown, all in the history's order."""
        known_ordinals = {entry.ordinal for group in tool_groups(self.entries) for entry in group.entries()}
        missing = [ordinal for ordinal in ordinals if ordinal >= 0 and ordinal not in known_ordinals]
        known = {entry.ordinal for entry in self.entries}
        more: dict[int, Entry] = {}
        for position in live_positions(live, missing):
            for entry in group_around(live, position, classify_all):
                if entry.ordinal not in known:
                    more[entry.ordinal] = entry
        return [entry for _, entry in in_place(live, [*self.entries, *more.values()])]

    def as_plan(self, plan_id: str, last: int | None) -> Plan | None:
        """Return the plan in force with another id, these entries and `last` as its end, or None if no plan is."""
        plan = self.plan
        if plan is None:
            return None
        notice = plan.notice
        gaps = plan.left_out.gaps
        if not self.left_out:  # nothing is left out any more
            notice = replace(notice, text="")
            gaps = ()
        return replace(
            plan,
            id=plan_id,
            upto=next((entry.id for entry in reversed(self.entries) if entry.ordinal == last), plan.upto),
            keep=tuple(entry.id for entry in self.entries),
            closed={entry.id: entry.changes.closed for entry in self.entries if entry.changes.closed},
            media=media_left_out(self.entries),
            notice=notice,
            left_out=replace(plan.left_out, messages=self.left_out, gaps=gaps),
        )


def visible(entries: list[Entry], *, has_factory: bool) -> list[Entry]:
    """Return the entries that views show. With a factory, system messages that its text replaces are left out."""
    if not has_factory:
        return entries
    return [entry for entry in entries if not gives_way(entry.role, entry.origin.source)]


def hidden(entries: list[Entry], *, has_factory: bool) -> frozenset[int]:
    """Return the ordinals of system messages that the factory's text replaces.

    Such messages do not count as left out.
    """
    if not has_factory:
        return frozenset()
    return frozenset(entry.ordinal for entry in entries if gives_way(entry.role, entry.origin.source))


def mark(entries: list[Entry], *, pins: AbstractSet[int], retained: AbstractSet[int]) -> list[Entry]:
    """Mark the entries that a plan must keep unchanged: the pinned and the retained messages."""
    return [_marked(entry, pins, retained) for entry in entries]


def _marked(entry: Entry, pins: AbstractSet[int], retained: AbstractSet[int]) -> Entry:
    is_retained = entry.ordinal in retained
    if entry.ordinal in pins:
        entry = replace(entry, pinned=True)
    if is_retained != entry.changes.protected:
        entry = with_changes(entry, protected=is_retained)
    return entry


def without_hidden(entries: list[Entry], ordinals: AbstractSet[int]) -> tuple[list[Entry], list[Group]]:
    """Return the entries without hidden turns, and the tool groups that were left out.

    System text that stays, pins and the turn in progress are never hidden.
    """
    groups = tool_groups(entries)
    before_turn = groups[: last_human(groups) or 0]
    hidden_groups = list[Group]()
    going = set[int]()
    for group in before_turn:
        always_stays = group.pinned or group.head.stays
        if group.head.ordinal in ordinals and not always_stays:
            hidden_groups.append(group)
            going.update(entry.ordinal for entry in group.entries())
    return [entry for entry in entries if entry.ordinal not in going], hidden_groups


def hidden_quotes(plan: Plan, index: Index) -> frozenset[str]:
    """Return the ids of messages in hidden turns that a plan quotes."""
    hidden = index.session.hidden
    if not hidden:
        return frozenset()
    quoted = list[str]()
    for gap in plan.left_out.gaps or ():
        quoted += [quote.id for quote in gap.said]
    return frozenset(message_id for message_id, ordinal in index.find_all(quoted).items() if ordinal in hidden)


def state_without_plan(log: Log, source: MessageSource, budget_tokens: int, config: Config) -> PlanState:
    """Return the state of the live history without a plan, as far back as a view of this budget may need.

    Args:
        log: the open log of the session.
        source: describes and counts its messages.
        budget_tokens: the budget of the view.
        config: gives `target_usage` and `protect_first`.
    """
    entries = near_and_older(log.index, partial(source.describe, log), budget_tokens, config)
    return PlanState(entries, left_out=len(log.index.live) - len(entries))


def with_late_told(
    state: PlanState,
    entries: list[Entry],
    late_results: Sequence[Entry],
    retained: frozenset[int],
    count: Count,
    *,
    tells: bool,
) -> list[Entry]:
    """Return the entries with late results (`view.missing_results`) shown as messages before the next human message.

    A late result without a human message after it is left out. The calls keep a stand-in until the next plan, which
    puts the results in their places.

    Args:
        state: the state of the window.
        entries: the entries of the view.
        late_results: the late results among them.
        retained: ordinals of messages that must be in their places.
        count: counts the heading that says which call a result answers.
        tells: whether late results are shown before the plan; False for logs of older versions.
    """
    late = {entry.ordinal for entry in late_results if entry.ordinal >= state.covers} - retained
    if not late:
        return entries
    names = {call.id: call.name for entry in entries for call in entry.calls}
    found: list[Entry] = []
    waiting: list[Entry] = []
    for entry in entries:
        if entry.ordinal in late:
            waiting.append(entry)
            continue
        if entry.human and tells:
            found += [_told(result, names, count) for result in waiting]
            waiting = []
        found.append(entry)
    return found


def _told(result: Entry, names: Mapping[str, str], count: Count) -> Entry:
    """Return a late result as a user message with a heading that names the call."""
    call_id = result.result_of or ""
    call = LateCall(call_id, names.get(call_id, ""))
    tokens = result.tokens + count({"content": f"{call.heading}\n```\n\n```"})
    changes = replace(result.changes, told_of=call)
    return replace(result, role="user", result_of=None, tokens=tokens, changes=changes)
