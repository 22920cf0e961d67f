"""Make the view of a request, on the log's thread: its budget, window, plan and receipt."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..compaction.native_offer import NativeTurn
from ..compaction.plan_request import Summary
from ..compaction.provider_limits import MARGIN_BYTES, limits_of
from ..compaction.request_budget import budget_tokens
from ..config import Config
from ..errors import FloorError, LogError, RetentionError
from ..log.contract import Log
from ..log.index import Index
from ..messages.message import Message
from ..messages.metadata import given_id
from ..tokens.counter import TokenCounter, count_message
from ..tokens.meter import Meter
from ..view.arrangement import last_line
from ..view.bound_reasoning import tools_hash
from ..view.receipts import (
    LINE,
    ReaderName,
    Receipt,
    RequestHashes,
    encode_head,
    extras_in,
    keeps_wire_rules,
    render_options,
    text_hash,
)
from ..view.recipients import Recipient, family_of
from ..view.rules_of_log import LINES, WIRE
from ..view.stored_plan import budget_in_use, is_plan_for
from ..window.ephemerals import UnloggedMessages
from ..window.prompt_cache import PromptCache
from ..window.request import REFUSED, Room, StoredReceipt, ViewRequest, ViewResult, head_of
from ..window.retained_texts import RetainedTexts, shows_all
from ..window.when_to_plan import needs_plan
from ..window.window import Window
from .deferred_records import Deferred
from .host import ProviderFacts
from .provider_refusals import OTHERS, PREFILL, REASONING, knows
from .record_builder import RecordBuilder
from .smaller_budgets import SideWindows

logger = logging.getLogger(__name__)

_ATTEMPTS = 4  # at a view, if the log is replaced each time while its plan is made
SIDE_SHARE = 0.5  # a provider whose window is smaller than this share of the largest one gets plans of its own


@dataclass(frozen=True, slots=True)
class Ask:
    """The inputs of a request: the caller's wishes, and facts about host and provider."""

    explicit_tokens: int | None = None
    provider: Any | None = None
    facts: ProviderFacts = field(default_factory=ProviderFacts)
    head_text: str | None = None
    """The factory's system prompt; None if no factory is set."""
    tools_json: str = ""
    force: bool = False
    """Whether to plan now, even for a small view, and write no receipt."""
    retain: tuple[str, ...] = ()
    """Texts that the view must contain in full."""
    hard_fit: bool = False
    """Whether to make a new plan for this budget, with which the session continues."""
    learned: frozenset[tuple[str, str, str]] = frozenset()
    """Facts from providers' refusals in this process; the log has the facts of earlier processes."""
    sums_up: bool = False
    """Whether a summary may be asked for before a plan."""
    summary: Summary | None = None
    """The provider's summary of the older part, or None if there is none yet."""
    native: NativeTurn | None = None
    """Whether the provider of this request can compact a conversation itself, and how."""


@dataclass(frozen=True, slots=True)
class _Completed:
    """The complete request, its budget, and whether a side window answers it."""

    request: ViewRequest
    given_tokens: int
    """The budget in the provider's tokens, from the caller, the provider's window or the configuration."""
    is_aside: bool
    """Whether a side window answers the request, because its budget is smaller than the session's."""


@dataclass(frozen=True, slots=True)
class _Tools:
    """The definitions of a request's tools as JSON, their tokens, and their hash."""

    json: str = ""
    tokens: int = 0
    hash: str = ""


class ViewService:
    """Makes the views of one session, with the session's window and side windows for smaller budgets."""

    def __init__(
        self,
        config: Config,
        counter: TokenCounter,
        unlogged: UnloggedMessages,
        history: RecordBuilder,
        meter: Meter,
        new_id: Callable[[], str],
    ) -> None:
        self._config = config
        self._counter = counter
        self._unlogged = unlogged
        self._meter = meter
        self._history = history
        self._new_id = new_id
        self._window = Window(config, counter, unlogged, new_id)
        self._side = SideWindows(lambda: Window(config, counter, unlogged, new_id, store=False))
        self._holders = RetainedTexts(unlogged)
        self._cache = PromptCache(config.cache_ttl_s)
        self._tools = _Tools()
        self._own_budget: int | None = None
        self._largest_budget = 0
        """The largest budget of the providers that named their window."""
        self.last_budget_tokens = config.max_tokens
        """The budget of the last request."""
        self._render = render_options(config)
        self._heads: set[str] = set()
        """Hashes of the head texts that are queued for the log of `_heads_of`."""
        self._heads_of: Index | None = None

    def answer(self, log: Log, ask: Ask) -> ViewResult:
        """Make the view of a request, with a new plan if the view needs one.

        If the log is purged while the plan is made, the view is made again.

        Raises:
            FloorError: the view cannot be made to fit.
            RetentionError: no message contains a text that the view must contain.
            LogError: the log cannot be read.
        """
        for _ in range(_ATTEMPTS):
            built, is_current = self._answer_once(log, ask)
            if is_current:
                break
        return built

    def _answer_once(self, log: Log, ask: Ask) -> tuple[ViewResult, bool]:
        """Make the view of a request as `answer` does, which describes the errors.

        Returns:
            The view; and whether the log is still the same. If the log was replaced while a plan was made, the view
            is not: after a purge the plan and the view may contain what was purged. The plan is not stored then.
        """
        completed = self._complete(log, ask)
        index, now = log.index, self._history.now()
        request = completed.request
        self.last_budget_tokens = completed.given_tokens
        if completed.is_aside:
            window = self._side.window(log, completed.request, completed.given_tokens, base=self._window)
        else:
            window = self._window
            viewed_at = log.index.session.viewed_at
            if self._cache.is_cold(ask.facts.name, ask.facts.model, now=now, viewed_at=viewed_at):
                request = replace(request, is_cold=True)
        built = self._build(log, window, request)
        if built.view is not None and not window.shows_whole(request.retained):
            # the window shortens a message that must be shown in full, so another side window is used
            window = self._side.window(log, completed.request, completed.given_tokens, request.retained, base=window)
            if window.bring_back(log, request) and window.plan is not None:
                self._store_plan(log, window, index)
            built = self._build(log, window, request)
        receipt = self._receipt_of(
            log, ask, request=request, window=window, built=built, given_tokens=completed.given_tokens
        )
        planning = built.planning
        if planning.compaction is not None:
            planning = replace(planning, error=self._store_plan(log, window, index))
        line = id(window), _plan_id(window)
        is_current = planning.compaction is None or log.index is index
        if is_current and not completed.is_aside:  # a view that is made again still counts from the last request
            self._cache.note_request(now)
        return replace(built, planning=planning, line=line, receipt=receipt), is_current

    def _receipt_of(
        self, log: Log, ask: Ask, request: ViewRequest, window: Window, built: ViewResult, given_tokens: int
    ) -> StoredReceipt:
        """Check a view, and queue its receipt for the next append. Return an empty receipt if none is to be written.

        Raises:
            RetentionError: the view lacks a text that it must contain.
        """
        if built.view is None:
            return StoredReceipt()
        if ask.retain and not shows_all(built.view, ask.retain):
            raise RetentionError("a text that the view must hold is in a message that no view can show")
        self._note_line(built)
        if not self._config.receipts or ask.force or len(log.index) == 0:
            return StoredReceipt()
        try:
            receipt = self._make_receipt(
                log, request, window=window, built=built, view=built.view, given_tokens=given_tokens
            )
            stored = StoredReceipt(receipt.encode(), receipt.id)
        except ValueError as refused:
            logger.warning("a view leaves no receipt: %s", refused)
            return StoredReceipt()
        self._history.deferred.add(stored.record)
        return stored

    def _note_line(self, built: ViewResult) -> None:
        """Note the `[continued]` line that a view ends with, for the answer to this view.

        A view of the same messages for a reader that needs no line does not change the note.
        """
        line = last_line(built.items)
        noted = self._history.shown_line
        if line and built.last is not None:
            self._history.shown_line = built.last, line
        elif noted is not None and noted[0] != built.last:
            self._history.shown_line = None

    def _build(self, log: Log, window: Window, request: ViewRequest) -> ViewResult:
        plan_before, index = window.plan, log.index
        try:
            return window.build(log, request)
        except FloorError:  # a new plan that left out images is still kept
            plan = window.plan
            stored = log.index.session.plan or {}
            if plan is not None and plan is not plan_before and stored.get("id") != plan.id:
                self._store_plan(log, window, index)
            raise

    def wants_compaction(self, log: Log, ask: Ask) -> bool:
        """Return whether the current view has reached the threshold."""
        request = self._complete(log, ask).request
        tokens, messages = self._window.measure(log, request)
        return needs_plan(self._config, tokens=tokens, messages=messages, budget_tokens=request.budget_tokens)

    def forget(self) -> None:
        """Drop the side windows, after the history was replaced."""
        self._side.clear()

    def close(self) -> None:
        """Drop all windows, because a host may keep a closed session as long as its process lives.

        The next request begins as after a resume.
        """
        self._side.clear()
        self._window = Window(self._config, self._counter, self._unlogged, self._new_id)

    def _complete(self, log: Log, ask: Ask) -> _Completed:
        """Complete a request from the log, the configuration and the provider's facts."""
        log.follow()
        facts = ask.facts
        head = head_of(ask.head_text)
        given_tokens, is_smaller = self._budgets(log, ask)
        reader = Recipient.of(facts.name, facts.model)
        learned = {*ask.learned, *log.index.session.learned}
        refuses_prefill = reader.refuses_prefill or knows(learned, PREFILL, facts.name, facts.model)
        refuses_own_reasoning = knows(learned, REASONING, facts.name, facts.model)
        refuses_reasoning = refuses_own_reasoning or knows(learned, OTHERS, facts.name, facts.model)
        tools = self._tools_of(ask.tools_json)
        request = ViewRequest(
            budget_tokens=self._meter.counted_budget(facts.name, given_tokens),
            room=self._room_of(ask, head, tools, given_tokens),
            reader=reader,
            head_text=ask.head_text,
            line_last=refuses_prefill,
            tools=f"{tools.hash}{REFUSED}" if refuses_reasoning else tools.hash,
            retained=self._retained_by(log, ask, head),
            plans_now=ask.force or ask.hard_fit,
            sums_up=ask.sums_up,
            summary=ask.summary,
            native=ask.native,
        )
        changes_session = ask.hard_fit or (ask.force and ask.explicit_tokens is None)
        return _Completed(request, given_tokens, is_aside=is_smaller and not changes_session)

    def _retained_by(self, log: Log, ask: Ask, head: Sequence[Message]) -> frozenset[int]:
        """Return the ordinals of messages that have the texts of `ask.retain` which the head does not show."""
        missing = [text for text in ask.retain if not shows_all(head, [text])]
        if not missing:
            return frozenset()
        return self._holders.find(log, missing, has_factory=ask.head_text is not None)

    def _budgets(self, log: Log, ask: Ask) -> tuple[int, bool]:
        """Return a request's budget in the provider's tokens, and whether it is below the session's budget."""
        facts = ask.facts
        default = budget_tokens(self._config, None, facts.window, step_tokens=facts.step_tokens)
        if ask.explicit_tokens is not None:
            allowed_tokens = budget_tokens(self._config, ask.explicit_tokens, facts.window)
            session_tokens = default
            if ask.provider is None and self._own_budget is not None:
                session_tokens = self._own_budget
            return allowed_tokens, allowed_tokens < session_tokens
        self._own_budget = default
        if facts.window is None:
            return default, False
        if not self._largest_budget:
            self._largest_budget = self._planned_budget(log, facts.name, default)
        self._largest_budget = max(default, self._largest_budget)
        return default, default < int(SIDE_SHARE * self._largest_budget)

    def _tools_of(self, tools_json: str) -> _Tools:
        """Return the size and the hash of tool definitions. The values of the last request are cached."""
        if tools_json != self._tools.json:
            self._tools = _Tools(tools_json, self._counter.count_text(tools_json), tools_hash(tools_json))
        return self._tools

    def _room_of(self, ask: Ask, head: Sequence[Message], tools: _Tools, given_tokens: int) -> Room:
        """Return the sizes of a request's parts beside its messages, and the limits of its provider."""
        facts = ask.facts
        head_tokens = sum(count_message(message, self._counter) for message in head)
        head_bytes = len((ask.head_text or "").encode(errors="replace"))
        spare_tokens = 0
        if facts.window is not None:
            spare_tokens = max(0, facts.window.context_tokens - given_tokens)
        return Room(
            fixed_tokens=tools.tokens + head_tokens,
            fixed_bytes=MARGIN_BYTES + len(tools.json) + head_bytes,
            spare_tokens=spare_tokens,
            limits=limits_of(family_of(facts.name, facts.model), self._config, facts.reported_limits),
        )

    def _planned_budget(self, log: Log, provider: str, own_budget: int) -> int:
        """Return the least budget that an earlier process must have had, according to its plans."""
        index = log.index
        records = log.index.session
        counted_budget = self._meter.counted_budget(provider, own_budget)
        used_side_window = records.plan is None and is_plan_for(index, records.side_plan, counted_budget)
        if used_side_window:
            return int((own_budget + 1) / SIDE_SHARE)
        return budget_in_use(index, records.plan)

    def _make_receipt(
        self,
        log: Log,
        request: ViewRequest,
        window: Window,
        built: ViewResult,
        view: list[Message],
        given_tokens: int,
    ) -> Receipt:
        """Make the receipt of a view, and queue its head text for the next append if the log lacks this text."""
        head = self._queue_head(log, request.head_text) if request.head_text is not None else ""
        head_count = len(request.head)
        extras = extras_in(built.items) if self._unlogged.has_any else 0
        view_hash = window.chain.hash_of(
            built.items, lambda first: view[head_count + first :], request.head, of=log.index
        )
        return Receipt(
            id=self._new_id(),
            time=self._history.now(),
            plan=_plan_id(window),
            upto=_upto(log, built),
            messages=len(view),
            tokens=built.counted_tokens,
            budget_tokens=given_tokens,
            reader=ReaderName(request.reader.provider, request.reader.model),
            hashes=RequestHashes(view_hash, head, request.tools, built.reasoning.bound),
            extras=extras,
            render=self._render_of(request, built),
            unbound=len(built.reasoning.left_out),
        )

    def _render_of(self, request: ViewRequest, built: ViewResult) -> dict[str, Any]:
        """Return the options by which a view was rendered, for its receipt."""
        render = dict(self._render)
        if keeps_wire_rules(built.items):
            render[WIRE] = 1
        if request.line_last:
            render[LINES] = 1
        line = last_line(built.items)
        if line:
            render[LINE] = line
        return render

    def _queue_head(self, log: Log, text: str) -> str:
        """Queue a head text for the next append if the log lacks this text. Return the hash of the text."""
        head = text_hash(text)
        if self._heads_of is not log.index:
            self._heads = set()
            self._heads_of = log.index
        if head in log.index.session.heads:
            self._heads.discard(head)
        elif head not in self._heads:
            self._history.deferred.add(encode_head(text))
            self._heads.add(head)
        return head

    def _store_plan(self, log: Log, window: Window, index: Index) -> str:
        """Append a window's plan to the log. Return "", or the reason if this failed; the plan is used anyway.

        If the log was replaced since its index was `index`, nothing is appended: a purge may have removed what the plan
        says.

        The plan of a side window is not appended at once. If receipts are written, the plan is queued for the next
        append as a `side_plan`, because receipts contain its id. A later process continues from the last `side_plan` of
        the log.
        """
        record = window.plan_record(log)
        side_records = list[bytes]()
        if self._config.receipts:
            side_records.append(record.replace(b'"plan"', b'"side_plan"', 1))
        is_side_window = window is not self._window
        if is_side_window:
            self._history.deferred.add(*side_records, of=index)
            return ""
        try:
            (outcome,) = log.append([self._history.carrying([Deferred(record, index)], lambda _: [])])
        except LogError as error:
            self._history.deferred.add(*side_records, of=index)
            until = "waits for the next append" if side_records else "is in memory only"
            logger.error("the plan could not be stored and %s: %s", until, error)  # noqa: TRY400 - it needs no traceback
            return str(error)
        if isinstance(outcome, Exception):
            raise outcome
        return ""


def _plan_id(window: Window) -> str:
    return window.plan.id if window.plan else ""


def _upto(log: Log, built: ViewResult) -> str:
    """Return the id of the last message that a view covers, or "" if there is none.

    The message is usually among the last ones that the view shows.
    """
    if built.last is None:
        return ""
    for item in built.items[-3:]:
        if item.entry is not None and item.entry.ordinal == built.last:
            return item.entry.id
    [message] = log.read([built.last])
    return given_id(message) or ""
