"""The form in which a host hands a message back, and equality after it.

A host's sanitising drops values that are None, `thinking_block` and `content_blocks` (of the first it may leave a
text). Two messages are the same if they are equal after that, metadata left aside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..log.record import Message

_DROPPED_BY_HOSTS = frozenset({"thinking_block", "content_blocks"})
_NOT_COMPARED = frozenset({"metadata", "timestamp", "thinking_text"})


def same_content(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two messages are equal after a host's sanitising."""
    return bool(_compared(one) == _compared(other))


def as_hosts_write(message: Mapping[str, Any]) -> Message:
    """A message as a host writes it to its own transcript."""
    kept: Message = _without_none({key: value for key, value in message.items() if key not in _DROPPED_BY_HOSTS})
    return kept


def _compared(message: Mapping[str, Any]) -> Message:
    return {key: value for key, value in as_hosts_write(message).items() if key not in _NOT_COMPARED}


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value if item is not None]
    return value
