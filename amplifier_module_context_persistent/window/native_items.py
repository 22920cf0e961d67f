"""A window's part in compaction by a provider: the shown item, an item that arrived, and the request for the next one.

An *item* is the opaque message that a provider's own compaction returns; it replaces the older part of a view.
`NativeItems` is the only part of a window that knows of items. `NativeTurn` has what a request's provider supports.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..compaction.native_offer import NativeOffer, find_cut, kept_after, messages_to_compact, plan_with
from ..compaction.planner import Compaction
from ..config import NATIVE, Config
from ..log.contract import Log
from ..messages.message import Message
from ..view.arrangement import Arrangement
from ..view.plan import NO_PLAN, LeftOut, Making, Plan
from .kept_entries import KeptEntries
from .plan_state import mark
from .request import ViewRequest
from .view_arranger import ViewArranger
from .window_plans import WindowPlans

_OTHER_READER = "the provider or its model is another one"
FREES_TOO_LITTLE = "the item frees too little"


@dataclass(frozen=True, slots=True)
class ItemStep:
    """The outcome for the provider's item, decided before a view is made."""

    fallback: str = ""
    """The reason why an item is not shown. It is "" if the item is shown, or if there is none."""
    compaction: Compaction | None = None
    """The plan that shows the item, or the plan that drops it."""


@dataclass(frozen=True, slots=True)
class Asking:
    """Whether a provider is asked for an item while the current request runs."""

    is_asked: bool = False
    cut: int | None = None
    """The position in the view up to which the next item would reach, or None if no item is requested."""


NOT_ASKED = Asking()


class NativeItems:
    """The items that providers' own compactions made for one window.

    Args:
        config: the policy.
        kept: the entries of the window.
        arranger: arranges its views.
        plans: the plans of the window.
        new_id: makes the ids of plans.
        stores: whether plans go to the log; if not, no new item is shown.
    """

    def __init__(
        self,
        config: Config,
        kept_entries: KeptEntries,
        arranger: ViewArranger,
        plans: WindowPlans,
        new_id: Callable[[], str],
        *,
        stores: bool,
    ) -> None:
        self._config = config
        self._kept = kept_entries
        self._arranger = arranger
        self._plans = plans
        self._new_id = new_id
        self._stores = stores

    def begin(self, log: Log, request: ViewRequest) -> ItemStep:
        """Read new messages of the log; drop an item that cannot be shown, and show an item that arrived.

        Raises:
            FloorError: the view cannot be made to fit without the item.
        """
        showed_before = self._kept.shows_item
        basis_before = self._kept.basis
        self._plans.take_in(log, request)
        step = ItemStep()
        if self._compacts(request) or self._kept.shows_item:
            step = self._settle(log, request)
        was_replaced = basis_before[0] != self._kept.basis[0]
        if showed_before and was_replaced and not self._kept.shows_item:
            step = replace(step, fallback="the history that it stands for was replaced")
        if self._kept.lost_item:
            self._kept.lost_item = False
            step = replace(step, fallback="the stored plan that shows it cannot be followed")
        return step

    def asking(self, log: Log, request: ViewRequest, arrangement: Arrangement) -> Asking:
        """Decide whether to ask the provider for an item.

        The answer may also be that the provider is being asked already.
        """
        native = request.native
        if native is None or not self._compacts(request) or request.plans_now:
            return NOT_ASKED
        may_cut = self._stores and not self._plans.timing.hides_otherwise(log, request)
        cut = self._cut_now(request, arrangement) if may_cut else None
        return Asking(cut is not None or native.runs, cut)

    def offer(
        self, request: ViewRequest, arrangement: Arrangement, view: list[Message], asking: Asking
    ) -> NativeOffer | None:
        """Return the beginning of a view that its provider may compact, or None if the provider is not asked.

        Args:
            request: the request of the view.
            arrangement: the view, before it is rendered.
            view: the messages of the view.
            asking: whether to ask, and the end of the part to compact.
        """
        cut = asking.cut
        if cut is None:
            return None
        first_kept = arrangement.items[cut].entry
        if first_kept is None:
            return None
        bound = self._arranger.bound
        return NativeOffer(
            messages=messages_to_compact(view, len(request.head), cut),
            first_kept=first_kept.ordinal,
            basis=self._kept.basis,
            covers=cut,
            tokens=request.room.fixed_tokens + sum(item.tokens for item in arrangement.items[:cut]),
            seed=bound.seed,
            stands_for=tuple(part.hex() for part in bound.chain[cut]),
        )

    def _compacts(self, request: ViewRequest) -> bool:
        return request.native is not None and self._config.compaction_strategy == NATIVE

    def _settle(self, log: Log, request: ViewRequest) -> ItemStep:
        refused = self._refused(request)
        if refused:
            return ItemStep(refused, self._plans.plan_whole_log(log, request))
        if not self._stores:
            return ItemStep()
        before = self._arranger.arrange(log, request)
        state = self._kept.state
        plan = self._plan_of_arrived(log, request, before)
        if isinstance(plan, str):
            return ItemStep(plan)
        return ItemStep(compaction=self._plans.follow(log, request, plan, [], state))

    def _refused(self, request: ViewRequest) -> str:
        """Return why the provider refuses the plan's item, or "" if the provider accepts the item.

        Also "" if the provider or the item's maker is unknown.
        """
        plan = self._kept.plan
        if request.native is None or plan is None or plan.native is None:
            return ""
        if not plan.native.is_for(request.reader.provider, request.reader.model):
            return _OTHER_READER
        return request.native.refuses(plan.native.message)

    def _cut_now(self, request: ViewRequest, arrangement: Arrangement) -> int | None:
        """Return the position up to which a new item would reach, or None if the provider may not be asked now."""
        native = request.native
        budget = request.budget_tokens
        fixed = request.room.fixed_tokens
        if native is None or not native.may_ask or self._kept.basis == native.failed:
            return None
        if fixed + arrangement.tokens < self._config.native_start * budget:
            return None
        return find_cut(arrangement, self._config, budget, fixed)

    def _plan_of_arrived(self, log: Log, request: ViewRequest, before: Arrangement) -> Compaction | str:
        """Make the plan that shows an arrived item.

        Args:
            log: the open log of the session.
            request: the request that the view is for: its budget, its provider and its tools.
            before: the view under the plan in force.

        Returns:
            The plan; or why the item is not shown ("" if there is no item, or if it must wait).
        """
        ready = request.native.ready if request.native is not None else None
        if ready is None:
            return ""
        if not ready.item.is_for(request.reader.provider, request.reader.model):
            return _OTHER_READER
        if ready.basis != self._kept.basis:
            return "the history or its plan changed before the item arrived"
        state = self._kept.state
        known = self._kept.entries(log, has_factory=request.has_factory)
        entries = mark(known, pins=log.index.session.pins, retained=frozenset())
        later_entries = kept_after(entries, ready.first_kept)
        ordinals = frozenset(entry.ordinal for entry in later_entries)
        sizes = (state.cut_tokens.get(entry.id, entry.tokens) for entry in later_entries)
        if not later_entries or ready.item.tokens + sum(sizes) >= before.tokens:
            return FREES_TOO_LITTLE
        if not request.retained <= ordinals:
            return ""
        plan = Plan(
            id=self._new_id(),
            upto=next((entry.id for entry in reversed(state.entries) if entry.id), ""),
            keep=(),
            left_out=LeftOut(state.left_out + len(entries) - len(later_entries)),
            making=Making(
                budget_tokens=request.budget_tokens,
                target_tokens=int(request.budget_tokens * self._config.target_usage),
                tokens_before=request.room.fixed_tokens + before.tokens,
            ),
        )
        plan, cut_tokens = plan_with(ready.item, state.plan or NO_PLAN, later_entries, state.cut_tokens, plan)
        return Compaction(plan, before, cut_tokens, ordinals)
