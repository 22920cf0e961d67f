"""Compaction: from entries and a budget to a plan. Pure: messages are fetched and counted by what the caller passes.

The engine plans down to `target_usage` of the budget in one pass, so that rewrites are rare and large: with a prompt
cache that is read at a tenth of the price, a rewrite pays off only after many requests.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, takewhile

from ..config import SUMMARIZE, Config
from ..errors import FloorError
from ..view.arrangement import Arrangement, Count, Fetch, arrange, inserted_message
from ..view.entry import Entry
from ..view.plan import Plan
from ..view.rules import closed_calls, last_human
from .draft import Draft
from .ladder import shorten_largest
from .strategies import STRATEGIES
from .summary_span import Summary, drop_span, summary_text

OTHER_MESSAGES = "other messages"
FALLBACK = "truncate"  # where there is no summary
OLDER_SHARE = 0.6  # of the target's room is left to older messages where the newest ones alone are large,
RAISED_SHARE = 0.4  # for which a plan may stop so far above the target, on the way to the threshold
SEALED_SHARE = 0.5  # of what the plan before kept; its beginning stays as it is while that costs little
NOTICE_SHARE = 0.02  # of the budget; where even the shortest notice is longer, there is none


@dataclass(frozen=True, slots=True)
class Compaction:
    """A plan that was made, and what is known of its view."""

    plan: Plan
    arrangement: Arrangement
    cut_tokens: Mapping[str, int] = field(default_factory=dict)
    """By message id, what the cut messages come to."""
    kept_keys: frozenset[int] = frozenset()
    floor: dict[str, int] = field(default_factory=dict)
    """What of its view cannot be compacted, in tokens by name."""


def compact(
    entries: Sequence[Entry],
    *,
    config: Config,
    budget_tokens: int,
    fixed_tokens: int,
    count: Count,
    fetch: Fetch,
    plan_id: str,
    previous: Plan | None = None,
    cut_tokens: Mapping[str, int] | None = None,
    left_out: int = 0,
    summary: Summary | None = None,
) -> Compaction:
    """Make a plan for the view of `entries`.

    Args:
        entries: what the view would hold without a new plan, in the history's order.
        config: the policy.
        budget_tokens: the budget of the whole request.
        fixed_tokens: what of it is taken by head text, tool definitions and overhead.
        count: counts a message.
        fetch: parses the messages of entries.
        plan_id: the id of the new plan.
        previous: the plan that was followed so far; its cuts stay.
        cut_tokens: what its cut messages come to.
        left_out: messages of the history that are not among `entries`.
        summary: stands for some of them; else that of the previous plan is gone on with.

    Raises:
        FloorError: what may not be compacted is larger than the budget.
    """
    target = int(budget_tokens * config.target_usage)
    draft = Draft.of(
        entries,
        config=config,
        count=count,
        fetch=fetch,
        fixed_tokens=fixed_tokens,
        target_tokens=target,
        cuts=previous.cuts if previous else {},
        cut_tokens=cut_tokens or {},
        silent=previous.silent if previous else (),
    )
    before = draft.total_tokens
    said = summary.text if summary is not None else previous.summary if previous is not None else ""
    if said:
        draft.fixed_tokens += (stands := count(inserted_message("user", summary_text(said))))
        draft.total_tokens += stands
    limit = int(budget_tokens * config.compact_threshold)
    draft.goal_tokens = _goal(draft, limit)
    draft.sealed = _sealed(draft, previous)
    tokens = reached = 0
    strategy: str = config.compaction_strategy
    if strategy == SUMMARIZE and summary is None:
        strategy = FALLBACK
    elif summary is not None:
        drop_span(draft, summary)
        reached = 3
    for step, apply in STRATEGIES[strategy]:
        if draft.fits:
            break
        apply(draft)
        reached = 1 if step == 3 and all(draft.kept) else step
    if draft.total_tokens > limit:
        draft.goal_tokens = (target + limit) // 2
    for with_notice, with_summary in ((True, True), (True, True), (True, True), (False, True), (False, False)):
        if draft.total_tokens > draft.goal_tokens:
            shorten_largest(draft)
            reached = 6
        kept = {entry.key for place in draft.left() for entry in draft.members[place]}
        dropped = left_out + len(entries) - len(kept)
        cuts = {entry.id: draft.cuts[entry.id] for entry in entries if entry.key in kept and entry.id in draft.cuts}
        last = next((entry.id for entry in reversed(entries) if entry.key not in kept and entry.id), "")
        gone = _Gone(dropped, len(cuts), last)
        notice = _notice(config, reached, gone, budget_tokens, count) if with_notice else ""
        if said and with_summary:
            notice = f"{summary_text(said)}\n\n{notice}".rstrip()
        before_id = _first_behind_gap(draft, previous)
        arrangement = arrange(
            [entry for entry in entries if entry.key in kept],
            count,
            cuts=cuts,
            cut_tokens=draft.cut_tokens,
            silent=draft.silent,
            notice=notice,
            notice_before=before_id,
        )
        tokens = fixed_tokens + arrangement.tokens
        if tokens <= budget_tokens:
            break
        draft.goal_tokens = min(draft.goal_tokens, draft.total_tokens) - (tokens - budget_tokens)
    else:
        inserted = {"inserted messages": tokens - draft.total_tokens}
        raise FloorError(budget_tokens, tokens, floor(draft) | inserted, _pins(draft))
    alive = [entry for entry in entries if entry.key in kept]
    stored = [entry for entry in entries if entry.id]
    plan = Plan(
        id=plan_id,
        upto=stored[-1].id if stored else "",
        keep=tuple(entry.id for entry in alive if entry.id),
        cuts=cuts,
        silent=frozenset(entry.id for entry in alive if entry.id in draft.silent),
        closed=closed_calls(draft.groups, draft.kept),
        notice=notice,
        notice_before=before_id,
        step=reached,
        dropped=dropped,
        budget_tokens=budget_tokens,
        target_tokens=target,
        tokens_before=before,
        tokens_after=tokens,
        strategy=strategy,
    )
    cut_tokens_kept = {key: draft.cut_tokens[key] for key in cuts}
    return Compaction(plan, arrangement, cut_tokens_kept, frozenset(kept), floor(draft))


def _goal(draft: Draft, limit: int) -> int:
    """What the steps aim at: the target, or somewhat more where the newest messages would push out all older ones."""
    target = draft.target_tokens
    untouched = sum(draft.sizes[place] for place in draft.fixed)
    wanted = untouched + OLDER_SHARE * max(0, target - draft.fixed_tokens) + draft.fixed_tokens
    return max(target, min(int(wanted), target + int(RAISED_SHARE * (limit - target))))


def _sealed(draft: Draft, previous: Plan | None) -> int:
    """How many of the first groups the provider has in its cache and the plan leaves alone as long as it can."""
    if previous is None:
        return 0
    kept = set(previous.keep)
    known = list(takewhile(lambda place: draft.groups[place].head.id in kept, range(len(draft.groups))))
    sums = list(accumulate(draft.sizes[place] for place in known))
    return bisect_right(sums, SEALED_SHARE * sums[-1]) if sums else 0


def floor(draft: Draft) -> dict[str, int]:
    """What a draft still holds, in tokens by name: what may not be compacted, and what is left of the rest."""
    groups, last = draft.groups, last_human(draft.groups)
    parts = {"system prompt, tools and overhead": draft.fixed_tokens}
    names = {"system messages": 0, "pins": 0, "last human message": 0, "newest messages": 0, OTHER_MESSAGES: 0}
    for place in draft.left():
        group, tokens = groups[place], draft.sizes[place]
        if group.pinned:
            names["pins"] += tokens
        elif group.head.instructs:
            names["system messages"] += tokens
        elif place == last:
            names["last human message"] += tokens
        else:
            names["newest messages" if place in draft.fixed else OTHER_MESSAGES] += tokens
    return parts | names


def _pins(draft: Draft) -> list[tuple[str, int]]:
    """The pinned messages of a draft, each with the tokens of the tool group that it holds."""
    found = []
    for place in draft.left():
        if draft.groups[place].pinned:
            named = next((entry.id for entry in draft.members[place] if entry.pinned and entry.id), "")
            found.append((named or draft.groups[place].head.id or "a message in no log", draft.sizes[place]))
    return found


def _first_behind_gap(draft: Draft, previous: Plan | None) -> str:
    """The id of the first kept message behind the last group that was left out, by this plan or the one before it."""
    groups = draft.groups
    start = next((place + 1 for place in reversed(range(len(groups))) if not draft.kept[place]), 0)
    if previous is not None and previous.notice_before:
        known = (place for place, group in enumerate(groups) if group.head.id == previous.notice_before)
        start = max(start, next(known, 0))
    heads = (groups[place].head for place in draft.left() if place >= start)
    return next((head.id for head in heads if head.id and not head.instructs), "")


@dataclass(frozen=True, slots=True)
class _Gone:
    """What a view does not show."""

    dropped: int
    cut: int
    last: str
    """The id of the newest message that this plan leaves out."""


def _notice(config: Config, step: int, gone: _Gone, budget_tokens: int, count: Count) -> str:
    """The text that tells the model what it does not see; as long as configured, or as the budget allows."""
    if not config.compaction_notice_enabled or step < config.compaction_notice_min_level or not gone.dropped:
        return ""
    minimal = f"{_number(gone.dropped, 'earlier message')} left out of this view."
    shortened = f" {_number(gone.cut, 'long text')} shortened." if gone.cut else ""
    if config.offers_recall:
        newest = f"; the last of them is {gone.last}" if gone.last else ""
        way_back = (
            "The tool recall gives them back: by search (query), or by reference, an id as elided texts name it"
            f"{newest}. Recall or look again rather than guess what was said."
        )
    else:
        way_back = (
            "They are kept in the session's log; "
            "work from what is shown, and look again at a file or a result rather than guess what it said."
        )
    normal = f"{minimal}{shortened} {way_back}"
    verbose = f"{normal} Compaction went to step {step} to fit {budget_tokens:,} tokens."
    levels = {"minimal": [minimal], "normal": [normal, minimal], "verbose": [verbose, normal, minimal]}
    most = min(config.compaction_notice_token_reserve, int(budget_tokens * NOTICE_SHARE))
    for text in levels[config.compaction_notice_verbosity]:
        wrapped = f"<system-reminder>\n{text}\n</system-reminder>"
        if count(inserted_message("user", wrapped)) <= most:
            return wrapped
    return ""


def _number(count: int, noun: str) -> str:
    return f"1 {noun} is" if count == 1 else f"{count:,} {noun}s are"


def needs_plan(config: Config, *, tokens: int, messages: int, budget_tokens: int) -> bool:
    """Whether a view of this size is to be compacted."""
    many = config.max_messages is not None and messages > config.max_messages
    return many or tokens >= config.compact_threshold * budget_tokens


def worth_it(config: Config, made: Compaction, *, budget_tokens: int, tokens: int, messages: int) -> bool:
    """Whether a plan frees enough to be followed, or the view of `tokens` and `messages` does not fit without it."""
    fewer = {"tokens": tokens - made.plan.tokens_after, "messages": messages - len(made.arrangement.items)}
    return tokens > budget_tokens or matters(config, budget_tokens=budget_tokens, **fewer)


def matters(config: Config, *, tokens: int, messages: int, budget_tokens: int) -> bool:
    """Whether a difference of so many tokens, or messages, is at least `compact_min_gain` of what is allowed."""
    share, most = config.compact_min_gain, config.max_messages
    return tokens >= max(1, share * budget_tokens) or (most is not None and messages >= max(1, share * most))
