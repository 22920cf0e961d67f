"""When a window makes a new plan, and why.

`PlanTiming.why_plan` decides it for a request. A plan is made if

- the view has reached the threshold (`needs_plan`), or a plan was asked for, unless an earlier plan freed too little
  (`replan_throttle`);
- turns were hidden, or shown again, since the plan in force;
- the plan in force was made for a much smaller budget.

If the provider's cache no longer has the prefix, a request pays for all its tokens. So this is the cheapest moment to
make a plan, such as after a pause. `view/cache_life` says how long providers keep a prefix. `prompt_cache` compares the
time since the last request with it, and `session/view_service` notes the result as `ViewRequest.is_cold`.
`WindowPlans._may_be_early` says which views ignore it.
"""

from __future__ import annotations

from enum import Enum

from ..compaction.quotes import quote_tokens
from ..compaction.strategies import STRATEGIES
from ..config import Config
from ..log.contract import Log
from ..log.index import Index
from ..view.arrangement import Arrangement, Count
from ..view.plan import NO_PLAN, Plan
from .kept_entries import KeptEntries
from .plan_state import hidden_quotes, mark, without_hidden
from .replan_throttle import ReplanThrottle
from .request import ViewRequest
from .view_arranger import ViewArranger

COLD_TARGET = 0.86  # share of `target_usage` for a request with a cold cache: docs/experiments.md, "Pauses"
SMALL = 0.5  # a view that uses less than this share of the target's room may get back messages that were left out
SMALL_AFTER_SMALL_BUDGET = 0.75  # the same share if the plan was made for half of the budget or less


class PlanReason(Enum):
    """The reason to make a plan."""

    SIZE = "the view has reached the threshold, or a plan was asked for"
    HIDDEN = "turns were hidden, or shown again, since the plan in force"
    SMALL = "the plan in force was made for a much smaller budget"


def needs_plan(
    config: Config,
    *,
    tokens: int,
    messages: int,
    budget_tokens: int,
    unmovable_tokens: int = 0,
    begins_turn: bool = False,
    is_cold: bool = False,
) -> bool:
    """Return whether a view of this size is to be compacted.

    A plan in the middle of a tool loop ends the reasoning of that loop. So at the beginning of a turn a lower threshold
    applies: half way between target and threshold (measured in docs/reasoning_and_prefixes.md). With a cold cache, a
    plan is made as soon as it frees `compact_min_gain`.

    Args:
        config: the policy.
        tokens: the tokens of the view.
        messages: the messages of the view.
        budget_tokens: the budget.
        unmovable_tokens: the tokens of the view that no plan can free; the threshold is a share of the rest.
        begins_turn: whether a turn begins, in a session with reasoning.
        is_cold: whether the provider's cache is cold and no reasoning would be lost.
    """
    if config.max_messages is not None and messages > config.max_messages:
        return True
    threshold = config.compact_threshold
    if begins_turn:
        threshold = (config.compact_threshold + config.target_usage) / 2
    if is_cold:
        threshold = min(threshold, COLD_TARGET * config.target_usage + config.compact_min_gain)
    room_tokens = max(0, budget_tokens - unmovable_tokens)
    return tokens - unmovable_tokens >= threshold * room_tokens


class PlanTiming:
    """Decides whether one window makes a plan now.

    Args:
        config: the policy.
        kept: the entries of the window.
        arranger: arranges its views.
        throttle: knows the plans that freed too little.
        count: counts the tokens of a message.
        stores: whether plans go to the log.
    """

    def __init__(
        self,
        config: Config,
        kept_entries: KeptEntries,
        arranger: ViewArranger,
        throttle: ReplanThrottle,
        count: Count,
        *,
        stores: bool,
    ) -> None:
        self._config = config
        self._kept = kept_entries
        self._arranger = arranger
        self._throttle = throttle
        self._count = count
        self._stores = stores
        self._grown_from = set[int]()
        """Bit lengths of budgets whose plan was already replaced by a larger one. This happens once for each length, so
        that two alternating budgets do not make plans forever (I6)."""

    def why_plan(
        self, log: Log, request: ViewRequest, arrangement: Arrangement, *, asks_provider: bool
    ) -> PlanReason | None:
        """Decide whether a plan is needed for a view. Return the reason, or None if no plan is needed.

        Args:
            log: the open log of the session.
            request: the request that the view is for: its budget, its provider and its tools.
            arrangement: the view of the request.
            asks_provider: whether its provider is asked to compact. Then a new turn brings no plan forward.

        Raises:
            FloorError: a plan was tried for the same view before, and the view cannot be made to fit.
        """
        begins_turn = self._arranger.bound.begins_turn and not asks_provider
        if self._is_large(request, arrangement, begins_turn=begins_turn):
            return PlanReason.SIZE
        if request.plans_now and self.hides_otherwise(log, request):
            return PlanReason.HIDDEN
        return PlanReason.SMALL if self._may_grow(request, arrangement) else None

    def _is_large(self, request: ViewRequest, arrangement: Arrangement, *, begins_turn: bool) -> bool:
        """Return whether a view is large enough for a plan: for a plan that was asked for, or for one that is due.

        Raises:
            FloorError: as `why_plan`.
        """
        fixed = request.room.fixed_tokens
        budget = request.budget_tokens
        tokens = fixed + arrangement.tokens
        messages = len(arrangement.items)
        unmovable = fixed + self._arranger.totals(arrangement).unmovable_tokens
        if request.plans_now:  # quotes come on top of the target
            quoted = quote_tokens((self._kept.plan or NO_PLAN).left_out.gaps or (), self._count)
            return tokens - quoted - unmovable > self._config.target_usage * max(0, budget - unmovable)
        is_due = needs_plan(
            self._config,
            tokens=tokens,
            messages=messages,
            budget_tokens=budget,
            unmovable_tokens=unmovable,
            begins_turn=begins_turn,
            is_cold=request.is_cold,
        )
        return is_due and self._throttle.may_try(request, tokens, messages)

    def hides_otherwise(self, log: Log, request: ViewRequest) -> bool:
        """Return whether turns were hidden or shown again since the plan in force was made."""
        entries = self._kept.entries(log, has_factory=request.has_factory)
        records = log.index.session
        _, hidden_groups = without_hidden(mark(entries, pins=records.pins, retained=request.retained), records.hidden)
        if hidden_groups or hidden_quotes(self._kept.plan or NO_PLAN, log.index):
            return True
        return bool(
            hidden_before(self._kept.plan, log.index, hidden=False) or self._kept.state.hides_in_item(log.index)
        )

    def _may_grow(self, request: ViewRequest, arrangement: Arrangement) -> bool:
        """Return whether a turn begins in a small view whose plan was made for half of the budget or less."""
        plan = self._kept.plan
        if not self._stores or plan is None or not arrangement.items:
            return False
        last = arrangement.items[-1].entry
        begins_turn = last is not None and last.human
        if not begins_turn or not self.is_small(request, arrangement.tokens):
            return False
        planned_size = plan.making.budget_tokens.bit_length()
        was_much_smaller = 0 < 2 * plan.making.budget_tokens <= request.budget_tokens
        if not was_much_smaller or planned_size in self._grown_from:
            return False
        self._grown_from.add(planned_size)
        return True

    def is_small(self, request: ViewRequest, tokens: int) -> bool:
        """Return whether a view that leaves out messages uses little of the target's room.

        The limit is the share `SMALL`. After a plan for half of the budget or less the share is
        `SMALL_AFTER_SMALL_BUDGET`, because a long turn may have filled a part since.
        """
        config = self._config
        plan = self._kept.plan
        if not STRATEGIES[config.compaction_strategy].uses_room or config.max_messages is not None:
            return False
        if plan is None or plan.summary or plan.native is not None or self._kept.state.left_out <= 0:
            return False
        room_tokens = int((request.budget_tokens - request.room.fixed_tokens) * config.target_usage)
        most = SMALL_AFTER_SMALL_BUDGET if 2 * plan.making.budget_tokens <= request.budget_tokens else SMALL
        return tokens < most * room_tokens


def hidden_before(plan: Plan | None, index: Index, *, hidden: bool) -> dict[str, int]:
    """Return the ordinals, by id, of messages that a plan left out because their turn was hidden.

    Args:
        plan: the plan in force.
        index: the index of the log.
        hidden: whether to return those that are still hidden, or those that are shown again.
    """
    if plan is None or not plan.left_out.hidden:
        return {}
    found = index.find_all(plan.left_out.hidden)
    hidden_now = index.session.hidden
    return {name: at for name, at in found.items() if index.is_live(at) and (at in hidden_now) == hidden}
