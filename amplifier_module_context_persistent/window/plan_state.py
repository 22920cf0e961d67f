"""The active plan, the entries that it keeps and those that came since; and the same with some messages whole again.

A message is whole where its tool group is shown and none of it is cut or offloaded. One that a plan left out is read
from the log again with its group, and shown at its position.

Only what is new is read, so taking in costs what was appended. The log's plan is followed when a log is taken up, and
when another process compacted the session.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial

from ..compaction.planner import Compaction
from ..config import Config
from ..log.base import Log
from ..log.index import USER, Index
from ..messages.elide import WHOLE
from ..messages.late_result import LateCall
from ..messages.message import Message
from ..view.arrangement import Arrangement, Count
from ..view.calls_and_results import Group, last_human, tool_groups
from ..view.entry import (
    Entry,
    end_chains,
    gives_way,
    media_left_out,
    with_changes,
    with_closed,
    without_some_media,
)
from ..view.plan import NO_PLAN, Plan, is_plan_for, kept_ordinals, live_positions
from .cold_start import BATCH, ClassifyAll, group_around, in_place, near_and_older
from .message_source import MessageSource
from .request import ViewRequest


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


logger = logging.getLogger(__name__)


class KeptEntries:
    """The entries of one window.

    Args:
        config: the policy.
        source: describes messages.
        follows_log: whether plans that others store in the log are followed.
    """

    def __init__(self, config: Config, source: MessageSource, *, follows_log: bool) -> None:
        self._config, self._source, self._follows_log = config, source, follows_log
        self._index: Index | None = None
        self._generation = -1
        self.state = PlanState([])
        """The plan in force, the entries that it keeps and those that came since."""
        self._logged = ""
        """The id of the log's plan that is known here, whether it is followed or not."""
        self.lost_item = False
        """Whether that plan shows what a provider compacted, and cannot be followed."""
        self._taken = 0
        """How much of `index.live` the entries cover."""
        self._far_budget = 0
        """Without a plan, the budget for which the older part of a long history was left out."""
        self._dropped: set[int] = set()
        """Ordinals of messages in no log that a plan left out."""

    @property
    def plan(self) -> Plan | None:
        """The plan in force."""
        return self.state.plan

    @property
    def shows_item(self) -> bool:
        """Whether the plan in force shows what a provider compacted."""
        return self.plan is not None and self.plan.native is not None

    @property
    def basis(self) -> tuple[int, str]:
        """What a summary, or an item, is valid for: this history under this plan."""
        return self._generation, self.plan.id if self.plan is not None else ""

    def last(self, log: Log) -> int | None:
        """The ordinal of the last live message that was taken in."""
        return log.index.live[self._taken - 1] if self._taken else None

    def _after_last(self, log: Log) -> int:
        """The ordinal after that one."""
        last = self.last(log)
        return last + 1 if last is not None else 0

    def entries(
        self,
        log: Log,
        *,
        has_factory: bool,
        state: PlanState | None = None,
        wanted: AbstractSet[int] = frozenset(),
    ) -> list[Entry]:
        """All entries of a view: unsaved ones first, ephemeral ones after those that they were added after.

        Args:
            log: the log.
            has_factory: whether stored system messages give way to a head text.
            state: whose entries, where it is not the one in force.
            wanted: ordinals of messages that are shown though the plan left them out.
        """
        stored = (state or self.state).entries
        without = self._dropped - wanted if wanted else self._dropped
        return visible(self._source.extras.merge(log.index, stored, without), has_factory=has_factory)

    def take_in(self, log: Log, budget_tokens: int) -> bool:
        """Take in what is new in the log; whether it was taken up anew, with another plan or none."""
        index, stored = log.index, log.index.session.plan
        anew = index is not self._index or index.generation != self._generation
        if not anew and self._follows_log and stored is not None and stored.get("id") != self._logged:
            if self.plan is not None and stored.get("id") == self.plan.id:
                self._logged = self.plan.id
            else:
                anew = True  # another process compacted this session
        if anew:
            self._take_up(log, stored)
        if 0 < self._far_budget < budget_tokens:
            self.state, self._taken = replace(self.state, entries=[], left_out=0), 0
        new = index.live[self._taken :]
        if self.plan is None and not self.state.entries and len(new) > BATCH:
            self.state = state_without_plan(log, self._source, budget_tokens, self._config)
            self._far_budget = budget_tokens if self.state.left_out else 0
        else:
            self.state.entries.extend(self._source.describe(log, new))
        self._taken = len(index.live)
        return anew

    def _take_up(self, log: Log, record: Message | None) -> None:
        """Begin anew with what the log says: a plan of it, and what it keeps."""
        self._index, self._generation = log.index, log.index.generation
        self.state, self._far_budget = PlanState([]), 0
        if record is not None:
            known, self._logged = self._logged, str(record.get("id"))
            try:
                self.state = self._follow_stored(log, record)
            except ValueError as error:
                self.lost_item = "native" in record and known != self._logged
                logger.warning("the stored plan cannot be followed (%s); a new one is made when it is needed", error)
        self._taken = self.state.left_out + len(self.state.entries)

    def _follow_stored(self, log: Log, record: Message) -> PlanState:
        """The state after the plan that the log holds.

        Raises:
            ValueError: it cannot be followed.
        """
        ordinals, upto = kept_ordinals(log.index, record)
        entries = self._source.describe(log, ordinals)
        plan = Plan.from_record(record, [entry.id for entry in entries])
        entries = end_chains(without_some_media(with_closed(entries, plan.closed), plan.media, self._source.count))
        cut_tokens = self._source.cut_sizes(log, entries, plan.cuts)
        return PlanState(entries, plan, cut_tokens, upto + 1 - len(ordinals), log.index.live[upto] + 1)

    def begin_with(self, log: Log, other: KeptEntries, budget_tokens: int) -> None:
        """Begin with the log's plan for about this budget below the session's; else with another window's."""
        record = log.index.session.side_plan
        if is_plan_for(log.index, record, budget_tokens):
            self._take_up(log, record)
            if self.plan is not None:
                return
        self._index, self._generation = other._index, other._generation
        self.state = replace(other.state, entries=list(other.state.entries))
        self._taken, self._far_budget = other._taken, other._far_budget
        self._logged, self._dropped = other._logged, set(other._dropped)

    def follow_plan(self, log: Log, made: Compaction, state: PlanState, *, has_factory: bool) -> None:
        """Keep what a plan keeps, and what gives way to the head in this process."""
        stays = made.kept_ordinals | hidden(state.entries, has_factory=has_factory)
        kept = [entry for entry in state.entries if entry.ordinal in stays]
        self._taken = len(log.index.live)
        entries, left_out = with_closed(kept, made.plan.closed), self._taken - len(kept)
        entries = end_chains(without_some_media(entries, made.plan.media, self._source.count))
        covers = self._after_last(log)
        self.state, self._far_budget = PlanState(entries, made.plan, made.cut_tokens, left_out, covers), 0
        self._dropped = (self._dropped | self._source.extras.ordinals()) - made.kept_ordinals

    def leave_out_media(
        self,
        log: Log,
        request: ViewRequest,
        arrangement: Arrangement,
        beyond: Mapping[int, frozenset[int]],
        plan_id: str,
    ) -> Compaction | None:
        """Make and follow the plan that leaves out some media of a view and nothing else, cut as it is.

        So everything before the first image that goes stays as it was. None where a plan can name none of them.

        Args:
            log: the log.
            request: the request.
            arrangement: its view.
            beyond: by ordinal, the numbers of media that have to go.
            plan_id: the id of the new plan.
        """
        state = self.state
        if state.plan is None and state.left_out:
            return None  # a long history that was not read yet needs a plan of its own first
        going = {entry.id: beyond[entry.ordinal] for entry in state.entries if entry.ordinal in beyond and entry.id}
        lighter = without_some_media(state.entries, going, self._source.count)
        before = replace(state, entries=lighter, plan=state.plan or NO_PLAN)
        plan = before.as_plan(plan_id, self.last(log))
        if not going or plan is None:
            return None
        counted = self._source.cut_sizes(log, [entry for entry in lighter if entry.id in going], plan.cuts)
        tokens = request.room.fixed_tokens + arrangement.tokens
        plan = replace(plan, budget_tokens=request.budget_tokens, tokens_before=tokens)
        stored = frozenset(entry.ordinal for entry in state.entries)
        kept = stored | (self._source.extras.ordinals() - self._dropped)
        made = Compaction(plan, arrangement, {**state.cut_tokens, **counted}, kept)
        self.follow_plan(log, made, state, has_factory=request.has_factory)
        return made

    # -- messages that have to be whole ------------------------------------------------------------------------------

    def shows_whole(self, ordinals: AbstractSet[int]) -> bool:
        """Whether some messages are shown whole."""
        return self.state.shows_whole(ordinals) and not self._dropped & ordinals

    def bring_back(self, log: Log, ordinals: AbstractSet[int], plan_id: str) -> None:
        """Show some messages whole, by a plan of this window's own."""
        state = self.state.with_whole(ordinals, log, self._source)
        plan, covers = state.as_plan(plan_id, self.last(log)), self._after_last(log)
        self.state = replace(state, plan=plan, entries=end_chains(state.entries), covers=covers)
        self._dropped -= ordinals


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
