"""Decide whether a provider compacts by itself, and whether the item that it made is accepted.

An *item* is the message that a provider's own compaction returns. It is used if it can be stored as plain JSON and the
provider's module takes it back. If not, our own engine makes the plan.
"""

from __future__ import annotations

import copy
from typing import Any

from ..errors import NativeError
from ..messages.check_incoming import to_plain
from ..messages.message import Message

NOT_STORABLE = "the provider gave no item that can be stored"


def supports_native(provider: Any) -> bool:
    """Return whether a provider says that it supports native compaction."""
    supports, compact = (getattr(provider, name, None) for name in ("supports_native_compaction", "compact_context"))
    try:
        return callable(compact) and callable(supports) and supports() is True
    except Exception:  # noqa: BLE001 - a provider's fault is an answer too
        return False


def why_refused(provider: Any, message: Message) -> str:
    """Return why the provider's module refuses an item that its provider made; "" if the module accepts the item."""
    validate = getattr(provider, "validate_compacted_context", None)
    if not callable(validate):
        return "the provider's module cannot validate it"
    try:
        answer = validate(copy.deepcopy(message))
    except Exception as error:  # noqa: BLE001 - an error of the provider must not end the session
        return f"the provider's module refuses it: {type(error).__name__}"
    return "" if answer is True else "the provider's module does not take it back"


def storable(item: Any) -> Message:
    """Return the message of a provider's item as plain JSON.

    Raises:
        NativeError: the item is not a message of a user or an assistant, or not plain JSON.
    """
    try:
        message = to_plain(item)
    except (TypeError, ValueError) as error:
        raise NativeError(NOT_STORABLE) from error
    if message != item or message.get("role") not in ("user", "assistant") or message.get("content") is None:
        raise NativeError(NOT_STORABLE)
    return message
