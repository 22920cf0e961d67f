"""The entries of a window under its plan, and the same with some messages whole again.

A message is whole where its tool group is shown and none of it is cut or offloaded. One that a plan left out is read
from the log again with its group, and shown at its position.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial

from ..config import Config
from ..log.base import Log
from ..log.index import USER, Index
from ..messages.elide import WHOLE
from ..messages.late_result import LateCall
from ..view.arrangement import Count
from ..view.calls_and_results import Group, last_human, tool_groups
from ..view.entry import (
    Entry,
    gives_way,
    media_left_out,
    with_changes,
)
from ..view.plan import NO_PLAN, Plan, live_positions
from .cold_start import ClassifyAll, group_around, in_place, near_and_older
from .message_source import MessageSource


@dataclass(frozen=True, slots=True)
class PlanState:
    """Entries of the live history in order, the plan that left them, and how many messages it left out."""

    entries: list[Entry]
    plan: Plan | None = None
    cut_tokens: Mapping[str, int] = field(default_factory=dict)
    """By message id, what the cut messages come to."""
    left_out: int = 0
    covers: int = 0
    """The ordinal after the last message that the plan covers."""

    def shows_whole(self, ordinals: AbstractSet[int]) -> bool:
        """Whether the messages of some ordinals are whole; those that are in no log are not looked for."""
        if not ordinals:
            return True
        groups = (group.entries() for group in tool_groups(self.entries))
        whole = {entry.ordinal for group in groups if not any(map(self._is_cut, group)) for entry in group}
        return all(ordinal in whole for ordinal in ordinals if ordinal >= 0)

    def _is_cut(self, entry: Entry) -> bool:
        cut = self.plan.cuts.get(entry.id, entry.form.offload) if self.plan else entry.form.offload
        return (cut is not None and cut.shortens) or (self.plan is not None and entry.id in self.plan.silent)

    def hides_in_item(self, index: Index) -> bool:
        """Whether a turn was hidden that the item in force stands for."""
        hidden_turns, plan = index.session.hidden, self.plan
        if not hidden_turns or plan is None or plan.native is None:
            return False
        known = {entry.ordinal for entry in self.entries} | {*index.find_all(plan.hidden).values()}
        return any(index.columns.roles[ordinal] == USER for ordinal in hidden_turns - known)

    def with_whole(self, ordinals: AbstractSet[int], log: Log, source: MessageSource) -> PlanState:
        """The same with some messages whole; this very object where they are so already.

        Args:
            ordinals: which messages; each is live.
            log: the log.
            source: describes and counts its messages.
        """
        if self.shows_whole(ordinals):
            return self
        entries = self._with_groups(ordinals, log.index.live, partial(source.describe, log))
        groups = [group.entries() for group in tool_groups(entries)]
        held = {e.id: e for group in groups if any(one.ordinal in ordinals for one in group) for e in group}
        plan = self.plan or NO_PLAN
        lines = {entry.id: plan.cuts.get(entry.id, WHOLE).then for entry in held.values()}
        changed = [entry for entry in held.values() if entry.form.offload is not None or lines[entry.id]]
        cuts = {message_id: cut for message_id, cut in plan.cuts.items() if message_id not in held}
        cuts |= {entry.id: replace(WHOLE, then=lines[entry.id]) for entry in changed}
        cut_tokens = {message_id: n for message_id, n in self.cut_tokens.items() if message_id not in held}
        cut_tokens |= source.cut_sizes(log, changed, cuts)
        followed = replace(plan, cuts=cuts, silent=plan.silent - held.keys()) if self.plan or changed else None
        left_out = self.left_out - (len(entries) - len(self.entries))
        return PlanState(entries, followed, cut_tokens, left_out, self.covers)

    def _with_groups(self, ordinals: AbstractSet[int], live: array[int], classify_all: ClassifyAll) -> list[Entry]:
        shown = {entry.ordinal for group in tool_groups(self.entries) for entry in group.entries()}
        missing = [ordinal for ordinal in ordinals if ordinal >= 0 and ordinal not in shown]
        groups = (group_around(live, position, classify_all) for position in live_positions(live, missing))
        wanted = {entry.ordinal: entry for group in groups for entry in group}
        more = wanted.keys() - {entry.ordinal for entry in self.entries}
        return [entry for _, entry in in_place(live, self.entries + [wanted[ordinal] for ordinal in more])]

    def as_plan(self, plan_id: str, last: int | None) -> Plan | None:
        """The plan of these entries under another id, up to the last live message; None where there is none."""
        plan = self.plan
        if plan is None:
            return None
        return replace(
            plan,
            id=plan_id,
            upto=next((entry.id for entry in reversed(self.entries) if entry.ordinal == last), plan.upto),
            keep=tuple(entry.id for entry in self.entries),
            closed={entry.id: entry.changes.closed for entry in self.entries if entry.changes.closed},
            media=media_left_out(self.entries),
            notice=plan.notice if self.left_out else "",
            gaps=plan.gaps if self.left_out else (),
            dropped=self.left_out,
        )


def visible(entries: list[Entry], *, has_factory: bool) -> list[Entry]:
    """The entries that views show where a factory gives the system text, or none does."""
    return [entry for entry in entries if not gives_way(entry.role, entry.origin.source)] if has_factory else entries


def hidden(entries: list[Entry], *, has_factory: bool) -> frozenset[int]:
    """The ordinals of those that give way to the factory's text: nothing of the history is missing there."""
    return frozenset(entry.ordinal for entry in entries if has_factory and gives_way(entry.role, entry.origin.source))


def mark(entries: list[Entry], *, pins: AbstractSet[int], retained: AbstractSet[int]) -> list[Entry]:
    """The entries that a plan is made of, with those marked that it has to leave as they are."""
    return [_marked(entry, pins, retained) for entry in entries]


def _marked(entry: Entry, pins: AbstractSet[int], retained: AbstractSet[int]) -> Entry:
    is_retained = entry.ordinal in retained
    if entry.ordinal in pins:
        entry = replace(entry, pinned=True)
    return with_changes(entry, protected=is_retained) if is_retained != entry.changes.protected else entry


def without_hidden(entries: list[Entry], ordinals: AbstractSet[int]) -> tuple[list[Entry], list[Group]]:
    """The entries without hidden turns, and the tool groups that go.

    System text that stays, pins and the turn in progress are never hidden.
    """
    groups = tool_groups(entries)
    gone = [
        group
        for group in groups[: last_human(groups) or 0]
        if group.head.ordinal in ordinals and not group.pinned and not group.head.stays
    ]
    going = {entry.ordinal for group in gone for entry in group.entries()}
    return [entry for entry in entries if entry.ordinal not in going], gone


def state_without_plan(log: Log, source: MessageSource, budget_tokens: int, config: Config) -> PlanState:
    """The live history as if it had no plan, as far back as the view of a budget may need it."""
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
    """The entries with results that came late told before the next person's message, or without them until then.

    Their stand-ins stay until the next plan, which puts them in their places.

    Args:
        state: the state of the window.
        entries: those of the view.
        late_results: the late ones among them.
        retained: the ordinals of messages that have to be in their places.
        count: counts the line that says which call a result answers.
        tells: whether they are told at all; logs of older versions wait for the plan.
    """
    late = {e.ordinal for e in late_results if e.ordinal >= state.covers} - retained
    if not late:
        return entries
    names = {call.id: call.name for entry in entries for call in entry.calls}
    found, waiting = list[Entry](), list[Entry]()
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
    """A late result as a message of its own."""
    call_id = result.result_of or ""
    call = LateCall(call_id, names.get(call_id, ""))
    tokens = result.tokens + count({"content": f"{call.heading}\n```\n\n```"})
    changes = replace(result.changes, told_of=call)
    return replace(result, role="user", result_of=None, tokens=tokens, changes=changes)
