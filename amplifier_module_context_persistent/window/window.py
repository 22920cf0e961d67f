"""The window on the live history from which views are made: entries of what the plan keeps and of what came since.

A window belongs to one log and runs on its thread. It holds entries, no messages, and takes in only what is new, so a
request costs what its view costs, whatever the history (I8).

A request with an explicit budget below the session's own gets a window of its own (`store=False`), whose plans are
never stored: it begins with the session's plan and is as sticky, for as long as the process lives.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from ..compaction.planner import Compaction, compact, worth_it
from ..compaction.protection import protect
from ..compaction.summary_span import Span
from ..config import Config
from ..errors import FloorError
from ..log.base import Log
from ..log.index import Index
from ..messages.message import Message
from ..tokens.counter import TokenCounter, count_message
from ..view.arrangement import Arrangement, arrange, render
from ..view.entry import Entry, classify, gives_way, with_closed
from ..view.plan import Plan
from ..view.receipts import Chain
from .cold_start import near_and_older
from .ephemeral import Extras
from .gc_pause import collector_paused
from .plan_record import plan_record
from .plan_state import PlanState, mark, stored_plan_state, visible
from .request import Request, View
from .summary_request import span_of
from .trigger import Breaker

logger = logging.getLogger(__name__)

_BATCH = 256  # a longer history without a plan is taken in from its end


class ViewState:
    """The window on a log.

    Args:
        config: the policy.
        counter: counts tokens.
        extras: messages that are in no log; shared between a session's windows.
        new_id: makes the ids of plans.
        store: whether plans go to the log.
    """

    def __init__(
        self, config: Config, counter: TokenCounter, extras: Extras, new_id: Callable[[], str], *, store: bool = True
    ) -> None:
        self._config, self._counter, self._extras, self._new_id, self._store = config, counter, extras, new_id, store
        self._index: Index | None = None
        self._generation = -1
        self.plan: Plan | None = None
        self.chain = Chain()
        self._logged = ""
        """The id of the log's plan that this window knows, whether it follows it or not."""
        self._cut_tokens: dict[str, int] = {}
        self._entries: list[Entry] = []
        self._taken = 0
        """How much of `index.live` the entries stand for."""
        self._left_out = 0
        """Live messages of the part that was taken that no entry stands for."""
        self._far_budget = 0
        """Without a plan, the budget for which the older part of a long history was left out."""
        self._dropped: set[int] = set()
        """Keys of messages in no log that a plan left out."""
        self._breaker = Breaker(config)
        self._arranged = Arrangement()
        self._floor: dict[str, int] | None = None

    # -- requests ----------------------------------------------------------------------------------------------------

    def measure(self, log: Log, request: Request) -> tuple[int, int]:
        """Count the tokens and the messages of the view as it stands."""
        arrangement = self._arrange(self._compose(log, request))
        return request.fixed_tokens + arrangement.tokens, len(arrangement.items)

    def build(self, log: Log, request: Request, *, may_plan: bool) -> View:
        """Make the view of a request.

        Raises:
            FloorError: the view cannot be made to fit.
        """
        arrangement = self._arrange(self._compose(log, request))
        self._breaker.demand(request.retain, log.index.pins)
        tokens = request.fixed_tokens + arrangement.tokens
        messages, made = len(arrangement.items), None
        if self._breaker.wants_plan(request, tokens, messages):
            if not may_plan:
                return View(None, tokens, messages)
            with collector_paused():
                made = self._plan(log, request, tokens, messages)
            if made is not None:
                arrangement = made.arrangement
        view = render(
            arrangement,
            lambda wanted: self._fetch(log, wanted),
            head=request.head,
            boundary=self._config.truncate_boundary,
        )
        floor, self._floor = self._floor, None
        last = log.index.live[self._taken - 1] if self._taken else None
        return View(view, tokens, messages, made, floor, arrangement.items, last)

    def span(self, log: Log, request: Request) -> Span:
        """What a summary in the next plan would stand for, and the request for it.

        Raises:
            SummaryError: there is nothing to sum up, or no room to ask for it.
        """
        entries = self._compose(log, request)
        return span_of(
            entries,
            self._arrange(entries),
            self._standing,
            request,
            config=self._config,
            basis=self._basis,
            count=self._count,
            fetch=lambda wanted: self._fetch(log, wanted),
        )

    @property
    def _basis(self) -> Hashable:  # what a summary holds good for
        return self._generation, self.plan.id if self.plan is not None else ""

    def begin_with(self, other: ViewState) -> None:
        """Take over another window's plan and entries."""
        self._index, self._generation, self.plan = other._index, other._generation, other.plan
        self._cut_tokens, self._entries = dict(other._cut_tokens), list(other._entries)
        self._taken, self._left_out, self._far_budget = other._taken, other._left_out, other._far_budget
        self._logged, self._dropped = other._logged, set(other._dropped)

    # -- messages that have to be whole ------------------------------------------------------------------------------

    def retains(self, log: Log, request: Request) -> bool:
        """Whether its view shows what a request wants whole."""
        self._compose(log, request)
        return self._standing.shows_whole(request.retain) and not self._dropped & request.retain

    def bring_back(self, log: Log, request: Request) -> None:
        """Let what a request wants whole stand so, by a plan of this window's own."""
        self._compose(log, request)
        standing = self._with_whole(log, request.retain)
        last = log.index.live[self._taken - 1] if self._taken else None
        self._entries, self.plan = standing.entries, standing.as_plan(self._new_id(), last)
        self._cut_tokens, self._left_out = dict(standing.cut_tokens), standing.left_out
        self._dropped -= request.retain

    @property
    def _standing(self) -> PlanState:
        return PlanState(self._entries, self.plan, self._cut_tokens, self._left_out)

    def _with_whole(self, log: Log, keys: AbstractSet[int]) -> PlanState:
        return self._standing.with_whole(keys, log, lambda wanted: self._classify_all(log, wanted), self._count)

    # -- planning ----------------------------------------------------------------------------------------------------

    def _plan(self, log: Log, request: Request, tokens: int, messages: int) -> Compaction | None:
        budget = request.budget_tokens
        standing = self._with_whole(log, request.retain | log.index.pins)
        entries = self._merge(log, request, standing.entries, self._dropped - request.retain)
        entries = mark(entries, pins=log.index.pins, retained=request.retain)
        protected = protect(
            entries,
            log.index.live,
            config=self._config,
            budget_tokens=budget,
            fixed_tokens=request.fixed_tokens,
            tokens_of=lambda entry: standing.cut_tokens.get(entry.id, entry.tokens),
        )
        try:
            try:
                made = self._compact(log, request, standing, protected)
            except FloorError:
                if protected is entries:
                    raise
                made = self._compact(log, request, standing, entries)  # a protection makes no request impossible
        except FloorError as error:
            self._breaker.pass_over(tokens, messages, budget)
            if tokens <= budget:
                self._floor = error.fixed
                return None
            self._breaker.refuse(tokens, error)
            raise
        sizes = {"budget_tokens": budget, "tokens": tokens, "messages": messages}
        if not (request.force or worth_it(self._config, made, **sizes)):
            self._breaker.pass_over(tokens, messages, budget)
            self._floor = made.floor
            return None
        self._follow_plan(log, made, standing, has_factory=request.has_factory)
        return made

    def _compact(self, log: Log, request: Request, standing: PlanState, entries: Sequence[Entry]) -> Compaction:
        return compact(
            entries,
            config=self._config,
            budget_tokens=request.budget_tokens,
            fixed_tokens=request.fixed_tokens,
            count=self._count,
            fetch=lambda wanted: self._fetch(log, wanted),
            plan_id=self._new_id(),
            previous=standing.plan,
            cut_tokens=standing.cut_tokens,
            left_out=standing.left_out,
            summary=request.summary if request.summary and request.summary.basis == self._basis else None,
        )

    def _follow_plan(self, log: Log, made: Compaction, standing: PlanState, *, has_factory: bool) -> None:
        """Let the window stand for what a plan keeps, and for what gives way to the head in this process."""
        self.plan, self._cut_tokens = made.plan, dict(made.cut_tokens)
        hidden = {entry.key for entry in standing.entries if has_factory and gives_way(entry.role, entry.source)}
        kept = [entry for entry in standing.entries if entry.key in made.kept_keys or entry.key in hidden]
        self._entries, self._taken = with_closed(kept, made.plan.closed), len(log.index.live)
        self._left_out, self._far_budget = self._taken - len(kept), 0
        self._breaker.follow_plan(made)
        self._dropped -= made.kept_keys
        self._dropped |= self._extras.keys() - made.kept_keys

    def plan_record(self, log: Log) -> bytes:
        """Encode the plan as a control record, its kept messages as runs of the live history."""
        if self.plan is None:
            raise ValueError("there is no plan")
        return plan_record(self.plan, log.index, self._entries)

    # -- entries -----------------------------------------------------------------------------------------------------

    def _compose(self, log: Log, request: Request) -> list[Entry]:
        """All entries of the view: unsaved ones in front, ephemeral ones behind what they were added after."""
        log.follow()
        self._take_in(log, request)
        return self._merge(log, request, self._entries, self._dropped)

    def _merge(self, log: Log, request: Request, entries: list[Entry], without: AbstractSet[int]) -> list[Entry]:
        return visible(self._extras.merge(log.index, entries, without), has_factory=request.has_factory)

    def _take_in(self, log: Log, request: Request) -> None:
        index = log.index
        if index is not self._index or index.generation != self._generation:
            self._restart(log, request)
        elif self._store and index.plan is not None and index.plan.get("id") != self._logged:
            if self.plan is not None and index.plan.get("id") == self.plan.id:
                self._logged = self.plan.id
            else:
                self._restart(log, request)  # another process compacted this session
        if 0 < self._far_budget < request.budget_tokens:
            self._entries, self._taken, self._left_out = [], 0, 0
        new = index.live[self._taken :]
        if self.plan is None and not self._entries and len(new) > _BATCH:
            self._entries = near_and_older(
                index, lambda keys: self._classify_all(log, keys), request.budget_tokens, self._config
            )
            self._left_out = len(index.live) - len(self._entries)
            self._far_budget = request.budget_tokens if self._left_out else 0
        else:
            self._entries.extend(self._classify_all(log, new))
        self._taken = len(index.live)

    def _restart(self, log: Log, request: Request) -> None:
        """Begin anew with what the log says: its plan, and what it keeps."""
        self._index, self._generation = log.index, log.index.generation
        self.plan, self._cut_tokens, self._entries = None, {}, []
        self._taken = self._left_out = self._far_budget = 0
        self._breaker.forget()
        record = log.index.plan
        if record is None:
            return
        self._logged = str(record.get("id"))
        try:
            standing, self._taken = stored_plan_state(
                log, record, lambda keys: self._classify_all(log, keys), self._count, self._config.truncate_boundary
            )
        except ValueError as error:
            logger.warning("the stored plan cannot be followed (%s); a new one is made when it is needed", error)
            return
        self._entries, self.plan, self._left_out = standing.entries, standing.plan, standing.left_out
        self._cut_tokens = dict(standing.cut_tokens)
        if self.plan is not None:
            shown = visible(self._entries, has_factory=request.has_factory)
            self._breaker.follow(self.plan.tokens_after, len(self._arrange(shown).items), self.plan.budget_tokens)

    def _arrange(self, entries: Iterable[Entry]) -> Arrangement:
        how: dict[str, Any] = {}
        if (plan := self.plan) is not None:
            how = {"cuts": plan.cuts, "cut_tokens": self._cut_tokens, "silent": plan.silent}
            how |= {"notice": plan.notice, "notice_before": plan.notice_before}
        self._arranged = arrange(entries, self._count, after=self._arranged, **how)
        return self._arranged

    def _classify_all(self, log: Log, ordinals: Sequence[int]) -> list[Entry]:
        reminds, index = self._config.late_system == "reminder", log.index
        early = set(index.live[: index.conversation_start()]) if reminds else ()
        messages = zip(ordinals, log.read(ordinals), strict=True)
        return [classify(key, message, self._count, late=reminds and key not in early) for key, message in messages]

    def _count(self, message: Message) -> int:
        return count_message(message, self._counter)

    def _fetch(self, log: Log, entries: Sequence[Entry]) -> Iterator[Message]:
        """Parse the messages of entries afresh, in order."""
        keys = [entry.key for entry in entries]
        stored = log.read([key for key in keys if key >= 0])
        if min(keys, default=0) >= 0:
            return stored
        return (next(stored) if key >= 0 else self._extras.message(key) for key in keys)
