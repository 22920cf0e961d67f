"""Compare a list that a host sets with the live history, and find what of it may be taken. Pure.

`set_messages` does not replace a history that was loaded from a log. But two things that hosts do with it are more
than a stale copy, and they are recognised:

- Turns that were made under another context module: the list is the live history and more messages after it (the
  *tail*). The tail is taken if it is new; see `new_messages`.
- The host's repair of interrupted tool calls: the list is the live history with results for calls that lack one, with
  closing assistant messages after results, and with results that came too late replaced by others after their call.
  A result is put after its call, a late one is moved there itself, and a closing message is taken where the history
  would otherwise have a person's message right after a result. Closing messages elsewhere say nothing: hosts that give
  no line numbers to their repair put one after every result of the history.

Whatever the list is, every live message stays, in its order but for moved results. Any other list is not recognised.
A host leaves out system messages; those of the history stay, and those that a list adds are not taken.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..messages.host_form import same_content
from ..messages.message import Message, given_calls, result_id_of, texts_of
from ..messages.metadata import REMINDER_PREFIX, REPAIR_SOURCE, given_id, metadata_of, timestamp_of

CLOSING_TEXT = "The tool calls before this were interrupted, and the turn ended here."

_SYSTEM = frozenset({"system", "developer"})


@dataclass(slots=True)
class Alignment:
    """What a list has beside the live history."""

    results: defaultdict[int, list[int | Message]] = field(default_factory=lambda: defaultdict(list))
    """By the position of a call, its results: new ones, and the positions of late ones."""
    closings: dict[str, Message] = field(default_factory=dict)
    """Closing messages, each by the call of the result before it."""
    tail: list[Message] = field(default_factory=list)
    """What follows the live history in the list, as it was given."""

    @property
    def moved(self) -> set[int]:
        """The positions of late results that are moved to their call."""
        return {item for items in self.results.values() for item in items if isinstance(item, int)}

    @property
    def inserted(self) -> list[Message]:
        """The host's messages between those of the history."""
        results = [item for items in self.results.values() for item in items if isinstance(item, dict)]
        return [*results, *self.closings.values()]


def align(live: Sequence[Message], given: Sequence[Message]) -> Alignment | None:
    """Match a list with the live history; None if it is neither the history repaired nor the history with a tail.

    Args:
        live: the live history, in order.
        given: the list.
    """
    found, late, missing = Alignment(), late_results(live), open_calls(live)
    lacking = set(late.values())
    needed = [at for at, message in enumerate(live) if message.get("role") not in _SYSTEM and at not in lacking]
    end = needed[-1] + 1 if needed else 0
    called: dict[str, int] = {}
    place, after_result = 0, ""
    for number, message in enumerate(given):
        call_id = result_id_of(message)
        if (position := _next_same(live, place, message, lacking)) is not None:
            called |= dict.fromkeys(given_calls(live[position]), position)
            lacking.discard(position)
            place, after_result = position + 1, call_id or ""
        elif call_id in called and (call_id in missing or late.get(call_id, -1) >= place):
            is_late = call_id not in missing
            found.results[called[call_id]].append(late.pop(call_id) if is_late else _repaired(message))
            missing.discard(call_id)
            after_result = call_id
        elif after_result and place < end and message.get("role") == "assistant" and not given_calls(message):
            found.closings[after_result] = message
            after_result = ""
        elif message.get("role") not in _SYSTEM:
            found.tail = list(given[number:])
            break
    return found if place >= end and lacking <= found.moved else None


def _next_same(live: Sequence[Message], place: int, message: Message, lacking: set[int]) -> int | None:
    """The position of a message of a list, if it is the next one of the history but for those that a list may lack."""
    for position in range(place, len(live)):
        if _is_same(live[position], message):
            return position
        if live[position].get("role") not in _SYSTEM and position not in lacking:
            return None
    return None


def new_messages(
    tail: Sequence[Message], is_new: Callable[[Message], bool], *, ends_removed: bool
) -> list[Message] | None:
    """Choose the messages of a tail that may be appended; None if one of them makes the list unrecognised.

    A tail that follows a live message is newer than every reset before that message, so clocks are not consulted. If a
    reset or a purge is the last thing that happened, only messages newer than it are new, and without a time none are.

    Args:
        tail: the messages after the live history.
        is_new: whether the log never held a message.
        ends_removed: whether a reset or a purge is the last thing that happened: what it took out may come first.
    """
    times = [timestamp_of(message) for message in tail]
    if any(times) and not all(times):
        return None
    news = [is_new(message) for message in tail]
    old = news.index(True) if True in news else len(news)
    return list(tail[old:]) if all(news[old:]) and (ends_removed or not old) else None


def arranged(live: Sequence[Message], found: Alignment, tail: Sequence[Message]) -> list[int | Message]:
    """The new order of the history: positions in `live`, and messages that are new.

    Closing messages stay only where a turn lacks its end. A call that got a result here and lacks one is given one, so
    that the host finds nothing more to repair.

    Args:
        live: the live history.
        found: what the list has beside it.
        tail: the new messages that will follow.
    """
    moved, touched = found.moved, {call_id for at in found.results for call_id in given_calls(live[at])}
    items: list[int | Message] = []
    for position in range(len(live)):
        if position not in moved:
            items += [position, *found.results.get(position, ())]
    messages = [live[item] if isinstance(item, int) else item for item in items] + list(tail[:1])
    order: list[int | Message] = []
    for number, item in enumerate(items):
        order.append(item)
        call_id = result_id_of(messages[number])
        if call_id is None or not all(map(is_person, messages[number + 1 : number + 2])):
            continue
        if call_id in found.closings:
            order.append(found.closings[call_id])
        elif call_id in touched:
            order.append({"role": "assistant", "content": CLOSING_TEXT, "metadata": {"source": REPAIR_SOURCE}})
    return order


def _repaired(result: Message) -> Message:
    """A result that the host's repair made: nobody knows when the tool ended."""
    return {**result, "metadata": {"source": REPAIR_SOURCE, **metadata_of(result)}}


def _is_same(stored: Message, given: Message) -> bool:
    """Whether a message of a list is this live one: by its id if it has one, and by its content."""
    brought = given_id(given)
    return (brought is None or brought == given_id(stored)) and same_content(stored, given)


# The host calls a result misplaced if a person's message, or an assistant message without `tool_calls`, stands between
# it and its call. A person's message is one of the role user whose text is no reminder.


def is_person(message: Message) -> bool:
    """Whether the host's diagnosis takes a message for a person's."""
    reminds = any(text.strip().startswith(f"{REMINDER_PREFIX}>") for text in texts_of(message))
    return message.get("role") == "user" and "tool_call_id" not in message and not reminds


def open_calls(live: Sequence[Message]) -> set[str]:
    """The ids of calls without a result."""
    answered = {result_id_of(message) for message in live}
    return {call_id for message in live for call_id in given_calls(message)} - answered


def late_results(live: Sequence[Message]) -> dict[str, int]:
    """Results that a person's message or an assistant message parts from their call: their positions, by call.

    As the host's diagnosis has it: an assistant message with `tool_calls` does not part them.
    """
    late: dict[str, int] = {}
    parted: dict[str, bool] = {}
    for position, message in enumerate(live):
        call_id = result_id_of(message)
        if call_id is not None and parted.get(call_id):
            late[call_id] = position
        if is_person(message) or (message.get("role") == "assistant" and "tool_calls" not in message):
            parted = dict.fromkeys(parted, True)
        parted.update(dict.fromkeys(given_calls(message), False))
    return late
