"""Compare a list that a host sets with the live history, and find what of it may be taken. Pure.

`set_messages` does not replace a history that was loaded from a log. But two things that hosts do with it are more
than a stale copy, and they are recognised:

- Turns that were made under another context module: the list is the live history and more messages after it (the
  *tail*). The tail is taken if it is new; see `new_messages`.
- The host's repair of interrupted tool calls: the list is the live history with results for calls that lack one, with
  closing assistant messages after results, and with results that came too late replaced by others after their call.
  Results are taken in their places, a late result is moved there itself, and a closing message is taken where the
  history would otherwise have a person's message right after a result. Closing messages elsewhere say nothing: hosts
  that give no line numbers to their repair put one after every result of the history.

Whatever the list is, every live message stays, in its order but for moved results. Any other list is not recognised.
A host leaves out system messages; those of the history stay, and those that a list adds are not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..messages.host_form import same_content
from ..messages.message import Message, given_calls, result_id_of
from ..messages.metadata import REPAIR_SOURCE, given_id, instant_of, metadata_of, timestamp_of

CLOSING_TEXT = "The tool calls before this were interrupted, and the turn ended here."

_SYSTEM = frozenset({"system", "developer"})


@dataclass(frozen=True, slots=True)
class Removal:
    """The last record that took messages out of the live history: a reset or a purge."""

    time: str
    after_last_live: bool
    """Whether no live message is newer than it."""
    last_purge: str = ""
    """When the log was last purged: what was erased can be told by its age alone."""


@dataclass(slots=True)
class Alignment:
    """How a list compares with the live history."""

    order: list[int | Message] = field(default_factory=list)
    """The live history with what is inserted: positions in it, and new messages."""
    tail: list[Message] = field(default_factory=list)
    """What follows the live history in the list, as it was given."""
    moved: set[int] = field(default_factory=set)
    """Positions of late results that stand after their call in `order`."""
    inserted: list[Message] = field(default_factory=list)
    """The host's messages in `order`."""


def align(live: Sequence[Message], given: Sequence[Message]) -> Alignment | None:
    """Match a list with the live history; None if it is neither the history repaired nor the history with a tail.

    Args:
        live: the live history, in order.
        given: the list.
    """
    aligner = _Aligner(live)
    for number, message in enumerate(given):
        if aligner.match(message) or aligner.insert(message) or message.get("role") in _SYSTEM:
            continue
        if not aligner.at_end:
            return None
        aligner.found.tail = list(given[number:])
        break
    return aligner.finish()


def new_messages(
    tail: Sequence[Message], *, removal: Removal | None, is_held: Callable[[Message], bool]
) -> list[Message] | None:
    """Choose the messages of a tail that may be appended; None if one of them makes the list unrecognised.

    A tail that follows a live message is newer than every reset before that message, so clocks are not consulted. If a
    reset or a purge is the last thing that happened, only messages newer than it are new, and without a time none are.

    Args:
        tail: the messages after the live history.
        removal: the last reset or purge of the log, if there is any.
        is_held: whether the log holds a message, live or hidden.
    """
    times = [timestamp_of(message) for message in tail]
    if any(times) and not all(times):
        return None
    first_new = len(tail)
    for number in reversed(range(len(tail))):
        if not _is_new(tail[number], removal, is_held):
            break
        first_new = number
    old = tail[:first_new]
    if removal is None or not removal.after_last_live:
        return list(tail) if not old else None
    if any(_is_new(message, removal, is_held) for message in old):
        return None
    return list(tail[first_new:])


def is_newer(time: str, than: str) -> bool:
    """Whether one ISO 8601 time is later than another, at the coarser of their resolutions; False if one is none."""
    one, other = instant_of(time), instant_of(than)
    if one is None or other is None:
        return False
    digits = min(_fraction_digits(time), _fraction_digits(than))
    step = 10 ** (6 - digits)
    whole = [
        instant.replace(microsecond=instant.microsecond // step * step if digits else 0) for instant in (one, other)
    ]
    return whole[0] > whole[1]


def _fraction_digits(time: str) -> int:
    """How many digits of a second an ISO 8601 time has, at most 6."""
    _, point, fraction = time.replace(",", ".").partition(".")
    digits = 0
    for character in fraction:
        if not character.isdigit():
            break
        digits += 1
    return min(digits, 6) if point else 0


def _is_new(message: Message, removal: Removal | None, is_held: Callable[[Message], bool]) -> bool:
    time = timestamp_of(message)
    if is_held(message):
        return False
    if removal is None:
        return True
    if removal.last_purge and time and not is_newer(time, removal.last_purge):
        return False
    return not removal.after_last_live or is_newer(time, removal.time)


class _Aligner:
    """The state of one walk over a list and the live history."""

    def __init__(self, live: Sequence[Message]) -> None:
        self.found = Alignment()
        self._live, self._place = live, 0
        self._answered: set[str] = set()
        self._skipped: set[int] = set()
        self._after_result = False

    @cached_property
    def _late(self) -> dict[str, int]:
        return late_results(self._live)

    @cached_property
    def _late_places(self) -> frozenset[int]:
        return frozenset(self._late.values())

    @cached_property
    def _open(self) -> set[str]:
        return open_calls(self._live)

    @property
    def at_end(self) -> bool:
        """Whether only messages are left of the history that a list may lack."""
        return self._place == len(self._live) or all(
            self._may_lack(position) for position in range(self._place, len(self._live))
        )

    def match(self, message: Message) -> bool:
        """Take the next live message if this is it."""
        position = self._place
        while position < len(self._live) and not _is_same(self._live[position], message):
            if not self._may_lack(position):
                return False
            position += 1
        if position == len(self._live):
            return False
        self._pass_to(position)
        if position not in self.found.moved:
            self.found.order.append(position)
        self._place = position + 1
        self._after_result = result_id_of(message) is not None
        return True

    def insert(self, message: Message) -> bool:
        """Take a message of the host's repair, if it can be one here."""
        call_id = result_id_of(message)
        if call_id is not None:
            return self._insert_result(message, call_id)
        closes = message.get("role") == "assistant" and not given_calls(message)
        if not closes or not self._after_result or self.at_end:
            return False
        self._after_result = False
        self.found.order.append(message)
        self.found.inserted.append(message)
        return True

    def finish(self) -> Alignment | None:
        """The alignment; None if the list lacks a live message."""
        if not self.at_end:
            return None
        self._pass_to(len(self._live))
        return self.found if self._skipped <= self.found.moved else None

    def _may_lack(self, position: int) -> bool:
        return self._live[position].get("role") in _SYSTEM or position in self._late_places

    def _pass_to(self, position: int) -> None:
        """Pass live messages that the list lacks; late results among them must have been moved."""
        for passed in range(self._place, position):
            if self._live[passed].get("role") in _SYSTEM:
                self.found.order.append(passed)
            else:
                self._skipped.add(passed)
        self._place = position

    def _insert_result(self, message: Message, call_id: str) -> bool:
        if call_id in self._answered or not self._follows_call(call_id):
            return False
        late = self._late.get(call_id)
        if late is not None and late >= self._place:
            self.found.moved.add(late)
            self.found.order.append(late)
        elif call_id in self._open:
            self.found.order.append(message)
            self.found.inserted.append(message)
        else:
            return False
        self._answered.add(call_id)
        self._after_result = True
        return True

    def _follows_call(self, call_id: str) -> bool:
        """Whether nothing but results stands between the end of the order and the call."""
        for item in reversed(self.found.order):
            message = self._live[item] if isinstance(item, int) else item
            if call_id in given_calls(message):
                return isinstance(item, int)
            if result_id_of(message) is None and not (isinstance(item, dict) and message.get("role") == "assistant"):
                return False
        return False


def arranged(live: Sequence[Message], found: Alignment) -> list[int | Message]:
    """The new order of the history, without the tail: positions in `live`, and messages that are new.

    Closing messages stay only where a turn lacks its end. A call that got a result here and lacks one is given one, so
    that the host finds nothing more to repair.
    """
    answered = {result_id_of(message) for message in found.inserted} | {result_id_of(live[at]) for at in found.moved}
    groups = [set(given_calls(message)) for message in live]
    touched = {call_id for group in groups if group & answered for call_id in group}
    closings = {
        _identity(item): following
        for item, following in zip(found.order, found.order[1:], strict=False)
        if isinstance(following, dict) and result_id_of(following) is None
    }
    items = [item for item in found.order if isinstance(item, int) or result_id_of(item) is not None]
    messages = [live[item] if isinstance(item, int) else item for item in items] + found.tail[:1]
    order: list[int | Message] = []
    for number, item in enumerate(items):
        order.append(item if isinstance(item, int) else _repaired(item))
        call_id = result_id_of(messages[number])
        if call_id is None or not (number + 1 == len(messages) or is_person(messages[number + 1])):
            continue
        if (closing := closings.get(_identity(item))) is not None:
            order.append(closing)
        elif call_id in touched:
            order.append({"role": "assistant", "content": CLOSING_TEXT, "metadata": {"source": REPAIR_SOURCE}})
    return order


def _repaired(result: Message) -> Message:
    """A result that the host's repair made: nobody knows when the tool ended."""
    return {**result, "metadata": {"source": REPAIR_SOURCE, **metadata_of(result)}}


def _identity(item: int | Message) -> int | str:
    return item if isinstance(item, int) else f"new {id(item)}"


def _is_same(stored: Message, given: Message) -> bool:
    """Whether a message of a list is this live one: by its id if it has one, and by its content."""
    brought = given_id(given)
    return (brought is None or brought == given_id(stored)) and same_content(stored, given)


REMINDER_TAG = "<system-reminder>"


# The host calls a result misplaced if a person's message, or an assistant message without `tool_calls`, stands between
# it and its call. A person's message is one of the role user whose text is no reminder.


def is_person(message: Mapping[str, Any]) -> bool:
    """Whether the host's diagnosis takes a message for a person's."""
    if message.get("role") != "user" or "tool_call_id" in message:
        return False
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"text": content}]
    texts = [block.get("text") for block in blocks if isinstance(block, Mapping)]
    return not any(isinstance(text, str) and text.strip().startswith(REMINDER_TAG) for text in texts)


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
