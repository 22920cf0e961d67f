"""Match a list that a host sets with the live history: which messages of the list does the history lack, and where.

The list must be the whole history. It may add results for calls, closing messages of interrupted turns
(`closing_messages`), and more messages at its end. Hosts leave out system messages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from ..messages.message import Message, given_calls, result_id_of
from ..messages.metadata import as_repair, given_id
from .closing_messages import may_close
from .growing_list import SYSTEM_ROLES, is_same
from .host_diagnosis import late_results, open_calls


@dataclass(slots=True)
class Alignment:
    """The messages of a list that the live history does not have, by their places."""

    results: dict[tuple[int, str], int | Message] = field(default_factory=dict)
    """The results of calls that have none in the history, or a late one.

    The keys are the position of the calling message and the id of the call. A value is a message of the list, or the
    position of a late result in the history.
    """
    closings: dict[str, Message] = field(default_factory=dict)
    """Closing messages, each by the call id of the result before it."""
    tail: list[Message] = field(default_factory=list)
    """The messages after the live history in the list."""

    @property
    def moved(self) -> set[int]:
        """The positions of late results that are moved to their call."""
        return {item for item in self.results.values() if isinstance(item, int)}

    def leave_out(self, is_stale: Callable[[Message], bool]) -> None:
        """Leave out results and closing messages that are stale."""
        for call, result in list(self.results.items()):
            if not isinstance(result, int) and is_stale(result):
                del self.results[call]
        for call_id, closing in list(self.closings.items()):
            if is_stale(closing):
                del self.closings[call_id]

    def new_ids(self) -> list[str]:
        """Return the ids of the messages that come from the list."""
        results = [result for result in self.results.values() if not isinstance(result, int)]
        ids = map(given_id, [*results, *self.closings.values(), *self.tail])
        return [message_id for message_id in ids if message_id is not None]


def align(live: Sequence[Message], host_list: Sequence[Message]) -> Alignment | None:
    """Match a list with the live history. Return None if the list is not the history, repaired or with a tail.

    Args:
        live: the live history, in order.
        host_list: the list.
    """
    alignment = Alignment()
    late = late_results(live)
    missing = open_calls(live)
    may_lack = set(late.values())
    end = _end_of_needed(live, may_lack)
    called: dict[str, int] = {}  # positions of the calling messages that the list has, by call id
    place = 0  # the next position of the history
    after_result = ""  # the call id of the result right before
    for number, message in enumerate(host_list):
        call_id = result_id_of(message)
        position = _next_same(live, place, message, may_lack)
        if position is not None:
            called |= dict.fromkeys(given_calls(live[position]), position)
            may_lack.discard(position)
            place = position + 1
            after_result = call_id or ""
        elif call_id in called and call_id in missing:
            alignment.results[called[call_id], call_id] = as_repair(message)
            missing.discard(call_id)
            after_result = call_id
        elif call_id in called and late.get(call_id, -1) >= place:
            alignment.results[called[call_id], call_id] = late.pop(call_id)
            after_result = call_id
        elif after_result and may_close(message, is_last=place >= end):
            alignment.closings[after_result] = as_repair(message)
            after_result = ""
        elif message.get("role") not in SYSTEM_ROLES:
            alignment.tail = list(host_list[number:])
            break
    is_whole_history = place >= end and may_lack <= alignment.moved
    return alignment if is_whole_history else None


def _end_of_needed(live: Sequence[Message], may_lack: Collection[int]) -> int:
    """Return the position after the last message that a list of the whole history must have."""
    for position in reversed(range(len(live))):
        if position not in may_lack and live[position].get("role") not in SYSTEM_ROLES:
            return position + 1
    return 0


def _next_same(live: Sequence[Message], place: int, message: Message, lacking: set[int]) -> int | None:
    """Return the position of a list's message in the history.

    Return None if the list may not lack a message before it, or if there is no such message.
    """
    for position in range(place, len(live)):
        if is_same(live[position], message):
            return position
        if live[position].get("role") not in SYSTEM_ROLES and position not in lacking:
            return None
    return None
