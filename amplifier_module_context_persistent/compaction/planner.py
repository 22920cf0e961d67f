"""Compaction: make a plan from entries and a budget. Pure: the caller passes the functions that fetch and count.

A plan says which messages a view keeps, shortens or leaves out. It is made on a draft (the view in the making), in
stages: a later stage takes what earlier stages spare, and starts only if they did not make the view small enough.

One plan reduces the view to `target_usage` of the budget, so that rewrites are rare and large: with a prompt cache that
is read at a tenth of the price, a rewrite pays off only after many requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress
from operator import attrgetter

from ..errors import FloorError
from ..messages.elide import WHOLE, Cut
from ..view.arrangement import Arrangement, Presentation, arrange
from ..view.entry import Entry, media_left_out
from ..view.inserted_messages import inserted_message
from ..view.missing_results import closed_calls
from ..view.plan import SUMMARY_TAGS, LeftOut, Making, Plan, PlanRules
from ..view.render import shorten
from .always_kept import STEPS, Stage, groups_of_newest_results
from .choose import choose, close_turn, leave_nobody_unanswered, merge_gaps, use_room
from .draft import Draft, floor, pinned
from .losses import LargestTextLoss, Loss
from .markers import cost_of, with_left_out, write_inserted
from .plan_request import PlanRequest
from .quotes import quote_tokens
from .repeated_words import shorten_repeated
from .shorter_forms import SHORTENING, Forms
from .stale_reads import replace_stale_reads
from .strategies import STRATEGIES, Strategy
from .summary_span import leave_out_span

_ORDINAL = attrgetter("ordinal")

FREE_SHARE = 0.01  # of the target, left free for the notice, and as much for quotes if there is anything to quote
# Measured: docs/experiments.md ("Constants of the choice").
NEWEST_SHARE = 0.3  # of the room, for results in groups that must stay; then of the rest, for other newest results
OLDER_SHARE = 0.6  # of the target's room, left to older messages if the newest messages are large
RAISED_SHARE = 0.4  # of the way from target to threshold: the most by which `OLDER_SHARE` raises the goal of a plan
RAISED_FOR_PEOPLE = 0.7  # the same before people's messages are left out, which no later plan can bring back


@dataclass(frozen=True, slots=True)
class Compaction:
    """A new plan, and facts about its view."""

    plan: Plan
    arrangement: Arrangement
    cut_tokens: Mapping[str, int] = field(default_factory=dict)
    """The tokens of the cut messages, by message id."""
    kept_ordinals: frozenset[int] = frozenset()
    floor: dict[str, int] = field(default_factory=dict)
    """The tokens of the parts of the view, by the part's name: parts that cannot be compacted, and the other messages.
    """


@dataclass(frozen=True, slots=True)
class Goals:
    """The sizes of a view at which the stages of the choice stop, in tokens."""

    tokens: int
    """The size at which the first stages stop: the target, or more if large newest messages would replace all older
    ones."""
    shortening: int
    """The goal of the stages that shorten texts or leave out answers."""
    most_with_people: int
    """The size up to which a view may grow before a person's message is left out. No later plan brings such a message
    back."""
    at_last: int
    """The goal of the last stages, which leave out groups with a promise and shorten texts of any kind."""

    @classmethod
    def of(cls, draft: Draft, target: int | None = None) -> Goals:
        """Return the goals for a draft in which everything is kept. Without `target`, they are for the draft's own."""
        if target is None:
            target = draft.target_tokens
        above = draft.threshold_tokens - target
        fixed_size = draft.fixed_tokens + sum([draft.sizes[position] for position in draft.fixed])
        wanted = fixed_size + int(OLDER_SHARE * max(0, target - draft.unmovable_tokens))
        newest = fixed_size - draft.unmovable_tokens
        tokens = max(target, min(wanted, target + int(RAISED_SHARE * above)))
        most_with_people = target + int(RAISED_FOR_PEOPLE * above)
        shortening = max(tokens, min(target + newest, most_with_people))
        return cls(tokens, shortening, most_with_people, max(shortening, target + min(newest, above)))

    def at(self, stage: Stage, draft: Draft) -> int:
        """Return the size of a view, in tokens, at which a stage stops.

        A stage that leaves out final answers or people's messages stops earlier: the view may be larger by the tokens
        of the turn in progress.
        """
        if stage < Stage.SHORTEN:
            return self.tokens
        if stage < Stage.SECOND_ANSWERS:
            return self.shortening
        turn = len(draft.kept) if draft.view.turn is None else draft.view.turn
        turn_tokens = sum([draft.sizes[position] for position in draft.kept_positions() if position > turn])
        raised = max(self.shortening, min(draft.usual_target_tokens + turn_tokens, self.most_with_people))
        return raised if stage <= Stage.PEOPLE else max(raised, self.at_last)


def compact(request: PlanRequest) -> Compaction:
    """Make a plan with which the view fits the budget. Return the plan with facts about its view.

    Raises:
        FloorError: the parts of the view that must not be compacted are larger than the budget.
    """
    draft = Draft(request)
    strategy = STRATEGIES[request.strategy]
    tokens_before = draft.total_tokens + quote_tokens(request.so_far.plan.left_out.gaps or (), request.count)
    if request.summary_so_far:
        draft.reserve(request.count(inserted_message("user", request.summary_so_far.join(SUMMARY_TAGS))))
    if not draft.fits(draft.target_tokens):
        shorten_repeated(draft)
    goals = Goals.of(draft)
    late_goals = Goals.of(draft, draft.usual_target_tokens)
    forms = Forms(draft, strategy.promises)
    free_tokens = tokens_left_free(draft)
    draft.reserve(free_tokens)
    stage = _run_stages(draft, forms, strategy, goals, late_goals)
    older = _make_readable(draft, forms, strategy)
    # The estimate for inserted texts is given back: `_fit` counts all inserted texts exactly.
    draft.reserve(sum(map(cost_of, older.values())) - free_tokens)
    step = 1
    if stage > Stage.FREE or not all(draft.kept):
        step = STEPS[stage]
    making = Making(
        strategy=request.strategy,
        step=step,
        budget_tokens=request.budget_tokens,
        target_tokens=draft.target_tokens,
        tokens_before=tokens_before,
    )
    kept_entries = _kept_entries(draft)
    plan = _plan_of(draft, kept_entries, making)
    compaction = _fit(draft, forms, with_left_out(draft, plan), older, kept_entries)
    request.so_far.memory.keep_only(set(compaction.plan.keep))
    return compaction


def tokens_left_free(draft: Draft) -> int:
    """Return the tokens that the choice leaves free for the notice and for quotes, which no group's price contains."""
    if not draft.config.compaction_notice_enabled:
        return 0
    share_tokens = int(FREE_SHARE * draft.target_tokens)
    return share_tokens + min(share_tokens, draft.all_quoted_tokens)


def _plan_of(draft: Draft, kept_entries: Sequence[Entry], making: Making) -> Plan:
    """Return the plan that keeps the messages in `kept_entries`, before its cuts and inserted texts are added."""
    request = draft.request
    keep = tuple([entry.id for entry in kept_entries if entry.id])
    return Plan(
        id=request.plan_id,
        upto=next((entry.id for entry in reversed(request.entries) if entry.id), ""),
        keep=keep,
        silent=request.so_far.plan.silent.intersection(keep),
        closed=closed_calls(draft.view.groups, draft.kept) if draft.view.has_unanswered else {},
        media=media_left_out(kept_entries),
        left_out=LeftOut(request.history.left_out + len(request.entries) - len(kept_entries)),
        making=making,
        rules=_rules_for(kept_entries, offers_recall=request.config.offers_recall),
    )


def _rules_for(kept_entries: Sequence[Entry], *, offers_recall: bool) -> PlanRules:
    """Return the rules of the log's format for views that show these messages."""
    narrates = any(entry.reasoning.narration_tokens for entry in kept_entries)
    refers = narrates or any(entry.changes.omits for entry in kept_entries)
    return PlanRules(narrates=narrates, no_recall=refers and not offers_recall)


def _run_stages(draft: Draft, forms: Forms, strategy: Strategy, goals: Goals, late_goals: Goals) -> Stage:
    """Leave out groups and cut messages, stage by stage, until the view meets the goals.

    The stages that leave out final answers or people's messages stop at `late_goals`, which are those of a plan with
    the usual target: an early plan saves the price of tokens, and what these stages take would not come back.

    Returns:
        The last stage at which a form was taken; `Stage.FREE` if none was.
    """
    reached = Stage.FREE
    if draft.request.summary is not None:
        leave_out_span(draft, draft.request.summary)
    if draft.fits(goals.tokens):
        return reached
    for position in strategy.left_out_first(draft):
        draft.leave_out(position)
    for position in draft.view.earlier_of_hooks:
        if position not in draft.fixed and draft.kept[position] and not draft.fits(goals.tokens):
            draft.leave_out(position)
    _shorten_newest(draft, forms, goals)
    for stage in STEPS:
        if draft.fits(goals.tokens):
            break  # the goals of later stages are not smaller
        goal = (goals if stage < Stage.SECOND_ANSWERS else late_goals).at(stage, draft)
        if not draft.fits(goal) and choose(draft, forms, _loss(draft, forms, strategy, stage), goal):
            reached = stage
    return reached


def _loss(draft: Draft, forms: Forms, strategy: Strategy, stage: Stage) -> Loss:
    """Return the loss that gives the prices of forms at a stage."""
    if stage in SHORTENING:
        return LargestTextLoss(draft, forms, stage)
    if stage in (Stage.SECOND_ANSWERS, Stage.PEOPLE, Stage.HELD):
        return Loss(draft, forms, stage)
    return strategy.loss(draft, forms, stage)


def _shorten_newest(draft: Draft, forms: Forms, goals: Goals) -> None:
    """Shorten the newest results, in two steps.

    First the results in groups that must stay (`Draft.fixed`) are shortened to `NEWEST_SHARE` of the room. Then the
    other results that `protected_tool_results` protects are shortened to `NEWEST_SHARE` of the rest of the room.
    """
    groups = draft.view.groups
    room_tokens = draft.target_tokens - draft.fixed_tokens
    offered = forms.offered(Stage.SHORTEN)
    must_stay = [position for position in offered if position in draft.fixed and groups[position].results]
    results_tokens = sum([draft.sizes[position] - draft.tokens_of(groups[position].head) for position in must_stay])
    _shorten_to_share(draft, forms, goals, must_stay, tokens=results_tokens, room_tokens=room_tokens)

    tokens_that_stay = sum([draft.sizes[position] for position in draft.fixed])
    others = [position for position in groups_of_newest_results(draft) if forms.leave[position] >= Stage.HELD]
    others_tokens = sum([draft.sizes[position] for position in others])
    rest_tokens = room_tokens - tokens_that_stay
    _shorten_to_share(draft, forms, goals, others, tokens=others_tokens, room_tokens=rest_tokens)


def _shorten_to_share(
    draft: Draft, forms: Forms, goals: Goals, positions: list[int], *, tokens: int, room_tokens: int
) -> None:
    """Shorten the results of some groups, the largest first, to `NEWEST_SHARE` of a room.

    The function stops earlier if the view meets its first goal.

    Args:
        draft: the view in the making.
        forms: the shorter forms of its groups.
        goals: the goals of the plan.
        positions: the positions of the groups.
        tokens: the current size of what may become shorter in these groups.
        room_tokens: the size of the room; below 0 if other messages take more than there is.
    """
    most_tokens = max(0, int(NEWEST_SHARE * room_tokens))
    excess_tokens = tokens - most_tokens
    if excess_tokens > 0:
        goal_tokens = max(goals.tokens, draft.total_tokens - excess_tokens)
        choose(draft, forms, LargestTextLoss(draft, forms, Stage.SHORTEN), goal_tokens, positions)


def _make_readable(draft: Draft, forms: Forms, strategy: Strategy) -> dict[str, str]:
    """Adjust the view after the choice so that a reader can understand it.

    Gaps are moved to places that can have a marker, results with outdated lines of files are replaced, and groups that
    still fit are put back.

    Returns:
        The lines to put after results to say that their files have changed, by the result's id.
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
"""For each attempt to fit the budget, whether markers, notice and summary are inserted."""


def _fit(draft: Draft, forms: Forms, plan: Plan, older: Mapping[str, str], kept_entries: list[Entry]) -> Compaction:
    """Shorten the largest texts until the view fits the budget.

    The first two attempts insert markers, the notice and the summary; the last attempt inserts nothing.

    Raises:
        FloorError: the view does not fit even then.
    """
    budget = draft.request.budget_tokens
    goal = draft.total_tokens
    for inserts in _INSERTS:
        if draft.total_tokens > goal:
            choose(draft, forms, LargestTextLoss(draft, forms, Stage.LAST), goal)
            plan = replace(plan, making=replace(plan.making, step=STEPS[Stage.LAST]))
        compaction = _complete(draft, plan, older, kept_entries, inserts=inserts)
        tokens = compaction.plan.making.tokens_after
        if tokens <= budget:
            return compaction
        goal = min(goal, draft.total_tokens) - (tokens - budget)
    parts = floor(draft)
    inserted = {"inserted messages": tokens - sum(parts.values())}
    raise FloorError(budget, tokens, parts | inserted, pinned(draft))


def _kept_entries(draft: Draft) -> list[Entry]:
    """Return the entries of the kept groups, in the history's order."""
    is_kept = chain.from_iterable(compress(draft.view.members, draft.kept))
    ordinals = set(map(_ORDINAL, is_kept))
    return [entry for entry in draft.request.entries if entry.ordinal in ordinals]


def _complete(
    draft: Draft, plan: Plan, older: Mapping[str, str], kept_entries: list[Entry], *, inserts: bool
) -> Compaction:
    """Complete a plan with its cuts and inserted texts, arrange its view, and return both with the view's tokens."""
    request = draft.request
    cuts = {entry.id: draft.cuts[entry.id] for entry in kept_entries if entry.id in draft.cuts}
    plan = write_inserted(draft, replace(plan, cuts=cuts), older, inserts=inserts)
    cut_tokens = _cut_tokens(draft, kept_entries, plan.cuts)
    shown_plan = replace(plan, silent=frozenset(draft.silent))
    how = Presentation(shown_plan, cut_tokens, request.reader.recipient, request.reader.wire)
    groups = list(compress(draft.view.groups, draft.kept))
    arrangement = arrange(kept_entries, request.count, how, after=request.so_far.arranged, groups=groups)
    plan = plan.with_tokens(request.fixed_tokens + arrangement.tokens)
    return Compaction(plan, arrangement, cut_tokens, frozenset(map(_ORDINAL, kept_entries)), floor(draft))


def _cut_tokens(draft: Draft, kept_entries: Sequence[Entry], cuts: Mapping[str, Cut]) -> dict[str, int]:
    """Return the tokens of the cut messages, by message id.

    A message whose cut has changed is counted again if the new or the old cut puts a line after its text.
    """
    request = draft.request
    before = draft.request.so_far.plan.cuts
    known = draft.request.so_far.cut_tokens
    marked = [e for e in kept_entries if e.id in cuts and (cuts[e.id].then or before.get(e.id, WHOLE).then)]
    changed = [entry for entry in marked if cuts[entry.id] != before.get(entry.id)]
    tokens = draft.cut_tokens | {entry.id: known[entry.id] for entry in marked if entry.id in known}
    for entry, message in zip(changed, request.fetch(changed), strict=True):
        tokens[entry.id] = request.count(shorten(entry, message, cuts[entry.id], draft.config.truncate_boundary))
    return {message_id: tokens[message_id] for message_id in cuts}
