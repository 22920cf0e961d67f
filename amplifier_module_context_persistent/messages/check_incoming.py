"""Incoming messages: copied into plain JSON types that the log can store, or refused with an error that says why.

Messages that a log already contains are not checked here; they are read in any form. A message in a provider's form is
copied first (`json_copy`), then translated, then checked (`check_message`).
"""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

from ..errors import RecordError
from ..log.record_limits import MAX_DEPTH
from ..log.record_line import RESERVED_KEYS, ROLES, Message
from .client_objects import NoJsonFormError, json_form

_PLAIN_TYPES = frozenset({str, int, bool, type(None)})
_BYTES_KEYS = frozenset({"bytes", "data", "thought_signature", "thoughtSignature", "redactedContent"})
"""Keys whose values may be bytes in the models of providers' clients; the JSON form of these bytes is base64."""


def to_plain(message: Mapping[str, Any], *, is_stored: bool = False) -> Message:
    """Return a copy of a message in plain JSON types; tuples become lists, models and dataclasses become objects.

    Args:
        message: the message as the host or an agent gave it.
        is_stored: whether the message was read from a log. Then reserved keys and numbers that are not finite are
            accepted.

    Raises:
        RecordError: as `json_copy` and `check_message`.
    """
    plain = json_copy(message, is_stored=is_stored)
    check_message(plain, is_stored=is_stored)
    return plain


def json_copy(message: Any, *, is_stored: bool = False) -> Message:
    """Return a copy of a message in any form, or of the answer of a provider's client, in plain JSON types.

    Values that are nested deeper than a record allows become JSON text. Bytes of a medium become base64.

    Raises:
        RecordError: the message is not an object, or it contains a key that is not a string, a number that is not
            finite, or a type that JSON lacks. The error gives the path of the value.
    """
    try:
        plain = (_STORED if is_stored else _NEW).of(message, 0)
    except _RefusedError as refused:
        raise RecordError(f"{refused.path()}: {refused.reason}") from None
    except RecursionError:
        raise RecordError("message: it is nested too deeply, or contains itself") from None
    if not isinstance(plain, dict):
        raise RecordError(f"a message must be a JSON object, not {type(message).__name__}")
    return plain


def listed(value: Any) -> list[Any]:
    """Return the given messages as a list.

    Raises:
        RecordError: the argument is a single message, a text, or not iterable.
    """
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise RecordError(f"a list of messages is expected, not {type(value).__name__}")
    return list(value)


def check_message(plain: Message, *, is_stored: bool = False) -> None:
    """Check the rules that every record has to follow.

    Raises:
        RecordError: the message has a reserved key, no role or an unknown one, or metadata that is not an object.
    """
    if not is_stored and not RESERVED_KEYS.isdisjoint(plain):
        reserved = RESERVED_KEYS & plain.keys()
        raise RecordError(f"message.{min(reserved)}: this key is reserved for the log; rename it")
    role = plain.get("role")
    if "role" not in plain:
        keys = ", ".join(map(repr, list(plain)[:6])) or "none"
        raise RecordError(
            f"message.role is missing (its keys: {keys}), and it has the shape of no provider's message; "
            f"it must be one of {', '.join(ROLES)}"
        )
    if role not in ROLES:
        quoted_role = repr(role[:20]) if isinstance(role, str) else type(role).__name__
        raise RecordError(f"message.role is {quoted_role}; it must be one of {', '.join(ROLES)}")
    metadata = plain.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise RecordError(f"message.metadata must be an object, not {type(metadata).__name__}")


def why_refused(message: Message) -> str:
    """Return why a new message could not be a part of any view; "" if it could be.

    Only messages that must be mistakes are refused (not stored): a user's or a system message without content, a result
    that names no call, and calls that are not a list or have no id. Blank content (null, too) is accepted, and so is an
    empty id: some providers give no ids. OpenAI's older `function` messages have no id either.
    """
    role = message.get("role")
    listed = message.get("tool_calls")
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
    """A value that JSON cannot represent; each caller adds its step to the path while the error passes upwards."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.steps: list[str] = []

    def path(self) -> str:
        steps = "".join(reversed(self.steps))
        return "message" + (steps if len(steps) <= 200 else steps[:200] + "…")


@dataclasses.dataclass(frozen=True, slots=True)
class _Copy:
    """Copies values into plain JSON types."""

    is_stored: bool
    """Whether numbers that are not finite are accepted."""

    def of(self, value: Any, depth: int, key: str = "") -> Any:
        """Return a copy of a value at this depth of nesting.

        `key` is the key of the value if it is in an object, else "".
        """
        if type(value) in _PLAIN_TYPES:
            return value
        if isinstance(value, float):
            return self._number(float(value))
        if isinstance(value, Mapping):
            return self._object(value, depth)
        if isinstance(value, list | tuple):
            return self._list(value, depth)
        if depth > MAX_DEPTH:
            return _as_json_text(value)
        for base in (str, int):  # a member of a string enum becomes a string
            if isinstance(value, base):
                return base.__str__(value) if base is str else base(value)
        if isinstance(value, bytes | bytearray) and key in _BYTES_KEYS:
            return base64.b64encode(value).decode()
        try:
            form = json_form(value)
        except NoJsonFormError:
            reason = f"{type(value).__name__} has no JSON form; convert it before adding the message"
            raise _RefusedError(reason) from None
        return self.of(form, depth + 1)

    def _number(self, number: float) -> float:
        if not self.is_stored and not isfinite(number):
            raise _RefusedError(f"{number} is no number that JSON has; give null, or its name as a text")
        return number

    def _object(self, value: Mapping[Any, Any], depth: int) -> Message | str:
        """Return a copy of an object. If the object is nested too deeply, return its JSON text."""
        if depth > MAX_DEPTH:
            return _as_json_text(value)
        plain = dict(value)
        for key, item in plain.items():
            kind = type(item)
            if type(key) is not str:
                return self._object({_plain_key(name): inner for name, inner in value.items()}, depth)
            if kind in _PLAIN_TYPES:
                continue
            try:
                if kind is dict:
                    plain[key] = self._object(item, depth + 1)
                elif kind is list:
                    plain[key] = self._list(item, depth + 1)
                else:
                    plain[key] = self.of(item, depth + 1, key)
            except _RefusedError as refused:
                refused.steps.append(f".{key}")
                raise
        return plain

    def _list(self, value: list[Any] | tuple[Any, ...], depth: int) -> list[Any] | str:
        """Return a copy of a list. If the list is nested too deeply, return its JSON text."""
        if depth > MAX_DEPTH:
            return _as_json_text(value)
        items = list(value)
        for number, item in enumerate(items):
            kind = type(item)
            if kind in _PLAIN_TYPES:
                continue
            try:
                items[number] = self._object(item, depth + 1) if kind is dict else self.of(item, depth + 1)
            except _RefusedError as refused:
                refused.steps.append(f"[{number}]")
                raise
        return items


def _plain_key(key: Any) -> str:
    """Return a key as a plain string, also a key that is a member of a string enum."""
    if not isinstance(key, str):
        raise _RefusedError(f"the key {repr(key)[:40]} is {type(key).__name__}, not a string")
    return str.__str__(key)


_STORED, _NEW = _Copy(is_stored=True), _Copy(is_stored=False)


def _as_json_text(value: Any) -> str:
    """Return the JSON text of a value that is nested deeper than records may be."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise _RefusedError(f"nested deeper than {MAX_DEPTH} levels, and has no JSON text: {error}") from None
