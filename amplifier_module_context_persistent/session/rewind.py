"""Changes of a running session's history: rewind, pop, and decisions that adapters of other kits make."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..log.base import Log
from ..messages.message import Message
from .change_history import Decide, HistoryChange, last_given, rewound
from .store import Store


async def change(store: Store, decide: Decide, *, reason: str, timestamp: str) -> None:
    """Change the history by a decision. Errors are those of `Log.append` and of the decision.

    Args:
        store: the session's store.
        decide: called under the log's lock.
        reason: the reason of the reset, if messages leave the history.
        timestamp: ISO 8601, for messages that have none.
    """
    replaces = False

    def decided(log: Log) -> HistoryChange:
        nonlocal replaces
        decision = decide(log)
        replaces = decision.kept is not None
        return decision

    await store.open()
    session = await store.append(
        lambda history: history.change(decided, reason=reason, timestamp=timestamp), small=False, looks_back=True
    )
    if replaces:
        await session.queue.run(lambda _: session.forget())


async def rewind(store: Store, to: int | str, *, timestamp: str) -> int:
    """End the history at a turn or message and return the number of hidden messages.

    Errors are those of `rewound` and `change`.
    """
    hidden = 0

    def decide(log: Log) -> HistoryChange:
        nonlocal hidden
        decision = rewound(log, to)
        hidden = 0 if decision.kept is None else len(log.index.live) - len(decision.kept)
        return decision

    await change(store, decide, reason="rewind", timestamp=timestamp)
    return hidden


async def pop(store: Store, *, timestamp: str) -> list[Message]:
    """Remove the last added message from the history and return its stored messages. Errors are those of `change`."""
    taken: list[tuple[int, Message]] = []

    def decide(log: Log) -> HistoryChange:
        nonlocal taken
        taken = last_given(log)
        return HistoryChange(log.index.live[: -len(taken)] if taken else None)

    await change(store, decide, reason="rewind", timestamp=timestamp)
    return [message for _, message in taken]


DecideOn = Callable[[Log, Sequence[Message]], HistoryChange]
"""A function like `Decide` that also gets the messages in their stored form."""
