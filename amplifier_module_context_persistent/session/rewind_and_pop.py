"""Rewind and pop in a running session, and changes by adapters: a decision (`change_history`) goes to the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..log.contract import Log
from ..messages.message import Message
from .add_messages import Additions
from .change_history import Decide, HistoryChange, last_given, rewound
from .store import Store


async def change(store: Store, decide: Decide, *, reason: str, timestamp: str) -> None:
    """Change the history as `decide` says. Errors are those of `Log.append` and of the decision.

    Args:
        store: the session's store.
        decide: called under the log's lock.
        reason: the reason of the reset, if messages leave the history.
        timestamp: ISO 8601, for messages that have none.
    """
    decisions: list[HistoryChange] = []  # the last one counts: the log may call `decide` again

    def noting_decide(log: Log) -> HistoryChange:
        decisions.append(decide(log))
        return decisions[-1]

    await store.open()
    session = await store.append(
        lambda history: history.change(noting_decide, reason=reason, timestamp=timestamp), small=False, looks_back=True
    )
    if decisions[-1].kept is not None:
        await session.queue.run(lambda _: session.forget())


DecideOn = Callable[[Log, Sequence[Message]], HistoryChange]
"""A function like `Decide` that also gets the messages in their stored form."""


async def change_with(
    store: Store,
    additions: Additions,
    decide: DecideOn,
    messages: Sequence[Mapping[str, Any]],
    *,
    reason: str,
    timestamp: str,
) -> None:
    """Change the history as a decision says, which may add messages.

    Arguments and errors are those of `PersistentContextManager.change_history`.
    """
    ready = await additions.ready(messages)
    try:
        await change(store, lambda log: decide(log, ready), reason=reason, timestamp=timestamp)
    except BaseException:
        additions.not_stored(ready)
        raise


async def rewind(store: Store, to: int | str, *, timestamp: str) -> int:
    """End the history at a turn or message and return the number of hidden messages.

    Errors are those of `rewound` and `change`.
    """
    hidden: list[int] = []  # the last number counts: the log may call `decide` again

    def decide(log: Log) -> HistoryChange:
        decision = rewound(log, to)
        hidden.append(0 if decision.kept is None else len(log.index.live) - len(decision.kept))
        return decision

    await change(store, decide, reason="rewind", timestamp=timestamp)
    return hidden[-1]


async def pop(store: Store, *, timestamp: str) -> list[Message]:
    """Remove the last added message from the history and return its stored messages. Errors are those of `change`."""
    removed: list[list[Message]] = []  # the last ones count: the log may call `decide` again

    def decide(log: Log) -> HistoryChange:
        last = last_given(log)
        removed.append([message for _, message in last])
        if not last:
            return HistoryChange(kept=None)
        return HistoryChange(kept=log.index.live[: -len(last)])

    await change(store, decide, reason="rewind", timestamp=timestamp)
    return removed[-1]
