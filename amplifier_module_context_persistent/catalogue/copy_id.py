"""The id of a message that is the same in all sessions that have a copy of it.

A fork begins with a copy of its origin's history, and agents copy it into the session of a resume. What was done, was
done once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from ..messages.metadata import given_id, timestamp_of

__all__ = ["copy_id"]

_RANDOM = 20
"""An id of so many characters is random: no two messages have it. A shorter one may be a number within its session."""


def copy_id(message: Mapping[str, Any]) -> str:
    """The id that a message shares with its copies only: its own with its time; "" if nothing identifies it."""
    message_id, time = given_id(message), timestamp_of(message)
    if not message_id or not (time or len(message_id) >= _RANDOM):
        return ""
    return hashlib.sha256(repr((message_id, time)).encode("utf-8", "replace")).hexdigest()[:24]
