"""The id that a message shares with its copies in other sessions.

A fork begins with a copy of its origin's history, and agents copy the history into the session of a resume. With this
id, copied messages are counted only once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from ..messages.message import calls_of, text_of
from ..messages.message_times import timestamp_of
from ..messages.metadata import given_id

__all__ = ["copy_id", "said_in"]

_RANDOM = 20
"""The least length of an id that is probably random. A shorter id may be a number within its session."""


def copy_id(message: Mapping[str, Any]) -> str:
    """Return the id that a message shares with its copies only, or "" if nothing identifies the message.

    The id is made from the message's own id, time and content. Id and time alone may belong to another message: an
    importer numbers messages that have no ids, and many agents write whole seconds.
    """
    message_id = given_id(message)
    time = timestamp_of(message)
    if not message_id or not (time or len(message_id) >= _RANDOM):
        return ""
    return hashlib.sha256(repr((message_id, time, said_in(message))).encode("utf-8", "replace")).hexdigest()[:24]


def said_in(message: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parts of a message that all its copies have: the text, and ids, names and arguments of calls."""
    parts = [text_of(message).strip()]
    for call in calls_of(message):
        parts += (call.id, call.asks.hex())
    return tuple(parts)
