"""The active plan and the entries it keeps; and the same with some messages whole again.

A message is whole where its tool group is shown and none of it is cut or offloaded. One that a plan left out is read
from the log again with its group, and shown at its position. A plan that frees too little is not tried again with every
request.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from ..compaction.planner import Compaction
from ..compaction.thresholds import matters, needs_plan
from ..config import Config
from ..errors import FloorError
from ..log.base import Log
from ..messages.elide import WHOLE
from ..messages.message import Message
from ..view.arrangement import Count
from ..view.entry import Entry, end_chains, gives_way, media_left_out, with_closed, without_some_media
from ..view.plan import Plan
from ..view.plan_record import kept_ordinals, live_positions
from ..view.render import shorten
from ..view.rules import Group, tool_groups
from .cold_start import ClassifyAll, group_around
from .request import ViewRequest


@dataclass(frozen=True, slots=True)
class PlanState:
    """Entries of the live history in order, the plan that left them, and how many messages it left out."""

    entries: list[Entry]
    plan: Plan | None = None
    cut_tokens: Mapping[str, int] = field(default_factory=dict)
    """By message id, what the cut messages come to."""
    left_out: int = 0
    covers: int = 0
    """The ordinal after the last message that the plan covers."""

    def shows_whole(self, ordinals: AbstractSet[int]) -> bool:
        """Whether the messages of some ordinals are whole; those that are in no log are not looked for."""
        if not ordinals:
            return True
        groups = (group.entries() for group in tool_groups(self.entries))
        whole = {entry.ordinal for group in groups if not any(map(self._is_cut, group)) for entry in group}
        return all(ordinal in whole for ordinal in ordinals if ordinal >= 0)

    def _is_cut(self, entry: Entry) -> bool:
        cut = self.plan.cuts.get(entry.id, entry.offload) if self.plan else entry.offload
        return (cut is not None and cut.shortens) or (self.plan is not None and entry.id in self.plan.silent)

    def with_whole(self, ordinals: AbstractSet[int], log: Log, classify_all: ClassifyAll, count: Count) -> PlanState:
        """The same with some messages whole; this very object where they are so already.

        Args:
            ordinals: which messages; each is live.
            log: the log.
            classify_all: describes messages by their ordinals.
            count: counts a message.
        """
        if self.shows_whole(ordinals):
            return self
        entries = self._with_groups(ordinals, log.index.live, classify_all)
        held = {entry.id: entry for group in _groups_of(entries, ordinals) for entry in group.entries()}
        opened = [entry for entry in held.values() if entry.offload is not None]
        plan, cut_tokens = (
            self.plan,
            {message_id: n for message_id, n in self.cut_tokens.items() if message_id not in held},
        )
        if plan is None and opened:
            plan = Plan(id="", upto="", keep=())
        if plan is not None:
            cuts = {message_id: cut for message_id, cut in plan.cuts.items() if message_id not in held}
            marked = [entry for key, entry in held.items() if key in plan.cuts and plan.cuts[key].then]
            cuts |= {entry.id: WHOLE for entry in opened}
            cuts |= {entry.id: replace(WHOLE, then=plan.cuts[entry.id].then) for entry in marked}
            changed = list({entry.id: entry for entry in opened + marked}.values())
            messages = zip(changed, log.read([entry.ordinal for entry in changed]), strict=True)
            cut_tokens |= {entry.id: count(shorten(entry, message, cuts[entry.id])) for entry, message in messages}
            plan = replace(plan, cuts=cuts, silent=plan.silent - held.keys())
        left_out = self.left_out - (len(entries) - len(self.entries))
        return PlanState(entries, plan, cut_tokens, left_out, self.covers)

    def _with_groups(self, ordinals: AbstractSet[int], live: array[int], classify_all: ClassifyAll) -> list[Entry]:
        shown = {entry.ordinal for group in tool_groups(self.entries) for entry in group.entries()}
        missing = [ordinal for ordinal in ordinals if ordinal >= 0 and ordinal not in shown]
        groups = (group_around(live, position, classify_all) for position in live_positions(live, missing))
        wanted = {entry.ordinal: entry for group in groups for entry in group}
        more = [wanted[ordinal] for ordinal in sorted(wanted.keys() - {entry.ordinal for entry in self.entries})]
        if not more:
            return self.entries
        entries = self.entries + more
        positions = live_positions(live, [entry.ordinal for entry in entries])
        return [entry for _, entry in sorted(zip(positions, entries, strict=True), key=lambda pair: pair[0])]

    def as_plan(self, plan_id: str, last: int | None) -> Plan | None:
        """The plan of these entries under another id, up to the last live message; None where there is none."""
        plan = self.plan
        if plan is None:
            return None
        return replace(
            plan,
            id=plan_id,
            upto=next((entry.id for entry in reversed(self.entries) if entry.ordinal == last), plan.upto),
            keep=tuple(entry.id for entry in self.entries),
            closed={entry.id: entry.closed for entry in self.entries if entry.closed},
            media=media_left_out(self.entries),
            notice=plan.notice if self.left_out else "",
            gaps=plan.gaps if self.left_out else (),
            dropped=self.left_out,
        )


def visible(entries: list[Entry], *, has_factory: bool) -> list[Entry]:
    """The entries that views show where a factory gives the system text, or none does."""
    return [entry for entry in entries if not gives_way(entry.role, entry.source)] if has_factory else entries


def hidden(entries: list[Entry], *, has_factory: bool) -> frozenset[int]:
    """The ordinals of those that give way to the factory's text: nothing of the history is missing there."""
    return frozenset(entry.ordinal for entry in entries if has_factory and gives_way(entry.role, entry.source))


def mark(entries: list[Entry], *, pins: AbstractSet[int], retained: AbstractSet[int]) -> list[Entry]:
    """The entries that a plan is made of, with those marked that it has to leave as they are."""
    if not pins and not retained:
        return entries
    return [
        replace(entry, pinned=entry.pinned or entry.ordinal in pins, protected=entry.ordinal in retained)
        if entry.ordinal in pins or entry.ordinal in retained
        else entry
        for entry in entries
    ]


def _groups_of(entries: list[Entry], ordinals: AbstractSet[int]) -> Iterator[Group]:
    return (group for group in tool_groups(entries) if any(entry.ordinal in ordinals for entry in group.entries()))


def stored_plan_state(
    log: Log, record: Message, classify_all: ClassifyAll, count: Count, boundary: str
) -> tuple[PlanState, int]:
    """Load the plan that the log holds; and how much of the live history it covers.

    Raises:
        ValueError: it cannot be followed.
    """
    ordinals, upto = kept_ordinals(log.index, record)
    entries = classify_all(ordinals)
    plan = Plan.from_record(record, [entry.id for entry in entries])
    entries = end_chains(without_some_media(with_closed(entries, plan.closed), plan.media, count))
    cut = [entry for entry in entries if entry.id in plan.cuts]
    messages = zip(cut, log.read([entry.ordinal for entry in cut]), strict=True)
    shown = {entry.id: shorten(entry, message, plan.cuts[entry.id], boundary) for entry, message in messages}
    cut_tokens = {message_id: count(message) for message_id, message in shown.items()}
    covers = log.index.live[upto] + 1
    return PlanState(entries, plan, cut_tokens, upto + 1 - len(ordinals), covers), upto + 1


class Breaker:
    """What one window remembers of the plans that it tried.

    Args:
        config: the policy.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._tried: tuple[int, int, int] | None = None
        """Tokens, messages and budget of the view when a plan was last made, or was not worth it: until the view has
        grown by enough, another one is not tried."""
        self._refused: tuple[int, FloorError] | None = None
        """Tokens of a view that could not be made to fit, and why."""
        self._retained: AbstractSet[int] = frozenset()
        self._pins: AbstractSet[int] = frozenset()

    def forget(self) -> None:
        """Begin anew, as after the history was replaced."""
        self._tried = self._refused = None

    def demand(self, retained: AbstractSet[int], pins: AbstractSet[int]) -> None:
        """Take in what plans have to leave whole.

        A cached refusal is valid only for the same retained set, and pins change what a plan frees.
        """
        if pins != self._pins:
            self._pins = frozenset(pins)
            self.forget()
        if retained != self._retained:
            self._retained, self._refused = retained, None

    def wants_plan(self, request: ViewRequest, tokens: int, messages: int, *, begins_turn: bool = False) -> bool:
        """Whether a plan is to be tried for a view of so many tokens and messages.

        Args:
            request: the request.
            tokens: of its view.
            messages: of its view.
            begins_turn: as `needs_plan`.

        Raises:
            FloorError: it was tried for this very view, and cannot be made to fit.
        """
        budget = request.budget_tokens
        if request.plans_now:
            return tokens > self._config.target_usage * budget
        if not needs_plan(
            self._config, tokens=tokens, messages=messages, budget_tokens=budget, begins_turn=begins_turn
        ):
            return False
        if self._refused is not None and self._refused[0] == tokens and budget < self._refused[1].needed_tokens:
            known = self._refused[1]
            raise FloorError(budget, known.needed_tokens, known.fixed, known.pins)
        if self._tried is not None and tokens <= budget:
            # A budget that follows the provider's counts moves a little with every request.
            more_tokens = tokens - self._tried[0] + max(0, self._tried[2] - budget)
            more_messages = messages - self._tried[1]
            return matters(self._config, tokens=more_tokens, messages=more_messages, budget_tokens=budget)
        return True

    def follow(self, tokens: int, messages: int, budget_tokens: int) -> None:
        """Remember a view that follows a plan."""
        self._tried, self._refused = (tokens, messages, budget_tokens), None

    def follow_plan(self, made: Compaction) -> None:
        """Remember a plan that is followed from now on."""
        self.follow(made.plan.tokens_after, len(made.arrangement.items), made.plan.budget_tokens)

    def pass_over(self, tokens: int, messages: int, budget_tokens: int) -> None:
        """Remember a futile plan, to avoid replanning."""
        self._tried = (tokens, messages, budget_tokens)

    def refuse(self, tokens: int, error: FloorError) -> None:
        """Remember that a view cannot be made to fit."""
        self._refused = (tokens, error)
