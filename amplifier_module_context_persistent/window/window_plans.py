"""Decides when a window needs a new plan, has it made, and applies it to the entries that the window keeps.

A plan is made and followed in one step, so that the entries that the window keeps are always those of its plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import NamedTuple

from ..compaction.plan_memory import PlanMemory
from ..compaction.plan_request import PlanRequest
from ..compaction.planner import Compaction, compact
from ..compaction.protected_ends import protect
from ..compaction.provider_limits import all_media, media_beyond, view_bytes
from ..compaction.strategies import STRATEGIES
from ..compaction.summary_span import Span
from ..config import Config
from ..errors import FloorError, SummaryError
from ..log.base import Log
from ..view.arrangement import Arrangement
from ..view.calls_and_results import last_human, tool_groups
from ..view.entry import Entry, end_chains
from ..view.plan import NO_PLAN, Plan
from .cold_start import in_place
from .kept_entries import KeptEntries
from .message_source import MessageSource, collector_paused
from .plan_state import PlanState, hidden, mark, state_without_plan, visible, without_hidden
from .replan_throttle import ReplanThrottle
from .request import ViewRequest
from .summary_request import span_of
from .view_arranger import ViewArranger
from .when_to_plan import for_cold_cache, worth_it

_ATTEMPTS = 4  # to bring the bytes of a view's text within the limits
SMALL = 0.5  # of the target's room: a view that takes less may take in again what the log has
SMALL_AFTER_SMALL_BUDGET = 0.75  # the same if its plan was made for half of the budget or less


class PlanReason(Enum):
    """Why a plan is to be made."""

    SIZE = "the view has reached the threshold, or a plan was asked for"
    HIDDEN = "turns were hidden, or shown again, since the plan in force"
    SMALL = "the plan in force was made for a much smaller budget"


class PlanAttempt(NamedTuple):
    """The plan that was made and is followed; or, if it would free too little, the tokens that none can free."""

    made: Compaction | None = None
    floor: dict[str, int] | None = None
    """By name, in tokens: what cannot be compacted."""


class WindowPlans:
    """Make and follow the plans of one window.

    Args:
        config: the policy.
        kept: the entries of the window.
        arranger: arranges its views.
        source: its messages.
        new_id: makes the ids of plans.
        stores: whether plans go to the log.
    """

    def __init__(
        self,
        config: Config,
        kept: KeptEntries,
        arranger: ViewArranger,
        source: MessageSource,
        new_id: Callable[[], str],
        *,
        stores: bool,
    ) -> None:
        self._config, self._kept, self._arranger, self._source = config, kept, arranger, source
        self._new_id, self._stores = new_id, stores
        self._throttle = ReplanThrottle(config)
        self._grown_from = set[int]()
        """Bits of the budgets after which a view was to grow: once for each, as two that drift may take turns (I6)."""
        self._memory = PlanMemory()

    def take_in(self, log: Log, request: ViewRequest) -> None:
        """Take in what is new in the log."""
        if self._kept.take_in(log, request.budget_tokens):
            self._throttle.forget()
            if self._kept.plan is not None:
                shown = visible(self._kept.state.entries[: len(self._kept.plan.keep)], has_factory=request.has_factory)
                messages = len(self._arranger.arrange(log, request, shown).items)
                self._throttle.record_plan(self._kept.plan.tokens_after, messages, self._kept.plan.budget_tokens)

    def prepared(self, log: Log, request: ViewRequest) -> ViewRequest:
        """Note what plans must leave whole; and take a pause into account only if a plan may be made early.

        A pause brings no first plan forward, nor one that costs reasoning or a summary.
        """
        self._throttle.set_constraints(request.retained, log.index.session.pins | log.index.session.hidden)
        may_be_early = self._kept.plan is not None and not request.sums_up and not self._arranger.bound.shows_running
        return replace(request, is_cold=False) if request.is_cold and not may_be_early else request

    def why_plan(
        self, log: Log, request: ViewRequest, arrangement: Arrangement, *, asks_provider: bool
    ) -> PlanReason | None:
        """Decide whether a plan is to be made for a view, and why.

        Args:
            log: the log.
            request: the request.
            arrangement: its view.
            asks_provider: whether its provider is asked to compact: then a new turn brings no plan forward.

        Raises:
            FloorError: it was tried for this very view, and cannot be made to fit.
        """
        fixed = request.room.fixed_tokens
        unmovable = fixed + self._arranger.totals(arrangement).unmovable_tokens
        begins_turn = self._arranger.bound.begins_turn and not asks_provider
        tokens, messages = fixed + arrangement.tokens, len(arrangement.items)
        if self._throttle.wants_plan(request, tokens, messages, unmovable_tokens=unmovable, begins_turn=begins_turn):
            return PlanReason.SIZE
        if request.plans_now and self.hides_otherwise(log, request):
            return PlanReason.HIDDEN
        return PlanReason.SMALL if self._may_grow(request, arrangement) else None

    def within_media_limits(
        self, log: Log, request: ViewRequest, arrangement: Arrangement
    ) -> tuple[Arrangement, Compaction | None]:
        """A view, its images and documents brought within the limits, and the plan that was made for that."""
        limits = request.room.limits
        if limits is None or not self._arranger.totals(arrangement).with_media:
            return arrangement, None
        beyond = media_beyond(arrangement.items, limits, request.room.fixed_bytes)
        return self._without_media(log, request, arrangement, beyond) if beyond else (arrangement, None)

    def plan(self, log: Log, request: ViewRequest, tokens: int, messages: int) -> PlanAttempt:
        """Make a plan for a view of so many tokens and messages; a smaller one if its view still has too many bytes.

        Raises:
            FloorError: the view cannot be made to fit.
        """
        planned = PlanAttempt()
        for _ in range(_ATTEMPTS):
            with collector_paused():
                try:
                    attempt = self._plan(log, request, tokens, messages)
                except FloorError as error:
                    attempt = self._plan_without_media(log, request, tokens, messages, error)
            if attempt.made is None:
                return PlanAttempt(planned.made, attempt.floor)
            arrangement, lighter = self.within_media_limits(log, request, attempt.made.arrangement)
            planned = PlanAttempt(lighter or attempt.made)
            smaller = request.with_room_for(arrangement.tokens, view_bytes(arrangement.items))
            if smaller is request:
                break
            request = smaller
        return planned

    def _plan(self, log: Log, request: ViewRequest, tokens: int, messages: int) -> PlanAttempt:
        """Make a plan, and follow it if it frees enough."""
        whole = request.retained | log.index.session.pins | set(self._hidden_before(log, hidden=False).values())
        budget, state = request.budget_tokens, self._kept.state.with_whole(whole, log, self._source)
        if self._kept.shows_item:  # its item says nothing to our own engine
            state = self._whole_log(log, request)
        try:
            made, entries = self._compact_protected(log, request, state)
            grown = self._grown(log, request, made)
        except FloorError as error:
            self._throttle.record_futile(tokens, messages, budget, error if tokens > budget else None)
            if tokens <= budget:
                return PlanAttempt(floor=error.fixed)
            error.tried = messages, tokens
            raise
        sizes = {"budget_tokens": budget, "tokens": tokens, "messages": messages}
        if grown is not None:
            made, entries, state = grown
        elif not (request.plans_now or worth_it(self._config, made, **sizes)):
            self._throttle.record_futile(tokens, messages, budget)
            return PlanAttempt(floor=made.floor)
        return PlanAttempt(self.follow(log, request, made, entries, state))

    def _plan_without_media(
        self, log: Log, request: ViewRequest, tokens: int, messages: int, refused: FloorError
    ) -> PlanAttempt:
        """Make a plan of a view that fits in no other way without its images, the newest one last.

        Raises:
            FloorError: it does not fit without them either.
        """
        before = self._kept.state
        for spared in (1, 0):
            arrangement = self._arranger.arrange(log, request)
            if beyond := all_media(arrangement.items, spared=spared):
                self._without_media(log, request, arrangement, beyond)
                try:
                    return self._plan(log, request, tokens, messages)
                except FloorError as error:
                    refused = error
        self._kept.state = before
        raise refused

    def _without_media(
        self, log: Log, request: ViewRequest, arrangement: Arrangement, beyond: Mapping[int, frozenset[int]]
    ) -> tuple[Arrangement, Compaction | None]:
        """The view without some media, and the plan that was made for that, unless they are in no log."""
        made = self._kept.leave_out_media(log, request, arrangement, beyond, self._new_id())
        self._source.extras.leave_out_media(beyond, self._source.count)
        shown = self._shown(log, request, made) if made is not None else None
        return self._arranger.arrange(log, request), shown

    def span(self, log: Log, request: ViewRequest, arrangement: Arrangement) -> Span | SummaryError:
        """What a summary in the next plan would replace, and the request for it; or why there can be none."""
        if not self._stores:
            return SummaryError("the request has a view of its own")
        entries, _ = without_hidden(self._kept.entries(log, has_factory=request.has_factory), log.index.session.hidden)
        planned = self._plan_request(log, request, self._kept.state, entries)
        return span_of(planned, arrangement, request, self._kept.basis)

    def follow(
        self, log: Log, request: ViewRequest, made: Compaction, planned: Sequence[Entry], state: PlanState
    ) -> Compaction:
        """Follow a plan; reasoning before its first change stays in its view if there is room.

        Args:
            log: the log.
            request: the request.
            made: the plan.
            planned: the entries that it was made of, whose reasoning may go.
            state: the state that it was made of.
        """
        self._kept.follow_plan(log, made, state, has_factory=request.has_factory)
        shown = self._shown(log, request, made)
        if shown.plan.tokens_after > request.budget_tokens and planned:
            unbound = {e.id for e in planned if e.reasoning.bond is not None} & set(made.plan.keep)
            shown = self._shown(log, request, replace(made, plan=replace(made.plan, silent=made.plan.silent | unbound)))
        self._throttle.record_plan(shown.plan.tokens_after, len(shown.arrangement.items), shown.plan.budget_tokens)
        return shown

    def _shown(self, log: Log, request: ViewRequest, made: Compaction) -> Compaction:
        """Follow a plan and arrange its view; what a reader that checks no prefix is shown no more, the plan says."""
        self._kept.state = replace(self._kept.state, plan=made.plan)
        arrangement = self._arranger.arrange(log, request, plans=True)
        plan = made.plan
        if not request.reader.checks_prefix and self._arranger.bound.unbound:
            heads = [arrangement.items[at].entry for at in self._arranger.bound.unbound]
            gone = {head.id for head in heads if head is not None and head.reasoning.tokens} & set(plan.keep)
            plan = replace(plan, silent=plan.silent | gone)
            self._kept.state = replace(self._kept.state, plan=plan)
            arrangement = self._arranger.arrange(log, request)
        plan = replace(plan, tokens_after=request.room.fixed_tokens + arrangement.tokens)
        self._kept.state = replace(self._kept.state, plan=plan)
        return replace(made, plan=plan, arrangement=arrangement)

    def plan_whole_log(self, log: Log, request: ViewRequest) -> Compaction:
        """Make and follow a plan of the history, as if there were none in force.

        Raises:
            FloorError: the view cannot be made to fit.
        """
        state = self._whole_log(log, request)
        made, entries = self._compact_protected(log, request, state)
        return self.follow(log, request, made, entries, state)

    def _whole_log(self, log: Log, request: ViewRequest, known: Plan | None = None) -> PlanState:
        """The state as if there were no plan, or one that leaves out nothing and knows what the one in force does."""
        state = state_without_plan(log, self._source, request.budget_tokens, self._config)
        return replace(state, plan=known).with_whole(request.retained | log.index.session.pins, log, self._source)

    def _unbound_by_plan(self, entries: Sequence[Entry]) -> frozenset[str]:
        """The ids of messages of finished turns with reasoning: a new plan is made as if it showed none of it.

        The reasoning of the running turn counts although it goes as well where it is bound: as much will come anew.
        """
        groups = tool_groups(entries)
        heads = (group.head for group in groups[: last_human(groups) or 0])
        return frozenset(
            head.id for head in heads if head.reasoning.bond is not None and head.reasoning.bond.reasoning and head.id
        )

    def _may_grow(self, request: ViewRequest, arrangement: Arrangement) -> bool:
        """Whether a turn begins in a small view that follows a plan for half of the budget or less."""
        last, before = (
            arrangement.items[-1].entry if arrangement.items else None,
            (self._kept.plan or NO_PLAN).budget_tokens,
        )
        begins = self._stores and last is not None and last.human and self._is_small(request, arrangement.tokens)
        grows = begins and 0 < 2 * before <= request.budget_tokens and before.bit_length() not in self._grown_from
        if grows:
            self._grown_from.add(before.bit_length())
        return grows

    def _is_small(self, request: ViewRequest, tokens: int) -> bool:
        """Whether messages are left out and those that stay leave much of the target's room empty.

        After a plan for half of the budget or less, a quarter is much: a long turn may have filled the rest since.
        After any other plan half of the room is.
        """
        config, plan = self._config, self._kept.plan
        uses_room = STRATEGIES[config.compaction_strategy].uses_room and config.max_messages is None
        follows = plan is not None and not plan.summary and plan.native is None and self._kept.state.left_out > 0
        if plan is None or not (uses_room and follows):
            return False
        room_tokens = int((request.budget_tokens - request.room.fixed_tokens) * config.target_usage)
        most = SMALL_AFTER_SMALL_BUDGET if 2 * plan.budget_tokens <= request.budget_tokens else SMALL
        return tokens < most * room_tokens

    def _grown(
        self, log: Log, request: ViewRequest, made: Compaction
    ) -> tuple[Compaction, list[Entry], PlanState] | None:
        """In place of a plan whose view is small, one of the history, with what it is made from.

        None where that brings back less than a quarter of the target.
        """
        tokens, plan = made.plan.tokens_after, self._kept.plan
        if plan is None or not self._is_small(request, tokens - request.room.fixed_tokens):
            return None
        known = replace(NO_PLAN, changed=plan.changed, read=plan.read, in_vain=plan.in_vain)
        state = self._whole_log(log, request, known)
        try:
            again, entries = self._compact_protected(log, request, state)
        except FloorError:
            return None
        return (again, entries, state) if again.plan.tokens_after - tokens >= made.plan.target_tokens // 4 else None

    def _policy(self, request: ViewRequest) -> Config:
        return for_cold_cache(self._config) if request.is_cold else self._config

    def _compact_protected(self, log: Log, request: ViewRequest, state: PlanState) -> tuple[Compaction, list[Entry]]:
        """Make a plan with the protections of the configuration, or without where it fits in no other way.

        Returns:
            It, and the entries that it is made of.
        """
        entries = self._kept.entries(log, has_factory=request.has_factory, state=state, wanted=request.retained)
        entries = mark(end_chains(entries), pins=log.index.session.pins, retained=request.retained)
        entries, gone = without_hidden(entries, log.index.session.hidden)
        state = replace(state, left_out=state.left_out + sum(len(group.entries()) for group in gone))
        protected = protect(
            entries,
            log.index.live,
            config=self._policy(request),
            budget_tokens=request.budget_tokens,
            fixed_tokens=request.room.fixed_tokens,
            tokens_of=lambda entry: state.cut_tokens.get(entry.id, entry.tokens),
        )
        try:
            made = compact(self._plan_request(log, request, state, protected, self._new_id()))
        except FloorError:
            if protected is entries:
                raise
            made = compact(self._plan_request(log, request, state, entries, self._new_id()))
        still = self._hidden_before(log, hidden=True)
        hides = tuple(dict.fromkeys([*still, *(group.head.id for group in gone)]))
        return replace(made, plan=replace(made.plan, hidden=hides)), entries

    def hides_otherwise(self, log: Log, request: ViewRequest) -> bool:
        """Whether turns were hidden, or shown again, since the plan in force."""
        entries = self._kept.entries(log, has_factory=request.has_factory)
        records = log.index.session
        _, gone = without_hidden(mark(entries, pins=records.pins, retained=request.retained), records.hidden)
        return bool(gone or self._hidden_before(log, hidden=False) or self._kept.state.hides_in_item(log.index))

    def _hidden_before(self, log: Log, *, hidden: bool) -> dict[str, int]:
        """What the plan in force left out as hidden, that is hidden still, or is not any more: ordinals by id."""
        found = (
            log.index.find_all(self._kept.plan.hidden) if self._kept.plan is not None and self._kept.plan.hidden else {}
        )
        now = log.index.session.hidden
        return {name: at for name, at in found.items() if log.index.is_live(at) and (at in now) == hidden}

    def _plan_request(
        self, log: Log, request: ViewRequest, state: PlanState, entries: Sequence[Entry], plan_id: str = ""
    ) -> PlanRequest:
        summary = request.summary
        return PlanRequest(
            entries,
            config=self._policy(request),
            budget_tokens=request.budget_tokens,
            fixed_tokens=request.room.fixed_tokens,
            count=self._source.count,
            fetch=partial(self._source.fetch, log),
            plan_id=plan_id,
            previous=state.plan or NO_PLAN,
            cut_tokens=state.cut_tokens,
            left_out=state.left_out,
            positions={entry.ordinal: at for at, entry in in_place(log.index.live, state.entries)},
            arranged=self._arranger.last,
            reader=request.reader,
            wire=self._arranger.wire(log, request, strict=True),
            unbound=self._unbound_by_plan(entries),
            shown_anyway=hidden(state.entries, has_factory=request.has_factory),
            memory=self._memory,
            summary=summary if summary and summary.basis == self._kept.basis else None,
        )
