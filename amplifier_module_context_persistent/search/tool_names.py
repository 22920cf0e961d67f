"""Which tools a message of a history is about: what it calls, or what it is the result of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from ..log.index import ASSISTANT, Index
from ..messages.message import Message, calls_of, result_id_of

NEAR = 256
"""How many messages before a result are searched for its call, and after a call for its result."""


class Records(Protocol):
    """What a log or a reader of one offers."""

    @property
    def index(self) -> Index:
        """The index."""
        ...

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse records."""
        ...


def tools_of(records: Records, live: Sequence[int], position: int, message: Message) -> tuple[str, ...]:
    """The names of the tools that a message calls, or of the one whose result it is; empty where it is neither.

    Args:
        records: reads the log.
        live: the live history's ordinals.
        position: where the message stands in it.
        message: the message.
    """
    call_id = result_id_of(message)
    if call_id is None:
        return tuple(dict.fromkeys(call.name for call in calls_of(message)))
    caller = caller_of(records, live, position, call_id) if not message.get("name") else None
    called = (call.name for call in calls_of(caller[1]) if call.id == call_id) if caller is not None else iter(())
    name = str(message.get("name") or next(called, ""))
    return (name,) if name else ()


def caller_of(records: Records, live: Sequence[int], position: int, call_id: str) -> tuple[int, Message] | None:
    """The message that makes the call which a result answers, and where it stands; None if none near it does."""
    roles = records.index.columns.roles
    for at in range(position - 1, max(-1, position - 1 - NEAR), -1):
        if roles[live[at]] == ASSISTANT:
            (message,) = records.read([live[at]])
            if any(call.id == call_id for call in calls_of(message)):
                return at, message
    return None
