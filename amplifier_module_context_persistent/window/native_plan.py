"""A window's part in compaction by a provider: what it is offered, and the plan that shows the item which arrived."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from ..compaction.native_offer import NativeOffer, cut_of, kept_after, offered, plan_with
from ..compaction.planner import Compaction
from ..config import Config
from ..log.base import Log
from ..log.index import USER
from ..messages.message import Message
from ..view.arrangement import Arrangement
from ..view.bound_reasoning import BoundViews
from ..view.plan import NO_PLAN, Plan
from .plan_state import KeptEntries, PlanState, mark
from .request import ViewRequest

_OTHER_READER = "the provider or its model is another one"
FREES_TOO_LITTLE = "the item frees too little"


def refused_item(request: ViewRequest, plan: Plan | None) -> str:
    """Why a request's provider does not take the item of a plan; empty where it does, and where none is named."""
    if request.native is None or plan is None or plan.native is None:
        return ""
    if not plan.native.is_for(request.provider_name, request.model):
        return _OTHER_READER
    return request.native.refuses(plan.native.message)


def hides_in_item(log: Log, state: PlanState) -> bool:
    """Whether a turn was hidden that the item in force stands for."""
    index, plan = log.index, state.plan
    if not index.session.hidden or plan is None or plan.native is None:
        return False
    known = {entry.ordinal for entry in state.entries} | {*index.find_all(plan.hidden).values()}
    return any(index.columns.roles[ordinal] == USER for ordinal in index.session.hidden - known)


def cut_now(config: Config, request: ViewRequest, arrangement: Arrangement, tokens: int, basis: Hashable) -> int | None:
    """Where the item that a request's provider may be asked for now would end; None where it may not be asked."""
    native = request.native
    if (
        native is None
        or not native.may_ask
        or basis == native.failed
        or tokens < config.native_start * request.budget_tokens
    ):
        return None
    return cut_of(arrangement, config, request.budget_tokens, request.fixed_tokens)


def offer(
    request: ViewRequest,
    arrangement: Arrangement,
    view: list[Message],
    cut: int | None,
    basis: Hashable,
    bound: BoundViews,
) -> NativeOffer | None:
    """The beginning of a view, for its provider to compact; None without a cut."""
    first = arrangement.items[cut].entry if cut is not None else None
    if cut is None or first is None:
        return None
    tokens = request.fixed_tokens + sum(item.tokens for item in arrangement.items[:cut])
    messages = offered(view, len(request.head), cut)
    return NativeOffer(
        messages, first.ordinal, basis, cut, tokens, bound.seed, tuple(chain.hex() for chain in bound.chain[cut])
    )


def item_plan(
    log: Log,
    request: ViewRequest,
    entries: KeptEntries,
    before: Arrangement,
    config: Config,
    new_id: Callable[[], str],
) -> Compaction | str:
    """Make the plan that shows the item which arrived.

    Returns:
        It; or why the item is not shown, and nothing where there is none, or it has to wait.

    Args:
        log: the log.
        request: the request.
        entries: the window's entries.
        before: the view under the plan in force.
        config: the policy.
        new_id: makes the id of the new plan.
    """
    ready = request.native.ready if request.native is not None else None
    if ready is None:
        return ""
    if not ready.item.is_for(request.provider_name, request.model):
        return _OTHER_READER
    if ready.basis != entries.basis:
        return "the history or its plan changed before the item arrived"
    state = entries.state
    known = entries.entries(log, has_factory=request.has_factory)
    shown = mark(known, pins=log.index.session.pins, retained=frozenset())
    kept = kept_after(shown, ready.first_kept)
    ordinals = frozenset(entry.ordinal for entry in kept)
    sizes = (state.cut_tokens.get(entry.id, entry.tokens) for entry in kept)
    if not kept or ready.item.tokens + sum(sizes) >= before.tokens:
        return FREES_TOO_LITTLE
    if not request.retained <= ordinals:
        return ""
    plan = Plan(
        id=new_id(),
        upto=next((entry.id for entry in reversed(state.entries) if entry.id), ""),
        keep=(),
        dropped=state.left_out + len(shown) - len(kept),
        budget_tokens=request.budget_tokens,
        target_tokens=int(request.budget_tokens * config.target_usage),
        tokens_before=request.fixed_tokens + before.tokens,
    )
    plan, cut_tokens = plan_with(ready.item, state.plan or NO_PLAN, kept, state.cut_tokens, plan)
    return Compaction(plan, before, cut_tokens, ordinals)
