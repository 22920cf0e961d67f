"""The entries that views are made of: what the plan in force keeps, and what came since.

Only what is new is read, so taking in costs what was appended. The log's plan is followed when a log is taken up, and
when another process compacted the session.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import partial

from ..compaction.planner import Compaction
from ..config import Config
from ..log.base import Log
from ..log.index import Index
from ..view.entry import Entry, end_chains, gives_way, with_closed, without_some_media
from ..view.plan import Plan
from ..view.plan_record import live_positions
from .cold_start import near_and_older
from .message_source import MessageSource
from .plan_state import PlanState, stored_plan_state, visible

logger = logging.getLogger(__name__)

_BATCH = 256  # a longer history without a plan is taken in from its end


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
        self.followed: list[Entry] = []
        """The entries of the log's plan, when it was taken up."""
        self._logged = ""
        """The id of the log's plan that is known here, whether it is followed or not."""
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
    def basis(self) -> Hashable:
        """What a summary is valid for: this history under this plan."""
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

    def positions(self, log: Log, state: PlanState) -> dict[int, int]:
        """By ordinal, where the messages of a state are in the live history."""
        ordinals = [entry.ordinal for entry in state.entries]
        return dict(zip(ordinals, live_positions(log.index.live, ordinals), strict=True))

    def take_in(self, log: Log, budget_tokens: int) -> bool:
        """Take in what is new in the log; whether it was taken up anew, with another plan or none."""
        index = log.index
        anew = index is not self._index or index.generation != self._generation
        if not anew and self._follows_log and index.plan is not None and index.plan.get("id") != self._logged:
            if self.plan is not None and index.plan.get("id") == self.plan.id:
                self._logged = self.plan.id
            else:
                anew = True  # another process compacted this session
        if anew:
            self._take_up(log)
        if 0 < self._far_budget < budget_tokens:
            self.state, self._taken = replace(self.state, entries=[], left_out=0), 0
        new = index.live[self._taken :]
        if self.plan is None and not self.state.entries and len(new) > _BATCH:
            entries = near_and_older(index, partial(self._source.describe, log), budget_tokens, self._config)
            self.state = PlanState(entries, left_out=len(index.live) - len(entries))
            self._far_budget = budget_tokens if self.state.left_out else 0
        else:
            self.state.entries.extend(self._source.describe(log, new))
        self._taken = len(index.live)
        return anew

    def _take_up(self, log: Log) -> None:
        """Begin anew with what the log says: its plan, and what it keeps."""
        self._index, self._generation = log.index, log.index.generation
        self.state, self.followed, self._taken, self._far_budget = PlanState([]), [], 0, 0
        record = log.index.plan
        if record is None:
            return
        self._logged = str(record.get("id"))
        try:
            self.state, self._taken = stored_plan_state(
                log,
                record,
                lambda ordinals: self._source.describe(log, ordinals),
                self._source.count,
                self._config.truncate_boundary,
            )
        except ValueError as error:
            logger.warning("the stored plan cannot be followed (%s); a new one is made when it is needed", error)
            return
        self.followed = list(self.state.entries)

    def begin_with(self, other: KeptEntries) -> None:
        """Take over another window's plan and entries."""
        self._index, self._generation = other._index, other._generation
        self.state = replace(other.state, entries=list(other.state.entries))
        self._taken, self._far_budget = other._taken, other._far_budget
        self._logged, self._dropped = other._logged, set(other._dropped)

    def follow_plan(self, log: Log, made: Compaction, state: PlanState, *, has_factory: bool) -> None:
        """Keep what a plan keeps, and what gives way to the head in this process."""
        hidden = {entry.ordinal for entry in state.entries if has_factory and gives_way(entry.role, entry.source)}
        kept = [e for e in state.entries if e.ordinal in made.kept_ordinals or e.ordinal in hidden]
        self._taken = len(log.index.live)
        entries, left_out = with_closed(kept, made.plan.closed), self._taken - len(kept)
        entries = end_chains(without_some_media(entries, made.plan.media, self._source.count))
        covers = self._after_last(log)
        self.state, self._far_budget = PlanState(entries, made.plan, made.cut_tokens, left_out, covers), 0
        self._dropped -= made.kept_ordinals
        self._dropped |= self._source.extras.ordinals() - made.kept_ordinals

    # -- messages that have to be whole ------------------------------------------------------------------------------

    def shows_whole(self, ordinals: AbstractSet[int]) -> bool:
        """Whether some messages are shown whole."""
        return self.state.shows_whole(ordinals) and not self._dropped & ordinals

    def with_whole(self, log: Log, ordinals: AbstractSet[int]) -> PlanState:
        """The state with some messages whole."""
        describe, count = self._source.describe, self._source.count
        return self.state.with_whole(ordinals, log, lambda wanted: describe(log, wanted), count)

    def bring_back(self, log: Log, ordinals: AbstractSet[int], plan_id: str) -> None:
        """Show some messages whole, by a plan of this window's own."""
        state = self.with_whole(log, ordinals)
        plan, covers = state.as_plan(plan_id, self.last(log)), self._after_last(log)
        self.state = replace(state, plan=plan, entries=end_chains(state.entries), covers=covers)
        self._dropped -= ordinals
