"""Redacting by a pattern inside a record that stays: in what is said, never in what names or frames it.

Ids, roles, kinds, tool names and times stay, so that calls keep their results and records their names. Inside a tool
call's arguments nothing is an id. A thinking block that would change is left out: providers refuse one whose signature
does not fit its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..log.record_kinds import kind_of
from ..log.record_line import Message, name_of
from ..messages.message import THINKING_BLOCKS, is_block
from ..messages.metadata import PLACE_KEY
from ..messages.secrets.redact import in_json

REPLACEMENT = "[redacted]"

Replace = Callable[[str], str]
"""Gives a text with everything replaced that is to go."""

_IDS = frozenset({"id", "message_id", "tool_call_id", "tool_use_id", "call_id", PLACE_KEY})
_NAMES = _IDS | {"role", "type", "name", "tool", "timestamp", "signature", "_record"}
_CONTROL_NAMES = _NAMES | {"time"}
_NO_NAMES = frozenset({""})  # plain keys stay, and all values are texts
_PLAIN_NAME = re.compile(r"[A-Za-z_:.]+")  # a key of a record; one with digits or dashes may be what is to go
_ARGUMENTS = frozenset({"arguments", "input"})
_EMPTY = {"type": "text", "text": REPLACEMENT}


def redact_message(message: Message, replace: Replace) -> Message:
    """A message with every match in its strings replaced; equal to the given one if there is none."""
    redacted: Message = {}
    for key, value in message.items():
        if key == "thinking_block":
            if _replace(value, replace, _NAMES) == value:
                redacted[key] = value
        else:
            redacted[key] = value if key in _NAMES else _replace_under(key, value, replace, _NAMES)
    return redacted


def redact_control(record: Message, replace: Replace) -> Message:
    """A control record (a plan's notice, a system text) with every match replaced; its names stay."""
    kind = kind_of(name_of(record.get("_record")))
    names = _CONTROL_NAMES | kind.names
    redacted = {key: value if key in names else _replace(value, replace, _NAMES) for key, value in record.items()}
    for key, places in kind.named_places.items():
        if isinstance(record.get(key), list):
            redacted[key] = [_with_names(*both, places) for both in zip(record[key], redacted[key], strict=True)]
    for key in kind.keyed_by_id:
        if isinstance(value := record.get(key), dict):
            redacted[key] = {one_id: _replace(item, replace, _NAMES) for one_id, item in value.items()}
    for key in kind.foreign & record.keys():
        redacted[key] = _replace(record[key], replace, _NO_NAMES)
    for key, inner in kind.names_inside.items():
        if isinstance(value := record.get(key), dict):
            redacted[key] |= {name: value[name] for name in inner if name in value}
    return redacted


def without_title(header: Message) -> Message:
    """A header without the title of the session that was imported: it says what the messages were about."""
    source = header.get("source")
    if not isinstance(source, dict) or "title" not in source:
        return header
    return {**header, "source": {key: value for key, value in source.items() if key != "title"}}


def _with_names(before: Any, after: Any, places: frozenset[int]) -> Any:
    """A redacted list with the items that are names as they were."""
    if not isinstance(before, list):
        return after
    return [old if place in places else new for place, (old, new) in enumerate(zip(before, after, strict=True))]


def _replace_under(key: str, value: Any, replace: Replace, names: frozenset[str]) -> Any:
    if key in names:
        return value
    if key in _ARGUMENTS:
        if isinstance(value, str):
            return in_json(value, lambda inner: _replace(inner, replace, frozenset()))
        return _replace(value, replace, frozenset())
    if key == "content" and isinstance(value, list):
        blocks = [_replace(block, replace, names) for block in value if not _is_spoilt(block, replace)]
        return blocks if blocks or not value else [dict(_EMPTY)]
    return _replace(value, replace, names)


def _replace(value: Any, replace: Replace, names: frozenset[str]) -> Any:
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, list):
        return [_replace(item, replace, names) for item in value]
    if isinstance(value, dict):
        return {
            key if names and _PLAIN_NAME.fullmatch(key) else replace(key): _replace_under(key, item, replace, names)
            if names
            else _replace(item, replace, names)
            for key, item in value.items()
        }
    return value


def _is_spoilt(block: Any, replace: Replace) -> bool:
    """Whether a block is signed thinking that would change."""
    return is_block(block, THINKING_BLOCKS) and _replace(block, replace, _NAMES) != block
