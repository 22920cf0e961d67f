"""The message list of an agent without a host: it begins with the history, and grows.

The messages after the history are appended, and none of them is taken for a host's repair. A list of OpenAI's items may
be set in the middle of an answer, and again with the rest of it after a kill. Read at once, the items of an answer are
one message, but the log has one message for each time that the list was set. So these lists are compared item by item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..forms import openai_responses
from ..forms.any_form_to_canonical import read_given, with_messages_before
from ..forms.canonical import form_of
from ..messages.host_form import same_content
from ..messages.message import Message
from ..messages.message_times import timestamp_of
from ..messages.metadata import given_id

SYSTEM_ROLES = frozenset({"system", "developer"})


def may_be_repair(host_list: Sequence[object], *, has_host: bool) -> bool:
    """Return whether a list may be a host's repair. Otherwise the list is that of an agent without a host.

    A host that repairs a history has the messages from the log, with ids and times. An agent's own list has neither ids
    nor times.
    """
    messages = [message for message in host_list if isinstance(message, Mapping)]
    return has_host or any(given_id(message) is not None or timestamp_of(message) for message in messages)


def is_same(stored: Message, listed_message: Message) -> bool:
    """Return whether a host's message is this live message: same content, and same id if the host gives an id."""
    if stored is listed_message:
        return True
    message_id = given_id(listed_message)
    return (message_id is None or message_id == given_id(stored)) and same_content(stored, listed_message)


def rest_of(live: Sequence[Message], host_list: Sequence[Message]) -> list[Message] | None:
    """Return the messages of a host's list after the whole history; None if the list does not begin with it."""
    place = 0
    for message in live:
        if place < len(host_list) and is_same(message, host_list[place]):
            place += 1
        elif message.get("role") not in SYSTEM_ROLES:
            return None
    return list(host_list[place:]) if place else None


def rest_of_agent(live: Sequence[Message], agent_list: Sequence[Message]) -> list[Message] | None:
    """Return the messages after the history in a list of an agent without a host, which gives them no ids or times.

    Return None if the list does not begin with the whole history, or if a message after it has an id or a time: then it
    may be a message of the log, and these tell.
    """
    is_empty = all(message.get("role") in SYSTEM_ROLES for message in live)
    rest = list(agent_list) if is_empty else rest_of(live, agent_list)
    if rest is None or any(given_id(message) is not None or timestamp_of(message) for message in rest):
        return None
    return rest


def after_items(
    live: Sequence[Message], new_items: Sequence[Mapping[str, Any]], read: Sequence[Message], form: str | None
) -> list[Message] | None:
    """Return the history, followed by the new items of a host's list as messages.

    Return None if the list is not in the form of OpenAI's items or does not begin with the history.

    Args:
        live: the history.
        new_items: the list as plain JSON, an item for each of OpenAI's.
        read: the messages of the whole list.
        form: the form of all of the list, if the caller says so.
    """
    has_items = any(form_of(message) == openai_responses.NAME for message in read)
    if not has_items or rest_of(live, read) is not None:
        return None
    items = openai_responses.write(live, exact=True)
    if not items or len(items) > len(new_items):
        return None
    beginning = openai_responses.write(read_given(new_items[: len(items)], form), exact=True)
    if beginning != items:
        return None
    rest = read_given(new_items[len(items) :], form, before=openai_responses.NAME)
    return [*live, *with_messages_before(rest, live[-1:])]
