"""Have a new plan made, and apply it to the entries that the window keeps. `when_to_plan` says when.

A plan is made and followed in one step, so that the kept entries always belong to the plan in force.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from ..compaction.plan_memory import PlanMemory
from ..compaction.plan_request import PlanRequest, RestOfHistory, Summary, ViewReader, ViewSoFar
from ..compaction.planner import Compaction, compact
from ..compaction.protected_ends import protect
from ..compaction.provider_limits import all_media, media_beyond, view_bytes
from ..compaction.quotes import without_quotes
from ..compaction.summary_span import Span
from ..config import Config
from ..errors import FloorError, SummaryError
from ..log.collector_paused import collector_paused
from ..log.contract import Log
from ..view.arrangement import Arrangement
from ..view.entry import Entry, end_chains
from ..view.plan import NO_PLAN, LeftOut, Plan
from ..view.tool_groups import last_human, tool_groups
from .entries_without_plan import in_place
from .kept_entries import KeptEntries
from .message_source import MessageSource
from .plan_gain import frees_enough
from .plan_state import PlanState, hidden, hidden_quotes, mark, state_without_plan, visible, without_hidden
from .replan_throttle import ReplanThrottle
from .request import ViewRequest
from .summary_request import span_of
from .view_arranger import ViewArranger
from .when_to_plan import COLD_TARGET, PlanTiming, hidden_before

_ATTEMPTS = 4  # plans that may be tried until a view is within the byte limits


class PlanAttempt(NamedTuple):
    """The plan that was made and is now followed, or the tokens that no plan can free if it would free too little."""

    compaction: Compaction | None = None
    floor: dict[str, int] | None = None
    """Tokens that cannot be compacted, by the name of their kind."""


class WindowPlans:
    """Makes and follows the plans of one window.

    Args:
        config: the policy.
        kept: the entries of the window.
        arranger: arranges its views.
        source: the messages of the window.
        new_id: makes the ids of plans.
        stores: whether plans go to the log.

    Attributes:
        timing: decides when a plan is made.
    """

    def __init__(
        self,
        config: Config,
        kept_entries: KeptEntries,
        arranger: ViewArranger,
        source: MessageSource,
        new_id: Callable[[], str],
        *,
        stores: bool,
    ) -> None:
        self._config = config
        self._kept = kept_entries
        self._arranger = arranger
        self._source = source
        self._new_id = new_id
        self._stores = stores
        self._throttle = ReplanThrottle(config)
        self.timing = PlanTiming(config, kept_entries, arranger, self._throttle, source.count, stores=stores)
        self._memory = PlanMemory()

    def take_in(self, log: Log, request: ViewRequest) -> None:
        """Read new messages of the log, and the plan of another process."""
        if self._kept.take_in(log, request.budget_tokens):
            self._throttle.forget()
            plan = self._kept.plan
            if plan is not None:
                planned = self._kept.state.entries[: len(plan.keep)]
                shown_entries = visible(planned, has_factory=request.has_factory)
                messages = len(self._arranger.arrange(log, request, shown_entries).items)
                self._throttle.record_plan(plan.making.tokens_after, messages, plan.making.budget_tokens)

    def prepared(self, log: Log, request: ViewRequest) -> ViewRequest:
        """Remember the messages that plans must keep in full, and return the request.

        The returned request has `is_cold` only if a cold cache may bring the next plan forward.
        """
        self._throttle.set_constraints(request.retained, log.index.session.pins | log.index.session.hidden)
        if request.is_cold and not self._may_be_early(request):
            return replace(request, is_cold=False)
        return request

    def _may_be_early(self, request: ViewRequest) -> bool:
        """Return whether a plan may be made early because the provider's cache is cold."""
        is_first_plan = self._kept.plan is None
        needs_summary = request.sums_up
        if is_first_plan or needs_summary:
            return False
        costs_reasoning = self._arranger.bound.shows_running  # a plan would remove the reasoning of the current turn
        return not costs_reasoning

    def within_media_limits(
        self, log: Log, request: ViewRequest, arrangement: Arrangement
    ) -> tuple[Arrangement, Compaction | None]:
        """Leave out images and documents beyond the limits.

        Return the view, and the plan if one was made (else None).
        """
        limits = request.room.limits
        if limits is None or not self._arranger.totals(arrangement).with_media:
            return arrangement, None
        beyond = media_beyond(arrangement.items, limits, request.room.fixed_bytes)
        if not beyond:
            return arrangement, None
        return self._without_media(log, request, arrangement, beyond)

    def plan(self, log: Log, request: ViewRequest, tokens: int, messages: int) -> PlanAttempt:
        """Make a plan for a view of this size.

        While the view has too many bytes, make another plan with a smaller budget.

        Args:
            log: the open log of the session.
            request: the request that the view is for: its budget, its provider and its tools.
            tokens: the tokens of the view without the plan.
            messages: the messages of the view without the plan.

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
            if attempt.compaction is None:
                return PlanAttempt(planned.compaction, attempt.floor)
            arrangement, lighter = self.within_media_limits(log, request, attempt.compaction.arrangement)
            planned = PlanAttempt(lighter or attempt.compaction)
            smaller = request.with_room_for(arrangement.tokens, view_bytes(arrangement.items))
            if smaller is request:
                break
            request = smaller
        return planned

    def _plan(self, log: Log, request: ViewRequest, tokens: int, messages: int) -> PlanAttempt:
        """Make a plan, and follow the plan if it frees enough."""
        budget = request.budget_tokens
        if self._kept.shows_item:  # our engine cannot read the item, so it plans from the whole log
            state = self._whole_log(log, request)
        else:
            shown_again = set(hidden_before(self._kept.plan, log.index, hidden=False).values())
            whole = request.retained | log.index.session.pins | shown_again
            state = self._kept.state.with_whole(whole, log, self._source)
        try:
            compaction, entries = self._compact_protected(log, request, state)
            grown = self._grown(log, request, compaction)
        except FloorError as error:
            if tokens <= budget:
                self._throttle.record_futile(tokens, messages, budget)
                return PlanAttempt(floor=error.fixed)
            self._throttle.record_futile(tokens, messages, budget, error)
            error.tried = messages, tokens
            raise
        if grown is not None:
            return PlanAttempt(self.follow(log, request, *grown))
        is_worth_it = frees_enough(self._config, compaction, budget_tokens=budget, tokens=tokens, messages=messages)
        if not is_worth_it and not request.plans_now:
            self._throttle.record_futile(tokens, messages, budget)
            return PlanAttempt(floor=compaction.floor)
        return PlanAttempt(self.follow(log, request, compaction, entries, state))

    def _plan_without_media(
        self, log: Log, request: ViewRequest, tokens: int, messages: int, refused: FloorError
    ) -> PlanAttempt:
        """Make a plan that also leaves out images, because the view does not fit with the images.

        The newest image goes last.

        Raises:
            FloorError: the view does not fit without images either.
        """
        before = self._kept.state
        for spared in (1, 0):
            arrangement = self._arranger.arrange(log, request)
            beyond = all_media(arrangement.items, spared=spared)
            if beyond:
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
        """Leave out media of a view.

        Return the new view, and the plan, which is None if none of the media is in the log.
        """
        compaction = self._kept.leave_out_media(log, request, arrangement, beyond, self._new_id())
        self._source.unlogged.leave_out_media(beyond, self._source.count)
        shown_compaction = self._shown(log, request, compaction) if compaction is not None else None
        return self._arranger.arrange(log, request), shown_compaction

    def span(self, log: Log, request: ViewRequest, arrangement: Arrangement) -> Span | SummaryError:
        """Return the messages that a summary would replace, with its request, or the reason why there is no summary."""
        if not self._stores:
            return SummaryError("the request has a view of its own")
        entries, _ = without_hidden(self._kept.entries(log, has_factory=request.has_factory), log.index.session.hidden)
        planned = self._plan_request(log, request, self._kept.state, entries)
        return span_of(planned, arrangement, request, self._kept.basis)

    def follow(
        self, log: Log, request: ViewRequest, compaction: Compaction, planned: Sequence[Entry], state: PlanState
    ) -> Compaction:
        """Follow a plan. Reasoning before its first change stays in the view if there is room.

        Args:
            log: the open log of the session.
            request: the request that the view is for: its budget, its provider and its tools.
            compaction: the plan.
            planned: the entries that the plan was made from; their reasoning may be left out.
            state: the state that the plan was made from.
        """
        self._kept.follow_plan(log, compaction, state, has_factory=request.has_factory)
        shown_compaction = self._shown(log, request, compaction)
        if shown_compaction.plan.making.tokens_after > request.budget_tokens and planned:
            bound = {entry.id for entry in planned if entry.reasoning.bond is not None} & set(compaction.plan.keep)
            without_reasoning = replace(compaction.plan, silent=compaction.plan.silent | bound)
            shown_compaction = self._shown(log, request, replace(compaction, plan=without_reasoning))
        self._throttle.record_plan(
            shown_compaction.plan.making.tokens_after,
            len(shown_compaction.arrangement.items),
            shown_compaction.plan.making.budget_tokens,
        )
        return shown_compaction

    def _shown(self, log: Log, request: ViewRequest, compaction: Compaction) -> Compaction:
        """Follow a plan and arrange its view.

        For a reader that checks no prefix, the plan also records which reasoning the view no longer shows.
        """
        self._kept.state = replace(self._kept.state, plan=compaction.plan)
        arrangement = self._arranger.arrange(log, request, plans=True)
        plan = compaction.plan
        if not request.reader.checks_prefix and self._arranger.bound.unbound:
            heads = [arrangement.items[at].entry for at in self._arranger.bound.unbound]
            without_reasoning = {head.id for head in heads if head is not None and head.reasoning.tokens} & set(
                plan.keep
            )
            plan = replace(plan, silent=plan.silent | without_reasoning)
            self._kept.state = replace(self._kept.state, plan=plan)
            arrangement = self._arranger.arrange(log, request)
        plan = plan.with_tokens(request.room.fixed_tokens + arrangement.tokens)
        self._kept.state = replace(self._kept.state, plan=plan)
        return replace(compaction, plan=plan, arrangement=arrangement)

    def plan_whole_log(self, log: Log, request: ViewRequest) -> Compaction:
        """Make and follow a plan of the whole history, as if no plan were in force.

        Raises:
            FloorError: the view cannot be made to fit.
        """
        state = self._whole_log(log, request)
        compaction, entries = self._compact_protected(log, request, state)
        return self.follow(log, request, compaction, entries, state)

    def _whole_log(self, log: Log, request: ViewRequest, known: Plan | None = None) -> PlanState:
        """Return the state of the whole history without a plan.

        Args:
            log: the open log of the session.
            request: the request that the view is for: its budget, its provider and its tools.
            known: a plan that leaves out nothing, to keep the lists of files and commands of the plan in force.
        """
        state = state_without_plan(log, self._source, request.budget_tokens, self._config)
        return replace(state, plan=known).with_whole(request.retained | log.index.session.pins, log, self._source)

    def _unbound_by_plan(self, entries: Sequence[Entry]) -> frozenset[str]:
        """Return the ids of messages whose reasoning a new plan does not count: the messages of finished turns.

        The reasoning of the running turn is counted although a plan may remove it, because the model will produce about
        as much again.
        """
        groups = tool_groups(entries)
        heads = (group.head for group in groups[: last_human(groups) or 0])
        return frozenset(
            head.id for head in heads if head.reasoning.bond is not None and head.reasoning.bond.reasoning and head.id
        )

    def _grown(
        self, log: Log, request: ViewRequest, compaction: Compaction
    ) -> tuple[Compaction, list[Entry], PlanState] | None:
        """If the view of a plan is small, make a plan of the whole history, which brings messages back.

        Return this plan with its entries and its state. The result is None if the view is not small, if no such
        plan can be made, or if it would bring back less than a quarter of the target.
        """
        tokens = compaction.plan.making.tokens_after
        plan = self._kept.plan
        if plan is None or not self.timing.is_small(request, tokens - request.room.fixed_tokens):
            return None
        kept_lists = LeftOut(changed=plan.left_out.changed, read=plan.left_out.read, in_vain=plan.left_out.in_vain)
        known = replace(NO_PLAN, left_out=kept_lists)
        state = self._whole_log(log, request, known)
        try:
            again, entries = self._compact_protected(log, request, state)
        except FloorError:
            return None
        if again.plan.making.tokens_after - tokens < compaction.plan.making.target_tokens // 4:
            return None
        return again, entries, state

    def _compact_protected(self, log: Log, request: ViewRequest, state: PlanState) -> tuple[Compaction, list[Entry]]:
        """Make a plan with the protections of the configuration, or without these if the view does not fit otherwise.

        Returns:
            The plan, and the entries that it is made from.
        """
        entries = self._kept.entries(log, has_factory=request.has_factory, state=state, wanted=request.retained)
        entries = mark(end_chains(entries), pins=log.index.session.pins, retained=request.retained)
        entries, hidden_groups = without_hidden(entries, log.index.session.hidden)
        state = replace(state, left_out=state.left_out + sum(len(group.entries()) for group in hidden_groups))
        protected = protect(
            entries,
            log.index.live,
            config=self._config,
            budget_tokens=request.budget_tokens,
            fixed_tokens=request.room.fixed_tokens,
            tokens_of=lambda entry: state.cut_tokens.get(entry.id, entry.tokens),
        )
        try:
            compaction = compact(self._plan_request(log, request, state, protected, self._new_id()))
        except FloorError:
            if protected is entries:
                raise
            compaction = compact(self._plan_request(log, request, state, entries, self._new_id()))
        still = hidden_before(self._kept.plan, log.index, hidden=True)
        hides = tuple(dict.fromkeys([*still, *(group.head.id for group in hidden_groups)]))
        left_out = replace(compaction.plan.left_out, hidden=hides)
        return replace(compaction, plan=replace(compaction.plan, left_out=left_out)), entries

    def _plan_request(
        self, log: Log, request: ViewRequest, state: PlanState, entries: Sequence[Entry], plan_id: str = ""
    ) -> PlanRequest:
        """Return the request for a plan of these entries.

        A summary that was made for another history or plan is left out.
        """
        plan = state.plan or NO_PLAN
        shown_plan = without_quotes(plan, hidden_quotes(plan, log.index))
        history = RestOfHistory(
            state.left_out,
            positions={entry.ordinal: at for at, entry in in_place(log.index.live, state.entries)},
            shown_anyway=hidden(state.entries, has_factory=request.has_factory),
        )
        reader = ViewReader(
            request.reader, self._arranger.wire(log, request, strict=True), unbound=self._unbound_by_plan(entries)
        )
        return PlanRequest(
            entries,
            config=self._config,
            budget_tokens=request.budget_tokens,
            fixed_tokens=request.room.fixed_tokens,
            count=self._source.count,
            fetch=partial(self._source.fetch, log),
            plan_id=plan_id,
            so_far=ViewSoFar(shown_plan, state.cut_tokens, self._arranger.last, self._memory),
            history=history,
            reader=reader,
            target_share=COLD_TARGET if request.is_cold else 1.0,
            summary=self._valid_summary(request),
        )

    def _valid_summary(self, request: ViewRequest) -> Summary | None:
        """Return the request's summary; None if the history or its plan changed since the summary was asked for."""
        summary = request.summary
        if summary is None or summary.basis != self._kept.basis:
            return None
        return summary
