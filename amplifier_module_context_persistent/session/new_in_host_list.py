"""Compare a list that a host passes to `set_messages` with the live history, and find its new messages.

Nothing is written here. `set_messages` does not replace a history that was loaded from a log. But two kinds of lists
have something new:

- Turns that were made under another context module: the list is the live history followed by more messages (the
  *tail*). The tail is taken if it is new; see `KnownMessages.newer_part`. The list of an agent without a host has more
  rules (`new_in_agents_list`).
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
from collections.abc import Sequence
from dataclasses import dataclass

from ..log.contract import Log
from ..messages.host_form import DROPPED_BY_HOSTS, content_key
from ..messages.host_order import with_place
from ..messages.kept_from_models import is_kept_from_models
from ..messages.message import Message, given_calls, result_id_of
from ..messages.metadata import given_id, is_repair
from .align_host_list import Alignment, align
from .closing_messages import CLOSING_TEXT, with_closings
from .growing_list import rest_of
from .known_messages import KnownMessages
from .live_history import LiveHistory
from .memory_files import is_memory_file
from .new_in_agents_list import AgentsKnowledge, new_in_agents_list
from .replayed_messages import stored_under
from .taken_messages import TakenMessages

_NOT_IN_CONTENT = ("thinking_text", *DROPPED_BY_HOSTS)
"""Fields that a comparison of contents passes over."""


@dataclass(frozen=True, slots=True)
class ListComparison:
    """The result of comparing a list with the log."""

    taken: TakenMessages
    live: Sequence[Message]
    """The live history that the list was compared with."""
    unknown: int = 0
    """The number of a rejected list's messages that the log does not have, neither live nor hidden."""


def compare_list(log: Log, host_list: Sequence[Message], *, agents: AgentsKnowledge | None = None) -> ListComparison:
    """Find the new messages of a host's list. If none can be taken, count the messages that the log does not have.

    Args:
        log: the session's log.
        host_list: the list.
        agents: given for the list of an agent without a host; such a list grows, and is seldom a repair.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    history = LiveHistory.of(log)
    live = history.messages
    if agents is not None:
        taken = new_in_agents_list(log, history, host_list, agents)
        if taken:
            return ListComparison(taken, live)
    alignment = align(live, host_list)
    if alignment is None:
        return ListComparison(TakenMessages(), live, count_unknown(log, host_list))
    if not (alignment.tail or alignment.results or alignment.closings):
        return ListComparison(TakenMessages(), live)
    known = KnownMessages(log, live)
    alignment.leave_out(known.is_stale)
    new = arranged(history, alignment, known.newer_part(alignment.tail))
    unknown = count_unknown(log, host_list) if not new else 0
    return ListComparison(new, live, unknown)


def additions_only(log: Log, host_list: Sequence[Message], *, may_repair: bool = True) -> list[Message] | None:
    """Return the new messages of a host's list; None if the list is not the history with additions only.

    Sessions whose history a host may replace use this, because additions can be appended without a reset. The result is
    empty for an agent's own list that says what the history says.

    Args:
        log: the session's log.
        host_list: the list.
        may_repair: whether it may be a host's repair.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    history = LiveHistory.of(log)
    live = [message for message in history.messages if not is_memory_file(message)]
    listed = [message for message in host_list if not is_memory_file(message)]
    if not live or len(listed) < len(live):
        return None
    rest = rest_of(live, listed) if not may_repair else None
    if rest or (rest is not None and _has_metadata_of(live, listed)):
        return rest
    if len(listed) == len(live):
        return None
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


def _has_metadata_of(live: Sequence[Message], host_list: Sequence[Message]) -> bool:
    """Return whether the metadata of a host's messages adds nothing to the metadata of the history."""
    if len(live) != len(host_list):
        return False
    for stored, message in zip(live, host_list, strict=True):
        metadata = message.get("metadata") or {}
        if any(stored.get(key) != message.get(key) for key in _NOT_IN_CONTENT):
            return False
        if any(key not in stored["metadata"] or stored["metadata"][key] != metadata[key] for key in metadata):
            return False
    return True


def count_unknown(log: Log, host_list: Sequence[Message]) -> int:
    """Count the messages of a host's list that the log lacks. A message is known by its id, else by its content."""
    ids: list[str] = []
    contents: list[str] = []
    for message in host_list:
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


def arranged(history: LiveHistory, alignment: Alignment, tail: Sequence[Message]) -> TakenMessages:
    """Return the messages to take: the new messages of a host's list, in their places.

    Args:
        history: the live history.
        alignment: the match of the list with the history.
        tail: the new messages that will follow the history.
    """
    with_results = _with_results(history.messages, alignment)
    callers = {position for position, _ in alignment.results}
    items = with_closings(history.messages, with_results, tail, callers=callers, closings=alignment.closings)
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
