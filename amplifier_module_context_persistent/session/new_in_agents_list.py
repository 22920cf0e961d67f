"""Find what is new in the list that an agent without a host sets in a resumed session.

An agent that keeps its own list sets it again and again, and its messages mostly have neither ids nor times. Nothing
that it says may be lost, and nothing that was hidden may come back. Three cases:

- The list begins with the whole live history: what follows is new, unless it repeats what a reset has hidden right
  there (`KnownMessages.without_hidden`). The same words may be said twice.
- The list begins with the list that the agent set before, and the log is as that left it: what follows is new.
- The agent changed messages that it set itself since the log was opened, such as the beginning of an answer: they are
  replaced. Messages that were loaded stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..log.contract import Log
from ..messages.message import Message
from ..messages.metadata import given_id
from .growing_list import is_same, rest_of, rest_of_agent
from .known_messages import KnownMessages
from .live_history import LiveHistory
from .own_list import OwnList
from .taken_messages import TakenMessages


class AgentsKnowledge(NamedTuple):
    """What an agent without a host knows of the log: what its process opened, and what it set since."""

    opened_with: int
    """The number of messages that the log had when it was opened."""
    removals_at_open: int
    """The number of its resets and purges then."""
    last_reset: str
    """The id of the last reset that this process made, or ""."""
    own_list: OwnList


def new_in_agents_list(
    log: Log, history: LiveHistory, agent_list: Sequence[Message], agents: AgentsKnowledge
) -> TakenMessages:
    """Return what is to be taken from an agent's list; nothing if none of the three cases applies.

    Args:
        log: the session's log.
        history: its live history.
        agent_list: the list, as it would be stored.
        agents: what this process knows of the log.

    Raises:
        LogUnreadableError: the log cannot be read.
    """
    rest = rest_of_agent(history.messages, agent_list)
    if rest:
        return TakenMessages(_new_in_rest(log, history.messages, agent_list, rest, agents))
    added = agents.own_list.added(log, agent_list)
    if added:
        return TakenMessages(added)
    return _edited_by_agent(log, history, agent_list, agents) if rest is None else TakenMessages()


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
