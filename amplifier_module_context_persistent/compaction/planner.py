"""Compaction: from entries and a budget to a plan. Pure: messages are fetched and counted by what the caller passes.

The engine plans down to `target_usage` of the budget in one pass, so that rewrites are rare and large: with a prompt
cache that is read at a tenth of the price, a rewrite pays off only after many requests.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate, takewhile

from ..errors import FloorError
from ..messages.elide import Cut
from ..view.arrangement import Arrangement, arrange, inserted_message
from ..view.plan import Plan
from ..view.rules import closed_calls
from .draft import Draft
from .floor import floor, pinned
from .ladder import shorten_largest
from .notice import Gone, notice_text
from .plan_request import PlanRequest
from .strategies import STRATEGIES
from .summary_span import drop_span, summary_text

OLDER_SHARE = 0.6  # of the target's room is left to older messages where the newest ones alone are large,
RAISED_SHARE = 0.4  # for which a plan may stop so far above the target, on the way to the threshold
SEALED_SHARE = 0.5  # of what the plan before kept; its beginning stays as it is while that costs little


@dataclass(frozen=True, slots=True)
class Compaction:
    """A plan that was made, and what is known of its view."""

    plan: Plan
    arrangement: Arrangement
    cut_tokens: Mapping[str, int] = field(default_factory=dict)
    """By message id, what the cut messages come to."""
    kept_ordinals: frozenset[int] = frozenset()
    floor: dict[str, int] = field(default_factory=dict)
    """What of its view cannot be compacted, in tokens by name."""


def compact(request: PlanRequest) -> Compaction:
    """Make a plan.

    Raises:
        FloorError: what may not be compacted is larger than the budget.
    """
    draft = request.draft()
    before = draft.total_tokens
    if request.summary_so_far:
        draft.reserve(request.count(inserted_message("user", summary_text(request.summary_so_far))))
    limit = int(request.budget_tokens * request.config.compact_threshold)
    draft.goal_tokens = _goal(draft, limit)
    draft.sealed = _sealed(draft, request.previous)
    step = _run_steps(draft, request)
    if draft.total_tokens > limit:
        draft.goal_tokens = (draft.target_tokens + limit) // 2
    fitted = _fit(draft, request, step)
    return Compaction(
        plan=_plan(draft, request, fitted, tokens_before=before),
        arrangement=fitted.arrangement,
        cut_tokens={message_id: draft.cut_tokens[message_id] for message_id in fitted.cuts},
        kept_ordinals=fitted.kept,
        floor=floor(draft),
    )


def _run_steps(draft: Draft, request: PlanRequest) -> int:
    """Run the steps of the strategy as far as they are needed; the last one that was."""
    reached = 0
    if request.summary is not None:
        drop_span(draft, request.summary)
        reached = 3
    for step, apply in STRATEGIES[request.strategy]:
        if draft.fits:
            break
        apply(draft)
        reached = 1 if step == 3 and all(draft.kept) else step
    return reached


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A draft that fits its budget with what is inserted."""

    step: int
    kept: frozenset[int]
    """Ordinals of the kept messages."""
    cuts: dict[str, Cut]
    dropped: int
    notice: str
    notice_before: str
    arrangement: Arrangement
    tokens: int


_WITH_NOTICE_AND_SUMMARY = ((True, True), (True, True), (True, True), (False, True), (False, False))
"""What is inserted in each attempt to fit the budget."""


def _fit(draft: Draft, request: PlanRequest, step: int) -> _Fitted:
    """Shorten the largest pieces until the view fits with its notice and its summary, or without them.

    Raises:
        FloorError: it fits in no way.
    """
    tokens = 0
    for with_notice, with_summary in _WITH_NOTICE_AND_SUMMARY:
        if draft.total_tokens > draft.goal_tokens:
            shorten_largest(draft)
            step = 6
        fitted = _arranged(draft, request, step, with_notice=with_notice, with_summary=with_summary)
        tokens = fitted.tokens
        if tokens <= request.budget_tokens:
            return fitted
        draft.goal_tokens = min(draft.goal_tokens, draft.total_tokens) - (tokens - request.budget_tokens)
    inserted = {"inserted messages": tokens - draft.total_tokens}
    raise FloorError(request.budget_tokens, tokens, floor(draft) | inserted, pinned(draft))


def _arranged(draft: Draft, request: PlanRequest, step: int, *, with_notice: bool, with_summary: bool) -> _Fitted:
    """Arrange the view of a draft."""
    entries = request.entries
    kept = frozenset(entry.ordinal for position in draft.left() for entry in draft.members[position])
    alive = [entry for entry in entries if entry.ordinal in kept]
    dropped = request.left_out + len(entries) - len(kept)
    cuts = {entry.id: draft.cuts[entry.id] for entry in alive if entry.id in draft.cuts}
    last = next((entry.id for entry in reversed(entries) if entry.ordinal not in kept and entry.id), "")
    gone = Gone(dropped, len(cuts), last)
    notice = notice_text(request.config, step, gone, request.budget_tokens, request.count) if with_notice else ""
    if request.summary_so_far and with_summary:
        notice = f"{summary_text(request.summary_so_far)}\n\n{notice}".rstrip()
    before_id = _first_after_gap(draft, request.previous)
    arrangement = arrange(
        alive,
        request.count,
        cuts=cuts,
        cut_tokens=draft.cut_tokens,
        silent=draft.silent,
        notice=notice,
        notice_before=before_id,
    )
    tokens = request.fixed_tokens + arrangement.tokens
    return _Fitted(step, kept, cuts, dropped, notice, before_id, arrangement, tokens)


def _plan(draft: Draft, request: PlanRequest, fitted: _Fitted, *, tokens_before: int) -> Plan:
    stored = [entry.id for entry in request.entries if entry.id]
    kept = [entry.id for entry in request.entries if entry.ordinal in fitted.kept]
    return Plan(
        id=request.plan_id,
        upto=stored[-1] if stored else "",
        keep=tuple(message_id for message_id in kept if message_id),
        cuts=fitted.cuts,
        silent=frozenset(message_id for message_id in kept if message_id in draft.silent),
        closed=closed_calls(draft.groups, draft.kept),
        notice=fitted.notice,
        notice_before=fitted.notice_before,
        step=fitted.step,
        dropped=fitted.dropped,
        budget_tokens=request.budget_tokens,
        target_tokens=draft.target_tokens,
        tokens_before=tokens_before,
        tokens_after=fitted.tokens,
        strategy=request.strategy,
    )


def _goal(draft: Draft, limit: int) -> int:
    """What the steps aim at: the target, or somewhat more where the newest messages would push out all older ones."""
    target = draft.target_tokens
    untouched = sum(draft.sizes[position] for position in draft.fixed)
    wanted = untouched + OLDER_SHARE * max(0, target - draft.fixed_tokens) + draft.fixed_tokens
    return max(target, min(int(wanted), target + int(RAISED_SHARE * (limit - target))))


def _sealed(draft: Draft, previous: Plan | None) -> int:
    """How many of the first groups the provider has in its cache and the plan leaves alone as long as it can."""
    if previous is None:
        return 0
    kept = set(previous.keep)
    known = list(takewhile(lambda position: draft.groups[position].head.id in kept, range(len(draft.groups))))
    sums = list(accumulate(draft.sizes[position] for position in known))
    return bisect_right(sums, SEALED_SHARE * sums[-1]) if sums else 0


def _first_after_gap(draft: Draft, previous: Plan | None) -> str:
    """The id of the first kept message after the last group that was left out, by this plan or the one before it."""
    groups = draft.groups
    start = next((position + 1 for position in reversed(range(len(groups))) if not draft.kept[position]), 0)
    if previous is not None and previous.notice_before:
        known = (position for position, group in enumerate(groups) if group.head.id == previous.notice_before)
        start = max(start, next(known, 0))
    heads = (groups[position].head for position in draft.left() if position >= start)
    return next((head.id for head in heads if head.id and not head.instructs), "")
