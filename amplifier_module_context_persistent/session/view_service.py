"""Making the view of a request on the log's thread: budget, windows, plans, and what is reported of a compaction."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ..compaction.native_offer import NativeTurn
from ..compaction.plan_request import Summary
from ..compaction.provider_limits import MARGIN_BYTES, limits_of
from ..compaction.request_budget import budget_tokens
from ..config import Config
from ..errors import FloorError, LogError, RetentionError
from ..log.base import Log
from ..log.index import Index
from ..messages.message import Message
from ..messages.metadata import given_id
from ..tokens.calibration import Meter
from ..tokens.counter import TokenCounter, count_message
from ..view.arrangement import last_line
from ..view.bound_reasoning import tools_hash
from ..view.plan import budget_in_use, is_plan_for
from ..view.receipts import LINE, Receipt, encode_head, extras_in, keeps_wire_rules, render_options, text_hash
from ..view.recipients import Recipient, family_of
from ..view.wire_rules import LINES, WIRE
from ..window.ephemerals import Extras
from ..window.prompt_cache import PromptCache
from ..window.request import REFUSED, Room, StoredReceipt, ViewRequest, ViewResult, head_of
from ..window.retained_texts import RetainedTexts, shows_all
from ..window.when_to_plan import needs_plan
from ..window.window import Window
from .host import ProviderFacts
from .provider_refusals import OTHERS, PREFILL, REASONING, knows
from .record_builder import RecordBuilder

logger = logging.getLogger(__name__)

_SIDE_WINDOWS = 4
SIDE_SHARE = 0.5  # of the largest window so far; a provider with a smaller one has plans of its own


@dataclass(frozen=True, slots=True)
class Ask:
    """What a caller asks for, and what host and provider say about it."""

    explicit_tokens: int | None = None
    provider: Any | None = None
    facts: ProviderFacts = field(default_factory=ProviderFacts)
    head_text: str | None = None
    """The factory's system prompt; None where no factory is set."""
    tools_json: str = ""
    force: bool = False
    """Plan now, whatever the view's size, and write no receipt."""
    retain: tuple[str, ...] = ()
    """Bodies that the view has to hold complete."""
    hard_fit: bool = False
    """Plan anew for this budget, and let the session go on with that plan."""
    learned: frozenset[tuple[str, str, str]] = frozenset()
    """What providers' refusals taught in this process; the log has what earlier ones learned."""
    sums_up: bool = False
    """Whether a summary is to be made before a plan."""
    summary: Summary | None = None
    """What the provider made of the older part."""
    native: NativeTurn | None = None
    """What the provider can do with items of its own."""


@dataclass(frozen=True, slots=True)
class _Completed:
    """What was asked for, complete, and for which window."""

    request: ViewRequest
    given_tokens: int
    """Its budget in the provider's tokens, as a caller, the provider's window or the configuration gives it."""
    is_aside: bool
    """Whether its budget is a smaller one of its own, so that the session's plan does not change for it."""


class ViewService:
    """The windows of one session."""

    def __init__(
        self,
        config: Config,
        counter: TokenCounter,
        extras: Extras,
        history: RecordBuilder,
        meter: Meter,
        new_id: Callable[[], str],
    ) -> None:
        self._config, self._counter, self._extras, self._meter = config, counter, extras, meter
        self._history, self._new_id = history, new_id
        self._window = Window(config, counter, extras, new_id)
        self._side: OrderedDict[tuple[int, frozenset[int]], Window] = OrderedDict()
        self._holders = RetainedTexts(extras)
        self._cache = PromptCache(config.cache_ttl_s)
        self._tools: tuple[str, int, str] = ("", 0, "")
        self._own_budget: int | None = None
        self._largest_budget = 0
        """Of providers that told their windows."""
        self.last_budget_tokens = config.max_tokens
        """The budget of the last request."""
        self._render = render_options(config)
        self._heads: set[str] = set()
        """Hashes of head texts that are queued for the log, as long as it is not replaced."""
        self._heads_of: Index | None = None

    def answer(self, log: Log, ask: Ask) -> ViewResult:
        """Make the view of a request, with a new plan where it needs one.

        Raises:
            FloorError: the view cannot be made to fit.
            RetentionError: a text that the view must hold is in no message.
            LogError: the log cannot be read.
        """
        asked = self._complete(log, ask)
        request, given_tokens, window = asked.request, asked.given_tokens, self._window
        self.last_budget_tokens = given_tokens
        if asked.is_aside:
            window = self._side_window(log, asked, frozenset(), window)
        else:
            times = {"now": self._history.now(), "viewed_at": log.index.session.viewed_at}
            if self._cache.note_request(ask.facts.name, ask.facts.model, **times):
                request = replace(request, is_cold=True)
        built = self._build(log, window, request)
        if built.view is not None and not window.shows_whole(request.retained):
            window = self._side_window(log, asked, request.retained, window)
            if window.bring_back(log, request) and window.plan is not None:
                self._store_plan(log, window)
            built = self._build(log, window, request)
        receipt = StoredReceipt()
        if built.view is not None:
            if ask.retain and not shows_all(built.view, ask.retain):
                raise RetentionError("a text that the view must hold is in a message that no view can show")
            self._note_line(built)
            if self._config.receipts and not ask.force and len(log.index):
                try:
                    noted = self._note(log, request, window, built, built.view, given_tokens)
                    receipt = StoredReceipt(noted.encode(), noted.id)
                    self._history.defer(receipt.record)
                except ValueError as refused:
                    logger.warning("a view leaves no receipt: %s", refused)
        planning = built.planning
        if planning.compaction is not None:
            planning = replace(planning, error=self._store_plan(log, window))
        line = id(window), window.plan.id if window.plan else ""
        return replace(built, planning=planning, line=line, receipt=receipt)

    def _note_line(self, built: ViewResult) -> None:
        """Note the line that a view ends with: the answer to it keeps the line.

        A view of the same messages for a reader that needs no line leaves the note in place.
        """
        line, known = last_line(built.items), self._history.shown_line
        if line and built.last is not None:
            self._history.shown_line = built.last, line
        elif known is not None and known[0] != built.last:
            self._history.shown_line = None

    def _build(self, log: Log, window: Window, request: ViewRequest) -> ViewResult:
        followed = window.plan
        try:
            return window.build(log, request)
        except FloorError:  # a plan that left out images may be followed all the same
            plan, stored = window.plan, log.index.session.plan or {}
            if plan is not None and plan is not followed and stored.get("id") != plan.id:
                self._store_plan(log, window)
            raise

    def wants_compaction(self, log: Log, ask: Ask) -> bool:
        """Whether the current view has reached the threshold."""
        request = self._complete(log, ask).request
        tokens, messages = self._window.measure(log, request)
        return needs_plan(self._config, tokens=tokens, messages=messages, budget_tokens=request.budget_tokens)

    def forget(self) -> None:
        """Drop the side windows, after the history was replaced."""
        self._side.clear()

    def close(self) -> None:
        """Drop all windows, for a host may hold a closed session for as long as its process lives.

        The next request begins as after a resume.
        """
        self._side.clear()
        self._window = Window(self._config, self._counter, self._extras, self._new_id)

    def _complete(self, log: Log, ask: Ask) -> _Completed:
        """What is asked for, complete, of the log as it is now."""
        log.follow()
        facts, head = ask.facts, head_of(ask.head_text)
        if ask.tools_json != self._tools[0]:
            self._tools = (ask.tools_json, self._counter.count_text(ask.tools_json), tools_hash(ask.tools_json))
        own = budget_tokens(self._config, None, facts.window, step_tokens=facts.step_tokens)
        if ask.explicit_tokens is None:
            self._own_budget = given = own
            if facts.window is not None:
                self._largest_budget = max(own, self._largest_budget or self._planned_budget(log, facts.name, own))
                own = max(own, int(SIDE_SHARE * self._largest_budget))
        else:
            given = budget_tokens(self._config, ask.explicit_tokens, facts.window)
            if ask.provider is None and self._own_budget is not None:
                own = self._own_budget
        bodies = [body for body in ask.retain if not shows_all(head, [body])]
        reader, facts_known = Recipient.of(facts.name, facts.model), {*ask.learned, *log.index.session.learned}
        reader_name = facts.name, facts.model
        refused = any(knows(facts_known, what, *reader_name) for what in (REASONING, OTHERS))
        room = Room(
            fixed_tokens=self._tools[1] + sum(count_message(message, self._counter) for message in head),
            fixed_bytes=MARGIN_BYTES + len(ask.tools_json) + len((ask.head_text or "").encode(errors="replace")),
            spare_tokens=max(0, facts.window.context_tokens - given) if facts.window is not None else 0,
            limits=limits_of(family_of(facts.name, facts.model), self._config, facts.told),
        )
        request = ViewRequest(
            budget_tokens=self._meter.counted_budget(facts.name, given),
            room=room,
            reader=reader,
            head_text=ask.head_text,
            line_last=reader.refuses_prefill or knows(facts_known, PREFILL, *reader_name),
            tools=self._tools[2] + (REFUSED if refused else ""),
            retained=self._holders.find(log, bodies, has_factory=ask.head_text is not None) if bodies else frozenset(),
            plans_now=ask.force or ask.hard_fit,
            sums_up=ask.sums_up,
            summary=ask.summary,
            native=ask.native,
        )
        is_aside = given < own and not ask.hard_fit and not (ask.force and ask.explicit_tokens is None)
        return _Completed(request, given, is_aside)

    def _planned_budget(self, log: Log, provider: str, own: int) -> int:
        """The least budget that an earlier process must have had, by its plans: what one made aside stays aside."""
        index, records = log.index, log.index.session
        if records.plan is None and is_plan_for(index, records.side_plan, self._meter.counted_budget(provider, own)):
            return int((own + 1) / SIDE_SHARE)
        return budget_in_use(index, records.plan)

    def _side_window(self, log: Log, asked: _Completed, whole: frozenset[int], base: Window) -> Window:
        """The window for an explicit budget, or for messages that must be whole; it starts as a copy of another one."""
        name = asked.given_tokens, whole
        window = self._side.get(name)
        if window is None:
            window = self._side[name] = Window(self._config, self._counter, self._extras, self._new_id, store=False)
            window.begin_with(log, base, asked.request)
            while len(self._side) > _SIDE_WINDOWS:
                self._side.popitem(last=False)
        self._side.move_to_end(name)
        return window

    def _note(
        self,
        log: Log,
        request: ViewRequest,
        window: Window,
        built: ViewResult,
        view: list[Message],
        given_tokens: int,
    ) -> Receipt:
        """Make the receipt of a view, and queue its head text for the next append if the log lacks it."""
        head = ""
        if request.head_text is not None:
            head = text_hash(request.head_text)
            if self._heads_of is not log.index:
                self._heads, self._heads_of = set(), log.index
            if head in log.index.session.heads:
                self._heads.discard(head)
            elif head not in self._heads:
                self._history.defer(encode_head(request.head_text))
                self._heads.add(head)
        head_count = len(request.head)
        return Receipt(
            id=self._new_id(),
            time=self._history.now(),
            plan=window.plan.id if window.plan else "",
            upto=_upto(log, built),
            messages=len(view),
            tokens=built.counted_tokens,
            budget_tokens=given_tokens,
            provider=request.reader.provider,
            model=request.reader.model,
            head=head,
            extras=extras_in(built.items) if self._extras.has_any else 0,
            hash=window.chain.hash_of(built.items, lambda at: view[head_count + at :], request.head, of=log.index),
            render={
                **self._render,
                **({WIRE: 1} if keeps_wire_rules(built.items) else {}),
                **({LINES: 1} if request.line_last else {}),
                **({LINE: line} if (line := last_line(built.items)) else {}),
            },
            tools=request.tools,
            bound=built.reasoning.bound,
            unbound=len(built.reasoning.left_out),
        )

    def _store_plan(self, log: Log, window: Window) -> str:
        """Append the plan to the log. If that fails, the plan is used all the same, and the reason is returned.

        Plans of side windows are kept for the receipts that name them; the last one is followed in later processes too.
        """
        record = window.plan_record(log)
        aside = [record.replace(b'"plan"', b'"side_plan"', 1)] if self._config.receipts else []
        if window is not self._window:
            self._history.defer(*aside)
            return ""
        try:
            (outcome,) = log.append([self._history.control([record])])
        except LogError as error:
            self._history.defer(*aside)
            logger.error("the plan could not be stored and lives in memory only: %s", error)  # noqa: TRY400 - it needs no traceback
            return str(error)
        if isinstance(outcome, Exception):
            raise outcome
        return ""


def _upto(log: Log, built: ViewResult) -> str:
    """The id of the last message up to which a view goes; mostly one of the last that it shows."""
    if built.last is None:
        return ""
    entries = [item.entry for item in built.items[-3:] if item.entry is not None and item.entry.ordinal == built.last]
    return entries[0].id if entries else next(f"{given_id(message) or ''}" for message in log.read([built.last]))
