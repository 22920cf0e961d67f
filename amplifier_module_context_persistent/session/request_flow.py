"""A request on the event loop: gather its inputs, have the view made, report, and take in the provider's answer.

Code that uses the log or a window runs on the log's thread, in `view_service`. The usage that providers reported is
moved from the meter to the log here (`settle_usage`).

If a provider refuses reasoning that the view shows unaltered, it got something else than the view: the host or a
gateway adds to requests (`provider_refusals`). From then on no reasoning is shown, and answers are bound to no request.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..config import NATIVE, SUMMARIZE, Config
from ..errors import FloorError, LogError, RecordError, RetentionError
from ..log.record_line import encode_control
from ..messages.message import Message
from ..messages.text import well_formed
from ..tokens.meter import Meter
from ..view.recipients import Recipient
from ..window.request import ViewResult, sizes
from .compaction_events import SEMANTIC, CompactionEvents, method_of
from .final_request import FinalRequests, HandedOut, Ticket
from .host import Host, provider_facts
from .native_calls import NativeCompaction
from .pending_requests import PendingRequests
from .provider_call import counted_by
from .provider_refusals import OTHERS, PREFILL, REASONING, Refusals, tells_transformations
from .store import Store
from .summarizer import SummaryPause, sum_up
from .system_prompt import SystemPrompt
from .view_service import Ask

logger = logging.getLogger(__name__)

SystemPromptFactory = Callable[[], Awaitable[str]]


_EVENTS = {PREFILL: "prefill_refused", REASONING: "reasoning_refused", OTHERS: "reasoning_refused"}
_COUNTS = 3
"""The most questions to a provider about the size of one request."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """The last request, the last message of its view, and the answers that the view showed without their reasoning."""

    ask: Ask
    last: int | None
    """The ordinal of the last message that the view covers."""
    left_out: frozenset[int]


class RequestFlow:
    """The requests of one session.

    Args:
        config: the configuration.
        host: gets the events, and names the mounted tools.
        store: the session's store.
        meter: the usage that providers reported; its records are queued before each request.
        pending: the requests that wait for their answers.
        session_id: the session's id; events of other sessions are ignored.
        is_child_session: whether the session has a parent; hosts resume a child session without a system prompt.
    """

    def __init__(
        self,
        config: Config,
        host: Host,
        store: Store,
        meter: Meter,
        pending: PendingRequests,
        *,
        session_id: str | None = None,
        is_child_session: bool = False,
    ) -> None:
        self._config = config
        self._host = host
        self._store = store
        self._meter = meter
        self._pending = pending
        self._native = NativeCompaction(config, host)
        self._prompt = SystemPrompt(enabled=is_child_session and config.restore_system_prompt)
        self.refusals = Refusals(session_id)
        self._final = FinalRequests()
        self._summary_pause = SummaryPause()
        self._last: _Shown | None = None
        """The previous request."""
        self.is_compacting = False
        """Whether a provider is asked for a summary."""
        self.factory: SystemPromptFactory | None = None
        """Gives the system text of every view; if None, views show the stored system messages."""

    async def view(
        self, token_budget: int | None, provider: Any | None, *, retain: tuple[str, ...] = (), hard_fit: bool = False
    ) -> list[Message]:
        """Make a request's view, with a new plan if the view needs one. The arguments are those of the manager.

        Raises:
            ContextLengthError: the view cannot be made to fit, or a text that it must contain is in no message.
            LogUnreadableError: the log cannot be read.
        """
        ask = await self._ask(token_budget, provider)
        ask = replace(ask, retain=retain, hard_fit=hard_fit, native=self._native.turn(ask.provider, ask.facts))
        answer = await self._counted(ask, await self._answer(ask))
        if answer.item.offer is not None:
            count = (await self._store.open()).counter.count_text
            self._native.start(ask.provider, ask.facts, ask.tools_json, answer.item.offer, count)
        await self._report_left_out(ask, answer)
        view = answer.view or []
        reasoning = answer.reasoning
        if self._pending.is_look(ask.facts.name):
            return view
        self._meter.hand_out(ask.facts.name, answer.counted_tokens, answer.line)
        self.refusals.asked = ask.facts.name, ask.facts.model
        self._pending.hand_out("" if reasoning.is_refused else reasoning.bound, ask.facts.name, ask.facts.model)
        if self._host.hooks is not None:
            checks_prefix = Recipient.of(ask.facts.name, ask.facts.model).checks_prefix
            self._final.handed_out = HandedOut(tuple(view), answer.receipt.id, checks_prefix)
        return view

    def record_final_request(self, request: Any) -> Ticket:
        """Remember the final request that was sent for the last view.

        If the request differs from the view, and its provider checks the messages before reasoning, the answer is bound
        to no request.
        """
        session = self._store.session
        if session is None:
            return Ticket(0)
        try:
            ticket, differs = self._final.record(request, session.count, session.log.index)
        except RecordError as error:
            logger.warning("the request that was sent cannot be compared with its view: %s", error)
            return Ticket(0)
        if differs and self._final.handed_out is not None and self._final.handed_out.checks_prefix:
            self._pending.bind_to_nothing()
        return ticket

    def bind_signed_response(self, ticket: Any) -> None:
        """Queue the record of a request whose answer was stored."""
        record = self._final.take(ticket)
        session = self._store.session
        if record is not None and session is not None:
            session.history.deferred.add(record)

    async def _counted(self, ask: Ask, answer: ViewResult) -> ViewResult:
        """Make a view again if its provider counts requests and would refuse this one as too long."""
        session = await self._store.open()
        meter = self._meter
        name = ask.facts.name
        model = ask.facts.model
        if not meter.may_exceed(name, answer.counted_tokens, session.views.last_budget_tokens):
            return answer
        for _ in range(_COUNTS):
            known = await counted_by(ask.provider, answer.view or [], ask.tools_json, model, answer.counted_tokens)
            if known is None or not meter.take_count(name, model, answer.counted_tokens, *known):
                break
            session.history.deferred.withdraw(answer.receipt.record)
            answer = await self._answer(ask)
        return answer

    async def hear(self, event: Mapping[str, Any], *, certain: bool = False) -> None:
        """Learn what a provider refused or dropped. Record the fact in the log, and tell the person and the host once.

        Args:
            event: an error, a response, or an answer.
            certain: whether the event is about refused reasoning, whatever its text says.
        """
        fact = self.refusals.hear(event, certain=certain)
        if fact is None:
            return
        session = await self._store.open()
        if fact in session.log.index.session.learned:
            return
        logger.warning(fact.sentence)
        record = fact.encode(session.history.now())
        try:
            await self._store.append(lambda history: history.control([record]))
        except LogError as error:
            logger.warning(
                "a limit learned from a provider's refusal could not be stored; only this process knows it: %s", error
            )
        await self._host.emit(f"context:{_EVENTS[fact.what]}", {"provider": fact.provider, "model": fact.model})

    async def hear_answers(self, messages: Iterable[Any]) -> None:
        """Learn from the answers among added messages which parts of requests their providers dropped."""
        for message in messages:
            if tells_transformations(message):
                await self.hear(message)

    def on_request(self, event: Mapping[str, Any]) -> None:
        """Remember the host's id of the request that has the last view."""
        self._pending.on_request(event)

    async def on_binding_retry(self, event: Mapping[str, Any]) -> None:
        """Take in the event that a provider refused reasoning, so that its module had to retry without it."""
        await self.hear(event, certain=True)

    async def on_response(self, event: Mapping[str, Any]) -> None:
        """Take in a provider's response: the usage that it reports, and what it says about dropped reasoning."""
        self._pending.on_response(event)
        self._meter.learn_from_response(event)
        await self.hear(event)
        await self.settle_usage()

    async def on_provider_error(self, event: Mapping[str, Any]) -> None:
        """Take in a provider's error, by which the provider may refuse the last view or the compaction item in it."""
        self._meter.learn_from_error(event)
        self._native.on_error(event)
        await self.hear(event)
        await self.settle_usage()

    async def close(self) -> None:
        """Stop asking providers, and queue the usage that they reported."""
        await self._native.close()
        self._final.forget()
        await self.settle_usage()

    async def compact(self) -> None:
        """Make a plan now, even for a small view."""
        await self._answer(replace(await self._ask(None, None), force=True))

    async def wants_compaction(self) -> bool:
        """Return whether the view has reached the upper watermark."""
        ask = await self._ask(None, None)
        session = await self._store.open()
        return await session.read(lambda log: session.views.wants_compaction(log, ask))

    async def settle_usage(self) -> None:
        """Queue usage records for the next append and emit `context:usage`."""
        while self._meter.readings:
            reading = self._meter.readings.pop(0)
            session = await self._store.open()
            session.history.deferred.add(encode_control("usage", **reading.record()))
            await self._host.emit("context:usage", reading.payload())

    async def _ask(self, token_budget: int | None, provider: Any | None) -> Ask:
        """Collect the inputs of a request: budget, the provider's facts, system text, tools."""
        await self.settle_usage()
        if self.factory is not None:
            head_text: str | None = well_formed(str(await self.factory()))
        else:
            head_text = await self._prompt.restore(self._store, self._host)
        facts = await provider_facts(provider, self._config.recipient)
        may_sum_up = self._config.compaction_strategy == SUMMARIZE and self._summary_pause.lets_ask()
        return Ask(
            token_budget,
            None if isinstance(provider, str) else provider,
            facts,
            head_text,
            self._host.tools_json(),
            learned=frozenset(self.refusals.facts),
            sums_up=may_sum_up,
        )

    async def _answer(self, ask: Ask) -> ViewResult:
        """Make a view, ask for a summary if its plan wants one, and report the plan."""
        async with CompactionEvents(self._host) as events:
            try:
                answer = await self._planned(ask, events)
            except FloorError as error:
                if error.tried is not None and not events.is_started:
                    messages, tokens = error.tried
                    await self._tell_start(events, self._method_of(None), messages, tokens)
                from .view_errors import ContextLengthError

                raise ContextLengthError(str(error)) from error
            except RetentionError as error:
                from .view_errors import NotRetainedError

                raise NotRetainedError(str(error)) from error
            futile = answer.futile()
            if futile:
                await self._host.emit("context:compaction_futile", futile)
            await self._report_plan(answer)
            await self._native.settle(answer)
            if events.is_started:
                await self._tell_end(events, answer)
            return answer

    async def _planned(self, ask: Ask, events: CompactionEvents) -> ViewResult:
        """Make a view, with a summary if its plan wants one; emit the start of a compaction."""
        session = await self._store.open()
        answer = await session.read(lambda log: session.views.answer(log, ask))
        if ask.force or answer.planning.is_due:
            await self._tell_start(events, self._method_of(answer), answer.messages, answer.tokens)
        if answer.planning.span is None:
            return answer
        await self._report_plan(answer)  # a plan that only leaves out images
        self.is_compacting = True
        try:
            summary, events.usage = await sum_up(
                session, self._meter, ask=ask, span=answer.planning.span, host=self._host, pause=self._summary_pause
            )
        finally:
            self.is_compacting = False
        second = replace(ask, summary=summary, sums_up=False)
        session = await self._store.open()
        return await session.read(lambda log: session.views.answer(log, second))

    def _method_of(self, answer: ViewResult | None) -> str:
        """Return the name of a compaction's method. If no plan was made, this is the configured method."""
        configured = method_of(self._config.compaction_strategy)
        if answer is None:
            return configured
        if answer.planning.span is not None:
            return SEMANTIC
        if answer.item.fallback:
            return NATIVE
        compaction = answer.planning.compaction
        if compaction is None:
            return configured
        return method_of(compaction.plan.making.strategy)

    async def _tell_start(self, events: CompactionEvents, method: str, messages: int, tokens: int) -> None:
        """Emit the start of a compaction, with the size of the view before it."""
        await self._host.emit("context:pre_compact", sizes(messages, tokens))
        await events.start(method, {"message_count": messages, "input_tokens": tokens})

    async def _tell_end(self, events: CompactionEvents, answer: ViewResult) -> None:
        """Emit the end of a compaction, with the size of the view after it."""
        compaction = answer.planning.compaction
        messages = len(compaction.arrangement.items) if compaction is not None else answer.messages
        await self._host.emit("context:post_compact", sizes(messages, answer.counted_tokens))
        counts = {"input_tokens_before": answer.tokens, "input_tokens_after": answer.counted_tokens}
        strategy = compaction.plan.making.strategy if compaction is not None else None
        await events.finish_with(strategy, counts)

    async def _report_left_out(self, ask: Ask, answer: ViewResult) -> None:
        """Tell the host when the view leaves out reasoning because something before it changed, once for each change.

        Only answers whose reasoning the last view showed are counted. If the system text or the tools changed, answers
        that no view has shown yet are counted, too.
        """
        last_view = self._last
        self._last = _Shown(ask, answer.last, answer.reasoning.left_out)
        if last_view is None or answer.planning.compaction is not None:
            return
        before = last_view.ask
        if (before.facts.name, before.facts.model) != (ask.facts.name, ask.facts.model):
            return
        if answer.reasoning.is_refused:  # the refusal was already reported
            return
        changed = list[str]()
        if before.head_text != ask.head_text:
            changed.append("system")
        if before.tools_json != ask.tools_json:
            changed.append("tools")
        newly_left_out = answer.reasoning.left_out - last_view.left_out
        if not changed:  # only answers that the last view could show
            last = -1 if last_view.last is None else last_view.last
            newly_left_out = frozenset(ordinal for ordinal in newly_left_out if ordinal <= last)
        if newly_left_out:
            payload = {"provider": ask.facts.name, "changed": changed or ["messages"], "answers": len(newly_left_out)}
            await self._host.emit("context:reasoning_left_out", payload)

    async def _report_plan(self, answer: ViewResult) -> None:
        """Emit the events of a plan: that it was made, and that it could not be stored."""
        if answer.planning.compaction is None:
            return
        await self._host.emit("context:compaction", answer.report())
        if answer.planning.error:
            plan_id = answer.planning.compaction.plan.id
            await self._host.emit("context:plan_not_stored", {"plan_id": plan_id, "error": answer.planning.error})
