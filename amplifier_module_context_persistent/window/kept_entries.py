"""The entries that one window keeps: the entries of the plan in force, and the entries appended since.

Each request reads only new messages. The log's plan is followed when a log is opened, and when another process has
compacted the session.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from ..compaction.planner import Compaction
from ..config import Config
from ..log.contract import Log
from ..log.index import Index
from ..messages.message import Message
from ..view.arrangement import Arrangement
from ..view.entry import (
    Entry,
    end_chains,
    with_closed,
    without_some_media,
)
from ..view.plan import NO_PLAN, Plan
from ..view.stored_plan import is_plan_for, kept_ordinals
from .entries_without_plan import BATCH
from .message_source import MessageSource
from .plan_state import PlanState, hidden, state_without_plan, visible
from .request import ViewRequest

logger = logging.getLogger(__name__)


class KeptEntries:
    """The entries of one window: the messages that its view may show, as a plan left them.

    Args:
        config: the policy.
        source: describes messages.
        follows_log: whether plans that other processes store in the log are followed.
    """

    def __init__(self, config: Config, source: MessageSource, *, follows_log: bool) -> None:
        self._config = config
        self._source = source
        self._follows_log = follows_log
        self._index: Index | None = None
        self._generation = -1
        self._indexes = 0
        """The number of indexes of the log that were read: a purge, for example, gives the log a new index."""
        self.state = PlanState([])
        """The plan in force, the entries that the plan keeps, and the entries appended since."""
        self._logged = ""
        """The id of the last known plan in the log, followed or not."""
        self.lost_item = False
        """Whether the last known plan in the log shows a provider's item and cannot be followed."""
        self._taken = 0
        """The number of messages of `index.live` that the entries cover."""
        self._far_budget = 0
        """The budget for which only a part of a long history was loaded; 0 with a plan or the whole history."""
        self._dropped: set[int] = set()
        """Ordinals of ephemeral messages that a plan left out."""

    @property
    def plan(self) -> Plan | None:
        """The plan in force, or None if no plan is."""
        return self.state.plan

    @property
    def shows_item(self) -> bool:
        """Whether the plan in force shows the result of a provider's own compaction (`view.plan.NativeItem`)."""
        return self.plan is not None and self.plan.native is not None

    @property
    def basis(self) -> tuple[tuple[int, int], str]:
        """The identity of the history, and of its plan. A summary or a provider's item is valid for one basis only.

        A purge makes another history, because a summary from before it may contain what was purged.
        """
        return (self._indexes, self._generation), self.plan.id if self.plan is not None else ""

    def last(self, log: Log) -> int | None:
        """Return the ordinal of the last live message that was read, or None if no message was read."""
        return log.index.live[self._taken - 1] if self._taken else None

    def _after_last(self, log: Log) -> int:
        """Return the ordinal after `last`, or 0 if no message was read."""
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
        """Return all entries of a view.

        Unsaved entries come first; an ephemeral entry follows the record that was appended before it.

        Args:
            log: the open log of the session.
            has_factory: whether a head text replaces stored system messages.
            state: the state to take the entries from; by default the one in force.
            wanted: ordinals of ephemeral messages that are shown although the plan left them out.
        """
        stored = (state or self.state).entries
        without = self._dropped - wanted if wanted else self._dropped
        return visible(self._source.unlogged.merge(log.index, stored, without), has_factory=has_factory)

    def take_in(self, log: Log, budget_tokens: int) -> bool:
        """Read new messages of the log.

        Returns:
            Whether all entries were loaded again, because the history or its plan is another one.
        """
        index = log.index
        is_other_history = index is not self._index or index.generation != self._generation
        if not is_other_history:
            self._note_own_plan(index.session.plan)
        reloads = is_other_history or self._has_new_plan(index.session.plan)
        if reloads:
            self._load(log, index.session.plan)
        needs_older = 0 < self._far_budget < budget_tokens
        if needs_older:
            self.state = replace(self.state, entries=[], left_out=0)
            self._taken = 0
        new = index.live[self._taken :]
        if self.plan is None and not self.state.entries and len(new) > BATCH:
            self.state = state_without_plan(log, self._source, budget_tokens, self._config)
            self._far_budget = budget_tokens if self.state.left_out else 0
        else:
            self.state.entries.extend(self._source.describe(log, new))
        self._taken = len(index.live)
        return reloads

    def _note_own_plan(self, stored: Message | None) -> None:
        """Note that the last plan in the log is the plan in force, if it is."""
        if not self._follows_log or self.plan is None or stored is None:
            return
        if stored.get("id") == self.plan.id:
            self._logged = self.plan.id

    def _has_new_plan(self, stored: Message | None) -> bool:
        """Return whether the log has a plan of another process that this window must follow."""
        return self._follows_log and stored is not None and stored.get("id") != self._logged

    def _load(self, log: Log, record: Message | None) -> None:
        """Load the entries of a stored plan.

        Begin without entries if there is no plan, or if the plan cannot be followed.
        """
        if log.index is not self._index:
            self._indexes += 1
        self._index = log.index
        self._generation = log.index.generation
        self.state = PlanState([])
        self._far_budget = 0
        if record is not None:
            logged_before = self._logged
            self._logged = str(record.get("id"))
            try:
                self.state = self._follow_stored(log, record)
            except ValueError as error:
                self.lost_item = "native" in record and logged_before != self._logged
                logger.warning("the stored plan cannot be followed (%s); a new one is made when it is needed", error)
        self._taken = self.state.left_out + len(self.state.entries)

    def _follow_stored(self, log: Log, record: Message) -> PlanState:
        """Return the window's state under a stored plan.

        Raises:
            ValueError: the plan cannot be followed.
        """
        ordinals, upto = kept_ordinals(log.index, record)
        described = self._source.describe(log, ordinals)
        plan = Plan.from_record(record, [entry.id for entry in described])
        entries = end_chains(self._without_media(with_closed(described, plan.closed), plan))
        cut_tokens = self._source.cut_sizes(log, entries, plan.cuts)
        left_out = upto + 1 - len(ordinals)
        return PlanState(entries, plan, cut_tokens, left_out, covers=log.index.live[upto] + 1)

    def begin_with(self, log: Log, other: KeptEntries, budget_tokens: int) -> None:
        """If the log's side plan is for about this budget, load the plan.

        Otherwise copy another window's plan and entries.
        """
        record = log.index.session.side_plan
        if is_plan_for(log.index, record, budget_tokens):
            self._load(log, record)
            if self.plan is not None:
                return
        self._index = other._index
        self._indexes = other._indexes
        self._generation = other._generation
        self.state = replace(other.state, entries=list(other.state.entries))
        self._taken = other._taken
        self._far_budget = other._far_budget
        self._logged = other._logged
        self._dropped = set(other._dropped)

    def follow_plan(self, log: Log, compaction: Compaction, state: PlanState, *, has_factory: bool) -> None:
        """Follow a new plan: keep its entries, and system messages that the host's system prompt replaces in views.

        Args:
            log: the open log of the session.
            compaction: the new plan, and its view.
            state: the entries that the plan was made from.
            has_factory: whether the host's system prompt replaces stored system messages.
        """
        plan = compaction.plan
        staying = compaction.kept_ordinals | hidden(state.entries, has_factory=has_factory)
        staying_entries = [entry for entry in state.entries if entry.ordinal in staying]
        entries = end_chains(self._without_media(with_closed(staying_entries, plan.closed), plan))
        self._taken = len(log.index.live)
        left_out = self._taken - len(staying_entries)
        self.state = PlanState(entries, plan, compaction.cut_tokens, left_out, covers=self._after_last(log))
        self._far_budget = 0
        ephemerals = self._source.unlogged.ordinals()
        self._dropped = (self._dropped | ephemerals) - compaction.kept_ordinals

    def _without_media(self, entries: list[Entry], plan: Plan) -> list[Entry]:
        """Return the entries without the media that a plan leaves out."""
        return without_some_media(entries, plan.media, self._source.count, no_recall=plan.rules.no_recall)

    def leave_out_media(
        self,
        log: Log,
        request: ViewRequest,
        arrangement: Arrangement,
        beyond: Mapping[int, frozenset[int]],
        plan_id: str,
    ) -> Compaction | None:
        """Make and follow a plan that leaves out the media in `beyond` and nothing else.

        The rest of the view does not change, so everything in the view before the first of these media is unchanged.
        Return None if the plan cannot name any of these media.

        Args:
            log: the open log of the session.
            request: the request that the view is for: its budget, its provider and its tools.
            arrangement: the view of the request.
            beyond: the numbers of the media to leave out, by ordinal.
            plan_id: the id of the new plan.
        """
        state = self.state
        if state.plan is None and state.left_out:
            return None  # a long history that is not fully loaded needs its first plan before this one
        going = {entry.id: beyond[entry.ordinal] for entry in state.entries if entry.ordinal in beyond and entry.id}
        no_recall = not self._config.offers_recall
        lighter = without_some_media(state.entries, going, self._source.count, no_recall=no_recall)
        before = replace(state, entries=lighter, plan=state.plan or NO_PLAN)
        plan = before.as_plan(plan_id, self.last(log))
        if not going or plan is None:
            return None
        counted = self._source.cut_sizes(log, [entry for entry in lighter if entry.id in going], plan.cuts)
        tokens = request.room.fixed_tokens + arrangement.tokens
        making = replace(plan.making, budget_tokens=request.budget_tokens, tokens_before=tokens)
        plan = replace(plan, making=making, rules=replace(plan.rules, no_recall=no_recall))
        stored = frozenset(entry.ordinal for entry in state.entries)
        staying = stored | (self._source.unlogged.ordinals() - self._dropped)
        compaction = Compaction(plan, arrangement, {**state.cut_tokens, **counted}, staying)
        self.follow_plan(log, compaction, state, has_factory=request.has_factory)
        return compaction

    # -- messages that must be shown in full --------------------------------------------------------------------------

    def shows_whole(self, ordinals: AbstractSet[int]) -> bool:
        """Return whether the view shows the messages at `ordinals` in full."""
        return self.state.shows_whole(ordinals) and not self._dropped & ordinals

    def bring_back(self, log: Log, ordinals: AbstractSet[int], plan_id: str) -> None:
        """Show the messages at `ordinals` in full, by a new plan of this window."""
        state = self.state.with_whole(ordinals, log, self._source)
        plan = state.as_plan(plan_id, self.last(log))
        covers = self._after_last(log)
        self.state = replace(state, plan=plan, entries=end_chains(state.entries), covers=covers)
        self._dropped -= ordinals
