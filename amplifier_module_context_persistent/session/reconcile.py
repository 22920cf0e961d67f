"""Compare a list that a host hands back with the live history, and find what of it is new; nothing is written here.

`set_messages` does not replace a history that was loaded from a log. But two things that hosts do with it are more
than a stale copy, and they are recognised:

- Turns that were made under another context module: the list is the live history and more messages after it (the
  *tail*). The tail is taken if it is new; see `new_messages`.
- The host's repair of interrupted tool calls: the list is the live history with results for calls that lack one, with
  closing assistant messages after results, and with results that came too late replaced by others after their call.
  A result that the history lacks is taken, in the order of the calls. A closing message is taken if the history would
  otherwise have nothing, or a person's message, right after a result. Closing messages elsewhere say nothing: hosts
  that give no line numbers to their repair put one after every result of the history.

Each part is judged by itself: a tail that only repeats the history does not keep a missing result out. Whatever the
list is, every live message stays, in its order but for late results, which are moved to their calls. Any other list is
not recognised. A host leaves out system messages; those of the history stay, and those that a list adds are not taken.

What is new is appended. New messages in the middle of the history are appended too, each with the message that it
follows (`messages.host_order`): so a repair makes no reset, and the plan and the provider's cache stay. Only a late
result that is moved takes a reset.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple

from ..log.base import Log
from ..messages.host_form import content_key
from ..messages.host_order import host_order, with_place
from ..messages.message import Message, given_calls, result_id_of, texts_of
from ..messages.metadata import (
    PLACE_KEY,
    REMINDER_PREFIX,
    REPAIR_SOURCE,
    given_id,
    is_ephemeral,
    is_kept_from_models,
    is_repair,
    metadata_of,
    timestamp_of,
)
from ..window.message_source import collector_paused
from .growing_list import SYSTEM_ROLES, is_same, rest_of
from .known_messages import KnownMessages
from .memory_files import is_memory_file
from .replayed_messages import stored_under

CLOSING_TEXT = "The tool calls before this were interrupted, and the turn ended here."


@dataclass(frozen=True, slots=True)
class TakenMessages:
    """What is taken of a list: messages to append, or a new order of the history if a late result is moved."""

    new: list[Message] = field(default_factory=list)
    """The new messages in the order of the list, those in the middle with their places."""
    order: list[int | Message] = field(default_factory=list)
    """All of the history, if a result is moved: ordinals, and new messages; else empty."""
    repairs: bool = False
    """Whether something of it is more than a tail."""

    def __bool__(self) -> bool:
        return bool(self.new or self.order)


@dataclass(frozen=True, slots=True)
class ListComparison:
    """The result of comparing a list with the log."""

    taken: TakenMessages
    live: Sequence[Message]
    """The live history that the list was compared with."""
    unknown: int = 0
    """How many messages of a list that is not taken the log does not hold, live or hidden."""


class LiveHistory(NamedTuple):
    """The live history as a host knows it: without ephemeral messages, and with those of repairs at their places."""

    messages: list[Message]
    ordinals: Sequence[int]
    """The ordinal of each of the messages."""
    all_ordinals: Sequence[int]
    """The ordinals of the whole live history, in the order of the log."""

    @classmethod
    def of(cls, log: Log) -> LiveHistory:
        """Read it.

        Raises:
            LogUnreadableError: the log cannot be read.
        """
        live = log.index.live
        with collector_paused():
            stored = list(log.read(live))
        if not _any_out_of_place(stored):
            return cls(stored, live, live)
        order = [position for position in host_order(stored) if not is_ephemeral(stored[position])]
        return cls([stored[position] for position in order], [live[position] for position in order], live)

    def with_others(self, order: Sequence[int | Message]) -> list[int | Message]:
        """A new order, and in it the messages that hosts do not know, each after the one that it follows now."""
        followers = defaultdict[int, list[int]](list)
        known, before = frozenset(self.ordinals), -1
        for ordinal in self.all_ordinals:
            if ordinal in known:
                before = ordinal
            else:
                followers[before].append(ordinal)
        whole: list[int | Message] = [*followers[-1]]
        for item in order:
            whole += [item, *followers.get(item, ())] if isinstance(item, int) else [item]
        return whole


def _any_out_of_place(stored: Sequence[Message]) -> bool:
    """Whether hosts may see one of the log's messages elsewhere than in its place, or not at all."""
    every = map(itemgetter("metadata"), stored)  # of many messages; a function for each takes twice the time
    return any(PLACE_KEY in metadata or "ephemeral" in metadata for metadata in every)


def known_beginning(live: Sequence[Message], given: Sequence[object]) -> list[int]:
    """Find the messages at the beginning of a list that are those of the history, to the last value.

    A host that hands back what it was given is recognised by this alone, in little more than the time to read it.

    Args:
        live: the history; its system messages may be missing in the list.
        given: the list as the host gives it, not copied yet.

    Returns:
        The positions in the history of the messages that are known.
    """
    known: list[int] = []
    place = 0
    for message in given:
        while place < len(live) and live[place]["role"] in SYSTEM_ROLES and not _is_equal(live[place], message):
            place += 1
        if place == len(live) or not _is_equal(live[place], message):
            break
        known.append(place)
        place += 1
    return known


def is_whole(live: Sequence[Message], given: Sequence[object], known: Sequence[int]) -> bool:
    """Whether a list is the history and nothing else, but that system messages may be missing.

    Args:
        live: the history.
        given: the list.
        known: what `known_beginning` found.
    """
    rest = live[known[-1] + 1 :] if known else live
    return len(known) == len(given) and all(message["role"] in SYSTEM_ROLES for message in rest)


def _is_equal(stored: Message, given: object) -> bool:
    try:
        return stored == given
    except (TypeError, ValueError):  # a value of another library that cannot be compared; it is refused later
        return False


def look_at(log: Log, given: Sequence[Message], *, may_repair: bool = True) -> ListComparison:
    """Find what of a list is to be taken, and count what is unknown if that is nothing.

    Args:
        log: the session's log.
        given: the list.
        may_repair: whether it may be a host's repair.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    history = LiveHistory.of(log)
    live = history.messages
    if not may_repair and (rest := rest_of(live, given)) and not KnownMessages(log, live).ends_removed:
        return ListComparison(TakenMessages(rest), live)
    found = align(live, given)
    if found is None:
        return ListComparison(TakenMessages(), live, count_unknown(log, given))
    if not (found.tail or found.results or found.closings):
        return ListComparison(TakenMessages(), live)
    known = KnownMessages(log, live)
    found.leave_out(known.is_stale)
    tail: list[Message] | None = []
    if not known.repeats(found.tail):
        tail = new_messages(found.tail, known.is_new, ends_removed=known.ends_removed)
    taken = arranged(history, found, tail or [])
    return ListComparison(taken, live, 0 if taken else count_unknown(log, given))


def additions_only(log: Log, given: Sequence[Message], *, may_repair: bool = True) -> list[Message] | None:
    """The new messages of a list that is the history and nothing but more messages; None for any other list.

    For a session whose history a host may replace: such a list is appended, which costs no reset.

    Args:
        log: the session's log.
        given: the list.
        may_repair: whether it may be a host's repair.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    history = LiveHistory.of(log)
    live = [message for message in history.messages if not is_memory_file(message)]
    listed = [message for message in given if not is_memory_file(message)]
    if not live or len(listed) <= len(live):
        return None
    if not may_repair and (rest := rest_of(live, listed)):
        return rest
    found = align(live, listed)
    if found is None or found.moved or any(stored_under(log, id_) for id_ in found.new_ids()):
        return None
    new = arranged(LiveHistory(live, [], []), found, found.tail).new
    is_the_list = len(live) + len(new) == len(listed) and all(one.get("content") != CLOSING_TEXT for one in new)
    return new if is_the_list else None


def count_unknown(log: Log, given: Sequence[Message]) -> int:
    """How many messages of a list the log does not hold, by their ids or else by their contents."""
    ids = [brought for message in given if (brought := given_id(message)) is not None]
    known = log.index.find_all(ids)
    bare = [content_key(message) for message in given if given_id(message) is None]
    contents = {content_key(message) for message in log.read(range(len(log.index)))} if bare else set()
    return sum(brought not in known for brought in ids) + sum(content not in contents for content in bare)


# -- lay a list on the history -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Alignment:
    """What a list has beside the live history."""

    results: dict[tuple[int, str], int | Message] = field(default_factory=dict)
    """Results that calls lack or that come too late, by the position of the message that calls, and the call's id.

    They are messages of the list, or the positions of late ones in the history.
    """
    closings: dict[str, Message] = field(default_factory=dict)
    """Closing messages, each by the call of the result before it."""
    tail: list[Message] = field(default_factory=list)
    """What follows the live history in the list, as it was given."""

    @property
    def moved(self) -> set[int]:
        """The positions of late results that are moved to their call."""
        return {item for item in self.results.values() if isinstance(item, int)}

    def leave_out(self, is_stale: Callable[[Message], bool]) -> None:
        """Leave out results and closing messages that are stale."""
        stale = {call for call, item in self.results.items() if isinstance(item, dict) and is_stale(item)}
        self.results = {call: item for call, item in self.results.items() if call not in stale}
        self.closings = {call_id: item for call_id, item in self.closings.items() if not is_stale(item)}

    def new_ids(self) -> list[str]:
        """The ids that the list's own messages bring."""
        results = [item for item in self.results.values() if isinstance(item, dict)]
        ids = [given_id(message) for message in (*results, *self.closings.values(), *self.tail)]
        return [one for one in ids if one is not None]


def align(live: Sequence[Message], given: Sequence[Message]) -> Alignment | None:
    """Match a list with the live history; None if it is neither the history repaired nor the history with a tail.

    Args:
        live: the live history, in order.
        given: the list.
    """
    found, late, missing = Alignment(), late_results(live), open_calls(live)
    lacking = set(late.values())
    needed = [at for at, message in enumerate(live) if message.get("role") not in SYSTEM_ROLES and at not in lacking]
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
            call = (called[call_id], call_id)
            found.results[call] = _from_repair(message) if call_id in missing else late.pop(call_id)
            missing.discard(call_id)
            after_result = call_id
        elif after_result and _may_close(message, is_last=place >= end):
            found.closings[after_result] = _from_repair(message)
            after_result = ""
        elif message.get("role") not in SYSTEM_ROLES:
            found.tail = list(given[number:])
            break
    return found if place >= end and lacking <= found.moved else None


def _may_close(message: Message, *, is_last: bool) -> bool:
    """Whether a message after a result may be the one with which a host's repair closes a turn.

    After all of the history only one without id and time is: else it is an answer that another module stored.
    """
    if message.get("role") != "assistant" or given_calls(message):
        return False
    return not is_last or (given_id(message) is None and not timestamp_of(message))


def _next_same(live: Sequence[Message], place: int, message: Message, lacking: set[int]) -> int | None:
    """The position of a message of a list, if it is the next one of the history but for those that a list may lack."""
    for position in range(place, len(live)):
        if is_same(live[position], message):
            return position
        if live[position].get("role") not in SYSTEM_ROLES and position not in lacking:
            return None
    return None


def new_messages(
    tail: Sequence[Message], is_new: Callable[[Message], bool], *, ends_removed: bool
) -> list[Message] | None:
    """Choose the messages of a tail that may be appended; None if one of them makes the tail unrecognised.

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


def arranged(history: LiveHistory, found: Alignment, tail: Sequence[Message]) -> TakenMessages:
    """Put what a list has beside the history into its places.

    Args:
        history: the live history.
        found: what the list has beside it.
        tail: the new messages that will follow.
    """
    items = _with_closings(history.messages, _with_results(history.messages, found), found, tail)
    repairs = any(isinstance(item, dict) for item in items) or bool(found.moved)
    if found.moved:
        new = [item for item in items if isinstance(item, dict)]
        order = [history.ordinals[item] if isinstance(item, int) else item for item in items]
        return TakenMessages([*new, *tail], [*history.with_others(order), *tail], repairs)
    return TakenMessages([*_placed(history.messages, items), *tail], [], repairs)


def _with_results(live: Sequence[Message], found: Alignment) -> list[int | Message]:
    """Positions in the history, and after each call's message the results that the list has for it.

    A result comes after those of the calls before it, so that results are in the order of their calls.
    """
    moved = found.moved
    answers: dict[str | None, int] = {}
    if found.results:
        answers = {result_id_of(message): at for at, message in enumerate(live) if at not in moved}
    after = defaultdict[int, list[int | Message]](list)
    for position in sorted({position for position, _ in found.results}):
        place = position
        for call_id in given_calls(live[position]):
            if (item := found.results.get((position, call_id))) is not None:
                after[place].append(item)
            else:
                place = max(place, answers.get(call_id, place))
    items: list[int | Message] = []
    for position in range(len(live)):
        if position not in moved:
            items += [position, *after.get(position, ())]
    return items


def _with_closings(
    live: Sequence[Message], items: Sequence[int | Message], found: Alignment, tail: Sequence[Message]
) -> list[int | Message]:
    """The items, and closing messages where a turn lacks its end.

    If calls of a message got a result here and the list has no closing message, one is made, so that the host finds
    nothing more to repair.
    """
    touched = {call_id for position, _ in found.results for call_id in given_calls(live[position])}
    if not (touched or found.closings):
        return list(items)
    closings = _closings_by_call(live, found)
    messages = [live[item] if isinstance(item, int) else item for item in items] + list(tail[:1])
    order: list[int | Message] = []
    for number, item in enumerate(items):
        order.append(item)
        call_id = result_id_of(messages[number])
        if call_id is None or not all(map(is_person, messages[number + 1 : number + 2])):
            continue
        if (closing := closings.get(call_id)) is not None:
            order.append(closing)
        elif call_id in touched:
            order.append(_from_repair({"role": "assistant", "content": CLOSING_TEXT}))
    return order


def _closings_by_call(live: Sequence[Message], found: Alignment) -> dict[str, Message]:
    """The list's closing messages by each call of their message: another result may be its last one here."""
    closings = dict(found.closings)
    for position in {position for position, _ in found.results}:
        beside = given_calls(live[position])
        closing = next((found.closings[call_id] for call_id in beside if call_id in found.closings), None)
        if closing is not None:
            closings |= dict.fromkeys(beside, closing)
    return closings


def _placed(live: Sequence[Message], items: Sequence[int | Message]) -> list[Message]:
    """The new ones of some items; those in the middle of the history say after which message hosts see them.

    Views show a result beside its call, wherever it was appended, unless a model has answered without it. A closing
    message is of no use to a model in the middle, and would be shown in the wrong place.
    """
    answered = len(live)  # where the model's last answer is
    while answered and not _is_answer(live[answered - 1]):
        answered -= 1
    placed: list[Message] = []
    last = -1
    for item in items:
        if isinstance(item, int):
            last = item
        elif last in (-1, len(live) - 1):
            placed.append(item)
        else:
            is_late = last + 1 < answered or result_id_of(item) is None
            placed.append(with_place(item, given_id(live[last]) or "", unseen=is_late))
    return placed


def _is_answer(message: Message) -> bool:
    """Whether a model wrote a message, and models see it."""
    return message.get("role") == "assistant" and not is_repair(message) and not is_kept_from_models(message)


def _from_repair(message: Message) -> Message:
    """A message that the host's repair made: when it was stored says nothing of when the tool or the turn ended."""
    return {**message, "metadata": {"source": REPAIR_SOURCE, **metadata_of(message)}}


# The host calls a result misplaced if a person's message, or an assistant message without `tool_calls`, stands between
# it and its call. A person's message is one of the role user whose text is no reminder.


def is_person(message: Message) -> bool:
    """Whether the host's diagnosis takes a message for a person's."""
    if message.get("role") != "user" or "tool_call_id" in message:
        return False
    return not any(text.strip().startswith(f"{REMINDER_PREFIX}>") for text in texts_of(message))


def open_calls(live: Sequence[Message]) -> set[str]:
    """The ids of calls without a result."""
    answered = {result_id_of(message) for message in live}
    return {call_id for message in live for call_id in given_calls(message)} - answered


def late_results(live: Sequence[Message]) -> dict[str, int]:
    """Results that a person's message or an assistant message parts from their call: their positions, by call.

    As the host's diagnosis has it: an assistant message with `tool_calls` does not part them.
    """
    late: dict[str, int] = {}
    called_at: dict[str, int] = {}
    partings = 0
    for position, message in enumerate(live):
        call_id = result_id_of(message)
        if call_id is not None and called_at.get(call_id, partings) < partings:
            late[call_id] = position
        if is_person(message) or (message.get("role") == "assistant" and "tool_calls" not in message):
            partings += 1
        called_at.update(dict.fromkeys(given_calls(message), partings))
    return late
