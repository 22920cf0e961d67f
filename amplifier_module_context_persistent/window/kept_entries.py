"""The entries that one window keeps: those that the plan in force keeps, and those that came since.

Only what is new is read, so taking in costs what was appended. The log's plan is followed when a log is taken up, and
when another process compacted the session.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from ..compaction.planner import Compaction
from ..config import Config
from ..log.base import Log
from ..log.index import Index
from ..messages.message import Message
from ..view.arrangement import Arrangement
from ..view.entry import (
    Entry,
    end_chains,
    with_closed,
    without_some_media,
)
from ..view.plan import NO_PLAN, Plan, is_plan_for, kept_ordinals
from .cold_start import BATCH
from .message_source import MessageSource
from .plan_state import PlanState, hidden, state_without_plan, visible
from .request import ViewRequest

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
        """Follow the plan in force in the log, which another process may have made.

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
