"""A plan that leaves out images and documents and nothing else: for a view that has more of them than a request may.

All messages that were shown stay, cut as they were, so everything before the first image that goes stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..compaction.planner import Compaction
from ..view.arrangement import Arrangement, Count, Fetch
from ..view.entry import Entry, without_some_media
from ..view.plan import Plan
from ..view.render import shorten
from .plan_state import PlanState
from .request import ViewRequest


def media_plan(
    state: PlanState,
    entries: Sequence[Entry],
    arrangement: Arrangement,
    request: ViewRequest,
    beyond: Mapping[int, frozenset[int]],
    *,
    new_id: Callable[[], str],
    last: int | None,
    count: Count,
    fetch: Fetch,
    boundary: str,
) -> Compaction | None:
    """Make the plan that leaves out some media of a view; None where a plan can name none of them.

    Args:
        state: the plan in force and what it keeps.
        entries: what the view holds.
        arrangement: the view.
        request: the request.
        beyond: by ordinal, the numbers of media that have to go.
        new_id: makes the id of the new plan.
        last: the ordinal of the last live message.
        count: counts a message.
        fetch: parses the messages of entries.
        boundary: as `elide_text`.
    """
    if state.plan is None and state.left_out:
        return None  # a long history that was not read yet needs a plan of its own first
    going = {entry.id: beyond[entry.ordinal] for entry in state.entries if entry.ordinal in beyond and entry.id}
    if not going:
        return None
    before = state if state.plan is not None else replace(state, plan=Plan(id="", upto="", keep=()))
    lighter = without_some_media(state.entries, going, count)
    plan = replace(before, entries=lighter).as_plan(new_id(), last)
    if plan is None:
        return None
    cut = [entry for entry in lighter if entry.id in going and entry.id in plan.cuts]
    messages = zip(cut, fetch(cut), strict=True)
    counted = {entry.id: count(shorten(entry, message, plan.cuts[entry.id], boundary)) for entry, message in messages}
    saved = sum(
        state.cut_tokens.get(old.id, old.tokens) - counted.get(new.id, new.tokens)
        for old, new in zip(state.entries, lighter, strict=True)
        if old is not new
    )
    tokens = request.fixed_tokens + arrangement.tokens
    plan = replace(plan, budget_tokens=request.budget_tokens, tokens_before=tokens, tokens_after=tokens - saved)
    return Compaction(
        plan=plan,
        arrangement=arrangement,
        cut_tokens={**state.cut_tokens, **counted},
        kept_ordinals=frozenset(entry.ordinal for entry in [*state.entries, *entries]),
    )


def with_room_for_bytes(request: ViewRequest, arrangement: Arrangement, size_bytes: int) -> ViewRequest:
    """The request with a budget in which a view's text keeps the limit of bytes; the very same where it does."""
    limits = request.limits
    if limits is None:
        return request
    most = limits.request_bytes - request.fixed_bytes
    if size_bytes <= most:
        return request
    tokens = int((request.fixed_tokens + arrangement.tokens) * _BYTES_SHARE * most / size_bytes)
    return replace(request, budget_tokens=min(request.budget_tokens, max(1, tokens)))


_BYTES_SHARE = 0.9
