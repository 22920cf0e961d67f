"""The window on the live history from which the view of each request is made.

A window belongs to one log and runs on its thread. It keeps the entries of its view (`kept_entries`), not messages. So
the cost of a request depends on its view, not on the length of the history (I8).

A request with an explicit budget below the session's gets a side window (`store=False`). It begins with the session's
plan. Its own plans are followed as long as the process lives, and do not become plans of the session.

Each part uses only those before it: `MessageSource`, `KeptEntries`, `ViewArranger`, `WindowPlans`, `NativeItems`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..compaction.planner import Compaction
from ..config import Config
from ..log.contract import Log
from ..tokens.counter import TokenCounter
from ..view.arrangement import Arrangement
from ..view.plan import Plan
from ..view.receipts import ViewHashes
from ..view.render import copied
from ..view.stored_plan import plan_record
from .ephemerals import UnloggedMessages
from .kept_entries import KeptEntries
from .message_source import MessageSource
from .native_items import NOT_ASKED, Asking, NativeItems
from .request import REFUSED, ItemOutcome, Planning, ReasoningShown, ViewRequest, ViewResult
from .view_arranger import ViewArranger
from .when_to_plan import PlanReason
from .window_plans import PlanAttempt, WindowPlans


class ViewSize(NamedTuple):
    """The size of a view before a plan."""

    tokens: int
    messages: int


def _planning(reason: PlanReason, attempt: PlanAttempt, made_before: Compaction | None) -> Planning:
    """Describe the result of a planning attempt. `made_before` is a plan made earlier in the same request."""
    is_wanted = reason is not PlanReason.SMALL  # growing a small view is only tried
    return Planning(
        is_due=is_wanted or attempt.compaction is not None,
        compaction=attempt.compaction or made_before,
        floor=attempt.floor if is_wanted else None,
    )


class Window:
    """The window on a log.

    Args:
        config: the policy.
        counter: counts tokens.
        unlogged: messages that are in no log; shared between a session's windows.
        new_id: makes the ids of plans.
        store: whether plans go to the log.
        for_reader: whether views are made for their reader. False only to repeat a view whose receipt has no `bound`.
    """

    def __init__(
        self,
        config: Config,
        counter: TokenCounter,
        unlogged: UnloggedMessages,
        new_id: Callable[[], str],
        *,
        store: bool = True,
        for_reader: bool = True,
    ) -> None:
        self._new_id = new_id
        self._source = MessageSource(config, counter, unlogged)
        self._kept = KeptEntries(config, self._source, follows_log=store)
        self._arranger = ViewArranger(config, self._kept, self._source, for_reader=for_reader)
        self._plans = WindowPlans(config, self._kept, self._arranger, self._source, new_id, stores=store)
        self._items = NativeItems(config, self._kept, self._arranger, self._plans, new_id, stores=store)
        self.chain = ViewHashes()

    @property
    def plan(self) -> Plan | None:
        """The plan in force, or None if no plan is."""
        return self._kept.plan

    def measure(self, log: Log, request: ViewRequest) -> tuple[int, int]:
        """Count the tokens and the messages of the current view."""
        self._plans.take_in(log, request)
        arrangement = self._arranger.arrange(log, request)
        return request.room.fixed_tokens + arrangement.tokens, len(arrangement.items)

    def build(self, log: Log, request: ViewRequest) -> ViewResult:
        """Make the view of a request, with a new plan if the view needs one.

        Args:
            log: the log, followed.
            request: the request. If it wants a summary before a plan and needs a plan, there is no view yet.

        Raises:
            FloorError: the view cannot be made to fit.
        """
        step = self._items.begin(log, request)
        arrangement, lighter = self._plans.within_media_limits(log, request, self._arranger.arrange(log, request))
        compaction = lighter or step.compaction
        request = self._plans.prepared(log, request)
        request = request.with_room_for(arrangement.tokens, self._arranger.totals(arrangement).size_bytes)
        size = ViewSize(request.room.fixed_tokens + arrangement.tokens, len(arrangement.items))
        asking = NOT_ASKED if compaction is not None else self._items.asking(log, request, arrangement)
        if asking.is_asked and size.tokens <= request.budget_tokens:  # the view fits until the provider's item arrives
            return self._result(
                log,
                request,
                arrangement=arrangement,
                size=size,
                planning=Planning(compaction=compaction),
                fallback=step.fallback,
                asking=asking,
            )
        reason = self._plans.timing.why_plan(log, request, arrangement, asks_provider=asking.is_asked)
        if reason is None:
            return self._result(
                log,
                request,
                arrangement=arrangement,
                size=size,
                planning=Planning(compaction=compaction),
                fallback=step.fallback,
            )
        if request.sums_up:
            planning = Planning(is_due=True, span=self._plans.span(log, request, arrangement), compaction=compaction)
            return ViewResult(None, *size, request.budget_tokens, planning, ItemOutcome(step.fallback))
        hides_in_item = self._kept.state.hides_in_item(log.index)
        attempt = self._plans.plan(log, request, size.tokens, size.messages)
        lost_item = hides_in_item and not self._kept.shows_item
        fallback = "a turn that it stands for was hidden" if lost_item else step.fallback
        shown_arrangement = attempt.compaction.arrangement if attempt.compaction is not None else arrangement
        return self._result(
            log,
            request,
            arrangement=shown_arrangement,
            size=size,
            planning=_planning(reason, attempt, compaction),
            fallback=fallback,
        )

    def _result(
        self,
        log: Log,
        request: ViewRequest,
        arrangement: Arrangement,
        size: ViewSize,
        planning: Planning,
        fallback: str,
        asking: Asking = NOT_ASKED,
    ) -> ViewResult:
        """Render the view of an arrangement. `size` is the view's size before a plan."""
        view = [*copied(request.head), *self._source.view(log, arrangement.items)]
        return ViewResult(
            view,
            tokens=size.tokens,
            messages=size.messages,
            budget_tokens=request.budget_tokens,
            planning=planning,
            item=ItemOutcome(fallback, self._items.offer(request, arrangement, view, asking)),
            reasoning=self._reasoning(request),
            items=arrangement.items,
            last=self._kept.last(log),
        )

    def _reasoning(self, request: ViewRequest) -> ReasoningShown:
        bound = self._arranger.bound
        return ReasoningShown(bound.bound, bound.left_out, is_refused=request.tools.endswith(REFUSED))

    def begin_with(self, log: Log, other: Window, request: ViewRequest) -> None:
        """Load the log's side plan if the plan is for the request's budget.

        Else copy another window's plan and entries.
        """
        other.measure(log, request)  # to read new messages
        self._kept.begin_with(log, other._kept, request.budget_tokens)

    def shows_whole(self, ordinals: frozenset[int]) -> bool:
        """Return whether the view shows the messages at `ordinals` in full."""
        return self._kept.shows_whole(ordinals)

    def bring_back(self, log: Log, request: ViewRequest) -> bool:
        """Make a plan that shows the request's retained messages in full. Return whether a new plan was needed."""
        self._plans.take_in(log, request)
        if self.shows_whole(request.retained):
            return False
        self._kept.bring_back(log, request.retained, self._new_id())
        return True

    def plan_record(self, log: Log) -> bytes:
        """Encode the plan in force as a control record.

        Raises:
            ValueError: no plan is in force.
        """
        if self.plan is None:
            raise ValueError("there is no plan")
        return plan_record(self.plan, log.index, self._kept.state.entries)
