"""The way of a request on the event loop: gather what is asked, make the view, compact in between, and report.

What touches the log or a window runs on the log's thread, in `view_service`. Also here: the system prompt that a
resumed child session gets back (`SystemPrompt`), since its host sets none and receipts name the head text of each view;
and what providers reported (`Usage`), from the host's events through the meter to the log.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from amplifier_core.llm_errors import ContextLengthError

from ..config import Config
from ..errors import FloorError, RetentionError
from ..log.base import Log
from ..log.index import SYSTEM
from ..log.record import encode_control, name_of
from ..messages.message import Message
from ..messages.metadata import metadata_of
from ..messages.text import well_formed
from ..tokens.meter import Meter, Reading
from ..window.request import ViewRequest, ViewResult, sizes
from .host import Host, NotRetainedError, provider_facts, provider_name
from .memory_files import is_memory_file
from .pending_requests import PendingRequests
from .recognise import control_records
from .store import Store
from .summarizer import sum_up

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


class SystemPrompt:
    """The text that heads the views of a session whose host gives it none.

    Args:
        enabled: whether a text is restored at all.
    """

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._text: str | None = None
        self._is_told = False

    async def restore(self, store: Store) -> str | None:
        """Find the text for the next view; None if there is none, or a system message stands in for it.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        if not self._enabled:
            return None
        session = await store.open()
        if not session.history.authoritative:
            self._enabled = False
            return None

        def find(log: Log) -> str | None:
            log.follow()
            if has_system_prompt(log):
                return None
            if self._text is None:
                self._text = last_head_text(log)
            return self._text

        text = await session.read(find)
        self._enabled = text is not None
        return text

    def is_first_use(self) -> bool:
        """Whether this is asked for the first time."""
        first, self._is_told = not self._is_told, True
        return first


def has_system_prompt(log: Log) -> bool:
    """Whether the live history has a system message that is neither a memory file nor from a hook."""
    index = log.index
    system = [ordinal for ordinal in index.live if index.roles[ordinal] == SYSTEM]
    return any(not is_memory_file(m) and metadata_of(m).get("source") != "hook" for m in log.read(system))


def last_head_text(log: Log) -> str | None:
    """The text that headed the last view with a head text, as the receipts say."""
    texts: dict[str, str] = {}
    last = ""
    for _, record in control_records(log, ("system", "view")):
        if record is None:
            continue
        if record["_record"] == "view":
            last = name_of(record.get("head", "")) or last
        elif isinstance(text := record.get("text"), str):
            texts[name_of(record.get("hash"))] = text
    return texts.get(last)


class Usage:
    """Usage that providers reported and the log does not have yet.

    Args:
        config: the policy.
        host: told of each reading.
        session_id: reports that name another session are ignored.
    """

    def __init__(self, config: Config, host: Host, session_id: str | None) -> None:
        self._host = host
        self._readings: list[Reading] = []
        corrects = config.token_meter == "actual"  # noqa: S105 - tokens of text
        self.meter = Meter(enabled=corrects, session_id=session_id, on_reading=self._readings.append)

    async def settle(self, store: Store) -> None:
        """Queue usage records for the next append and emit `context:usage`."""
        while self._readings:
            reading = self._readings.pop(0)
            session = await store.open()
            session.history.defer(encode_control("usage", **reading.record()))
            await self._host.emit("context:usage", reading.payload())
