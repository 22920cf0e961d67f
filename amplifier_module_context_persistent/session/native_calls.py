"""Compaction by the provider: one call in the background. `accept_native_item` checks the item.

The convention is that of Microsoft's provider modules (docs/native_compaction.md names the versions):
`supports_native_compaction()`, `await compact_context(request)` and `validate_compacted_context(message)`.

If one of them fails, that is not an error of the session: our own engine makes the next plan, from the whole log.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import orjson

from ..compaction.native_offer import OTHER_STRATEGY, ArrivedItem, NativeOffer, NativeTurn
from ..config import NATIVE, Config
from ..errors import NativeError
from ..messages.message import Message
from ..tokens.usage import token_count
from ..window.native_items import FREES_TOO_LITTLE
from ..window.request import ViewResult
from .accept_native_item import NOT_STORABLE, storable, supports_native, why_refused
from .compaction_events import COMPLETED, FAILED, CompactionEvents, counts_of
from .host import Host, ProviderFacts, error_text
from .provider_call import answer_of, chat_request

_LOST = "the view was full before the item arrived"


class NativeCompaction:
    """The calls to one session's providers for their own compaction.

    Args:
        config: the policy.
        host: gets the events.
    """

    def __init__(self, config: Config, host: Host) -> None:
        self._config = config
        self._host = host
        self._task: asyncio.Task[None] | None = None
        self._ready: ArrivedItem | None = None
        self._failed: Hashable = None
        """The basis of the last request for an item that failed. Such a request is not repeated before the next plan.
        """
        self._refused = False
        """Whether a provider refused a request that contained the item in force."""

    @property
    def runs(self) -> bool:
        """Whether a call to a provider is running."""
        return self._task is not None and not self._task.done()

    def turn(self, provider: Any, facts: ProviderFacts) -> NativeTurn | None:
        """Return how a request's provider supports compaction of its own, or None if no provider is named."""
        if not facts.name:
            return None
        if self._config.compaction_strategy != NATIVE:
            return OTHER_STRATEGY
        if provider is None:
            return None
        may_ask = not self.runs and self._ready is None and supports_native(provider)
        return NativeTurn(lambda said: self._why_refused(provider, said), self._ready, may_ask, self.runs, self._failed)

    async def settle(self, answer: ViewResult) -> None:
        """Note what happened to an item: a view shows it, it came too late, or the provider rejects it."""
        compaction = answer.planning.compaction
        fallback = answer.item.fallback
        if fallback:
            if self._ready is not None and fallback == FREES_TOO_LITTLE:
                self._failed = self._ready.basis
            self._ready = None
            await self.tell_fallback(fallback)
        elif compaction is not None and compaction.plan.native is not None:
            self._ready = None
        elif compaction is not None and answer.planning.is_due and self.runs:
            await self.close()
            await self.tell_fallback(_LOST)

    def start(
        self, provider: Any, facts: ProviderFacts, tools_json: str, offer: NativeOffer, count: Callable[[str], int]
    ) -> None:
        """Ask a provider to compact the beginning of a view, in the background.

        Args:
            provider: the host's provider of the request.
            facts: what the provider says about itself and its model.
            tools_json: the definitions of the request's tools, as JSON.
            offer: the messages to compact.
            count: counts the tokens of a text.
        """
        if not self.runs:
            self._task = asyncio.create_task(self._ask(provider, facts, tools_json, offer, count))

    async def tell_fallback(self, reason: str) -> None:
        """Emit an event with the reason why our own engine plans instead."""
        self._refused = False
        await self._host.emit("context:native_fallback", {"reason": reason})

    def on_error(self, event: Mapping[str, Any]) -> None:
        """Take in a provider's error, and remember whether the error is about the compaction item in the request."""
        self._refused = self._refused or "compaction" in error_text(event).lower()

    async def close(self) -> None:
        """Cancel the call, and drop an item that has arrived."""
        task = self._task
        self._task = None
        self._ready = None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])

    def _why_refused(self, provider: Any, message: Message) -> str:
        return "the provider refused a request with it" if self._refused else why_refused(provider, message)

    async def _ask(
        self, provider: Any, facts: ProviderFacts, tools_json: str, offer: NativeOffer, count: Callable[[str], int]
    ) -> None:
        started = time.monotonic()
        async with CompactionEvents(self._host) as events:
            await events.start(NATIVE, {"message_count": offer.covers, "input_tokens": offer.tokens})
            try:
                message, usage = await compacted(provider, facts, tools_json, offer, self._config)
            except NativeError as error:
                self._failed = offer.basis
                await events.finish(FAILED)
                await self.tell_fallback(str(error))
                return
            tokens = item_tokens(message, usage, count)
            self._ready = offer.item(message, tokens, facts.name, facts.model, usage)
            events.usage = counts_of(usage)
            await events.finish(COMPLETED, {"input_tokens_before": offer.tokens, "input_tokens_after": tokens})
        payload = {
            "provider": facts.name,
            "model": facts.model,
            "covered_messages": offer.covers,
            "request_tokens": offer.tokens,
            "item_tokens": tokens,
            "seconds": round(time.monotonic() - started, 3),
        }
        for key in ("input_tokens", "output_tokens"):
            if key in events.usage:
                payload[key] = events.usage[key]
        await self._host.emit("context:native_compaction", payload)


async def compacted(
    provider: Any, facts: ProviderFacts, tools_json: str, offer: NativeOffer, config: Config
) -> tuple[Message, Mapping[str, Any]]:
    """Ask a provider to compact the beginning of a view.

    Args:
        provider: the host's provider of the request.
        facts: what the provider says about itself and its model.
        tools_json: the definitions of the request's tools, as JSON.
        offer: the messages to compact.
        config: gives the largest number of tokens of the item, and the time that the call may take.

    Returns:
        The message that contains the item, and the reported usage.

    Raises:
        NativeError: the provider failed, took too long, or returned no usable message; says which.
    """
    more = {"model": facts.model or None, "max_output_tokens": config.native_max_tokens}
    why = {"purpose": "context-compaction", "native_compaction_request_context": True}
    result = await answer_of(
        lambda: provider.compact_context(chat_request(offer.messages, tools_json, **more, metadata=why)),
        config.native_timeout_s,
        NativeError,
    )
    if not isinstance(result, Mapping) or result.get("kind") != "native":
        raise NativeError(NOT_STORABLE)
    message = storable(result.get("message"))
    refusal = why_refused(provider, message)
    if refusal:
        raise NativeError(refusal)
    usage = result.get("usage")
    return message, usage if isinstance(usage, Mapping) else {}


def item_tokens(message: Message, usage: Mapping[str, Any], count: Callable[[str], int]) -> int:
    """Return an item's tokens: the provider's count, since the item may be encrypted, else a count of its text."""
    return token_count(usage.get("output_tokens")) or count(orjson.dumps(message).decode())
