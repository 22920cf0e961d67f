"""The form in which a host hands messages back, and a comparison that allows for it.

When a host sanitises a message, it drops values that are None, `thinking_block` and `content_blocks`; of a
`thinking_block` it may leave the text. So two messages are the same if they are equal without these fields and without
metadata. A field that the host gives counts, though: a message with another `thinking_block` than the stored one is
another message.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..log.record_line import Message

DROPPED_BY_HOSTS = frozenset({"thinking_block", "content_blocks"})
_NOT_COMPARED = frozenset({"metadata", "timestamp", "thinking_text"})


def same_content(stored: Mapping[str, Any], host_message: Mapping[str, Any]) -> bool:
    """Return whether a host's message is the same as a stored message, apart from changes that hosts make to texts."""
    if _only_lacks_dropped(stored, host_message):
        return True  # the usual case: hosts change little
    if _compared(stored) != _compared(host_message):
        return False
    keys = [key for key in DROPPED_BY_HOSTS if host_message.get(key) is not None]
    return all(_without_none(host_message[key]) == _without_none(stored.get(key)) for key in keys)


def _only_lacks_dropped(stored: Mapping[str, Any], host_message: Mapping[str, Any]) -> bool:
    """Return whether a message equals the stored message, apart from fields that hosts drop."""
    compared = host_message.keys() - _NOT_COMPARED
    if not compared <= stored.keys() or any(stored[key] != host_message[key] for key in compared):
        return False
    return all(stored[key] is None or key in DROPPED_BY_HOSTS for key in stored.keys() - compared - _NOT_COMPARED)


def content_key(message: Mapping[str, Any]) -> str:
    """Return a key of a message's content. Messages that a host's sanitising makes equal have equal keys."""
    return json.dumps(_compared(message), sort_keys=True, default=str)


def as_hosts_write(message: Mapping[str, Any]) -> Message:
    """Return a message in the form in which a host writes it to its own transcript."""
    host_keys = {key: value for key, value in message.items() if key not in DROPPED_BY_HOSTS}
    written: Message = _without_none(host_keys)
    return written


def _compared(message: Mapping[str, Any]) -> Message:
    return {key: value for key, value in as_hosts_write(message).items() if key not in _NOT_COMPARED}


def _without_none(value: Any) -> Any:
    if isinstance(value, str | int):  # most values are texts or numbers; a check for `Mapping` is slower
        return value
    if isinstance(value, Mapping):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value if item is not None]
    return value
