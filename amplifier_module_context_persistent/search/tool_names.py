"""Which tools a message of a history is about: what it calls, or what it is the result of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from ..log.index import ASSISTANT, Index
from ..messages.message import Message, calls_of, result_id_of

_NEAR = 256
"""So far before a result its call is looked for."""


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
    name = str(message.get("name") or _called(records, live, position, call_id))
    return (name,) if name else ()


def _called(records: Records, live: Sequence[int], position: int, call_id: str) -> str:
    """The name of the tool whose call a result answers; results need not say it."""
    roles = records.index.roles
    for at in range(position - 1, max(-1, position - 1 - _NEAR), -1):
        if roles[live[at]] == ASSISTANT:
            (message,) = records.read([live[at]])
            for call in calls_of(message):
                if call.id == call_id:
                    return call.name
    return ""
