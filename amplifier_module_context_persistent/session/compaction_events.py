"""The events by which a host learns of a compaction: that it started, and how it ended.

There are two pairs. `context:pre_compact` and `context:post_compact` are the kernel's, with the sizes of the
view; `context:compaction_started` and `context:compaction_finished` are those of amplifier-bundle-context-managed, with
the method, the outcome and the time. amplifier-unified shows the pause by the latter, and stores a checkpoint after it.

Every event of a start is followed by an event of an end, also after an error.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from ..config import NATIVE, SUMMARIZE
from ..tokens.usage import token_count
from .host import Host

SEMANTIC = "semantic"
"""The method name for a summary by a model."""
COMPLETED, FALLBACK, UNCHANGED, FAILED, CANCELLED = "completed", "fallback", "unchanged", "failed", "cancelled"

_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


class CompactionEvents:
    """The events of one compaction. In an `async with` statement, the end is emitted also after an error.

    Args:
        host: gets the events.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._began = time.monotonic()
        self._method: str | None = None
        """The method in the start event; None before the start event and after the end event."""
        self.usage: Mapping[str, int] = {}
        """The usage that a provider billed for the compaction; empty if no provider was called."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            await self.finish(CANCELLED if issubclass(kind, asyncio.CancelledError) else FAILED)

    @property
    def is_started(self) -> bool:
        """Whether the start event was emitted, and the end event was not."""
        return self._method is not None

    async def start(self, method: str, sizes: Mapping[str, int]) -> None:
        """Emit the start events.

        Args:
            method: the method: `native`, `semantic`, or a strategy of our own engine.
            sizes: counts of messages and tokens.
        """
        self._method = method
        await self._host.emit("context:compaction_started", {"method": method, **sizes})

    async def finish_with(self, strategy: str | None, sizes: Mapping[str, int]) -> None:
        """Emit the end events of a compaction that made a plan or found none.

        Args:
            strategy: the plan's strategy; None if the plan would have freed too little and is not followed.
            sizes: counts of tokens.
        """
        if strategy is None:
            await self.finish(UNCHANGED, sizes)
            return
        begun = self._method
        self._method = method_of(strategy)
        is_other = begun in (SEMANTIC, NATIVE) and begun != self._method
        await self.finish(FALLBACK if is_other else COMPLETED, sizes)

    async def finish(self, outcome: str, sizes: Mapping[str, int] | None = None) -> None:
        """Emit the end events, if the start events were emitted.

        Args:
            outcome: how the compaction ended.
            sizes: counts of tokens.
        """
        method = self._method
        self._method = None
        if method is None:
            return
        elapsed_ms = round((time.monotonic() - self._began) * 1000)
        payload = {"method": method, "outcome": outcome, "elapsed_ms": elapsed_ms, "usage": dict(self.usage)}
        await self._host.emit("context:compaction_finished", {**payload, **(sizes or {})})


def method_of(strategy: str) -> str:
    """Return the name that events use for a plan's strategy."""
    return SEMANTIC if strategy == SUMMARIZE else strategy


def counts_of(usage: Any) -> dict[str, int]:
    """Return the token counts in a provider's usage, which may be a mapping or an object."""
    if not isinstance(usage, Mapping):
        usage = {name: getattr(usage, name, None) for name in _COUNTS}
    counts: dict[str, int] = {}
    for name in _COUNTS:
        count = token_count(usage.get(name))
        if count is not None:
            counts[name] = count
    return counts
