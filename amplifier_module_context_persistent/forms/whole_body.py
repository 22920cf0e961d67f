"""The whole body of a foreign message, stored so that it can be given back unchanged, with nothing long stored twice.

Some kits need exactly the message that they stored, with keys that no form knows. Such a message is read into canonical
messages, which views, search and reports use. The mark (`metadata.form`) of the first one has the `body`. In it,
references replace every longer text and value that a canonical message contains anyway. So an equal body is given back,
however little of it was read.

| key of the mark | value |
| --- | --- |
| `name` | the kit or form that the body belongs to: `claude_code`, `openai_responses`, `pydantic_ai`, `agent_framework` |
| `part` | `[number, count]`, if the body became several messages |
| `body` | of the first one: the body; `{"$": [PART, KEY, …]}` is the value at that place in the part with that number, with `"json"` as its JSON text (`compact` or `spaced`); `{"$": {"is": OBJECT}}` is an object of the body's own that has the key `$` |
"""  # noqa: E501 - a row of a table

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from ..errors import RecordError
from ..messages.check_incoming import check_message, why_refused
from ..messages.message import Message
from .canonical import mark_of, marked, part_number

_REFERENCE = "$"
_LEAST_BYTES = 32
"""The size from which a reference is shorter than the value."""
_SPACING: dict[str, tuple[str, str]] = {"compact": (",", ":"), "spaced": (", ", ": ")}


def with_body(parts: Sequence[Message], body: Mapping[str, Any] | list[Any], name: str, **facts: Any) -> list[Message]:
    """Return the canonical messages of a foreign message, with its body in a mark. `bodies_in` restores the body.

    Args:
        parts: the canonical messages, at least one; they are not mutated.
        body: the foreign message, as plain JSON.
        name: the name of the form or kit that the body belongs to.
        facts: further facts for the mark of the first message.
    """
    first = marked(parts[0], name, **facts)
    first["metadata"]["form"] = {**first["metadata"]["form"], "body": _Places(parts).refer(body)}
    if len(parts) == 1:
        return [first]
    return [marked(part, name, part=[position, len(parts)]) for position, part in enumerate((first, *parts[1:]))]


def bodies_in(messages: Iterable[Message], name: str) -> Iterator[tuple[list[Message], Any]]:
    """Yield the bodies of a history in order, each with its messages; the body of other messages is None.

    If messages of a body are missing, as after a purge, the body is None, and the remaining messages are given.
    """
    for group in _groups(messages, name):
        try:
            yield group, _resolved(mark_of(group[0])["body"], group)
        except (KeyError, IndexError, TypeError):
            yield group, None


def can_be_stored(messages: Sequence[Message]) -> bool:
    """Return whether there are messages, and a log would accept each of these."""
    try:
        for message in messages:
            check_message(message)
    except RecordError:
        return False
    return bool(messages) and not any(map(why_refused, messages))


def for_people(words: str) -> Message:
    """Return a line that people can read and no model is sent, in place of something that is not a message."""
    return {"role": "system", "content": words, "metadata": {"amplifier_public_reference_only": True}}


def _groups(messages: Iterable[Message], name: str) -> Iterator[list[Message]]:
    """Yield messages in groups: the messages that were made from one message of the form `name`, and others alone."""
    group: list[Message] = []
    for message in messages:
        is_next_part = part_number(message) == len(group) and mark_of(message).get("name") == name
        if group and not is_next_part:
            yield group
            group = []
        group.append(message)
    if group:
        yield group


class _Places:
    """The places of the longer values in messages."""

    def __init__(self, parts: Sequence[Message]) -> None:
        self._by_text: dict[str, list[str | int]] = {}
        self._by_size: dict[tuple[type, int], list[tuple[Any, list[str | int]]]] = {}
        for number, part in enumerate(parts):
            for key, value in part.items():
                if key != "metadata":
                    self._note(value, [number, key])

    def _note(self, value: Any, path: list[str | int]) -> None:
        if isinstance(value, str):
            if len(value) >= _LEAST_BYTES:
                self._by_text.setdefault(value, path)
            return
        if not isinstance(value, dict | list) or not value:
            return
        self._by_size.setdefault((type(value), len(value)), []).append((value, path))
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in inner:
            self._note(item, [*path, key])

    def refer(self, value: Any) -> Any:
        """Return a value with references in place of the longer values that messages contain."""
        if isinstance(value, str):
            return self._refer_to_text(value)
        if not isinstance(value, dict | list):
            return value
        path = self._find(value)
        if path is not None:
            return {_REFERENCE: path}
        if isinstance(value, list):
            return [self.refer(item) for item in value]
        inner = {key: self.refer(item) for key, item in value.items()}
        return {_REFERENCE: {"is": inner}} if _REFERENCE in value else inner

    def _refer_to_text(self, text: str) -> Any:
        if len(text) < _LEAST_BYTES:
            return text
        path = self._by_text.get(text)
        if path is not None:
            return {_REFERENCE: path}
        if text[0] not in "{[":
            return text
        try:
            value = json.loads(text)
        except ValueError:
            return text
        path = self._find(value)
        if path is None:
            return text
        for style in _SPACING:
            if _as_text(value, style) == text:
                return {_REFERENCE: path, "json": style}
        return text

    def _find(self, value: Any) -> list[str | int] | None:
        """Return the path of a part of the body that is the same as a value, or None if there is none."""
        if not isinstance(value, dict | list):
            return None
        for part, path in self._by_size.get((type(value), len(value)), ()):
            if part == value and _is_same(part, value):
                return path
        return None


def _is_same(one: Any, other: Any) -> bool:
    """Return whether equal values are the same JSON, with equal numbers and order of keys; False for short values."""
    try:
        written = orjson.dumps(one)
        return len(written) >= _LEAST_BYTES and written == orjson.dumps(other)
    except TypeError:  # integers of more than 64 bits, or half a surrogate pair
        return False


def _as_text(value: Any, style: str) -> str:
    return json.dumps(value, separators=_SPACING[style], ensure_ascii=style == "spaced")


def _resolved(value: Any, parts: Sequence[Message]) -> Any:
    if isinstance(value, list):
        return [_resolved(item, parts) for item in value]
    if not isinstance(value, dict):
        return value
    if _REFERENCE not in value:
        return {key: _resolved(item, parts) for key, item in value.items()}
    path = value[_REFERENCE]
    if isinstance(path, dict):
        return {key: _resolved(item, parts) for key, item in path["is"].items()}
    part: Any = parts
    for step in path:
        part = part[step]
    return _as_text(part, value["json"]) if "json" in value else part
