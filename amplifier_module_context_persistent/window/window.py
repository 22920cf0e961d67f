"""The window on the live history from which views are made, one for each request.

A window belongs to one log and runs on its thread. What it is made of are the entries that `kept_entries` keeps, no
messages, so a request costs what its view costs, whatever the history (I8).

A request with an explicit budget below the session's own gets a window of its own (`store=False`). It begins with the
session's plan and is as sticky, for as long as the process lives; its plans are no plans of the session.

Each part uses only those before it: `MessageSource`, `KeptEntries`, `ViewArranger`, `WindowPlans`, `NativeItems`.
"""

from __future__ import annotations

from collections.abc import Callable

from ..config import Config
from ..log.base import Log
from ..tokens.counter import TokenCounter
from ..view.plan import Plan, plan_record
from ..view.receipts import ViewHashes
from ..view.render import copied
from .ephemerals import Extras
from .kept_entries import KeptEntries
from .message_source import MessageSource
from .native_items import NOT_ASKED, NativeItems
from .request import REFUSED, ItemOutcome, Planning, ReasoningShown, ViewRequest, ViewResult
from .view_arranger import ViewArranger
from .window_plans import PlanAttempt, PlanReason, WindowPlans


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
        self._new_id = new_id
        self._source = MessageSource(config, counter, extras)
        self._kept = KeptEntries(config, self._source, follows_log=store)
        self._arranger = ViewArranger(config, self._kept, self._source, for_reader=for_reader)
        self._plans = WindowPlans(config, self._kept, self._arranger, self._source, new_id, stores=store)
        self._items = NativeItems(config, self._kept, self._arranger, self._plans, new_id, stores=store)
        self.chain = ViewHashes()

    @property
    def plan(self) -> Plan | None:
        """The plan in force."""
        return self._kept.plan

    def measure(self, log: Log, request: ViewRequest) -> tuple[int, int]:
        """Count the tokens and the messages of the current view."""
        self._plans.take_in(log, request)
        arrangement = self._arranger.arrange(log, request)
        return request.room.fixed_tokens + arrangement.tokens, len(arrangement.items)

    def build(self, log: Log, request: ViewRequest) -> ViewResult:
        """Make the view of a request, with a new plan if it needs one.

        Args:
            log: the log, followed.
            request: the request. If it wants a summary before a plan and needs a plan, there is no view yet.

        Raises:
            FloorError: the view cannot be made to fit.
        """
        step = self._items.begin(log, request)
        arrangement, lighter = self._plans.within_media_limits(log, request, self._arranger.arrange(log, request))
        made, fallback = lighter or step.made, step.fallback
        request = self._plans.prepared(log, request)
        request = request.with_room_for(arrangement.tokens, self._arranger.totals(arrangement).size_bytes)
        tokens, messages = request.room.fixed_tokens + arrangement.tokens, len(arrangement.items)
        asking = self._items.asking(log, request, arrangement) if made is None else NOT_ASKED
        waits = asking.is_asked and tokens <= request.budget_tokens
        reason, attempt = None, PlanAttempt()
        if not waits:
            reason = self._plans.why_plan(log, request, arrangement, asks_provider=asking.is_asked)
        if reason is not None and request.sums_up:
            planning = Planning(is_due=True, span=self._plans.span(log, request, arrangement), compaction=made)
            return ViewResult(None, tokens, messages, request.budget_tokens, planning, ItemOutcome(fallback))
        if reason is not None:
            hides_in_item = self._kept.state.hides_in_item(log.index)
            attempt = self._plans.plan(log, request, tokens, messages)
            arrangement = attempt.made.arrangement if attempt.made is not None else arrangement
            if hides_in_item and not self._kept.shows_item:
                fallback = "a turn that it stands for was hidden"
        is_due = reason in (PlanReason.SIZE, PlanReason.HIDDEN)
        view = [*copied(request.head), *self._source.view(log, arrangement.items)]
        return ViewResult(
            view,
            tokens,
            messages,
            request.budget_tokens,
            Planning(
                is_due=is_due or attempt.made is not None,
                compaction=attempt.made or made,
                floor=attempt.floor if is_due else None,
            ),
            ItemOutcome(fallback, self._items.offer(request, arrangement, view, asking) if waits else None),
            self._reasoning(request),
            items=arrangement.items,
            last=self._kept.last(log),
        )

    def _reasoning(self, request: ViewRequest) -> ReasoningShown:
        bound = self._arranger.bound
        return ReasoningShown(bound.bound, bound.left_out, is_refused=request.tools.endswith(REFUSED))

    def begin_with(self, log: Log, other: Window, request: ViewRequest) -> None:
        """Begin with the log's plan for the budget of a request; else take over another window's plan and entries."""
        other.measure(log, request)  # takes in what is new
        self._kept.begin_with(log, other._kept, request.budget_tokens)

    def shows_whole(self, ordinals: frozenset[int]) -> bool:
        """Whether its view shows some messages whole."""
        return self._kept.shows_whole(ordinals)

    def bring_back(self, log: Log, request: ViewRequest) -> bool:
        """Show what a request wants whole by a plan of this window's own; whether one was needed."""
        self._plans.take_in(log, request)
        if self.shows_whole(request.retained):
            return False
        self._kept.bring_back(log, request.retained, self._new_id())
        return True

    def plan_record(self, log: Log) -> bytes:
        """Encode the plan as a control record, its kept messages as runs of the live history."""
        if self.plan is None:
            raise ValueError("there is no plan")
        return plan_record(self.plan, log.index, self._kept.state.entries)
