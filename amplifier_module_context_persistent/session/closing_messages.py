"""Closing messages: the ends of turns whose tool calls were interrupted.

A host that resumes such a session adds an answer that closes the turn, so that a person's next message follows an
answer. The log takes this closing message, or makes one, only at the end of a turn that lacks an end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..messages.message import Message, given_calls, result_id_of
from ..messages.message_times import timestamp_of
from ..messages.metadata import as_repair, given_id
from .host_diagnosis import is_person

CLOSING_TEXT = "The tool calls before this were interrupted, and the turn ended here."


def may_close(message: Message, *, is_last: bool) -> bool:
    """Return whether a message after a tool result may be a closing message that the host's repair added.

    A message after the end of the history (`is_last`) must also lack an id and a time. With either, it is an answer
    that another module stored.
    """
    if message.get("role") != "assistant" or given_calls(message):
        return False
    return not is_last or (given_id(message) is None and not timestamp_of(message))


def with_closings(
    live: Sequence[Message],
    items: Sequence[int | Message],
    tail: Sequence[Message],
    *,
    callers: Collection[int],
    closings: Mapping[str, Message],
) -> list[int | Message]:
    """Add a closing message at the end of each turn that has none.

    If the list adds a result for a call of a message, but no closing message, a closing message is made. So the host
    finds nothing more to repair.

    Args:
        live: the live history.
        items: the history with the list's results: positions in `live`, and new messages.
        tail: the new messages that will follow the history.
        callers: the positions of the messages for whose calls the list adds results.
        closings: the list's closing messages, each by the call id of the result before it.
    """
    answered = set[str]()
    for position in callers:
        answered.update(given_calls(live[position]))
    if not (answered or closings):
        return list(items)
    by_call = _closings_by_call(live, callers, closings)
    messages = [live[item] if isinstance(item, int) else item for item in items]
    messages += tail[:1]
    order: list[int | Message] = []
    for number, item in enumerate(items):
        order.append(item)
        call_id = result_id_of(messages[number])
        is_last = number + 1 == len(messages)
        is_last_of_turn = is_last or is_person(messages[number + 1])
        if call_id is None or not is_last_of_turn:
            continue
        closing = by_call.get(call_id)
        if closing is not None:
            order.append(closing)
        elif call_id in answered:
            order.append(as_repair({"role": "assistant", "content": CLOSING_TEXT}))
    return order


def _closings_by_call(
    live: Sequence[Message], callers: Collection[int], closings: Mapping[str, Message]
) -> dict[str, Message]:
    """Return the list's closing messages, under every call id of the calling message.

    Any of the message's results may be the last one in this log.
    """
    by_call = dict(closings)
    for position in callers:
        beside = given_calls(live[position])
        closed = [call_id for call_id in beside if call_id in closings]
        if closed:
            by_call |= dict.fromkeys(beside, closings[closed[0]])
    return by_call
