"""Compare a list that a host sets with the live history, and find what of it may be taken; nothing is written here.

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
from datetime import datetime
from functools import cached_property

from ..log.base import Log
from ..log.control_records import control_records
from ..log.record_line import REMOVALS
from ..messages.host_form import content_key, same_content
from ..messages.message import Message, given_calls, result_id_of, texts_of
from ..messages.metadata import (
    REMINDER_PREFIX,
    REPAIR_SOURCE,
    given_id,
    instant_of,
    is_ephemeral,
    metadata_of,
    timestamp_of,
)
from .replayed_messages import stored_under

CLOSING_TEXT = "The tool calls before this were interrupted, and the turn ended here."

_SYSTEM = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True)
class TakenMessages:
    """What is taken of a list that a host sets: the new order of the live history, and the messages that follow it."""

    order: list[int | Message] = field(default_factory=list)
    """Positions in the live history, and new messages; empty if the order stays."""
    tail: list[Message] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many messages are new."""
        return sum(isinstance(item, dict) for item in self.order) + len(self.tail)

    def __bool__(self) -> bool:
        return bool(self.order or self.tail)


@dataclass(frozen=True, slots=True)
class ListComparison:
    """The result of comparing a list with the log."""

    taken: TakenMessages
    live: Sequence[Message]
    """The live history that the list was compared with."""
    unknown: int = 0
    """How many messages of a list that is not taken the log does not hold, live or hidden."""


def look_at(log: Log, given: Sequence[Message]) -> ListComparison:
    """Find what of a list is to be taken, and count what is unknown if that is nothing.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    all_live = list(log.read(log.index.live))
    positions = [position for position, message in enumerate(all_live) if not is_ephemeral(message)]  # what hosts know
    live = [all_live[position] for position in positions]
    found = align(live, given)
    if found is not None and not (found.tail or found.results or found.closings):
        return ListComparison(TakenMessages(), live)
    known = KnownMessages(log, live)
    tail = None
    if found is not None and not any(map(known.is_hidden, found.inserted)) and not known.repeats(found.tail):
        tail = new_messages(found.tail, known.is_new, ends_removed=known.ends_removed)
    if found is None or tail is None:
        return ListComparison(TakenMessages(), live, count_unknown(log, given))
    order = arranged(live, found, tail)
    while order and isinstance(last := order[-1], dict):  # what comes last is appended
        tail.insert(0, last)
        order.pop()
    if order == list(range(len(live))):
        order = []
    taken = TakenMessages([positions[item] if isinstance(item, int) else item for item in order], tail)
    return ListComparison(taken, live, 0 if taken else count_unknown(log, given))


def count_unknown(log: Log, given: Sequence[Message]) -> int:
    """How many messages of a list the log does not hold, by their ids or else by their contents."""
    ids = [brought for message in given if (brought := given_id(message)) is not None]
    known = log.index.find_all(ids)
    bare = [content_key(message) for message in given if given_id(message) is None]
    contents = {content_key(message) for message in log.read(range(len(log.index)))} if bare else set()
    return sum(brought not in known for brought in ids) + sum(content not in contents for content in bare)


class KnownMessages:
    """What a log holds: its live history, and the messages that were taken out of it."""

    def __init__(self, log: Log, live: Sequence[Message]) -> None:
        self._log = log
        self._live = {content_key(message): timestamp_of(message) for message in live}
        self._removed = self._purged = ""
        """When messages were last taken out, and when last by a purge: what was erased is told by its age alone."""
        self.ends_removed = log.index.has_removals
        """Whether that is the last thing that happened."""
        if self.ends_removed:
            self._find_removals()

    def _find_removals(self) -> None:
        """Find the last reset or purge; reads all of the log."""
        last_live = next(iter(self._log.lines(self._log.index.live[-1:])), (0, b""))[1]
        for line, record in control_records(self._log, REMOVALS):
            if record is not None:
                self._removed, self.ends_removed = str(record.get("time", "")), True
                self._purged = self._removed if record["_record"] == "purge" else self._purged
            elif line == last_live:
                self.ends_removed = False

    def is_new(self, message: Message) -> bool:
        """Whether the log never held a message: not by its id, by its content and time, or as one that was erased."""
        time = timestamp_of(message)
        if self.is_hidden(message) or (time and self._live.get(content_key(message)) == time):
            return False
        if self._purged and time and not is_newer(time, self._purged):
            return False
        return not self.ends_removed or is_newer(time, self._removed)

    def is_hidden(self, message: Message) -> bool:
        """Whether the log holds a message by its id, or by its content one that is not live.

        A message with the content of a hidden one is another one if it is newer than what hid that, and was not written
        at the same time.
        """
        brought = given_id(message)
        if brought is not None and stored_under(self._log, brought) is not None:
            return True
        times, time = self._hidden_times.get(content_key(message)), timestamp_of(message)
        return times is not None and (not is_newer(time, self._removed) or _second_of(time) in times)

    def repeats(self, tail: Sequence[Message]) -> bool:
        """Whether a tail without times only repeats messages of the live history."""
        repeated = (not timestamp_of(message) and content_key(message) in self._live for message in tail)
        return bool(tail) and all(repeated)

    @cached_property
    def _hidden_times(self) -> dict[str, set[datetime | None]]:
        """When the messages were written that are not live, by their contents."""
        index = self._log.index
        hidden = [ordinal for ordinal in range(len(index)) if not index.is_live(ordinal) and index.is_held(ordinal)]
        times = defaultdict[str, set[datetime | None]](set)
        for message in self._log.read(hidden):
            times[content_key(message)].add(_second_of(timestamp_of(message)))
        return times


def is_newer(time: str, than: str) -> bool:
    """Whether one ISO 8601 time is in a later second than another: many clocks tell no more; False if one is none."""
    one, other = _second_of(time), _second_of(than)
    return one is not None and other is not None and one > other


def _second_of(time: str) -> datetime | None:
    instant = instant_of(time)
    return instant.replace(microsecond=0) if instant is not None else None


# -- lay a list on the history -----------------------------------------------------------------------------------------


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
