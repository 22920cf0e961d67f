"""Change a history by a decision made under the log's lock: rewind, pop, and adapters of other kits.

A decision sees the log while no other process can change it, and returns which live messages stay and which new ones
follow. So a process never hides a message that it did not see. Removed messages stay in the log, hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import PlaceError
from ..forms.canonical import part_number
from ..log.contract import Log
from ..log.index import live_positions
from ..messages.message import Message
from ..view.turns import turn_starts


@dataclass(frozen=True, slots=True)
class HistoryChange:
    """A change of a history.

    Args:
        kept: the ordinals of the live messages that stay, in order; None if all do.
        added: messages that follow them, in canonical form.
        plan: the record of a plan for the present history (`portable_plan`); it comes into force if all messages stay.
    """

    kept: Sequence[int] | None = None
    added: Sequence[Message] = ()
    plan: Mapping[str, Any] | None = None


Decide = Callable[[Log], HistoryChange]
"""A function that decides on a change of the history. It may be called several times. If it raises an exception,
nothing is stored and the exception is passed on."""


def rewound(log: Log, to: int | str) -> HistoryChange:
    """Return the change that ends the history with a turn (its number, from 1) or with a message (its id).

    Raises:
        PlaceError: the live history has no such turn or message.
        TypeError: `to` is neither a number nor a text.
    """
    if not isinstance(to, int | str):
        raise TypeError(f"a place is a turn's number or a message's id, not {type(to).__name__}")
    index = log.index
    if isinstance(to, int):
        starts = turn_starts(index, log.read)
        if not 1 <= to <= len(starts):
            raise PlaceError(f"there is no turn {to:,}: the session has the turns 1 to {len(starts):,}")
        return HistoryChange(index.live[: starts[to]] if to < len(starts) else None)
    ordinal = index.find_all([to]).get(to)
    if ordinal is None or not index.is_live(ordinal):
        raise PlaceError(f"no message of this session has the id {to!r:.80}; give a turn's number or a message's id")
    (position,) = live_positions(index.live, [ordinal])
    return HistoryChange(index.live[: position + 1])


def last_given(log: Log) -> list[tuple[int, Message]]:
    """Return the stored messages of the message that was added last, with their ordinals, or an empty list."""
    messages: list[tuple[int, Message]] = []
    for ordinal in reversed(log.index.live):
        (message,) = log.read([ordinal])
        messages.append((ordinal, message))
        if part_number(message) <= 0:
            break
    return messages[::-1]
