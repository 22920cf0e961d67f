"""Compaction: from entries and a budget to a plan. Pure: messages are fetched and counted by what the caller passes.

The engine plans down to `target_usage` of the budget in one pass, so that rewrites are rare and large: with a prompt
cache that is read at a tenth of the price, a rewrite pays off only after many requests.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, takewhile

from ..errors import FloorError
from ..messages.elide import WHOLE, Cut
from ..view.arrangement import Arrangement, Presentation, arrange, inserted_message
from ..view.entry import Entry, media_left_out
from ..view.plan import Plan
from ..view.render import shorten
from ..view.rules import closed_calls
from .choose import choose, use_room
from .consequences import close_turn, leave_nobody_unanswered, markers_room, merge_gaps
from .draft import Draft
from .floor import floor, own_tokens, pinned
from .forms import SHORTENING, Forms
from .inserted_text import Gone, cost_of, what_is_gone, write_inserted
from .losses import SEALED_SHARE, Largest, Least, Loss
from .plan_request import PlanRequest
from .promises import Bounds, Stage, newest_groups
from .stale_reads import replace_stale_reads
from .strategies import STRATEGIES, Strategy
from .summary_span import drop_span, summary_text

NOTICE_SHARE = 0.01  # of the target is left free for the notice
NEWEST_SHARE = 0.3  # of the room, for the results of the newest group, and of what is left for the other newest results
OLDER_SHARE = 0.6  # of the target's room is left to older messages where the newest ones alone are large,
RAISED_SHARE = 0.4  # for which a plan may stop so far above the target, on the way to the threshold
RAISED_FOR_PEOPLE = 0.7  # the same where people's messages would be left out, which no later plan can bring back

STEPS = {
    Stage.FREE: 3,
    Stage.TEXTS: 4,
    Stage.RECENT: 5,
    Stage.SHORTEN: 5,
    Stage.PEOPLE: 5,
    Stage.HELD: 5,
    Stage.LAST: 6,
}
"""By stage, the number that a plan's record has for it."""


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


@dataclass(frozen=True, slots=True)
class Goals:
    """What a view is to come to, in tokens."""

    tokens: int
    """The target, or somewhat more where the newest messages would push out all older ones."""
    with_people: int
    """Before people's messages go for it; no later plan can bring them back."""
    limit: int
    """From here on the next request would need a plan again."""

    @classmethod
    def of(cls, draft: Draft, request: PlanRequest) -> Goals:
        """The goals of a draft in which everything is kept."""
        target, limit = draft.target_tokens, int(request.budget_tokens * request.config.compact_threshold)
        above, untouched = limit - target, sum([draft.sizes[position] for position in draft.fixed])
        wanted = untouched + draft.fixed_tokens + int(OLDER_SHARE * max(0, target - draft.fixed_tokens))
        large = min(untouched, int(RAISED_FOR_PEOPLE * above))
        tokens = max(target, min(wanted, target + int(RAISED_SHARE * above)))
        return cls(tokens, max(tokens, target + large), limit)


def compact(request: PlanRequest) -> Compaction:
    """Make a plan.

    Raises:
        FloorError: what may not be compacted is larger than the budget.
    """
    draft, strategy = request.draft(), STRATEGIES[request.strategy]
    before = draft.total_tokens
    if request.summary_so_far:
        draft.reserve(request.count(inserted_message("user", summary_text(request.summary_so_far))))
    goals, bounds = Goals.of(draft, request), Bounds.of(draft, strategy.promises)
    room = int(NOTICE_SHARE * draft.target_tokens) if request.config.compaction_notice_enabled else 0
    draft.reserve(room)
    forms = Forms(draft, bounds)
    stage = _choose(draft, request, forms, strategy, goals)
    older = _follow(draft, request, bounds, strategy)
    draft.reserve(sum(map(cost_of, older.values())) - room)
    goal = (draft.target_tokens + goals.limit) // 2 if draft.total_tokens > goals.limit else draft.total_tokens
    step = STEPS[stage] if stage > Stage.FREE or not all(draft.kept) else 1
    return _fit(draft, request, forms, goal, step, older, before)


def _choose(draft: Draft, request: PlanRequest, forms: Forms, strategy: Strategy, goals: Goals) -> Stage:
    """Choose down to the goals, stage by stage; the last stage that was needed."""
    reached = Stage.FREE
    if request.summary is not None:
        drop_span(draft, request.summary)
    if draft.fits(goals.tokens):
        return reached
    for position in strategy.goes(draft):
        draft.drop(position)
    for position in draft.view.of_hooks[1]:
        if position not in draft.fixed and draft.kept[position] and not draft.fits(goals.tokens):
            draft.drop(position)
    _shorten_newest(draft, forms, goals)
    for stage in STEPS:
        goal = goals.tokens if stage < Stage.SHORTEN else goals.with_people
        if not draft.fits(goal) and choose(draft, forms, _loss(draft, request, forms, strategy, stage), goal):
            reached = stage
    return reached


def _loss(draft: Draft, request: PlanRequest, forms: Forms, strategy: Strategy, stage: Stage) -> Loss:
    """What decides at a stage."""
    if stage in SHORTENING:
        return Largest(draft, forms, stage)
    if stage in (Stage.PEOPLE, Stage.HELD):
        return Loss(draft, forms, stage)
    if strategy.loss is Least:
        return Least(draft, forms, stage, _sealed(draft, request.previous) if stage == Stage.FREE else 0)
    return strategy.loss(draft, forms, stage)


def _shorten_newest(draft: Draft, forms: Forms, goals: Goals) -> None:
    """Shorten the results of the newest group to their share of the room, and then the other newest results."""
    loss, room = Largest(draft, forms, Stage.SHORTEN), max(0, draft.target_tokens - draft.fixed_tokens)
    untouched = [position for position in draft.fixed if draft.kept[position]]
    results = [p for p in forms.offered(Stage.SHORTEN) if p in draft.fixed and draft.view.groups[p].results]
    tokens = sum([draft.sizes[p] - draft.tokens_of(draft.view.groups[p].head) for p in results])
    if (excess := tokens - int(NEWEST_SHARE * room)) > 0:
        choose(draft, forms, loss, max(goals.tokens, draft.total_tokens - excess), results)
    room -= sum([draft.sizes[position] for position in untouched])
    newest = [position for position in newest_groups(draft) if forms.holds(position)]
    excess = sum([draft.sizes[p] for p in newest]) - int(NEWEST_SHARE * max(0, room))
    if excess > 0:
        choose(draft, forms, loss, max(goals.tokens, draft.total_tokens - excess), newest)


def _follow(draft: Draft, request: PlanRequest, bounds: Bounds, strategy: Strategy) -> dict[str, str]:
    """Bring a view into a state from which a reader can go on: gaps that can be marked, nothing stale, room used.

    Returns:
        By the id of a result, the line that says that its file changed since.
    """
    before = request.previous.cuts if request.previous is not None else {}
    if not all(draft.kept):
        if draft.gap_tokens:
            merge_gaps(draft, bounds)
        leave_nobody_unanswered(draft)
        close_turn(draft, bounds)
    older = replace_stale_reads(draft, before)
    if strategy.uses_room and use_room(draft):
        close_turn(draft, bounds)
        older = replace_stale_reads(draft, before)
    return older


_INSERTS = (True, True, True, False)
"""Whether anything is inserted in each attempt to fit the budget."""


def _fit(
    draft: Draft, request: PlanRequest, forms: Forms, goal: int, step: int, older: Mapping[str, str], before: int
) -> Compaction:
    """Shorten the largest pieces until the view fits with all that is inserted, or with less of it.

    Raises:
        FloorError: it fits in no way.
    """
    tokens = 0
    gone = what_is_gone(draft, request, older)
    for inserts in _INSERTS:
        if draft.total_tokens > goal:
            choose(draft, forms, Largest(draft, forms, Stage.LAST), goal)
            step = STEPS[Stage.LAST]
        made = _planned(draft, request, step, gone, before, inserts=inserts)
        tokens = made.plan.tokens_after
        if tokens <= request.budget_tokens:
            return made
        goal = min(goal, draft.total_tokens) - (tokens - request.budget_tokens)
    inserted = {"inserted messages": tokens - draft.fixed_tokens - own_tokens(draft)}
    raise FloorError(request.budget_tokens, tokens, floor(draft) | inserted, pinned(draft))


def _planned(draft: Draft, request: PlanRequest, step: int, gone: Gone, before: int, *, inserts: bool) -> Compaction:
    """The plan of a draft, with its view arranged; `before` are the tokens of the view without it."""
    ordinals = {entry.ordinal for position in draft.left() for entry in draft.view.members[position]}
    alive = [entry for entry in request.entries if entry.ordinal in ordinals]
    cuts = {entry.id: draft.cuts[entry.id] for entry in alive if entry.id in draft.cuts}
    plan = Plan(
        id=request.plan_id,
        upto=next((entry.id for entry in reversed(request.entries) if entry.id), ""),
        keep=tuple(entry.id for entry in alive if entry.id),
        silent=request.silent & {entry.id for entry in alive},
        closed=closed_calls(draft.view.groups, draft.kept),
        media=media_left_out(alive),
        changed=gone.changed,
        read=gone.read,
        in_vain=gone.in_vain,
        step=step,
        dropped=request.left_out + len(request.entries) - len(alive),
        budget_tokens=request.budget_tokens,
        target_tokens=draft.target_tokens,
        tokens_before=before,
        strategy=request.strategy,
    )
    step_before = max(STEPS[Stage.FREE], request.previous.step if request.previous else 0) if request.left_out else 0
    inserted = write_inserted(
        request,
        gone,
        cuts.values(),
        target_tokens=draft.target_tokens,
        room_tokens=markers_room(draft),
        dropped=plan.dropped,
        step=max(step, step_before),
        inserts=inserts,
    )
    cut_tokens = _with_lines(draft, request, alive, cuts, inserted.lines)
    plan = replace(plan, cuts=cuts, gaps=inserted.gaps, notice=inserted.notice, notice_before=inserted.before)
    shown = replace(plan, silent=frozenset(draft.silent))
    how = Presentation(shown, cut_tokens, request.reader, request.wire)
    arrangement = arrange(alive, request.count, how, after=request.arranged)
    plan = replace(plan, tokens_after=request.fixed_tokens + arrangement.tokens)
    return Compaction(plan, arrangement, cut_tokens, frozenset(entry.ordinal for entry in alive), floor(draft))


def _with_lines(
    draft: Draft, request: PlanRequest, alive: Sequence[Entry], cuts: dict[str, Cut], lines: Mapping[str, str]
) -> dict[str, int]:
    """Put the lines that mark gaps into cuts; what the cut messages come to, counted anew where lines came or went."""
    tokens = dict(draft.cut_tokens)
    before = request.previous.cuts if request.previous is not None else {}
    changed = []
    for entry in alive:
        had, line = before.get(entry.id), lines.get(entry.id, "")
        if line:
            cuts[entry.id] = replace(cuts.get(entry.id) or entry.offload or WHOLE, then=line)
        if entry.id in cuts and (line or (had is not None and had.then)):
            if cuts[entry.id] == had:
                tokens[entry.id] = request.cut_tokens[entry.id]
            else:
                changed.append(entry)
    boundary = request.config.truncate_boundary
    for entry, message in zip(changed, request.fetch(changed), strict=True):
        tokens[entry.id] = request.count(shorten(entry, message, cuts[entry.id], boundary))
    return {message_id: tokens[message_id] for message_id in cuts}


def _sealed(draft: Draft, previous: Plan | None) -> int:
    """How many of the first groups the provider has in its cache and the plan leaves alone as long as it can."""
    kept = set(previous.keep) if previous is not None else set[str]()
    known = list(takewhile(kept.__contains__, (group.head.id for group in draft.view.groups)))
    sums = list(accumulate(draft.sizes[: len(known)]))
    return bisect_right(sums, SEALED_SHARE * sums[-1]) if sums else 0
