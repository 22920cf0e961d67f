"""Common parts of importers: texts, ids, metadata and messages in the log's form.

Blocks, calls and usage of every source are made by `forms.canonical`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from ....forms.canonical import plain_content
from ....messages.metadata import instant_of

Message = dict[str, Any]

_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9.-]+")
_MOST_ID_CHARS = 100


def text(value: Any) -> str:
    """A string, or the empty one for anything else."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> dict[str, Any]:
    """An object, or the empty one for anything else."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """A list, or the empty one for anything else."""
    return value if isinstance(value, list) else []


def named(entry: Mapping[str, Any], **names: str) -> dict[str, Any]:
    """The texts of an object by other names: `named(entry, ours="theirs")`; what is no text, or empty, is left out."""
    return {ours: found for ours, theirs in names.items() if (found := text(entry.get(theirs)))}


def session_name(value: str) -> str:
    """A text as a part of a session's id: letters, digits, dots and hyphens. An id with `_` is a sub-session's."""
    return _NOT_IN_IDS.sub("-", value).strip("-.")[:_MOST_ID_CHARS]


def iso_time(value: Any) -> str:
    """A time as ISO 8601 text: a text unchanged, a number as seconds or milliseconds."""
    if isinstance(value, str):
        return value if instant_of(value) is not None else ""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e14:
        return ""
    seconds = value / 1000 if value > 1e11 else float(value)
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def metadata(message_id: str, time: Any = None, *, failed: bool = False, **more: Any) -> dict[str, Any]:
    """A message's metadata without what is None or empty; zero and False stay.

    Args:
        message_id: its id.
        time: its time.
        failed: whether it tells of a call, or of a request, that failed.
        more: the rest.
    """
    given = {**more, "is_error": failed or None, "timestamp": iso_time(time), "message_id": message_id}
    return {key: value for key, value in given.items() if value or (value is not None and value != "" and value != {})}


def thinking_block(said: str, signature: str | None = None) -> Message:
    """Reasoning as a content block."""
    return {"type": "thinking", "thinking": said, "signature": signature}


def user(content: Any, message_metadata: Mapping[str, Any]) -> Message:
    """A message of the role of a user."""
    return {"role": "user", "content": content, "metadata": dict(message_metadata)}


def assistant(
    blocks: Iterable[Message], calls: Iterable[Message], message_metadata: Mapping[str, Any]
) -> Message | None:
    """An assistant's message of content blocks and calls; None if there is neither."""
    content, called = list(blocks), list(calls)
    if not content and not called:
        return None
    message: Message = {"role": "assistant", "content": plain_content(content)}
    if called:
        message["tool_calls"] = called
    message["metadata"] = dict(message_metadata)
    return message


def result(call_id: str, content: Any, message_metadata: Mapping[str, Any], name: str = "") -> Message:
    """The result of a call; if the source does not name the tool here, `transfer.drafts` takes it from the call."""
    named = {"name": name} if name else {}
    if not isinstance(content, list):
        content = as_text(content)
    return {"role": "tool", "tool_call_id": call_id, **named, "content": content, "metadata": dict(message_metadata)}


def as_text(value: Any) -> str:
    """A value as text: a string unchanged, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
