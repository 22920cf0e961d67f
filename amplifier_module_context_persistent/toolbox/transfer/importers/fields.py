"""Common functions of importers: they make texts, ids, metadata and messages in the log's form.

Blocks, calls and usage are made by `forms.canonical`, for every source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from ....forms.canonical import plain_content
from ....messages.message_times import instant_of

Message = dict[str, Any]

_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9.-]+")
_MOST_ID_CHARS = 100


def text(value: Any) -> str:
    """Return a string unchanged, or "" for any other value."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> dict[str, Any]:
    """Return a JSON object unchanged, or an empty dictionary for any other value."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """Return a list unchanged, or an empty list for any other value."""
    return value if isinstance(value, list) else []


def named(entry: Mapping[str, Any], **names: str) -> dict[str, Any]:
    """Return texts of an object under other names: `named(entry, ours="theirs")`.

    Empty texts and values that are not texts are left out.
    """
    texts = {ours: text(entry.get(theirs)) for ours, theirs in names.items()}
    return {ours: found for ours, found in texts.items() if found}


def session_name(value: str) -> str:
    """Return a text as a part of a session's id.

    Only letters, digits, dots and hyphens stay, because `_` marks sub-sessions.
    """
    return _NOT_IN_IDS.sub("-", value).strip("-.")[:_MOST_ID_CHARS]


def iso_time(value: Any) -> str:
    """Return a time as ISO 8601 text, or "" if the value is not a time.

    A number is read as seconds or milliseconds since 1970.
    """
    if isinstance(value, str):
        return value if instant_of(value) is not None else ""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e14:
        return ""
    seconds = value / 1000 if value > 1e11 else float(value)
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def metadata(message_id: str, time: Any = None, *, failed: bool = False, **more: Any) -> dict[str, Any]:
    """Return the metadata of a message, without values that are None or empty. Zero and False stay.

    Args:
        message_id: the message's id.
        time: its time, as the source gives it.
        failed: whether the message is the result of a failed call, or the answer to a failed request.
        more: other metadata.
    """
    fields = {key: value for key, value in more.items() if value or (value is not None and value != "" and value != {})}
    if failed:
        fields["is_error"] = True
    timestamp = iso_time(time)
    if timestamp:
        fields["timestamp"] = timestamp
    if message_id:
        fields["message_id"] = message_id
    return fields


def thinking_block(thinking: str, signature: str | None = None) -> Message:
    """Return reasoning as a content block."""
    return {"type": "thinking", "thinking": thinking, "signature": signature}


def user(content: Any, message_metadata: Mapping[str, Any]) -> Message:
    """Return a message of the role `user`."""
    return {"role": "user", "content": content, "metadata": dict(message_metadata)}


def assistant(
    blocks: Iterable[Message], calls: Iterable[Message], message_metadata: Mapping[str, Any]
) -> Message | None:
    """Return an assistant's message with content blocks and calls.

    Returns None if there are neither, and the provider reported no tokens. A request that failed may have cost tokens.
    """
    content, called = list(blocks), list(calls)
    if not content and not called and not any(dict(message_metadata.get("usage") or {}).values()):
        return None
    message: Message = {"role": "assistant", "content": plain_content(content)}
    if called:
        message["tool_calls"] = called
    message["metadata"] = dict(message_metadata)
    return message


def result(call_id: str, content: Any, message_metadata: Mapping[str, Any], name: str = "") -> Message:
    """Return a message with the result of a call.

    If the tool's name is missing, `transfer.drafts` adds it from the call.
    """
    name_field = {"name": name} if name else {}
    if not isinstance(content, list):
        content = as_text(content)
    return {
        "role": "tool",
        "tool_call_id": call_id,
        **name_field,
        "content": content,
        "metadata": dict(message_metadata),
    }


def as_text(value: Any) -> str:
    """Return a value as text: a string unchanged, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
