"""The way of a request on the event loop: gather what is asked, make the view, compact in between, and report.

What touches the log or a window runs on the log's thread, in `view_service`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from amplifier_core.llm_errors import ContextLengthError

from ..config import Config
from ..errors import FloorError, RetentionError
from ..messages.message import Message
from ..messages.text import well_formed
from ..window.request import ViewRequest, ViewResult, sizes
from .host import Host, NotRetainedError, provider_facts, provider_name
from .pending_requests import PendingRequests
from .store import Store
from .summarizer import sum_up
from .system_prompt import SystemPrompt
from .usage import Usage

SystemPromptFactory = Callable[[], Awaitable[str]]


class RequestFlow:
    """The requests of one session.

    Args:
        config: the configuration.
        host: gets the events, and names the mounted tools.
        store: the session's store.
        usage: what providers reported; it is settled before each request.
        pending: the requests that wait for their answers.
        is_child_session: whether the session has a parent; hosts resume such a one without a system prompt.
    """

    def __init__(
        self,
        config: Config,
        host: Host,
        store: Store,
        usage: Usage,
        pending: PendingRequests,
        *,
        is_child_session: bool = False,
    ) -> None:
        self._config, self._host, self._store, self._usage = config, host, store, usage
        self._pending = pending
        self._prompt = SystemPrompt(enabled=is_child_session and config.restore_system_prompt)
        self._last: tuple[ViewRequest, int] | None = None
        """The request before, and how many of its answers were without their reasoning."""
        self.factory: SystemPromptFactory | None = None
        """Gives the system text that heads every view; None leaves the stored system messages."""

    async def ask(self, token_budget: int | None, provider: Any | None, *, force: bool = False) -> ViewRequest:
        """Gather what a request is made from: budget, the provider's window, system text, tools."""
        await self._usage.settle(self._store)
        head_text = (
            well_formed(str(await self.factory()))
            if self.factory is not None
            else await self._prompt.restore(self._store)
        )
        if self.factory is None and head_text is not None and self._prompt.is_first_use():
            await self._host.emit("context:system_prompt_restored", {"characters": len(head_text)})
        facts = await provider_facts(provider)
        return ViewRequest(
            token_budget,
            facts.window,
            provider_name(provider),
            head_text,
            self._host.tools_json(),
            force,
            provider,
            model=facts.model,
            told=facts.told,
            reasoning_refused=self._pending.reasoning_refused,
        )

    async def view(self, ask: ViewRequest) -> list[Message]:
        """Make a request's view, with a new plan where it needs one.

        Raises:
            ContextLengthError: it cannot be made to fit, or a text that it must hold is in no message.
            LogUnreadableError: the log cannot be read.
        """
        answer = await self._answer(ask, may_plan=False)
        if answer.compaction is not None:  # one that leaves out images alone, and asks nobody for a summary
            await self._report(answer)
        if answer.view is None:
            answer = await self._compact(ask, answer)
        await self._report_left_out(ask, answer)
        self._usage.meter.hand_out(ask.provider_name, answer.counted_tokens, answer.line)
        self._pending.hand_out(answer.bound, ask.provider_name, ask.model)
        return answer.view or []

    async def compact(self) -> None:
        """Make a plan now, whatever the view's size."""
        ask = await self.ask(None, None, force=True)
        await self._compact(ask, await self._answer(ask, may_plan=False))

    async def wants_compaction(self) -> bool:
        """Whether the view has reached the upper watermark."""
        ask, session = await self.ask(None, None), await self._store.open()
        return await session.read(lambda log: session.requests.wants_compaction(log, ask))

    async def _answer(self, ask: ViewRequest, *, may_plan: bool) -> ViewResult:
        session = await self._store.open()
        try:
            return await session.read(lambda log: session.requests.answer(log, ask, may_plan=may_plan))
        except FloorError as error:
            raise ContextLengthError(str(error)) from error
        except RetentionError as error:
            raise NotRetainedError(str(error)) from error

    async def _compact(self, ask: ViewRequest, before: ViewResult) -> ViewResult:
        """Make a plan and the view that follows it, and report both."""
        await self._host.emit("context:pre_compact", sizes(before.messages, before.tokens))
        summary = await sum_up(self._store, self._usage.meter, ask, config=self._config, host=self._host)
        after = await self._answer(replace(ask, summary=summary), may_plan=True)
        made = after.compaction
        if futile := after.futile():
            await self._host.emit("context:compaction_futile", futile)
        if made is not None:
            messages, tokens = len(made.arrangement.items), made.plan.tokens_after
            await self._report(after)
        else:
            messages, tokens = after.messages, after.tokens
        await self._host.emit("context:post_compact", sizes(messages, tokens))
        return after

    async def _report_left_out(self, ask: ViewRequest, answer: ViewResult) -> None:
        """Tell the host when it changed what stands before reasoning, so that this view had to leave some out."""
        last, self._last = self._last, (ask, answer.unbound)
        if last is None or answer.unbound <= last[1] or answer.compaction is not None:
            return
        before = last[0]
        if (before.provider_name, before.model) != (ask.provider_name, ask.model):
            return
        parts = {"system": before.head_text != ask.head_text, "tools": before.tools_json != ask.tools_json}
        changed = [part for part, differs in parts.items() if differs] or ["messages"]
        payload = {"provider": ask.provider_name, "changed": changed, "answers": answer.unbound - last[1]}
        await self._host.emit("context:reasoning_left_out", payload)

    async def _report(self, answer: ViewResult) -> None:
        """Tell of a plan that was made, and of one that could not be stored."""
        await self._host.emit("context:compaction", answer.report())
        if answer.plan_error and answer.compaction is not None:
            plan_id = answer.compaction.plan.id
            await self._host.emit("context:plan_not_stored", {"plan_id": plan_id, "error": answer.plan_error})
