"""Compare a list that a host passes to `set_messages` with the live history, and find its new messages.

Nothing is written here. `set_messages` does not replace a history that was loaded from a log. But two kinds of lists
have something new:

- Turns that were made under another context module: the list is the live history followed by more messages (the
  *tail*). The tail is taken if it is new; see `new_messages`.
- The host's repair of interrupted tool calls: the list is the live history with results for calls that lack one, with
  closing assistant messages after results, and with late results replaced by others right after their calls. A result
  that the history lacks is taken, in the order of the calls. A closing message is taken only after a result that is
  followed by nothing or by a person's message. Other closing messages mean nothing: hosts that give no line numbers to
  their repair put one after every result of the history.

The parts are judged independently: a tail that only repeats the history does not keep a missing result out. Any other
list is not recognised. Every live message stays, and the order stays, except that late results are moved to their
calls. Hosts leave out system messages; those of the history stay, and those that a list adds are not taken.

New messages are appended. A new message in the middle of the history is appended too, with the id of the message that
it follows (`messages.host_order`). So a repair needs no reset, and the plan and the provider's cache stay. A reset is
needed only to move a late result.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple

from ..log.contract import Log
from ..messages.host_form import content_key
from ..messages.host_order import host_order, with_place
from ..messages.kept_from_models import is_kept_from_models
from ..messages.message import Message, given_calls, metadata_of, result_id_of
from ..messages.message_times import timestamp_of
from ..messages.metadata import PLACE_KEY, REPAIR_SOURCE, given_id, is_ephemeral, is_repair
from ..window.collector_paused import collector_paused
from .growing_list import SYSTEM_ROLES, is_same, rest_of
from .host_diagnosis import is_person, late_results, open_calls
from .known_messages import KnownMessages
from .memory_files import is_memory_file
from .replayed_messages import stored_under

CLOSING_TEXT = "The tool calls before this were interrupted, and the turn ended here."


@dataclass(frozen=True, slots=True)
class TakenMessages:
    """The messages to append from a list, and the new order of the history if a late result is moved."""

    new: list[Message] = field(default_factory=list)
    """The new messages in the order of the list. A message in the middle names the message that it follows."""
    order: list[int | Message] = field(default_factory=list)
    """The whole new history, as ordinals and new messages, if a result is moved. Otherwise the list is empty."""
    repairs: bool = False
    """Whether the list has more changes than a tail."""

    def __bool__(self) -> bool:
        return bool(self.new or self.order)


@dataclass(frozen=True, slots=True)
class ListComparison:
    """The result of comparing a list with the log."""

    taken: TakenMessages
    live: Sequence[Message]
    """The live history that the list was compared with."""
    unknown: int = 0
    """The number of a rejected list's messages that the log does not have, neither live nor hidden."""


class LiveHistory(NamedTuple):
    """The live history as a host sees it: without ephemeral messages, and with repairs in their places."""

    messages: list[Message]
    ordinals: Sequence[int]
    """The ordinals of the messages."""
    all_ordinals: Sequence[int]
    """The ordinals of the whole live history, in the order of the log."""

    @classmethod
    def of(cls, log: Log) -> LiveHistory:
        """Read the live history of a log.

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
        """Add the messages that hosts do not see to a new order.

        Each of these stays after the message that it follows now.
        """
        seen_by_hosts = frozenset(self.ordinals)
        followers = defaultdict[int | None, list[int]](list)  # None: at the start of the history
        before: int | None = None
        for ordinal in self.all_ordinals:
            if ordinal in seen_by_hosts:
                before = ordinal
            else:
                followers[before].append(ordinal)
        whole: list[int | Message] = [*followers[None]]
        for item in order:
            whole.append(item)
            if isinstance(item, int):
                whole += followers.get(item, ())
        return whole


def _any_out_of_place(stored: Sequence[Message]) -> bool:
    """Return whether hosts see any of the messages at another place than the log, or do not see it at all."""
    # the history may be long; a function call for each message takes twice the time
    every_metadata = map(itemgetter("metadata"), stored)
    return any(PLACE_KEY in metadata or "ephemeral" in metadata for metadata in every_metadata)


def compare_list(log: Log, given: Sequence[Message], *, may_repair: bool = True) -> ListComparison:
    """Find the new messages of a list. If no message can be taken, count the messages that the log does not have.

    Args:
        log: the session's log.
        given: the list.
        may_repair: whether it may be a host's repair.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    history = LiveHistory.of(log)
    live = history.messages
    rest = rest_of(live, given) if not may_repair else None
    if rest and not KnownMessages(log, live).ends_removed:
        return ListComparison(TakenMessages(rest), live)
    alignment = align(live, given)
    if alignment is None:
        return ListComparison(TakenMessages(), live, count_unknown(log, given))
    if not (alignment.tail or alignment.results or alignment.closings):
        return ListComparison(TakenMessages(), live)
    known = KnownMessages(log, live)
    alignment.leave_out(known.is_stale)
    tail: list[Message] | None = []
    if not known.repeats(alignment.tail):
        tail = new_messages(alignment.tail, known.is_new, ends_removed=known.ends_removed)
    new = arranged(history, alignment, tail or [])
    unknown = count_unknown(log, given) if not new else 0
    return ListComparison(new, live, unknown)


def additions_only(log: Log, given: Sequence[Message], *, may_repair: bool = True) -> list[Message] | None:
    """Return the new messages of a list, or None if the list is not the history with additions only.

    Sessions whose history a host may replace use this, because additions can be appended without a reset.

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
    rest = rest_of(live, listed) if not may_repair else None
    if rest:
        return rest
    alignment = align(live, listed)
    if alignment is None or alignment.moved:
        return None
    if any(stored_under(log, message_id) for message_id in alignment.new_ids()):
        return None
    new = arranged(LiveHistory(live, [], []), alignment, alignment.tail).new
    if len(live) + len(new) != len(listed):
        return None
    if any(message.get("content") == CLOSING_TEXT for message in new):
        return None
    return new


def count_unknown(log: Log, given: Sequence[Message]) -> int:
    """Count the messages of a list that the log does not have. A message is known by its id, else by its content."""
    ids: list[str] = []
    contents: list[str] = []
    for message in given:
        message_id = given_id(message)
        if message_id is None:
            contents.append(content_key(message))
        else:
            ids.append(message_id)
    known_ids = log.index.find_all(ids)
    unknown = sum(message_id not in known_ids for message_id in ids)
    if contents:
        known_contents = {content_key(message) for message in log.read(range(len(log.index)))}
        unknown += sum(content not in known_contents for content in contents)
    return unknown


# -- match a list with the history -------------------------------------------------------------------------------------


@dataclass(slots=True)
class Alignment:
    """The messages of a list that the live history does not have, by their places."""

    results: dict[tuple[int, str], int | Message] = field(default_factory=dict)
    """Results for calls that have no result or a late one, by the position of the calling message and the call's id.

    A value is a message of the list, or the position of a late result in the history.
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


def align(live: Sequence[Message], given: Sequence[Message]) -> Alignment | None:
    """Match a list with the live history. Return None if the list is not the history, repaired or with a tail.

    Args:
        live: the live history, in order.
        given: the list.
    """
    alignment = Alignment()
    late = late_results(live)
    missing = open_calls(live)
    may_lack = set(late.values())
    end = _end_of_needed(live, may_lack)
    called: dict[str, int] = {}  # positions of the calling messages that the list has, by call id
    place = 0  # the next position of the history
    after_result = ""  # the call id of the result right before
    for number, message in enumerate(given):
        call_id = result_id_of(message)
        position = _next_same(live, place, message, may_lack)
        if position is not None:
            called |= dict.fromkeys(given_calls(live[position]), position)
            may_lack.discard(position)
            place = position + 1
            after_result = call_id or ""
        elif call_id in called and call_id in missing:
            alignment.results[called[call_id], call_id] = _from_repair(message)
            missing.discard(call_id)
            after_result = call_id
        elif call_id in called and late.get(call_id, -1) >= place:
            alignment.results[called[call_id], call_id] = late.pop(call_id)
            after_result = call_id
        elif after_result and _may_close(message, is_last=place >= end):
            alignment.closings[after_result] = _from_repair(message)
            after_result = ""
        elif message.get("role") not in SYSTEM_ROLES:
            alignment.tail = list(given[number:])
            break
    is_whole_history = place >= end and may_lack <= alignment.moved
    return alignment if is_whole_history else None


def _end_of_needed(live: Sequence[Message], may_lack: Collection[int]) -> int:
    """Return the position after the last message that a list of the whole history must have."""
    for position in reversed(range(len(live))):
        if position not in may_lack and live[position].get("role") not in SYSTEM_ROLES:
            return position + 1
    return 0


def _may_close(message: Message, *, is_last: bool) -> bool:
    """Return whether a message after a result may be a closing message of the host's repair.

    After the end of the history, only a message without id and time may be one. A message with id and time there is an
    answer that another module stored.
    """
    if message.get("role") != "assistant" or given_calls(message):
        return False
    return not is_last or (given_id(message) is None and not timestamp_of(message))


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


def new_messages(
    tail: Sequence[Message], is_new: Callable[[Message], bool], *, ends_removed: bool
) -> list[Message] | None:
    """Return the messages of a tail that may be appended, or None if the whole tail must be rejected.

    A tail that follows a live message is newer than every reset before that message, so times are not compared. If the
    last event was a reset or a purge, only messages with a later time are new.

    Args:
        tail: the messages after the live history.
        is_new: tells whether the log never had a message.
        ends_removed: whether the last event was a reset or a purge. Then the tail may begin with removed messages.
    """
    times = [timestamp_of(message) for message in tail]
    if any(times) and not all(times):
        return None
    are_new = [is_new(message) for message in tail]
    first_new = are_new.index(True) if True in are_new else len(tail)
    if first_new > 0 and not ends_removed:
        return None
    if not all(are_new[first_new:]):
        return None
    return list(tail[first_new:])


def arranged(history: LiveHistory, alignment: Alignment, tail: Sequence[Message]) -> TakenMessages:
    """Put the new messages of a list into their places.

    Args:
        history: the live history.
        alignment: the match of the list with the history.
        tail: the new messages that will follow the history.
    """
    with_results = _with_results(history.messages, alignment)
    items = _with_closings(history.messages, with_results, alignment, tail)
    new = [item for item in items if not isinstance(item, int)]
    repairs = bool(new or alignment.moved)
    if not alignment.moved:
        return TakenMessages([*_placed(history.messages, items), *tail], [], repairs)
    order = [history.ordinals[item] if isinstance(item, int) else item for item in items]
    whole_order = history.with_others(order)
    return TakenMessages([*new, *tail], [*whole_order, *tail], repairs)


def _with_results(live: Sequence[Message], alignment: Alignment) -> list[int | Message]:
    """Return the positions of the history, with the list's results inserted after the messages of their calls.

    Results are in the order of their calls: a result comes after the results of earlier calls.
    """
    moved = alignment.moved
    results_of_history: dict[str | None, int] = {}  # the positions of results that stay, by call id
    if alignment.results:
        for position, message in enumerate(live):
            if position not in moved:
                results_of_history[result_id_of(message)] = position
    inserted_after = defaultdict[int, list[int | Message]](list)
    for caller in sorted({caller for caller, _ in alignment.results}):
        place = caller
        for call_id in given_calls(live[caller]):
            result = alignment.results.get((caller, call_id))
            if result is not None:
                inserted_after[place].append(result)
            else:
                place = max(place, results_of_history.get(call_id, place))
    items: list[int | Message] = []
    for position in range(len(live)):
        if position not in moved:
            items += [position, *inserted_after.get(position, ())]
    return items


def _with_closings(
    live: Sequence[Message], items: Sequence[int | Message], alignment: Alignment, tail: Sequence[Message]
) -> list[int | Message]:
    """Add closing messages to the items, at the ends of turns that lack a closing message.

    If the list adds a result for a call of a message, but no closing message, a closing message is made. So the host
    finds nothing more to repair.
    """
    answered = set[str]()
    for position, _ in alignment.results:
        answered.update(given_calls(live[position]))
    if not (answered or alignment.closings):
        return list(items)
    closings = _closings_by_call(live, alignment)
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
        closing = closings.get(call_id)
        if closing is not None:
            order.append(closing)
        elif call_id in answered:
            order.append(_from_repair({"role": "assistant", "content": CLOSING_TEXT}))
    return order


def _closings_by_call(live: Sequence[Message], alignment: Alignment) -> dict[str, Message]:
    """Return the list's closing messages, under every call id of the calling message.

    Any of the message's results may be the last one in this log.
    """
    closings = dict(alignment.closings)
    positions = {position for position, _ in alignment.results}
    for position in positions:
        beside = given_calls(live[position])
        closed = [call_id for call_id in beside if call_id in alignment.closings]
        if closed:
            closings |= dict.fromkeys(beside, alignment.closings[closed[0]])
    return closings


def _placed(live: Sequence[Message], items: Sequence[int | Message]) -> list[Message]:
    """Return the new messages. In the middle of the history, each names the message that it follows for hosts.

    Views show a result beside its call, wherever the result was appended, unless a model has already answered without
    it. Views do not show a closing message in the middle: a model does not need such a message, and it would appear at
    the wrong place.
    """
    answered = len(live)  # the position after the model's last answer
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
    """Return whether a model wrote a message and models see the message."""
    return message.get("role") == "assistant" and not is_repair(message) and not is_kept_from_models(message)


def _from_repair(message: Message) -> Message:
    """Mark a message as made by the host's repair. Its time is not the time at which the tool or turn ended."""
    return {**message, "metadata": {"source": REPAIR_SOURCE, **metadata_of(message)}}
