"""Compaction: from entries and a budget to a plan. Pure: messages are fetched and counted by what the caller passes.

The engine plans down to `target_usage` of the budget in one pass, so that rewrites are rare and large: with a prompt
cache that is read at a tenth of the price, a rewrite pays off only after many requests.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, compress, takewhile
from operator import attrgetter

from ..errors import FloorError
from ..messages.elide import WHOLE, Cut
from ..view.arrangement import Arrangement, arrange
from ..view.entry import Entry, media_left_out
from ..view.group_table import PLANS
from ..view.inserted import inserted_message
from ..view.plan import Plan
from ..view.render import shorten
from ..view.rules import closed_calls, last_human
from .draft import Draft
from .floor import floor, pinned
from .gap_markers import Marked, close_turn, drop_opening, hold_turn_start, mark_gaps, merge_gaps
from .gaps import GapFinder
from .inserted_text import write_inserted
from .interrupted_turns import hold_interrupted_turns
from .ladder import shorten_largest
from .last_words import hold_last_words, leave_nobody_unanswered
from .notice import place_notice, says_what_is_gone
from .plan_request import PlanRequest
from .room import use_room
from .stale_reads import FileUses, replace_stale_reads
from .strategies import STRATEGIES
from .summary_span import drop_span, summary_text

MARKERS_SHARE = 0.03  # of the target is left free for what marks gaps
OLDER_SHARE = 0.6  # of the target's room is left to older messages where the newest ones alone are large,
RAISED_SHARE = 0.4  # for which a plan may stop so far above the target, on the way to the threshold
RAISED_FOR_PEOPLE = 0.7  # the same where people's messages would be left out, which no later plan can bring back,
UNTOUCHED_SHARE = 0.1  # by as much as the newest ones take beyond this share of the target
SEALED_SHARE = 0.4  # of what the plan before kept; its beginning stays as it is while that costs little


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
    above, untouched = limit - draft.target_tokens, sum([draft.sizes[position] for position in draft.fixed])
    draft.goal_tokens = _goal(draft, untouched, draft.target_tokens + int(RAISED_SHARE * above))
    large = min(untouched - int(UNTOUCHED_SHARE * draft.target_tokens), int(RAISED_FOR_PEOPLE * above))
    draft.people_goal_tokens = draft.target_tokens + max(0, large)
    draft.sealed = _sealed(draft, request.previous)
    room = int(MARKERS_SHARE * draft.target_tokens) if request.config.compaction_notice_enabled else 0
    draft.reserve(room)
    _hold(draft, request)
    step = _run_steps(draft, request)
    finder = GapFinder(draft, request)
    _mend(draft, request, finder)
    draft.reserve(-room)
    if draft.total_tokens > limit:
        draft.goal_tokens = (draft.target_tokens + limit) // 2
    try:
        fitted = _fit(draft, request, step, finder)
    except FloorError:
        if not drop_opening(draft):
            raise
        fitted = _fit(draft, request, step, finder)
    return Compaction(
        plan=_plan(draft, request, fitted, tokens_before=before),
        arrangement=fitted.arrangement,
        cut_tokens=fitted.cut_tokens,
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


def _hold(draft: Draft, request: PlanRequest) -> None:
    """Hold what goes only when nothing else is left: last words, the list of what to do, the start of the turn."""
    hold_turn_start(draft)
    if request.strategy == "sliding_window":
        return
    hold_interrupted_turns(draft, hold_last_words(draft))
    todo = [position for position in draft.table.calling(PLANS) if draft.kept[position]]
    draft.held.update(todo[-1:])


def _mend(draft: Draft, request: PlanRequest, finder: GapFinder) -> None:
    """Bring a view into a state from which a reader can go on: gaps that can be marked, nothing stale, room used."""
    uses = FileUses.of(draft)
    if not all(draft.kept):
        if request.config.compaction_notice_enabled:
            merge_gaps(draft, finder)
        if request.strategy != "sliding_window":
            leave_nobody_unanswered(draft)
        close_turn(draft)
        replace_stale_reads(draft, uses)
    if request.strategy == "truncate" and use_room(draft):
        replace_stale_reads(draft, uses)


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A draft that fits its budget with what is inserted."""

    step: int
    alive: list[Entry]
    """The kept messages."""
    kept: frozenset[int]
    """Their ordinals."""
    cuts: dict[str, Cut]
    cut_tokens: dict[str, int]
    silent: frozenset[str]
    marked: Marked
    dropped: int
    notice: str
    notice_before: str
    arrangement: Arrangement
    tokens: int


_INSERTED = ((True, True, True),) * 3 + ((False, True, True), (False, False, True), (False, False, False))
"""What is inserted in each attempt to fit the budget: the notice, the summary, the markers of gaps."""


def _fit(draft: Draft, request: PlanRequest, step: int, finder: GapFinder) -> _Fitted:
    """Shorten the largest pieces until the view fits with all that is inserted, or with less of it.

    Raises:
        FloorError: it fits in no way.
    """
    tokens = 0
    marked = mark_gaps(draft, request, finder)
    for with_notice, with_summary, with_markers in _INSERTED:
        if draft.total_tokens > draft.goal_tokens:
            shorten_largest(draft)
            step = 6
        shows = with_markers and says_what_is_gone(request.config, max(step, request.step_before))
        fitted = _arranged(
            draft,
            request,
            step,
            marked,
            with_notice=with_notice,
            with_summary=with_summary,
            with_markers=shows,
        )
        tokens = fitted.tokens
        if tokens <= request.budget_tokens:
            return fitted
        draft.goal_tokens = min(draft.goal_tokens, draft.total_tokens) - (tokens - request.budget_tokens)
    inserted = {"inserted messages": tokens - draft.total_tokens}
    raise FloorError(request.budget_tokens, tokens, floor(draft) | inserted, pinned(draft))


def _arranged(
    draft: Draft,
    request: PlanRequest,
    step: int,
    marked: Marked,
    *,
    with_notice: bool,
    with_summary: bool,
    with_markers: bool,
) -> _Fitted:
    """Arrange the view of a draft."""
    entries = request.entries
    kept = frozenset(chain.from_iterable(compress(draft.table.ordinals, draft.kept)))
    alive = list(compress(entries, map(kept.__contains__, map(attrgetter("ordinal"), entries))))
    dropped = request.left_out + len(entries) - len(kept)
    cut = sorted(draft.cut_entries(), key=lambda entry: request.index_of(entry.ordinal))  # as the history has them
    cuts = {entry.id: draft.cuts[entry.id] for entry in cut}
    marked, notice = write_inserted(
        draft,
        request,
        marked,
        cuts.values(),
        step=max(step, request.step_before),
        dropped=dropped,
        with_notice=with_notice,
        with_markers=with_markers,
    )
    summary = request.summary_so_far if with_summary else ""
    placed = place_notice(marked, notice, summary_text(summary) if summary else "", _first_after_gap(draft, request))
    counted = _with_lines(draft, request, alive, cuts, placed.lines)
    cut_tokens = {message_id: counted[message_id] for message_id in cuts}
    table = draft.table.left(draft.kept)
    silent = frozenset(draft.silent.intersection(table.ids))
    arrangement = arrange(
        alive,
        request.count,
        cuts=cuts,
        cut_tokens=cut_tokens,
        silent=silent,
        notice=placed.notice,
        notice_before=placed.before,
        gaps=marked.gaps,
        reader=request.reader,
        wire=request.wire,
        after=request.arranged,
        table=table,
    )
    tokens = request.fixed_tokens + arrangement.tokens
    return _Fitted(
        step, alive, kept, cuts, cut_tokens, silent, marked, dropped, placed.notice, placed.before, arrangement, tokens
    )


def _with_lines(
    draft: Draft, request: PlanRequest, alive: Sequence[Entry], cuts: dict[str, Cut], lines: Mapping[str, str]
) -> dict[str, int]:
    """Put the lines that mark gaps into cuts; what the cut messages come to, counted anew where lines came or went."""
    tokens = dict(draft.cut_tokens)
    before = request.previous.cuts if request.previous is not None else {}
    changed = []
    said = {message_id for message_id, cut in before.items() if cut.then}
    touched = said.union(lines)
    for entry in [entry for entry in alive if entry.id in touched]:
        line = lines.get(entry.id, "")
        if line:
            cuts[entry.id] = replace(cuts.get(entry.id) or entry.offload or WHOLE, then=line)
        had = before.get(entry.id)
        if entry.id in cuts:
            if cuts[entry.id] == had and entry.id in request.cut_tokens:
                tokens[entry.id] = request.cut_tokens[entry.id]
            else:
                changed.append(entry)
    boundary = request.config.truncate_boundary
    for entry, message in zip(changed, request.fetch(changed), strict=True):
        tokens[entry.id] = request.count(shorten(entry, message, cuts[entry.id], boundary))
    return tokens


def _plan(draft: Draft, request: PlanRequest, fitted: _Fitted, *, tokens_before: int) -> Plan:
    return Plan(
        id=request.plan_id,
        upto=next((entry.id for entry in reversed(request.entries) if entry.id), ""),
        keep=tuple(filter(None, map(attrgetter("id"), fitted.alive))),
        cuts=fitted.cuts,
        silent=request.silent & fitted.silent,
        closed=closed_calls(draft.groups, draft.kept) if draft.table.has_open else {},
        media=media_left_out(fitted.alive),
        gaps=fitted.marked.gaps,
        changed=fitted.marked.changed,
        read=fitted.marked.read,
        in_vain=fitted.marked.in_vain,
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


def _goal(draft: Draft, untouched: int, raised: int) -> int:
    """What the steps aim at: the target, or somewhat more where the newest messages would push out all older ones."""
    target = draft.target_tokens
    wanted = untouched + OLDER_SHARE * max(0, target - draft.fixed_tokens) + draft.fixed_tokens
    return max(target, min(int(wanted), raised))


def _sealed(draft: Draft, previous: Plan | None) -> int:
    """How many of the first groups the provider has in its cache and the plan leaves alone as long as it can."""
    if previous is None:
        return 0
    known = list(takewhile(set(previous.keep).__contains__, draft.table.ids))
    sums = list(accumulate(draft.sizes[: len(known)]))
    return bisect_right(sums, SEALED_SHARE * sums[-1]) if sums else 0


def _first_after_gap(draft: Draft, request: PlanRequest) -> str:
    """The id of the first kept message after the last group that was left out, by this plan or the one before it."""
    groups, previous = draft.groups, request.previous
    start = next((position + 1 for position in reversed(range(len(groups))) if not draft.kept[position]), 0)
    if previous is not None and previous.notice_before and previous.notice_before in draft.table.ids:
        start = max(start, draft.table.ids.index(previous.notice_before))
    turn = last_human(groups)
    if turn is not None and start > turn and not request.summary_so_far:  # after it a notice would begin a new turn
        start = turn
    heads = (groups[position].head for position in draft.left() if position >= start)
    return next((head.id for head in heads if head.id and not head.instructs), "")
