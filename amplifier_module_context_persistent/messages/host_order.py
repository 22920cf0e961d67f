"""The order in which a host sees a history: messages of the host's own repairs are at their places.

A host repairs interrupted tool calls by inserting the missing results into the middle of its list. The log only grows,
so such a message is appended, and names the message that it follows (`placed_after`). Hosts get the history in the
order of those places; all other readers get it in the order of the log.

If a model has answered without the message, the message is `unseen`: no view shows it, since the request of that
answer did not contain it. A view that changed there would lose the provider's cache and the reasoning after it. A
message that closes a turn in the middle is unseen too: only the host needs it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from .kept_from_models import UNSEEN_KEY
from .message import Message, metadata_of
from .metadata import PLACE_KEY


def with_place(message: Message, after: str, *, unseen: bool) -> Message:
    """Return a message with metadata that say that hosts see it right after the message `after`."""
    marks = {PLACE_KEY: after, **({UNSEEN_KEY: True} if unseen else {})}
    return {**message, "metadata": {**metadata_of(message), **marks}}


def is_placed(message: Message) -> bool:
    """Return whether a message's metadata name the message that it follows for hosts (`with_place`)."""
    return isinstance(metadata_of(message).get(PLACE_KEY), str)


def host_order(messages: Sequence[Message]) -> list[int]:
    """Return the positions of messages in the order in which hosts see the messages.

    A message stays at its place in the log if the message that it should follow was removed. Several messages that
    follow the same message keep their order.
    """
    if not any(map(is_placed, messages)):
        return list(range(len(messages)))
    followers = defaultdict[str, list[int]](list)
    known: set[str] = set()
    unmoved: list[int] = []
    for position, message in enumerate(messages):
        metadata = metadata_of(message)
        place = metadata.get(PLACE_KEY)
        if isinstance(place, str) and place in known:
            followers[place].append(position)
        else:
            unmoved.append(position)
        known.add(str(metadata.get("message_id")))
    order: list[int] = []
    waiting = unmoved[::-1]
    while waiting:
        position = waiting.pop()
        order.append(position)
        own_id = str(metadata_of(messages[position]).get("message_id"))
        waiting.extend(reversed(followers.pop(own_id, [])))
    return order
