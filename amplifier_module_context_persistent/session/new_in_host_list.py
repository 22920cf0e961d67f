"""Compare a list that a host passes to `set_messages` with the live history, and find its new messages.

Nothing is written here. `set_messages` does not replace a history that was loaded from a log. But two kinds of lists
have something new:

- Turns that were made under another context module: the list is the live history followed by more messages (the
  *tail*). The tail is taken if it is new; see `KnownMessages.newer_part`. In the list of an agent without a host it
  is new unless a reset has hidden it (`KnownMessages.without_hidden`); the same words may be said twice.
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
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple

from ..log.collector_paused import collector_paused
from ..log.contract import Log
from ..messages.host_form import DROPPED_BY_HOSTS, content_key
from ..messages.host_order import host_order, with_place
from ..messages.kept_from_models import is_kept_from_models
from ..messages.message import Message, given_calls, result_id_of
from ..messages.metadata import PLACE_KEY, given_id, is_ephemeral, is_repair
from .align_host_list import Alignment, align
from .closing_messages import CLOSING_TEXT, with_closings
from .growing_list import is_same, rest_of, rest_of_agent
from .known_messages import KnownMessages
from .list_after_purge import OwnList
from .memory_files import is_memory_file
from .replayed_messages import stored_under

_NOT_IN_CONTENT = ("thinking_text", *DROPPED_BY_HOSTS)
"""Fields that a comparison of contents passes over."""


@dataclass(frozen=True, slots=True)
class TakenMessages:
    """The messages to append from a list, and the new order of the history if a late result is moved."""

    new: list[Message] = field(default_factory=list)
    """The new messages in the order of the list. A message in the middle names the message that it follows."""
    order: list[int | Message] = field(default_factory=list)
    """The whole new history, as ordinals and new messages, if a result is moved or an agent changed what it added
    itself. Otherwise the list is empty."""
    repairs: bool = False
    """Whether the list has more changes than a tail."""
    reason: str = "repair"
    """The reason of the reset, if there is a new order."""

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


class AgentsKnowledge(NamedTuple):
    """What an agent without a host knows of the log: what its process opened, and what it set since."""

    opened_with: int
    """The number of messages that the log had when it was opened."""
    removals_at_open: int
    """The number of its resets and purges then."""
    last_reset: str
    """The id of the last reset that this process made, or ""."""
    own_list: OwnList


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
    rest = rest_of_agent(live, host_list) if agents is not None else None
    if agents is not None and rest:
        added = _new_in_rest(log, live, host_list, rest, agents)
        if added:
            return ListComparison(TakenMessages(added), live)
    if agents is not None and not rest:
        added = agents.own_list.added(log, host_list)
        if added:
            return ListComparison(TakenMessages(added), live)
    if agents is not None and rest is None:
        edited = _edited_by_agent(log, history, host_list, agents)
        if edited:
            return ListComparison(edited, live)
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


def _new_in_rest(
    log: Log, live: Sequence[Message], agent_list: Sequence[Message], rest: list[Message], agents: AgentsKnowledge
) -> list[Message]:
    """Return the new messages at the end of an agent's list that begins with the whole live history.

    Args:
        log: the session's log.
        live: the live history.
        agent_list: the list.
        rest: its messages after the history, which have neither ids nor times.
        agents: what this process knows of resets.
    """
    known = KnownMessages(log, live)
    if not known.ends_removed or known.last_reset == agents.last_reset != "":
        return rest
    has_read_history = len(rest) < len(agent_list) and given_id(agent_list[-len(rest) - 1]) is not None
    if has_read_history and log.index.removals == agents.removals_at_open:
        return rest
    if known.ends_purged:  # what was purged is unknown, but an old list would begin with it
        knows_history = log.index.removals == agents.removals_at_open and len(rest) < len(agent_list)
        return rest if knows_history else []
    return known.without_hidden(rest)


def _edited_by_agent(
    log: Log, history: LiveHistory, agent_list: Sequence[Message], agents: AgentsKnowledge
) -> TakenMessages:
    """Return the new history if an agent replaced messages that it added itself since the log was opened.

    So an agent may set the beginning of an answer, and later the whole one. Messages that were loaded stay as they are,
    and nothing is taken if another process added messages since the agent's last list. A list that only lacks messages
    at its end changes nothing.
    """
    if not agents.own_list.is_history(log):
        return TakenMessages()
    loaded = sum(ordinal < agents.opened_with for ordinal in history.ordinals)
    own_part = rest_of(history.messages[:loaded], agent_list) if loaded else list(agent_list)
    if not own_part:
        return TakenMessages()
    own_live = history.messages[loaded:]
    same = 0
    while same < min(len(own_live), len(own_part)) and is_same(own_live[same], own_part[same]):
        same += 1
    new = own_part[same:]
    has_only_more = same == len(own_live)
    if has_only_more or not new or any(given_id(message) is not None for message in new):
        return TakenMessages()
    order = history.with_others([*history.ordinals[: loaded + same], *new])
    return TakenMessages(new, order, reason="set_messages")


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
