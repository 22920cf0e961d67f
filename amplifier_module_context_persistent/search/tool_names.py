"""The tools of a message: the tools that it calls, or the tool whose result it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from ..log.index import ASSISTANT, Index
from ..messages.message import Message, calls_of, result_id_of

NEAR = 256
"""The number of messages that are searched before a result for its call, and after a call for its result."""


class Records(Protocol):
    """The methods of a log (or of a log's reader) that this module needs."""

    @property
    def index(self) -> Index:
        """The index."""
        ...

    def read(self, ordinals: Sequence[int]) -> Iterator[Message]:
        """Parse records."""
        ...


def tools_of(records: Records, live: Sequence[int], position: int, message: Message) -> tuple[str, ...]:
    """Return the names of the tools that a message calls, or of the tool whose result it is, or an empty tuple.

    Args:
        records: reads the log.
        live: the live history's ordinals.
        position: the message's position in `live`.
        message: the message at this position.
    """
    call_id = result_id_of(message)
    if call_id is None:
        return tuple(dict.fromkeys(call.name for call in calls_of(message)))
    if message.get("name"):
        return (str(message["name"]),)
    caller = caller_of(records, live, position, call_id)
    if caller is None:
        return ()
    _, calling_message = caller
    for call in calls_of(calling_message):
        if call.id == call_id and call.name:
            return (call.name,)
    return ()


def caller_of(records: Records, live: Sequence[int], position: int, call_id: str) -> tuple[int, Message] | None:
    """Return the position and the message of the call that a result answers; None if no message close before has it.

    Args:
        records: reads the log.
        live: the live history's ordinals.
        position: the result's position in `live`.
        call_id: the id of the call.
    """
    roles = records.index.columns.roles
    for at in range(position - 1, max(-1, position - 1 - NEAR), -1):
        if roles[live[at]] == ASSISTANT:
            (message,) = records.read([live[at]])
            if any(call.id == call_id for call in calls_of(message)):
                return at, message
    return None
