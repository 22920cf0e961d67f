"""Compaction: from entries and a budget to a plan. Pure: messages are fetched and counted by what the caller passes.

The engine plans down to `target_usage` of the budget in one pass, so that rewrites are rare and large: with a prompt
cache that is read at a tenth of the price, a rewrite pays off only after many requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..errors import FloorError
from ..messages.elide import WHOLE, Cut
from ..view.arrangement import Arrangement, Presentation, arrange
from ..view.calls_and_results import closed_calls
from ..view.entry import Entry, media_left_out
from ..view.inserted_messages import inserted_message
from ..view.plan import SUMMARY_TAGS, LeftOut, Making, Plan, PlanRules
from ..view.render import shorten
from .always_kept import STEPS, Stage, newest_groups
from .choose import choose, close_turn, leave_nobody_unanswered, merge_gaps, use_room
from .draft import Draft, floor, pinned
from .losses import LargestTextLoss, Loss
from .markers import cost_of, what_is_gone, write_inserted
from .plan_request import PlanRequest
from .shorter_forms import SHORTENING, Forms
from .stale_reads import replace_stale_reads
from .strategies import STRATEGIES, Strategy
from .summary_span import drop_span

NOTICE_SHARE = 0.01  # of the target is left free for the notice
# Measured: docs/experiments.md ("Constants of the choice").
NEWEST_SHARE = 0.3  # of the room, for the results of the newest group, and of what is left for the other newest results
OLDER_SHARE = 0.6  # of the target's room is left to older messages if the newest ones alone are large,
RAISED_SHARE = 0.4  # for which a plan may stop so far above the target, on the way to the threshold
RAISED_FOR_PEOPLE = 0.7  # the same if people's messages would be left out, which no later plan can bring back


@dataclass(frozen=True, slots=True)
class Compaction:
    """A plan that was made, and what is known of its view."""

    plan: Plan
    arrangement: Arrangement
    cut_tokens: Mapping[str, int] = field(default_factory=dict)
    """The tokens of the cut messages, by message id."""
    kept_ordinals: frozenset[int] = frozenset()
    floor: dict[str, int] = field(default_factory=dict)
    """The parts of its view that cannot be compacted, in tokens by name."""


@dataclass(frozen=True, slots=True)
class Goals:
    """The target size of a view, in tokens."""

    tokens: int
    """The target, or somewhat more where the newest messages would push out all older ones."""
    with_people: int
    """Before people's messages go for it; no later plan can bring them back."""
    at_last: int
    """Before the first message or the answer before the newest message goes or is shortened."""

    @classmethod
    def of(cls, draft: Draft) -> Goals:
        """The goals of a draft in which everything is kept."""
        target, above = draft.target_tokens, draft.threshold_tokens - draft.target_tokens
        held = draft.fixed_tokens + sum([draft.sizes[position] for position in draft.fixed])
        wanted = held + int(OLDER_SHARE * max(0, target - draft.unmovable_tokens))
        newest = held - draft.unmovable_tokens
        tokens = max(target, min(wanted, target + int(RAISED_SHARE * above)))
        with_people = max(tokens, target + min(newest, int(RAISED_FOR_PEOPLE * above)))
        return cls(tokens, with_people, max(with_people, target + min(newest, above)))

    def at(self, stage: Stage) -> int:
        """The size of a view at which a stage stops."""
        if stage < Stage.SHORTEN:
            return self.tokens
        return self.with_people if stage < Stage.HELD else self.at_last


def compact(request: PlanRequest) -> Compaction:
    """Make a plan.

    Raises:
        FloorError: what may not be compacted is larger than the budget.
    """
    draft, strategy = Draft(request), STRATEGIES[request.strategy]
    tokens_before = draft.total_tokens
    if request.summary_so_far:
        draft.reserve(request.count(inserted_message("user", request.summary_so_far.join(SUMMARY_TAGS))))
    goals, forms = Goals.of(draft), Forms(draft, strategy.promises)
    notice_tokens = 0
    if request.config.compaction_notice_enabled:
        notice_tokens = int(NOTICE_SHARE * draft.target_tokens)
    draft.reserve(notice_tokens)
    stage = _choose(draft, forms, strategy, goals)
    older = _follow(draft, forms, strategy)
    draft.reserve(sum(map(cost_of, older.values())) - notice_tokens)
    step = STEPS[stage] if stage > Stage.FREE or not all(draft.kept) else 1
    making = Making(
        strategy=request.strategy,
        step=step,
        budget_tokens=request.budget_tokens,
        target_tokens=draft.target_tokens,
        tokens_before=tokens_before,
    )
    alive = _alive(draft)
    plan = _plan_of(draft, alive, making)
    made = _fit(draft, forms, what_is_gone(draft, plan), older, alive)
    request.so_far.memory.keep_only(set(made.plan.keep))
    return made


def _plan_of(draft: Draft, alive: Sequence[Entry], making: Making) -> Plan:
    """The plan that keeps the messages that stay, still without its cuts and without what it inserts."""
    request = draft.request
    keep = tuple([entry.id for entry in alive if entry.id])
    return Plan(
        id=request.plan_id,
        upto=next((entry.id for entry in reversed(request.entries) if entry.id), ""),
        keep=keep,
        silent=request.so_far.plan.silent.intersection(keep),
        closed=closed_calls(draft.view.groups, draft.kept),
        media=media_left_out(alive),
        left_out=LeftOut(request.history.left_out + len(request.entries) - len(alive)),
        making=making,
        rules=_rules_for(alive, offers_recall=request.config.offers_recall),
    )


def _rules_for(alive: Sequence[Entry], *, offers_recall: bool) -> PlanRules:
    """The rules of the views that show these messages."""
    narrates = any(entry.reasoning.narration_tokens for entry in alive)
    refers = narrates or any(entry.changes.omits for entry in alive)
    return PlanRules(narrates=narrates, no_recall=refers and not offers_recall)


def _choose(draft: Draft, forms: Forms, strategy: Strategy, goals: Goals) -> Stage:
    """Choose down to the goals, stage by stage; the last stage that was needed."""
    reached = Stage.FREE
    if draft.request.summary is not None:
        drop_span(draft, draft.request.summary)
    if draft.fits(goals.tokens):
        return reached
    for position in strategy.goes(draft):
        draft.drop(position)
    for position in draft.view.earlier_of_hooks:
        if position not in draft.fixed and draft.kept[position] and not draft.fits(goals.tokens):
            draft.drop(position)
    _shorten_newest(draft, forms, goals)
    for stage in STEPS:
        goal = goals.at(stage)
        if not draft.fits(goal) and choose(draft, forms, _loss(draft, forms, strategy, stage), goal):
            reached = stage
    return reached


def _loss(draft: Draft, forms: Forms, strategy: Strategy, stage: Stage) -> Loss:
    """The losses that decide at a stage."""
    if stage in SHORTENING:
        return LargestTextLoss(draft, forms, stage)
    if stage in (Stage.PEOPLE, Stage.HELD):
        return Loss(draft, forms, stage)
    return strategy.loss(draft, forms, stage)


def _shorten_newest(draft: Draft, forms: Forms, goals: Goals) -> None:
    """Shorten the results of the newest group to their share of the room, and then the other newest results."""
    groups, room = draft.view.groups, draft.target_tokens - draft.fixed_tokens
    own = [p for p in forms.offered(Stage.SHORTEN) if p in draft.fixed and groups[p].results]
    tokens = sum([draft.sizes[position] - draft.tokens_of(groups[position].head) for position in own])
    _shorten_to_share(draft, forms, goals, own, tokens, room)
    room -= sum([draft.sizes[position] for position in draft.fixed])
    others = [position for position in newest_groups(draft) if forms.leave[position] >= Stage.HELD]
    _shorten_to_share(draft, forms, goals, others, sum([draft.sizes[position] for position in others]), room)


def _shorten_to_share(draft: Draft, forms: Forms, goals: Goals, positions: list[int], tokens: int, room: int) -> None:
    """Shorten groups whose results have at least this many tokens, the largest first, to their share of the room."""
    excess = min(tokens, tokens - int(NEWEST_SHARE * room))
    if excess > 0:
        goal = max(goals.tokens, draft.total_tokens - excess)
        choose(draft, forms, LargestTextLoss(draft, forms, Stage.SHORTEN), goal, positions)


def _follow(draft: Draft, forms: Forms, strategy: Strategy) -> dict[str, str]:
    """Bring a view into a state from which a reader can go on: gaps that can be marked, nothing stale, room used.

    Returns:
        By the id of a result, the line that says that its file changed since.
    """
    merge_gaps(draft, forms)
    leave_nobody_unanswered(draft)
    close_turn(draft, forms)
    older = replace_stale_reads(draft)
    if strategy.uses_room and use_room(draft):
        leave_nobody_unanswered(draft)
        close_turn(draft, forms)
        older = replace_stale_reads(draft)
    return older


_INSERTS = (True, True, False)
"""Whether anything is inserted in each attempt to fit the budget."""


def _fit(draft: Draft, forms: Forms, plan: Plan, older: Mapping[str, str], alive: list[Entry]) -> Compaction:
    """Shorten the largest pieces until the view fits the budget with all that is inserted, or else without it.

    Raises:
        FloorError: it fits in no way.
    """
    budget, goal = draft.request.budget_tokens, draft.total_tokens
    for inserts in _INSERTS:
        if draft.total_tokens > goal:
            choose(draft, forms, LargestTextLoss(draft, forms, Stage.LAST), goal)
            plan = replace(plan, making=replace(plan.making, step=STEPS[Stage.LAST]))
        made = _shown(draft, plan, older, alive, inserts=inserts)
        tokens = made.plan.making.tokens_after
        if tokens <= budget:
            return made
        goal = min(goal, draft.total_tokens) - (tokens - budget)
    parts = floor(draft)
    inserted = {"inserted messages": tokens - sum(parts.values())}
    raise FloorError(budget, tokens, parts | inserted, pinned(draft))


def _alive(draft: Draft) -> list[Entry]:
    """The messages that stay, in the history's order."""
    ordinals = {entry.ordinal for position in draft.left() for entry in draft.view.members[position]}
    return [entry for entry in draft.request.entries if entry.ordinal in ordinals]


def _shown(draft: Draft, plan: Plan, older: Mapping[str, str], alive: list[Entry], *, inserts: bool) -> Compaction:
    """A plan with its cuts and what it inserts, and its view arranged."""
    request = draft.request
    cuts = {entry.id: draft.cuts[entry.id] for entry in alive if entry.id in draft.cuts}
    plan = write_inserted(draft, replace(plan, cuts=cuts), older, inserts=inserts)
    cut_tokens = _cut_tokens(draft, alive, plan.cuts)
    shown = replace(plan, silent=frozenset(draft.silent))
    how = Presentation(shown, cut_tokens, request.reader.recipient, request.reader.wire)
    arrangement = arrange(alive, request.count, how, after=request.so_far.arranged)
    plan = plan.with_tokens(request.fixed_tokens + arrangement.tokens)
    return Compaction(plan, arrangement, cut_tokens, frozenset(entry.ordinal for entry in alive), floor(draft))


def _cut_tokens(draft: Draft, alive: Sequence[Entry], cuts: Mapping[str, Cut]) -> dict[str, int]:
    """The tokens of the cut messages, counted again if lines after their texts changed."""
    request, before, known = draft.request, draft.request.so_far.plan.cuts, draft.request.so_far.cut_tokens
    marked = [e for e in alive if e.id in cuts and (cuts[e.id].then or before.get(e.id, WHOLE).then)]
    changed = [entry for entry in marked if cuts[entry.id] != before.get(entry.id)]
    tokens = draft.cut_tokens | {entry.id: known[entry.id] for entry in marked if entry.id in known}
    for entry, message in zip(changed, request.fetch(changed), strict=True):
        tokens[entry.id] = request.count(shorten(entry, message, cuts[entry.id], draft.config.truncate_boundary))
    return {message_id: tokens[message_id] for message_id in cuts}
