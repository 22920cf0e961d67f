"""The window on the live history from which views are made: it arranges, renders and plans.

A window belongs to one log and runs on its thread. What it is made of are the entries that `plan_state` keeps, no
messages, so a request costs what its view costs, whatever the history (I8).

A request with an explicit budget below the session's own gets a window of its own (`store=False`). It begins with the
session's plan and is as sticky, for as long as the process lives; its plans are no plans of the session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..compaction.plan_memory import PlanMemory
from ..compaction.plan_request import PlanRequest
from ..compaction.planner import Compaction, compact
from ..compaction.protected_ends import protect
from ..compaction.provider_limits import all_media, media_beyond, view_bytes
from ..compaction.strategies import STRATEGIES
from ..compaction.summary_span import Span
from ..config import NATIVE, Config
from ..errors import FloorError, SummaryError
from ..log.base import Log
from ..messages.message import Message
from ..tokens.counter import TokenCounter
from ..view.arrangement import Arrangement, Presentation, arrange
from ..view.bound_reasoning import BoundViews
from ..view.calls_and_results import LateResults, last_human, tool_groups
from ..view.entry import Entry, end_chains
from ..view.ids_and_names import TAKES_ALL, WireRules, begins_strict, has_old_lines, request_rules, rules_of
from ..view.plan import NO_PLAN, Plan, plan_record
from ..view.receipts import ViewHashes
from ..view.recipients import FIRST_RULES, NOBODY
from ..view.render import copied, render
from .cold_start import in_place
from .ephemerals import Extras
from .message_source import MessageSource, collector_paused
from .native_plan import cut_now, hides_in_item, item_plan, offer, refused_item
from .plan_state import (
    KeptEntries,
    PlanState,
    hidden,
    mark,
    state_without_plan,
    visible,
    with_late_told,
    without_hidden,
)
from .replan_throttle import ReplanThrottle
from .request import REFUSED, ViewRequest, ViewResult
from .summary_request import span_of
from .view_totals import ViewTotals
from .when_to_plan import for_cold_cache, worth_it

_ATTEMPTS = 4  # to bring the bytes of a view's text within the limits
SMALL = 0.5  # of the target's room: a view that takes less may take in again what the log has
SMALL_AFTER_SMALL_BUDGET = 0.75  # the same if its plan was made for half of the budget or less


class Window:
    """The window on a log.

    Args:
        config: the policy.
        counter: counts tokens.
        extras: messages that are in no log; shared between a session's windows.
        new_id: makes the ids of plans.
        store: whether plans go to the log.
        for_reader: whether views are made for who reads them; not those whose receipts are from before there was
            `bound` in them, which are made again as they were.
    """

    def __init__(
        self,
        config: Config,
        counter: TokenCounter,
        extras: Extras,
        new_id: Callable[[], str],
        *,
        store: bool = True,
        for_reader: bool = True,
    ) -> None:
        self._config, self._new_id, self._for_reader = config, new_id, for_reader
        self._source = MessageSource(config, counter, extras)
        self._kept = KeptEntries(config, self._source, follows_log=store)
        self._throttle, self._stores = ReplanThrottle(config), store
        self._grown_from = set[int]()
        """Bits of the budgets after which a view was to grow: once for each, as two that drift may take turns (I6)."""
        self._arranged = Arrangement()
        """The last view, with all reasoning that its reader takes."""
        self._bound, self._totals, self._late = BoundViews(), ViewTotals(), LateResults()
        self._plan_memory = PlanMemory()
        self.chain = ViewHashes()

    @property
    def plan(self) -> Plan | None:
        """The plan in force."""
        return self._kept.plan

    @property
    def _shows_item(self) -> bool:
        """Whether the plan in force shows what a provider compacted."""
        return self.plan is not None and self.plan.native is not None

    def measure(self, log: Log, request: ViewRequest) -> tuple[int, int]:
        """Count the tokens and the messages of the current view."""
        self._take_in(log, request)
        arrangement = self._arrange(log, request)
        return request.fixed_tokens + arrangement.tokens, len(arrangement.items)

    def build(self, log: Log, request: ViewRequest) -> ViewResult:
        """Make the view of a request, with a new plan where it needs one.

        Args:
            log: the log, followed.
            request: the request. Where it wants a summary before a plan and needs a plan, there is no view yet.

        Raises:
            FloorError: the view cannot be made to fit.
        """
        compacts = request.native is not None and self._config.compaction_strategy == NATIVE
        fallback, swapped = self._begin(log, request, compacts=compacts)
        arrangement, made = self._within_media_limits(log, request, self._arrange(log, request))
        made = made or swapped
        self._throttle.set_constraints(request.retained, log.index.session.pins | log.index.session.hidden)
        # a pause brings no first plan forward, nor one that costs reasoning or a summary
        may_be_early = self.plan is not None and not request.sums_up and not self._bound.shows_running
        if request.is_cold and not may_be_early:
            request = replace(request, is_cold=False)
        totals = self._totals.of(arrangement.items)
        request = request.with_room_for(arrangement.tokens, totals.size_bytes)
        tokens, messages = request.fixed_tokens + arrangement.tokens, len(arrangement.items)
        floor: dict[str, int] | None = None
        native = request.native if compacts and made is None and not request.plans_now else None
        may_cut = native is not None and self._stores and not self._hides_otherwise(log, request)
        cut = cut_now(self._config, request, arrangement, tokens, self._kept.basis) if may_cut else None
        asks = cut is not None or (native is not None and native.runs)
        waits, begins_turn = asks and tokens <= request.budget_tokens, self._bound.begins_turn and not asks
        unmovable = request.fixed_tokens + totals.unmovable_tokens
        is_due = not waits and self._throttle.wants_plan(
            request, tokens, messages, unmovable_tokens=unmovable, begins_turn=begins_turn
        )
        is_due = is_due or (request.plans_now and self._hides_otherwise(log, request))
        if is_due or (not waits and self._may_grow(request, arrangement)):
            if request.sums_up:
                span = self._span(log, request, arrangement)
                budget = request.budget_tokens
                return ViewResult(
                    None, tokens, messages, budget, is_due=True, span=span, compaction=made, fallback=fallback
                )
            hid = hides_in_item(log, self._kept.state)
            planned, floor = self._plan_within_bytes(log, request, tokens, messages)
            arrangement = planned.arrangement if planned is not None else arrangement
            is_due, floor = is_due or planned is not None, floor if is_due else None
            fallback = "a turn that it stands for was hidden" if hid and not self._shows_item else fallback
            made = planned or made
        view = [*copied(request.head), *self._source.view(log, arrangement.items)]
        return ViewResult(
            view,
            tokens,
            messages,
            request.budget_tokens,
            is_due=is_due,
            compaction=made,
            floor=floor,
            fallback=fallback,
            offer=offer(request, arrangement, view, cut, self._kept.basis, self._bound) if waits else None,
            items=arrangement.items,
            last=self._kept.last(log),
            bound=self._bound.bound,
            left_out=self._bound.left_out,
            without_reasoning=request.tools.endswith(REFUSED),
        )

    def _begin(self, log: Log, request: ViewRequest, *, compacts: bool) -> tuple[str, Compaction | None]:
        """Take in what is new, and settle what a provider compacted.

        Args:
            log: the log.
            request: the request.
            compacts: whether its provider compacts by itself.

        Returns:
            Why an item is not shown, and the plan that was made.
        """
        shown, basis = self._shows_item, self._kept.basis
        self._take_in(log, request)
        fallback, made = self._settle_native(log, request) if compacts or self._shows_item else ("", None)
        if shown and basis[0] != self._kept.basis[0] and not self._shows_item:
            fallback = "the history that it stands for was replaced"
        if self._kept.lost_item:
            fallback, self._kept.lost_item = "the stored plan that shows it cannot be followed", False
        return fallback, made

    def _settle_native(self, log: Log, request: ViewRequest) -> tuple[str, Compaction | None]:
        """Let go of an item that this reader does not take, and show one that arrived.

        Returns:
            Why an item is not shown, and the plan that was made.

        Raises:
            FloorError: the view cannot be made to fit without the item.
        """
        if refused := refused_item(request, self.plan):
            state = self._whole_log(log, request)
            return refused, self._follow(log, request, *self._compact_protected(log, request, state), state)
        if not self._stores:
            return "", None
        before, state = self._arrange(log, request), self._kept.state
        shown = item_plan(log, request, self._kept, before, self._config, self._new_id)
        return (shown, None) if isinstance(shown, str) else ("", self._follow(log, request, shown, [], state))

    def _whole_log(self, log: Log, request: ViewRequest, known: Plan | None = None) -> PlanState:
        """The state as if there were no plan, or one that leaves out nothing and knows what the one in force does."""
        state = state_without_plan(log, self._source, request.budget_tokens, self._config)
        return replace(state, plan=known).with_whole(request.retained | log.index.session.pins, log, self._source)

    def _plan_within_bytes(
        self, log: Log, request: ViewRequest, tokens: int, messages: int
    ) -> tuple[Compaction | None, dict[str, int] | None]:
        """Make a plan, and where its view still has too many bytes, a smaller one; else why it frees too little.

        Raises:
            FloorError: the view cannot be made to fit.
        """
        planned, floor = None, None
        for _ in range(_ATTEMPTS):
            with collector_paused():
                try:
                    made, floor = self._plan(log, request, tokens, messages)
                except FloorError as error:
                    made, floor = self._plan_without_media(log, request, tokens, messages, error)
            if made is None:
                break
            arrangement, lighter = self._within_media_limits(log, request, made.arrangement)
            planned = lighter or made
            smaller = request.with_room_for(arrangement.tokens, view_bytes(arrangement.items))
            if smaller is request:
                break
            request = smaller
        return planned, floor

    def _within_media_limits(
        self, log: Log, request: ViewRequest, arrangement: Arrangement
    ) -> tuple[Arrangement, Compaction | None]:
        """A view, its images and documents brought within the limits, and the plan that was made for that."""
        limits = request.limits
        if limits is None or not self._totals.of(arrangement.items).with_media:
            return arrangement, None
        beyond = media_beyond(arrangement.items, limits, request.fixed_bytes)
        return self._without_media(log, request, arrangement, beyond) if beyond else (arrangement, None)

    def _plan_without_media(
        self, log: Log, request: ViewRequest, tokens: int, messages: int, refused: FloorError
    ) -> tuple[Compaction | None, dict[str, int] | None]:
        """Make a plan of a view that fits in no other way without its images, the newest one last.

        Raises:
            FloorError: it does not fit without them either.
        """
        before = self._kept.state
        for spared in (1, 0):
            arrangement = self._arrange(log, request)
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
        return self._arrange(log, request), shown

    def _span(self, log: Log, request: ViewRequest, arrangement: Arrangement) -> Span | SummaryError:
        """What a summary in the next plan would replace, and the request for it; or why there can be none."""
        if not self._stores:
            return SummaryError("the request has a view of its own")
        entries, _ = without_hidden(self._kept.entries(log, has_factory=request.has_factory), log.index.session.hidden)
        planned = self._plan_request(log, request, self._kept.state, entries)
        return span_of(planned, arrangement, request, self._kept.basis)

    def begin_with(self, log: Log, other: Window, request: ViewRequest) -> None:
        """Begin with the log's plan for the budget of a request; else take over another window's plan and entries."""
        other.measure(log, request)  # takes in what is new
        self._kept.begin_with(log, other._kept, request.budget_tokens)

    def shows_whole(self, ordinals: frozenset[int]) -> bool:
        """Whether its view shows some messages whole."""
        return self._kept.shows_whole(ordinals)

    def bring_back(self, log: Log, request: ViewRequest) -> bool:
        """Show what a request wants whole by a plan of this window's own; whether one was needed."""
        self._take_in(log, request)
        if self.shows_whole(request.retained):
            return False
        self._kept.bring_back(log, request.retained, self._new_id())
        return True

    def plan_record(self, log: Log) -> bytes:
        """Encode the plan as a control record, its kept messages as runs of the live history."""
        if self.plan is None:
            raise ValueError("there is no plan")
        return plan_record(self.plan, log.index, self._kept.state.entries)

    def _take_in(self, log: Log, request: ViewRequest) -> None:
        """Take in what is new in the log."""
        if self._kept.take_in(log, request.budget_tokens):
            self._throttle.forget()
            if self.plan is not None:
                shown = visible(self._kept.state.entries[: len(self.plan.keep)], has_factory=request.has_factory)
                messages = len(self._arrange(log, request, shown).items)
                self._throttle.record_plan(self.plan.tokens_after, messages, self.plan.budget_tokens)

    def _plan(
        self, log: Log, request: ViewRequest, tokens: int, messages: int
    ) -> tuple[Compaction | None, dict[str, int] | None]:
        """Make a plan and follow it; or what it cannot compact, where it would free too little."""
        whole = request.retained | log.index.session.pins | set(self._hidden_before(log, hidden=False).values())
        budget, state = request.budget_tokens, self._kept.state.with_whole(whole, log, self._source)
        if self._shows_item:  # its item says nothing to our own engine
            state = self._whole_log(log, request)
        try:
            made, entries = self._compact_protected(log, request, state)
            grown = self._grown(log, request, made)
        except FloorError as error:
            self._throttle.record_futile(tokens, messages, budget, error if tokens > budget else None)
            if tokens <= budget:
                return None, error.fixed
            error.tried = messages, tokens
            raise
        sizes = {"budget_tokens": budget, "tokens": tokens, "messages": messages}
        if grown is not None:
            made, entries, state = grown
        elif not (request.plans_now or worth_it(self._config, made, **sizes)):
            self._throttle.record_futile(tokens, messages, budget)
            return None, made.floor
        return self._follow(log, request, made, entries, state), None

    def _follow(
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
        arrangement = self._arrange(log, request, plans=True)
        plan = made.plan
        if not request.reader.checks_prefix and self._bound.unbound:
            heads = [arrangement.items[at].entry for at in self._bound.unbound]
            gone = {head.id for head in heads if head is not None and head.reasoning.tokens} & set(plan.keep)
            plan = replace(plan, silent=plan.silent | gone)
            self._kept.state = replace(self._kept.state, plan=plan)
            arrangement = self._arrange(log, request)
        plan = replace(plan, tokens_after=request.fixed_tokens + arrangement.tokens)
        self._kept.state = replace(self._kept.state, plan=plan)
        return replace(made, plan=plan, arrangement=arrangement)

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
        last, before = arrangement.items[-1].entry if arrangement.items else None, (self.plan or NO_PLAN).budget_tokens
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
        config, plan = self._config, self.plan
        uses_room = STRATEGIES[config.compaction_strategy].uses_room and config.max_messages is None
        follows = plan is not None and not plan.summary and plan.native is None and self._kept.state.left_out > 0
        if plan is None or not (uses_room and follows):
            return False
        room_tokens = int((request.budget_tokens - request.fixed_tokens) * config.target_usage)
        most = SMALL_AFTER_SMALL_BUDGET if 2 * plan.budget_tokens <= request.budget_tokens else SMALL
        return tokens < most * room_tokens

    def _grown(
        self, log: Log, request: ViewRequest, made: Compaction
    ) -> tuple[Compaction, list[Entry], PlanState] | None:
        """In place of a plan whose view is small, one of the history, with what it is made from.

        None where that brings back less than a quarter of the target.
        """
        tokens, plan = made.plan.tokens_after, self.plan
        if plan is None or not self._is_small(request, tokens - request.fixed_tokens):
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
            fixed_tokens=request.fixed_tokens,
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

    def _hides_otherwise(self, log: Log, request: ViewRequest) -> bool:
        """Whether turns were hidden, or shown again, since the plan in force."""
        entries = self._kept.entries(log, has_factory=request.has_factory)
        records = log.index.session
        _, gone = without_hidden(mark(entries, pins=records.pins, retained=request.retained), records.hidden)
        return bool(gone or self._hidden_before(log, hidden=False) or hides_in_item(log, self._kept.state))

    def _hidden_before(self, log: Log, *, hidden: bool) -> dict[str, int]:
        """What the plan in force left out as hidden, that is hidden still, or is not any more: ordinals by id."""
        found = log.index.find_all(self.plan.hidden) if self.plan is not None and self.plan.hidden else {}
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
            fixed_tokens=request.fixed_tokens,
            count=self._source.count,
            fetch=partial(self._source.fetch, log),
            plan_id=plan_id,
            previous=state.plan or NO_PLAN,
            cut_tokens=state.cut_tokens,
            left_out=state.left_out,
            positions={entry.ordinal: at for at, entry in in_place(log.index.live, state.entries)},
            arranged=self._arranged,
            reader=request.reader,
            wire=self._wire(log, request, strict=True),
            unbound=self._unbound_by_plan(entries),
            shown_anyway=hidden(state.entries, has_factory=request.has_factory),
            memory=self._plan_memory,
            summary=summary if summary and summary.basis == self._kept.basis else None,
        )

    def _arrange(
        self, log: Log, request: ViewRequest, entries: list[Entry] | None = None, *, plans: bool = False
    ) -> Arrangement:
        """The view under the plan in force, for who asks; of its entries, unless others are given."""
        if entries is None:
            entries = self._kept.entries(log, has_factory=request.has_factory)
        reader, wire = NOBODY, TAKES_ALL
        if self._for_reader:
            tells = request.rules != FIRST_RULES and not has_old_lines(log.index.headers)
            late, count = self._late.of(entries), self._source.count
            entries = with_late_told(self._kept.state, entries, late, request.retained, count, tells=tells)
            reader, wire = request.reader, self._wire(log, request)
        how = Presentation(self.plan or NO_PLAN, self._kept.state.cut_tokens, reader, wire)
        arranged = self._arranged = arrange(entries, self._source.count, how, after=self._arranged)
        if not self._for_reader:
            return arranged

        def rendered(start: int) -> list[Message]:
            part = Arrangement(arranged.items[start:])
            return render(part, partial(self._source.fetch, log), boundary=self._config.truncate_boundary)

        native = self.plan.native if self.plan is not None else None
        return self._bound.bind(
            arranged,
            rendered,
            of=log.index,
            reader=reader,
            tools=request.tools,
            head=request.head,
            native=native,
            binds=self.plan is not None or not request.shows_history,
            plans=plans,
        )

    def _wire(self, log: Log, request: ViewRequest, *, strict: bool = False) -> WireRules:
        """What the reader of a request takes; strict rules hold from a newer log's beginning, else from a plan on."""
        strict = strict or (begins_strict(log.index.headers) if self.plan is None else self.plan.wire)
        reader = request.reader
        rules = rules_of(reader.family, strict=strict)
        if request.rules == FIRST_RULES:
            return replace(rules, unnamed="")
        old_lines = has_old_lines(log.index.headers)
        return request_rules(rules, is_named=reader.is_named, line_last=request.line_last, old_lines=old_lines)
