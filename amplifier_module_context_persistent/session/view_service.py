"""Making the view of a request on the log's thread: budget, windows, plans, and what is reported of a compaction."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..compaction.budget import budget_tokens
from ..compaction.request_limits import MARGIN_BYTES, RequestLimits, limits_of
from ..compaction.summary_span import Span
from ..config import Config
from ..errors import FloorError, LogError, RetentionError, SummaryError
from ..log.base import Log
from ..messages.message import Message
from ..messages.metadata import metadata_of
from ..tokens.counter import TokenCounter, count_message
from ..tokens.meter import Meter
from ..view.arrangement import Item, last_line
from ..view.bound import tools_hash
from ..view.plan import Plan
from ..view.readers import family_of
from ..view.receipts import LINE, Receipt, encode_head, render_options, text_hash
from ..window.message_source import Extras
from ..window.request import ViewRequest, ViewResult
from ..window.retention import RetainedBodies, shows_all
from ..window.thresholds import needs_plan
from ..window.window import Window
from .record_builder import RecordBuilder

logger = logging.getLogger(__name__)

_SIDE_WINDOWS = 4


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
        self._holders = RetainedBodies(extras)
        self._tools: tuple[str, int, str] = ("", 0, "")
        self._own_budget: int | None = None
        self._limits: tuple[tuple[str, Mapping[str, int]], RequestLimits] | None = None
        self.last_budget_tokens = config.max_tokens
        """The budget of the last request."""
        self._render = render_options(config)
        self._heads: set[str] = set()
        """Hashes of head texts that are queued for the log."""

    def answer(self, log: Log, ask: ViewRequest, *, may_plan: bool) -> ViewResult:
        """Make the view of a request.

        Raises:
            FloorError: the view cannot be made to fit.
            RetentionError: a text that the view must hold is in no message.
            LogError: the log cannot be read.
        """
        budget, side = self._budget(ask)
        self.last_budget_tokens = budget
        log.follow()
        request = self._request(log, ask, budget)
        window = self._side_window(log, request, (budget, frozenset()), self._window) if side else self._window
        followed = window.plan
        try:
            built = window.build(log, request, may_plan=may_plan)
        except FloorError:  # a plan that left out images may be followed all the same
            if window.plan is not None and window.plan is not followed and not _is_stored(log, window.plan):
                self._store_plan(log, window, side=side)
            raise
        if built.view is not None and request.retained and not window.retains(log, request):
            window, side = self._retaining_window(log, request, budget, window), True
            built = window.build(log, request, may_plan=may_plan)
        if built.view is not None and ask.retain and not shows_all(built.view, ask.retain):
            raise RetentionError("a text that the view must hold is in a message that no view can show")
        if self._config.receipts and built.view is not None and not ask.force and len(log.index):
            try:
                self._note(log, request, window, built, built.view, budget)
            except ValueError as refused:
                logger.warning("a view leaves no receipt: %s", refused)
        if built.view is not None:
            line = last_line(built.items)
            self._history.shown_line = (built.last, line) if line and built.last is not None else None
        error = self._store_plan(log, window, side=side) if built.compaction is not None else ""
        return replace(built, line=(id(window), window.plan.id if window.plan else ""), plan_error=error)

    def wants_compaction(self, log: Log, ask: ViewRequest) -> bool:
        """Whether the current view has reached the threshold."""
        budget, _ = self._budget(ask)
        request = self._request(log, ask, budget)
        tokens, messages = self._window.measure(log, request)
        return needs_plan(self._config, tokens=tokens, messages=messages, budget_tokens=request.budget_tokens)

    def span(self, log: Log, ask: ViewRequest) -> Span:
        """What a summary in the next plan would replace.

        Raises:
            SummaryError: there is nothing to sum up, or no room to ask for it.
        """
        budget, side = self._budget(ask)
        if side:
            raise SummaryError("the request has a smaller budget of its own")
        return self._window.span(log, self._request(log, ask, budget))

    def forget(self) -> None:
        """Drop the side windows, after the history was replaced."""
        self._side.clear()

    def _budget(self, ask: ViewRequest) -> tuple[int, bool]:
        """The budget, and whether it is an explicit one below the session's own."""
        own = budget_tokens(self._config, None, ask.provider)
        if ask.provider is None and ask.explicit_tokens is not None and self._own_budget is not None:
            own = self._own_budget
        if ask.explicit_tokens is None:
            self._own_budget = own
            return own, False
        budget = budget_tokens(self._config, ask.explicit_tokens, ask.provider)
        return budget, budget < own and not ask.hard_fit

    def _request(self, log: Log, ask: ViewRequest, budget: int) -> ViewRequest:
        if ask.tools_json != self._tools[0]:
            self._tools = (ask.tools_json, self._counter.count_text(ask.tools_json), tools_hash(ask.tools_json))
        bodies = [body for body in ask.retain if not shows_all(ask.head, [body])]
        fixed = self._tools[1] + sum(count_message(message, self._counter) for message in ask.head)
        return replace(
            ask,
            tools=f"{self._tools[2]}~" if ask.reasoning_refused else self._tools[2],
            budget_tokens=self._meter.counted_budget(ask.provider_name, budget),
            fixed_tokens=fixed,
            limits=self._limits_of(ask),
            fixed_bytes=MARGIN_BYTES + len(ask.tools_json) + len((ask.head_text or "").encode(errors="replace")),
            retained=self._holders.find(log, bodies, has_factory=ask.has_factory),
        )

    def _limits_of(self, ask: ViewRequest) -> RequestLimits:
        """What a request to a provider may have besides tokens; most often the provider is that of the last one."""
        key = family_of(ask.provider_name, ask.model), ask.told
        if self._limits is None or self._limits[0] != key:
            self._limits = key, limits_of(key[0], self._config, ask.told)
        return self._limits[1]

    def _side_window(self, log: Log, request: ViewRequest, name: tuple[int, frozenset[int]], base: Window) -> Window:
        """The window for an explicit budget, or for messages that must be whole; it starts as a copy of another one."""
        window = self._side.get(name)
        if window is None:
            window = Window(self._config, self._counter, self._extras, self._new_id, store=False)
            base.measure(log, request)  # takes in what is new
            window.begin_with(base)
            self._side[name] = window
            while len(self._side) > _SIDE_WINDOWS:
                self._side.popitem(last=False)
        self._side.move_to_end(name)
        return window

    def _retaining_window(self, log: Log, request: ViewRequest, budget: int, base: Window) -> Window:
        """A window that shows in full what a request must hold; the session's plan does not change."""
        window = self._side_window(log, request, (budget, request.retained), base)
        if not window.retains(log, request):
            window.bring_back(log, request)
            if window.plan is not None:
                self._store_plan(log, window, side=True)
        return window

    def _note(
        self, log: Log, request: ViewRequest, window: Window, built: ViewResult, view: list[Message], budget: int
    ) -> None:
        """Queue the receipt of a view for the next append, and its head text if the log lacks it."""
        head = ""
        if request.head_text is not None:
            head = text_hash(request.head_text)
            if head in log.index.heads:
                self._heads.discard(head)
            elif head not in self._heads:
                self._history.defer(encode_head(request.head_text))
                self._heads.add(head)
        head_count = len(request.head)
        receipt = Receipt(
            id=self._new_id(),
            time=self._history.now(),
            plan=window.plan.id if window.plan else "",
            upto=_message_id(log, built.items, built.last),
            messages=len(view),
            tokens=built.compaction.plan.tokens_after if built.compaction else built.tokens,
            budget_tokens=budget,
            provider=request.provider_name,
            model=request.model,
            head=head,
            extras=built.sums.extras,
            hash=window.chain.hash_of(built.items, lambda at: view[head_count + at :], request.head, of=log.index),
            render={
                **self._render,
                **built.sums.rendered_by(),
                **({LINE: line} if (line := last_line(built.items)) else {}),
            },
            tools=request.tools,
            bound=built.bound,
            unbound=built.unbound,
        )
        self._history.defer(receipt.encode())

    def _store_plan(self, log: Log, window: Window, *, side: bool) -> str:
        """Append the plan to the log. If that fails, the plan is used all the same, and the reason is returned.

        Plans of side windows are kept for the receipts that name them; no later process uses them.
        """
        record = window.plan_record(log)
        aside = [record.replace(b'"plan"', b'"side_plan"', 1)] if self._config.receipts else []
        if side:
            self._history.defer(*aside)
            return ""
        try:
            (outcome,) = log.append([self._history.control([record])])
        except LogError as error:
            self._history.defer(*aside)
            logger.error("the plan could not be stored and lives in memory only: %s", error)  # noqa: TRY400
            return str(error)
        if isinstance(outcome, Exception):
            raise outcome
        return ""


def _is_stored(log: Log, plan: Plan) -> bool:
    return log.index.plan is not None and log.index.plan.get("id") == plan.id


def _message_id(log: Log, items: Sequence[Item], ordinal: int | None) -> str:
    """The id of a message; most often it is one of the last in the view."""
    if ordinal is None:
        return ""
    for item in items[-3:]:
        if item.entry is not None and item.entry.ordinal == ordinal:
            return item.entry.id
    return next(str(metadata_of(message).get("message_id", "")) for message in log.read([ordinal]))
