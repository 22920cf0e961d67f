"""A message that comes in: its copy in plain JSON types, as a log takes it, or why it is refused, and where.

What is in a log already is read, whatever it is; nothing here looks at that.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any

from ..errors import RecordError
from ..log.record_line import MAX_DEPTH, RESERVED_KEYS, ROLES, Message

_PLAIN_TYPES = frozenset({str, int, bool, float, type(None)})


def to_plain(message: Mapping[str, Any], *, is_stored: bool = False) -> Message:
    """Copy a message into plain JSON types: tuples become lists, models and dataclasses are dumped.

    Args:
        message: the message.
        is_stored: it was read from a log: a key `_reset` that it still has is its own.

    Raises:
        RecordError: reserved keys, a wrong role, keys that are not strings, types that JSON lacks (with the path).
    """
    try:
        plain = _plain(message, 0)
    except _RefusedError as refused:
        raise RecordError(f"{refused.path()}: {refused.reason}") from None
    if not isinstance(plain, dict):
        raise RecordError(f"a message must be a JSON object, not {type(message).__name__}")
    if not is_stored and not RESERVED_KEYS.isdisjoint(plain):
        reserved = RESERVED_KEYS & plain.keys()
        raise RecordError(f"message.{min(reserved)}: this key is reserved for the log; rename it")
    role = plain.get("role")
    if role not in ROLES:
        shown = repr(role[:20]) if isinstance(role, str) else type(role).__name__
        raise RecordError(f"message.role is {shown}; it must be one of {', '.join(ROLES)}")
    metadata = plain.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise RecordError(f"message.metadata must be an object, not {type(metadata).__name__}")
    return plain


def why_refused(message: Message) -> str:
    """Why a new message could be part of no view; an empty text where it can.

    Looked at is only what no host means: a person's or a system's message without content, a result that names no call,
    calls that are no list or have no id. Content that is there and blank (null, too) is taken, and so is an id that is
    an empty text: some providers give none. OpenAI's older `function` messages have none either.
    """
    role, listed = message.get("role"), message.get("tool_calls")
    if role in ("user", "system", "developer") and "content" not in message:
        return f"message.content is missing: a message of the role {role} needs a text or a list of blocks"
    if role == "tool" and message.get("tool_call_id") is None:
        return "message.tool_call_id is missing: a result needs the id of the call that it answers"
    if listed is not None and not isinstance(listed, list):
        return f"message.tool_calls must be a list of calls, not {type(listed).__name__}"
    for number, call in enumerate(listed or ()):
        if not isinstance(call, dict):
            return f"message.tool_calls[{number}] must be an object with id, tool and arguments, not {call!r:.40}"
        if call.get("id") is None and call.get("tool_call_id") is None:
            return f"message.tool_calls[{number}] has no id: a result names its call by it"
    return ""


class _RefusedError(Exception):
    """A value that JSON cannot carry; the way to it is put together while this passes upwards."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.steps: list[str] = []

    def path(self) -> str:
        steps = "".join(reversed(self.steps))
        return "message" + (steps if len(steps) <= 200 else steps[:200] + "…")


def _plain(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind in _PLAIN_TYPES:
        return value
    if depth > MAX_DEPTH:
        raise _RefusedError(f"nested deeper than {MAX_DEPTH} levels")
    if kind is dict or isinstance(value, Mapping):
        plain = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise _RefusedError(f"the key {repr(key)[:40]} is {type(key).__name__}, not a string")
            try:
                plain[str.__str__(key)] = _plain(item, depth + 1)
            except _RefusedError as refused:
                refused.steps.append(f".{key}")
                raise
        return plain
    if kind is list or isinstance(value, list | tuple):
        items = []
        for item in value:
            try:
                items.append(_plain(item, depth + 1))
            except _RefusedError as refused:
                refused.steps.append(f"[{len(items)}]")
                raise
        return items
    for base in (str, int, float):  # an enum of strings is a string
        if isinstance(value, base):
            return base.__str__(value) if base is str else base(value)
    return _plain(_dump(value), depth + 1)


def _dump(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if callable(dump := getattr(value, "model_dump", None)) and not isinstance(value, type):
        return dump()
    raise _RefusedError(f"{type(value).__name__} has no JSON form; convert it before adding the message")
